//! What an operator needs around its controllers.

pub mod debug;
pub mod health;
pub mod metrics;
pub mod rbac;
pub mod webhook;
