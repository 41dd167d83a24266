//! Finds out whether connections may have died without an error.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// A response that is dropped after a shorter silence says nothing about its connection.
const STALL: Duration = Duration::from_secs(5);

/// The health of all connections of a client.
///
/// The atomics guard no other data, so relaxed ordering suffices.
pub(super) struct Health {
    created: Instant,
    /// When data was last received on any connection: nanoseconds since `created`.
    last_received: AtomicU64,
    suspect: AtomicBool,
}

impl Health {
    pub(super) fn new() -> Self {
        Self { created: Instant::now(), last_received: AtomicU64::new(0), suspect: AtomicBool::new(false) }
    }

    /// Whether a request failed, or was dropped after [`STALL`] without data, while the other connections received nothing either.
    pub(super) fn is_suspect(&self) -> bool {
        self.suspect.load(Ordering::Relaxed)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.created.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// A request whose response is not complete.
pub(super) struct InFlight {
    /// `None` once the response is complete.
    health: Option<Arc<Health>>,
    /// When data was last received for it, or when it started.
    last_received: u64,
    failed: bool,
}

impl InFlight {
    /// Without `health`, the request says nothing about other connections.
    pub(super) fn new(health: Option<Arc<Health>>) -> Self {
        Self { last_received: health.as_ref().map_or(0, |health| health.now()), health, failed: false }
    }

    pub(super) fn received(&mut self) {
        if let Some(health) = &self.health {
            self.last_received = health.now();
            health.last_received.fetch_max(self.last_received, Ordering::Relaxed);
        }
    }

    pub(super) fn fail(&mut self) {
        self.failed = true;
    }

    pub(super) fn complete(&mut self) {
        self.health = None;
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let Some(health) = &self.health else { return };
        let silence = Duration::from_nanos(health.now().saturating_sub(self.last_received));
        let others_received = health.last_received.load(Ordering::Relaxed) > self.last_received;
        if (self.failed || silence >= STALL) && !others_received {
            health.suspect.store(true, Ordering::Relaxed);
        }
    }
}
