//! A raw HTTP client: sends what a case says, hands back what the server said.

mod connect;
mod reply;
mod watch;

pub(crate) use connect::{Call, Client};
pub(crate) use reply::Reply;
pub(crate) use watch::Watch;
