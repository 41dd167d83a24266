//! Admission webhooks.
//!
//! `validation` checks a configuration that is written, `configuration` reads it; for each write, `call` sends a review and `response` reads the answer. The HTTP call itself is in [`webhook`](crate::webhook).

mod call;
mod configuration;
mod response;
mod validation;

pub(crate) use call::call_webhook;
pub(crate) use configuration::{Webhook, Webhooks};
pub(crate) use response::{AdmissionResponse, call_failed};
pub(crate) use validation::validate as validate_config;
