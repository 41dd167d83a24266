//! Calls to admission and conversion webhooks.
//!
//! Handlers do no I/O. A handler that needs a webhook's response ends with [`Interruption::NeedsWebhook`]; `server::dispatch` releases the
//! cluster's lock, sends the call, and runs the handler again with the response recorded, until no call is missing. In the order in which
//! data passes:
//!
//! - `validate`, `ca_bundle`: whether a configuration can be used.
//! - `call`, `interruption`: a call that a handler needs. `address`, `target`: where it goes.
//! - `client`, `tls`: sends it, or hands it to the backend of its service.

mod address;
mod ca_bundle;
mod call;
mod client;
mod interruption;
mod target;
mod tls;
mod validate;

pub(crate) use address::Address;
pub(crate) use ca_bundle::ca_bundle_problem;
pub(crate) use call::{WebhookCall, WebhookResponses};
pub(crate) use client::{UNREACHED, send};
pub(crate) use interruption::Interruption;
pub(crate) use target::Target;
pub(crate) use validate::validate_client_config;
