//! The server as a tower service.
//!
//! `api` is its handle. A request passes `service` and `observer`, `faults` injects the faults of a test, `dispatch` authorizes it and runs
//! its handler, `documents` serves discovery, OpenAPI and health.

mod api;
mod dispatch;
mod documents;
mod faults;
mod observer;
mod service;

pub use api::{ApiServer, RewindError};
pub use observer::RequestRecord;

pub(crate) use observer::Observer;
