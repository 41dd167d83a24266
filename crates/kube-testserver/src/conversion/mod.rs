//! Objects of one version seen as of another. With strategy `None` nothing but the name of the version differs; with
//! strategy `Webhook` somebody outside converts. Built-in twins are renamed.

mod convert;
mod response;

pub(crate) use convert::{from_storage, to_storage};
pub(crate) use response::to_requested_version;
