//! [`Places`]: how much of a run is done at the same time.

use tokio::sync::{Semaphore, SemaphorePermit};

/// How many objects are watched until they are gone.
const WAITS: usize = 64;

/// Places for the requests that write objects, and for watches. All objects of a wave have begun: one that waits for something else has no
/// place among the requests, so it holds up no other one, and a place is free as soon as its request is answered.
pub(super) struct Places {
    writes: Semaphore,
    waits: Semaphore,
}

impl Places {
    pub(super) fn new(writes: usize) -> Self {
        let (writes, waits) = (Semaphore::new(writes.min(Semaphore::MAX_PERMITS)), Semaphore::new(WAITS));
        Self { writes, waits }
    }

    /// A place for requests, in the order in which they are asked for.
    pub(super) async fn to_write(&self) -> SemaphorePermit<'_> {
        self.writes.acquire().await.expect("invariant: the semaphore is never closed")
    }

    /// A place for a watch.
    pub(super) async fn to_wait(&self) -> SemaphorePermit<'_> {
        self.waits.acquire().await.expect("invariant: the semaphore is never closed")
    }
}
