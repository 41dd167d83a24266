//! The phases in the life of one cluster.

use tokio::time::Instant;

/// Where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// For a place.
    Waiting,
    /// `place_until`: it has a place until it answers, or until then.
    Connecting {
        place_until: Option<Instant>,
    },
    /// For a place, with an answer: the one that it had is that of another.
    Answered,
    BackingOff {
        until: Instant,
    },
    /// Until another announcement: its cluster is that of another name.
    Stuck,
    /// `place_until`: it has a place until its first lists are complete, or until then.
    Running {
        place_until: Option<Instant>,
        synced: bool,
    },
    /// Its controllers stop. `then`: what follows.
    Stopping {
        until: Instant,
        then: Then,
    },
    /// The program cleans up on a cluster that was removed. `then`: what follows.
    CleaningUp {
        then: Afterwards,
    },
    Left,
}

impl Phase {
    /// When something is due.
    pub(super) fn next_timer(self) -> Option<Instant> {
        match self {
            Self::BackingOff { until } | Self::Stopping { until, .. } => Some(until),
            Self::Connecting { place_until } | Self::Running { place_until, .. } => place_until,
            Self::Waiting | Self::Answered | Self::Stuck | Self::CleaningUp { .. } | Self::Left => None,
        }
    }

    /// Whether the cluster was removed, and has not left yet. It may have been announced again.
    pub(super) fn is_leaving(self) -> bool {
        match self {
            Self::CleaningUp { .. } | Self::Left => true,
            Self::Stopping { then, .. } => !matches!(then, Then::Retry | Then::Stick),
            _ => false,
        }
    }
}

/// What follows the end of the controllers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    Leave,
    /// It was announced again while it left.
    StartAnew,
    /// So it was, at another address.
    CleanUpAndStartAnew,
    /// A controller ended with an error.
    Retry,
    Stick,
}

/// What follows when the program has cleaned up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Afterwards {
    Leave,
    /// It was announced again: what has not begun does not begin.
    StartAnew,
    /// So it was, at another address: only if that is another cluster, there is something to clean up.
    Replace,
}
