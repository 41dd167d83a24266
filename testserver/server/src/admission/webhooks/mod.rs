//! Admission webhooks.
//!
//! `configuration` reads the configurations; for each write, `call` sends a review and `response` reads the answer. The HTTP call itself is
//! in [`webhook`](crate::webhook).

mod call;
mod configuration;
mod response;

pub(crate) use call::call_webhook;
pub(crate) use configuration::{Webhook, Webhooks};
pub(crate) use response::{AdmissionResponse, call_failed};
