//! What an operator needs around its controllers.

pub mod health;
pub mod metrics;
