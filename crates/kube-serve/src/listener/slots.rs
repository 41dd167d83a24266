//! How many connections are open, and how long one may take to its first request.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tower_service::Service;

/// Connections without a request so far, oldest first.
type Silent = Arc<Mutex<BTreeMap<u64, CancellationToken>>>;

/// The places for connections of a listener.
pub(super) struct Slots {
    free: Arc<Semaphore>,
    silent: Silent,
    next: u64,
    first_request: Duration,
}

impl Slots {
    pub(super) fn new(connections: usize, first_request: Duration) -> Self {
        let free = Arc::new(Semaphore::new(connections.min(Semaphore::MAX_PERMITS)));
        Self { free, silent: Silent::default(), next: 0, first_request }
    }

    /// Waits for a place. If all are taken, the connection that has been silent for longest gives up its own.
    pub(super) async fn take(&mut self) -> Slot {
        if self.free.available_permits() == 0
            && let Some((_, oldest)) = self.silent.lock().pop_first()
        {
            oldest.cancel();
        }
        let permit = Arc::clone(&self.free).acquire_owned().await.expect("invariant: it is never closed");
        let (id, evicted) = (self.next, CancellationToken::new());
        self.next += 1;
        self.silent.lock().insert(id, evicted.clone());
        let (silent, limit) = (self.silent.clone(), self.first_request);
        Slot {
            _permit: permit,
            place: Arc::new(Place { id, silent, requested: AtomicBool::new(false) }),
            evicted,
            limit,
        }
    }
}

/// The place of one connection, until it is dropped.
pub(super) struct Slot {
    _permit: OwnedSemaphorePermit,
    place: Arc<Place>,
    evicted: CancellationToken,
    limit: Duration,
}

struct Place {
    id: u64,
    silent: Silent,
    requested: AtomicBool,
}

impl Slot {
    /// Ready when the connection should be closed, because it has made no request in time or others need its place.
    pub(super) async fn silent(&self) {
        tokio::select! {
            () = self.evicted.cancelled() => {}
            () = tokio::time::sleep(self.limit) => {
                if self.place.silent.lock().remove(&self.place.id).is_none() {
                    std::future::pending::<()>().await;
                }
            }
        }
    }

    /// A service that notices the first request.
    pub(super) fn notice<S>(&self, service: S) -> Noticed<S> {
        Noticed { service, place: Arc::clone(&self.place) }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.place.silent.lock().remove(&self.place.id);
    }
}

/// Notices the first request of a connection.
#[derive(Clone)]
pub(super) struct Noticed<S> {
    service: S,
    place: Arc<Place>,
}

impl<S, R> Service<R> for Noticed<S>
where
    S: Service<R>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> Self::Future {
        if !self.place.requested.swap(true, Ordering::Relaxed) {
            self.place.silent.lock().remove(&self.place.id);
        }
        self.service.call(request)
    }
}
