//! Admission webhooks: their configurations and responses. `handlers::admission` decides which are called.

mod config;
mod response;
mod webhook;

#[cfg(test)]
mod tests;

pub(crate) use config::validate as validate_config;
pub(crate) use response::{AdmissionResponse, call_failed};
pub(crate) use webhook::{Webhook, Webhooks};
