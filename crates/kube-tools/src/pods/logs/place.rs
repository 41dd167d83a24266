//! A place among the requests that are opened at the same time.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until};

/// A place, held for a limited time: a node answers a request for a log when there is a line, and a container may never print one.
#[derive(Debug)]
pub(super) struct Place {
    permit: Option<OwnedSemaphorePermit>,
    limit: Duration,
    until: Instant,
}

impl Place {
    /// Waits for a free place, and holds it for at most `limit` after the last data.
    pub(super) async fn take(places: &Arc<Semaphore>, limit: Duration) -> Self {
        // The semaphore is never closed.
        let permit = places.clone().acquire_owned().await.ok();
        Self { permit, limit, until: Instant::now() + limit }
    }

    /// The peer has sent something.
    pub(super) fn renew(&mut self) {
        self.until = Instant::now() + self.limit;
    }

    /// Gives the place up.
    pub(super) fn leave(&mut self) {
        self.permit = None;
    }

    /// Gives the place up when its time is over, and then returns. Never returns without a place. Cancel safe.
    pub(super) async fn expire(&mut self) {
        if self.permit.is_none() {
            std::future::pending::<()>().await;
        }
        sleep_until(self.until).await;
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_place_is_free_again_after_its_limit_whatever_its_holder_does() {
        let (places, limit) = (Arc::new(Semaphore::new(1)), Duration::from_secs(1));
        let mut first = Place::take(&places, limit).await;
        assert!(timeout(limit / 2, Place::take(&places, limit)).await.is_err());
        first.renew();
        assert!(timeout(limit / 2, first.expire()).await.is_err());
        timeout(limit, first.expire()).await.unwrap();
        let mut second = timeout(limit / 10, Place::take(&places, limit)).await.unwrap();
        assert!(timeout(limit * 10, first.expire()).await.is_err(), "it has no place any more");
        second.leave();
        assert_eq!(places.available_permits(), 1);
    }
}
