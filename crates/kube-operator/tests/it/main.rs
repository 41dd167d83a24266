//! The crate against the embedded API server.

#![allow(clippy::unwrap_used, reason = "a failed step fails the test")]

mod deploy;
mod manager;
mod manager_faults;
mod manager_servers;
mod rbac;
mod webhooks;
