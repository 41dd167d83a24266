//! A raw HTTP client.

mod connect;
mod response;
mod watch;

pub(crate) use connect::{Call, Client};
pub(crate) use response::ApiResponse;
pub(crate) use watch::Watch;
