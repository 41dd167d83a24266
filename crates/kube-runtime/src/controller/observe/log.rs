//! The span and the log lines of a reconcile.

use super::outcome::ReconcileOutcome;
use crate::controller::{reconcile::ReconcileReason, runner_error::RunnerError};
use std::{fmt, time::Duration};
use tracing::Span;

/// The span of a reconcile. [`outcome`] adds its outcome at its end.
pub(crate) fn reconcile_span(object: impl fmt::Display, reason: &ReconcileReason, attempt: u32) -> Span {
    tracing::info_span!(
        "reconciling object",
        "object.ref" = %object,
        "object.reason" = %reason,
        "reconcile.attempt" = attempt,
        "reconcile.outcome" = tracing::field::Empty,
    )
}

pub(crate) fn started(span: &Span) {
    tracing::debug!(parent: span, "reconcile started");
}

/// Adds the outcome of the reconcile to its span, which is the current one.
pub(crate) fn outcome(outcome: ReconcileOutcome) {
    Span::current().record("reconcile.outcome", outcome.as_str());
}

pub(crate) fn finished(requeue_after: Option<Duration>) {
    tracing::debug!(?requeue_after, "reconcile finished");
}

pub(crate) fn cancelled(error: &RunnerError) {
    tracing::warn!(%error, "a reconcile was cancelled");
}

pub(crate) fn interrupted(error: &RunnerError) {
    tracing::error!(%error, "a reconcile panicked or timed out");
}

/// The action of a reconcile names a write to another object.
pub(crate) fn foreign_write() {
    tracing::warn!("Action::after_write got an object other than the reconciled one; it is ignored");
}
