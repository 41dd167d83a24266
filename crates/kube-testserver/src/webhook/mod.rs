//! Asking somebody outside: admission and conversion webhooks.
//!
//! Verbs do no I/O. One that cannot go on without an answer fails with a [`WebhookCall`]; the shell lets go of the cluster,
//! asks, and runs the verb again with the answer at hand, until it needs no more.

mod call;
mod client;
mod target;
mod tls;
mod validate;

pub(crate) use call::{WebhookCall, WebhookResponses};
pub(crate) use client::send;
pub(crate) use target::Target;
pub(crate) use validate::validate_client_config;
