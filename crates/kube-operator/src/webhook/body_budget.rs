//! How many bytes of request bodies are in memory at the same time.

use std::sync::Arc;

use tokio::sync::{Mutex, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

/// A permit stands for this many bytes, because a semaphore counts its permits in 32 bits.
const UNIT: usize = 1024;

/// The memory for bodies that all webhooks of a program share.
///
/// Bodies reserve what has arrived. One body at a time may exceed the budget: otherwise several that each have a part would wait for each
/// other.
#[derive(Clone, Debug)]
pub(super) struct BodyBudget {
    free: Arc<Semaphore>,
    total: u32,
    excess: Arc<Mutex<()>>,
}

/// What one body has reserved, until this is dropped.
#[derive(Debug)]
pub(super) struct Reservation {
    budget: BodyBudget,
    bytes: usize,
    permits: Option<OwnedSemaphorePermit>,
    excess: Option<OwnedMutexGuard<()>>,
}

impl BodyBudget {
    pub(super) fn new(bytes: usize) -> Self {
        let total = units(bytes).max(1);
        Self { free: Arc::new(Semaphore::new(total as usize)), total, excess: Arc::default() }
    }

    /// Nothing, to be grown.
    pub(super) fn reservation(&self) -> Reservation {
        Reservation { budget: self.clone(), bytes: 0, permits: None, excess: None }
    }
}

impl Reservation {
    /// Waits until this many more bytes are free, in the order of the calls, or until this body may exceed the budget.
    pub(super) async fn grow(&mut self, bytes: usize) {
        self.bytes = self.bytes.saturating_add(bytes);
        let held = self.permits.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let missing =
            units(self.bytes).min(self.budget.total).saturating_sub(u32::try_from(held).unwrap_or(u32::MAX));
        if missing == 0 || self.excess.is_some() {
            return;
        }
        tokio::select! {
            biased;
            more = Arc::clone(&self.budget.free).acquire_many_owned(missing) => {
                let more = more.expect("invariant: it is never closed");
                match &mut self.permits {
                    Some(permits) => permits.merge(more),
                    none => *none = Some(more),
                }
            }
            excess = Arc::clone(&self.budget.excess).lock_owned() => self.excess = Some(excess),
        }
    }
}

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX).min(u32::MAX >> 3)
}

#[cfg(test)]
#[path = "body_budget_tests.rs"]
mod tests;
