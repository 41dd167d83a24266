//! Reconciling objects whenever they, or what they depend on, change.
//!
//! A [`Controller`] watches objects of one kind and what is related to them, keeps a queue of the objects to look at,
//! and calls a reconciler for each. See [`Controller`] for what it guarantees.

mod action;
mod applier;
mod builder;
mod config;
mod error;
mod panic;
mod related;
mod request;
mod runner;
mod shutdown;
mod source;
mod trigger;

pub use action::Action;
pub use applier::applier;
pub use builder::Controller;
pub use config::Config;
pub use error::Error;
pub use request::{ReconcileReason, ReconcileRequest};
pub use trigger::{trigger_owners, trigger_self, trigger_with};

/// What can go wrong with running reconcilers, apart from what they report themselves.
pub type RunnerError = runner::Error<crate::reflector::store::WriterDropped>;
