//! The crate against the embedded API server.

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

mod deploy;
mod manager;
mod rbac;
mod webhooks;
