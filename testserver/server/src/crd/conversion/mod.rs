//! Conversion between versions. With strategy `None` the version name changes; with `Webhook` a webhook converts. Either way fields that
//! the other version lacks are dropped. Every object stays in the version in which it was written; reads convert it. Storage equivalents of
//! built-in kinds are converted here too.

mod accept;
mod convert;
mod failure;
mod response;

pub(crate) use convert::{between_versions, from_storage, to_storage};
pub(crate) use failure::Unconverted;
pub(crate) use response::{in_requested_version, to_requested_version};
