//! One reconcile: why it is requested, how it runs, and what happens after it.
//!
//! - `request`: requests and their reasons; `action`: when to reconcile again.
//! - `reconciler`: reconcilers as types; `guard`: isolates their panics and hangs; `running`: the reconciles that run.
//! - `outcome`: how a reconcile ended, and what to do next.
//! - `pending_writes`: holds an object back until the store shows what its last reconcile wrote.

mod action;
mod guard;
mod outcome;
mod pending_writes;
mod reconciler;
mod request;
mod running;

pub use action::Action;
pub use outcome::Outcome;
pub use reconciler::Reconcile;
pub use request::{ReconcileReason, ReconcileRequest};

pub(super) use {
    action::Requeue,
    guard::{Interruption, guard_call, guard_try, until_revoked},
    outcome::{ReconcileFailure, Resolution, resolve_with},
    pending_writes::{ParkedRequest, PendingWrites},
    reconciler::reconcile_with,
    running::{FinishedReconcile, Polled, RunningReconcile, RunningReconciles},
};
