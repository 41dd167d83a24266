//! How many bytes of request bodies are in memory at the same time.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A permit stands for this many bytes, because a semaphore counts its permits in 32 bits.
const UNIT: usize = 1024;

/// The memory for bodies that all webhooks of a program share.
#[derive(Clone, Debug)]
pub(super) struct BodyBudget {
    free: Arc<Semaphore>,
    total: u32,
}

impl BodyBudget {
    pub(super) fn new(bytes: usize) -> Self {
        let total = units(bytes).max(1);
        Self { free: Arc::new(Semaphore::new(total as usize)), total }
    }

    /// Waits until this many bytes are free, in the order of the calls. A body that is larger than the budget needs all of it.
    pub(super) async fn reserve(&self, bytes: usize) -> OwnedSemaphorePermit {
        let permits = units(bytes).min(self.total);
        Arc::clone(&self.free).acquire_many_owned(permits).await.expect("invariant: it is never closed")
    }
}

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX).min(u32::MAX >> 3)
}
