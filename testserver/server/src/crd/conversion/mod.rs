//! Conversion between versions. With strategy `None` the version name changes; with `Webhook` a webhook converts. Either way fields that
//! the other version lacks are dropped. Every object stays in the version in which it was written; reads convert it. Storage equivalents of
//! built-in kinds are converted here too.

mod convert;
mod response;

pub(crate) use convert::{between_versions, from_storage, to_storage};
pub(crate) use response::to_requested_version;
