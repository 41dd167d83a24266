//! What an operator needs around its controllers.
//!
//! - [`health`]: `/livez`, `/readyz` and `/healthz` with named checks.
//! - [`metrics`]: `/metrics` for Prometheus.
//! - [`debug`]: `/debug/controllers`, for people and programs.
//! - [`webhook`]: typed admission and conversion webhooks over HTTPS, and their certificates.
//! - [`rbac`]: the roles that a program needs, recorded from its requests.
//!
//! Each but the last is an axum router that mounts beside the routes of the program, and is usable without the others.

pub mod debug;
pub mod health;
pub mod manager;
pub mod metrics;
mod panic_message;
pub mod rbac;
pub mod webhook;
