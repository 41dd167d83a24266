//! Error responses, as the `Status` object that Kubernetes sends.

mod constructors;
mod status;

pub(crate) use status::{Cause, Details, StatusError};
