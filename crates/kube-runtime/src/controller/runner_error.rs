//! The errors of running reconcilers, apart from those that they return.

use super::reconcile::Interruption;
use crate::reflector::{ObjectRef, store::WriterDropped};
use kube_core::DynamicObject;
use std::time::Duration;

/// Why reconcilers cannot run, or did not finish.
pub type RunnerError = Error<WriterDropped>;

/// Why reconcilers cannot run, or did not finish.
///
/// `R` is the error of waiting for the store.
#[derive(Debug, thiserror::Error)]
pub enum Error<R: std::error::Error + 'static> {
    /// The store can never become ready, so nothing can be reconciled. The output ends.
    #[error("the store of the controller never became ready: {0}")]
    Readiness(#[source] R),
    /// Settings of the [`Config`](super::Config) contradict each other, so nothing was reconciled. The output ends.
    #[error("the configuration of the controller is invalid: {problem}")]
    InvalidConfig {
        /// The setting, and what was expected.
        problem: &'static str,
    },
    /// The reconciler of this object, or the error policy, panicked. The object is retried as after
    /// [`Action::retry`](super::Action::retry).
    #[error("the reconciler of {object} panicked: {message}")]
    Panicked {
        /// The object that was reconciled.
        object: Box<ObjectRef<DynamicObject>>,
        /// The message of the panic.
        message: String,
    },
    /// The reconciler of this object exceeded [`Config::timeout`](super::Config::timeout). The object is retried as after
    /// [`Action::retry`](super::Action::retry).
    #[error("the reconciler of {object} timed out after {limit:?} and was cancelled")]
    TimedOut {
        /// The object that was reconciled.
        object: Box<ObjectRef<DynamicObject>>,
        /// The timeout.
        limit: Duration,
    },
    /// The reconcile of this object was cancelled, because another replica is to reconcile it: see
    /// [`Assigner::assign_by`](super::Assigner::assign_by).
    #[error(
        "the reconcile of {object} was cancelled, because the object is not assigned to this replica any more"
    )]
    Revoked {
        /// The object that was reconciled.
        object: Box<ObjectRef<DynamicObject>>,
    },
    /// The first lists of the controller's watches are not complete after
    /// [`Config::initial_sync_timeout`](super::Config::initial_sync_timeout), and
    /// [`Config::fail_without_initial_sync`](super::Config::fail_without_initial_sync) is set. The output ends.
    #[error("the initial sync is not complete after {waited:?}: waiting for {waiting}")]
    SyncTimedOut {
        /// The time since the start.
        waited: Duration,
        /// Kind, scope and last error of each list that is missing.
        waiting: String,
    },
    /// The object cannot be decoded, and was not reconciled. Only a compact cache decodes objects when they are read; the errors of other
    /// caches come from their watches. The next change of the object is another attempt.
    #[error("{object} cannot be decoded: {error}")]
    Undecodable {
        /// The object that was to be reconciled.
        object: Box<ObjectRef<DynamicObject>>,
        /// The field, and what was expected.
        error: Box<str>,
    },
    /// A callback panicked when it was called with this object: a mapper, with a related object, an index function or a predicate.
    ///
    /// After a panic of a mapper, the objects that it returned for the previous state are reconciled. After a panic of an
    /// index function, lookups by that index do not find the object. After a panic of a predicate, the change passes.
    #[error("the {callback} panicked for {object}: {message}")]
    CallbackPanicked {
        /// The kind of callback: `mapper`, `index` or `predicate`.
        callback: &'static str,
        /// The object that the callback was called with.
        object: Box<ObjectRef<DynamicObject>>,
        /// The message of the panic.
        message: String,
    },
    /// A stream of the program, or a watch, panicked. It is not polled again, so its changes cause no reconciles any more; the controller
    /// goes on with its other sources, and [`Monitor::progress`](super::Monitor::progress) fails from now on, so that a liveness probe has
    /// the process restarted.
    #[error("{name} panicked and causes no reconciles any more: {message}")]
    SourcePanicked {
        /// The source, in words, such as `the stream of reconcile_on`.
        name: String,
        /// The message of the panic.
        message: String,
    },
}

impl<R: std::error::Error + 'static> Error<R> {
    pub(super) fn from_interruption(
        interruption: Interruption,
        object: Box<ObjectRef<DynamicObject>>,
    ) -> Self {
        match interruption {
            Interruption::Panicked(message) => Self::Panicked { object, message },
            Interruption::TimedOut(limit) => Self::TimedOut { object, limit },
        }
    }
}
