//! The reconciles that run.

use crate::{
    controller::workers::{OwnWorkers, WorkerLane},
    reflector::ObjectKey,
};
use futures::{StreamExt, stream::FuturesUnordered};
use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};
use tokio::time::Instant;
use tracing::Span;

/// How many reconciles are started before they are polled.
///
/// Many reconciles never wait. Without this limit, a controller without a limit of its own would allocate the futures of all due
/// objects before the first of them runs.
const MAX_UNPOLLED: usize = 64;

/// The running reconciles.
pub(crate) struct RunningReconciles<K, F> {
    futures: FuturesUnordered<RunningReconcile<K, F>>,
    /// An upper bound of those that were never polled.
    unpolled: usize,
    workers: OwnWorkers,
}

/// A poll of the running reconciles.
pub(crate) enum Polled<D> {
    Finished(D),
    /// None has finished. There is room for others, which there was not before.
    Room,
    /// None has finished.
    Waiting,
}

impl<K, F: Future + Unpin> RunningReconciles<K, F> {
    pub(crate) fn new() -> Self {
        Self::sharing(None)
    }

    /// Those of a lane of workers that controllers share.
    pub(crate) fn sharing(lane: Option<WorkerLane>) -> Self {
        Self { futures: FuturesUnordered::new(), unpolled: 0, workers: OwnWorkers::new(lane) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.futures.is_empty()
    }

    #[cfg(test)]
    pub(crate) fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.futures.iter().map(|reconcile| &*reconcile.key)
    }

    /// Whether another reconcile may start before these are polled, if there has to be a worker for it: whether it is there. `is_due` is
    /// asked only then, because one is taken for what is due alone.
    pub(crate) fn has_room_for(
        &mut self,
        may_start: bool,
        is_due: impl FnOnce() -> bool,
        now: Instant,
    ) -> bool {
        let has_room = may_start && self.has_room();
        if !self.workers.are_shared() {
            return has_room;
        }
        self.workers.keep(self.futures.len()); // not that of one that did not start
        match has_room && is_due() {
            true => self.workers.acquire(now),
            false => {
                self.workers.withdraw();
                false
            }
        }
    }

    fn has_room(&self) -> bool {
        self.unpolled < MAX_UNPOLLED
    }

    pub(crate) fn push(&mut self, reconcile: RunningReconcile<K, F>) {
        self.futures.push(reconcile);
        self.unpolled += 1;
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Polled<FinishedReconcile<K, F::Output>> {
        let finished = self.futures.poll_next_unpin(cx);
        self.workers.keep(self.futures.len());
        if let Poll::Ready(Some(finished)) = finished {
            self.unpolled = self.unpolled.saturating_sub(1);
            return Polled::Finished(finished);
        }
        let had_room = self.has_room() && self.workers.poll_granted(cx).is_pending();
        self.unpolled = 0;
        if had_room { Polled::Waiting } else { Polled::Room }
    }
}

/// A running reconcile, as a future.
pub(crate) struct RunningReconcile<K, F> {
    pub(crate) key: Arc<ObjectKey>,
    pub(crate) object: Arc<K>,
    pub(crate) span: Span,
    pub(crate) future: F,
}

/// A finished reconcile, with its output.
pub(crate) type FinishedReconcile<K, T> = (Arc<ObjectKey>, Arc<K>, Span, T);

impl<K, F: Future + Unpin> Future for RunningReconcile<K, F> {
    type Output = FinishedReconcile<K, F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let _entered = this.span.enter();
        let output = ready!(Pin::new(&mut this.future).poll(cx));
        Poll::Ready((Arc::clone(&this.key), Arc::clone(&this.object), this.span.clone(), output))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::{pending, ready};
    use std::future::poll_fn;

    fn reconcile<F>(future: F) -> RunningReconcile<(), F> {
        let key = ObjectKey { namespace: None, name: "a".into() };
        RunningReconcile { key: key.into(), object: Arc::new(()), span: Span::none(), future }
    }

    #[tokio::test]
    async fn reconciles_that_do_not_wait_finish_before_many_others_start() {
        let mut running = RunningReconciles::new();
        let (mut started, mut finished, mut most) = (0, 0, 0);
        while finished < 1_000 {
            while started < 1_000 && running.has_room() {
                running.push(reconcile(ready(())));
                started += 1;
            }
            most = most.max(started - finished);
            match poll_fn(|cx| Poll::Ready(running.poll(cx))).await {
                Polled::Finished(_) => finished += 1,
                Polled::Room | Polled::Waiting => panic!("one has finished"),
            }
        }
        assert_eq!(most, MAX_UNPOLLED);
    }

    #[tokio::test]
    async fn reconciles_that_wait_make_room_once_polled() {
        let mut running = RunningReconciles::new();
        for round in 1..=10 {
            while running.has_room() {
                running.push(reconcile(pending::<()>()));
            }
            assert_eq!(running.keys().count(), round * MAX_UNPOLLED);
            let polled = poll_fn(|cx| Poll::Ready(running.poll(cx))).await;
            assert!(matches!(polled, Polled::Room) && running.has_room());
        }
        assert!(matches!(poll_fn(|cx| Poll::Ready(running.poll(cx))).await, Polled::Waiting));
    }
}
