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
