//! What the runner does, and the events that it waits for.

use crate::{
    controller::{
        observe::ControllerState,
        reconcile::{FinishedReconcile, Polled, RunningReconciles},
    },
    reflector::store::WriterDropped,
};
use futures::Stream;
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::Instant;

/// How long the first reconciles wait for the lists of related objects after the controller's own list is complete.
///
/// Without the wait most controllers would reconcile all objects twice at their start. Without its end, a related kind that
/// cannot be listed would block the controller.
pub(super) const RELATED_SYNC_TIMEOUT: Duration = Duration::from_secs(5);

/// What the runner does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The store is not ready yet: triggers are queued, no reconcile is started.
    SyncingPrimary,
    /// The store is ready, but the lists of related objects are not complete.
    SyncingRelated {
        until: Instant,
    },
    Running,
    /// Shutting down: only waits for running reconciles. Sources are still polled, because a running reconcile may wait for
    /// the store that they fill; their triggers are dropped.
    Draining,
}

impl Stage {
    /// Whether reconciles may start. The wait for related lists ends here.
    pub(super) fn may_start(&mut self, related_synced: bool, now: Instant) -> bool {
        if matches!(self, Self::SyncingRelated { until } if related_synced || *until <= now) {
            *self = Self::Running;
        }
        *self == Self::Running
    }

    /// What monitors show. `standby` is whether no reconcile can start because of the assignment.
    pub(super) fn state(self, standby: bool) -> ControllerState {
        match self {
            Self::SyncingPrimary | Self::SyncingRelated { .. } => ControllerState::Syncing,
            Self::Running if standby => ControllerState::Standby,
            Self::Running => ControllerState::Running,
            Self::Draining => ControllerState::Stopping,
        }
    }
}

/// An event that the runner waits for.
pub(super) enum RunnerEvent<T, D> {
    Shutdown,
    StoreReady(Result<(), WriterDropped>),
    Trigger(Option<T>),
    Finished(D),
    /// More reconciles may start.
    Room,
    /// An object is not held back any more.
    Released,
    AssignmentChanged,
    TimerFired,
}

pub(super) fn poll_trigger<T, D>(
    triggers: &mut Option<Pin<Box<impl Stream<Item = T>>>>,
    cx: &mut Context<'_>,
) -> Option<RunnerEvent<T, D>> {
    match triggers.as_mut()?.as_mut().poll_next(cx) {
        Poll::Ready(trigger) => Some(RunnerEvent::Trigger(trigger)),
        Poll::Pending => None,
    }
}

pub(super) fn poll_running<T, K, F: Future + Unpin>(
    running: &mut RunningReconciles<K, F>,
    cx: &mut Context<'_>,
) -> Option<RunnerEvent<T, FinishedReconcile<K, F::Output>>> {
    match running.poll(cx) {
        Polled::Finished(reconcile) => Some(RunnerEvent::Finished(reconcile)),
        Polled::Room => Some(RunnerEvent::Room),
        Polled::Waiting => None,
    }
}
