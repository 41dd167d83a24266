//! What an operator needs around its controllers.
//!
//! - [`manager`]: all of it, with controllers and replicas, under one start and stop order.
//! - [`health`]: `/livez`, `/readyz` and `/healthz` with named checks.
//! - [`metrics`]: `/metrics` for Prometheus.
//! - [`debug`]: `/debug/controllers`, for people and programs.
//! - [`webhook`]: typed admission and conversion webhooks over HTTPS, and their certificates.
//! - [`rbac`]: the roles that a program needs, recorded from its requests.
//!
//! `health`, `metrics`, `debug` and `webhook` are axum routers that mount beside the routes of the program. Each part is usable without
//! the manager.

pub mod debug;
pub mod health;
pub mod manager;
pub mod metrics;
mod panic_message;
pub mod rbac;
pub mod webhook;
