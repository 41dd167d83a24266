//! Admission webhooks: what their configurations say, and what they answer. Who is asked about a write, and when, is a
//! matter of the verbs.

mod config;
mod response;
mod webhook;

#[cfg(test)]
mod tests;

pub(crate) use config::validate as validate_config;
pub(crate) use response::{AdmissionResponse, call_failed};
pub(crate) use webhook::{Webhook, Webhooks};
