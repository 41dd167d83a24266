//! Conversion between versions. With strategy `None` only the version name differs; with `Webhook` a webhook converts. Storage equivalents of built-in kinds are converted here too.

mod convert;
mod response;

pub(crate) use convert::{from_storage, to_storage};
pub(crate) use response::to_requested_version;
