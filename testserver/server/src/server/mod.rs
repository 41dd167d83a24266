//! The server as a tower service: `service` applies faults, `authorize` authenticates and authorizes, `dispatch` finds the handler.

mod api;
mod authorize;
mod compress;
mod dispatch;
mod documents;
mod faults;
mod format;
mod impersonation;
mod observer;
mod pods;
mod respond;
mod service;

pub use api::{ApiServer, RewindError};
pub use observer::RequestRecord;

pub(crate) use observer::Observer;
