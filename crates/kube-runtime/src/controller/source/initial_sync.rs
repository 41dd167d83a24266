//! Reports what a controller waits for at its start: the first lists that are missing, and gates.
//!
//! A watch that cannot list, because a permission is missing, say, is retried for ever. Its errors are in the output, but a controller
//! whose output is only counted would do nothing, or miss the changes of related objects, without a hint.

use super::trigger::Trigger;
use crate::{
    controller::{config::Config, reconcile::guard_call},
    delay::after,
    unwind::pending_after_panic,
    watcher::{self, CollectionEvent, kind_and_scope},
};
use futures::{FutureExt, Stream, StreamExt, future::BoxFuture, stream::BoxStream};
use parking_lot::Mutex;
use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Instant, Sleep, sleep_until};

/// What a controller waits for at its start: the first lists of its watches, and its gates. Clones are the same set.
#[derive(Clone, Default)]
pub(crate) struct InitialSync {
    watches: Arc<Mutex<Vec<WatchSync>>>,
    gates: Arc<Mutex<Vec<Gate>>>,
}

/// Something else that the first reconcile waits for.
#[derive(Clone)]
struct Gate {
    waiting_for: Arc<dyn Fn() -> String + Send + Sync>,
    is_open: Arc<AtomicBool>,
}

struct WatchSync {
    /// Such as `pods in namespace default`.
    collection: String,
    /// Or it is not known whether its kind is served, so that nobody waits for a list.
    is_listed: bool,
    last_error: Option<String>,
}

impl InitialSync {
    /// Notes the first list, and the errors before it, of a watch of the collection with this API path.
    pub(super) fn track<T: Send + 'static>(
        &self,
        path: &str,
        events: impl Stream<Item = watcher::ErasedResult<CollectionEvent<T>>> + Send + 'static,
    ) -> BoxStream<'static, watcher::ErasedResult<CollectionEvent<T>>> {
        let watch = {
            let mut watches = self.watches.lock();
            watches.push(WatchSync { collection: kind_and_scope(path), is_listed: false, last_error: None });
            watches.len() - 1
        };
        let (watches, mut done) = (Arc::clone(&self.watches), false);
        let events = events.inspect(move |item| {
            if done {
                return;
            }
            match item {
                Ok(CollectionEvent::Synced { .. } | CollectionEvent::Closed) => {
                    done = true;
                    let state = &mut watches.lock()[watch];
                    (state.is_listed, state.last_error) = (true, None);
                }
                Ok(_) => {}
                Err(error) => watches.lock()[watch].last_error = Some(error.to_string()),
            }
        });
        events.boxed()
    }

    /// A gate that opens when `ready` completes. The future completes then, too.
    pub(crate) fn gate(
        &self,
        waiting_for: impl Fn() -> String + Send + Sync + 'static,
        ready: impl Future<Output = ()> + Send + 'static,
    ) -> BoxFuture<'static, ()> {
        let is_open = Arc::new(AtomicBool::new(false));
        let consequence = "the future of reconcile_after panicked: the controller starts no reconcile";
        let ready = pending_after_panic(ready, consequence);
        self.gates.lock().push(Gate { waiting_for: Arc::new(waiting_for), is_open: Arc::clone(&is_open) });
        async move {
            ready.await;
            is_open.store(true, Ordering::Relaxed);
        }
        .boxed()
    }

    /// What is not there yet, and why; `None` if all is.
    fn waiting(&self, store_is_ready: bool) -> Option<String> {
        let watches = self.watches.lock();
        let mut waiting: Vec<String> =
            watches.iter().filter(|it| !it.is_listed).map(WatchSync::describe).collect();
        drop(watches);
        let closed = |gate: &&Gate| !gate.is_open.load(Ordering::Relaxed);
        let gates: Vec<Gate> = self.gates.lock().iter().filter(closed).cloned().collect();
        waiting.extend(gates.iter().map(Gate::describe)); // not under the lock: it is the code of users
        match (waiting.is_empty(), store_is_ready) {
            (false, _) => Some(waiting.join("; ")),
            (true, true) => None,
            (true, false) => Some("the store, which a custom stream fills".to_owned()),
        }
    }
}

impl Gate {
    fn describe(&self) -> String {
        guard_call(|| (self.waiting_for)()).unwrap_or_else(|panic| format!("{panic:?}"))
    }
}

impl WatchSync {
    fn describe(&self) -> String {
        let Self { collection, last_error, .. } = self;
        match last_error {
            Some(error) => format!("{collection} (last error: {error})"),
            None => format!("{collection} (no complete response yet)"),
        }
    }
}

/// The triggers of a controller, and the reports while its initial sync is not complete.
pub(super) struct SyncWatchdog<S, Ready> {
    triggers: S,
    sync: InitialSync,
    store_is_ready: Ready,
    limit: Duration,
    ends: bool,
    /// Since the first poll.
    started: Option<Instant>,
    /// `None` after the sync.
    timer: Option<Pin<Box<Sleep>>>,
    /// Whether the log says that the sync is not complete.
    warned: bool,
}

impl<S, Ready> SyncWatchdog<S, Ready> {
    pub(super) fn new(triggers: S, sync: InitialSync, store_is_ready: Ready, config: &Config) -> Self {
        let (limit, ends) = config.initial_sync();
        Self { triggers, sync, store_is_ready, limit, ends, started: None, timer: None, warned: false }
    }

    /// Reports when the timer fires. Returns the trigger that ends the controller.
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<Trigger>
    where
        Ready: Fn() -> bool,
    {
        let started = *self.started.get_or_insert_with(|| {
            let now = Instant::now();
            let timer = || Box::pin(sleep_until(after(now, self.limit)));
            self.timer = (!self.limit.is_zero()).then(timer);
            now
        });
        while let Some(timer) = &mut self.timer {
            std::task::ready!(timer.as_mut().poll(cx));
            self.timer = None;
            let waited = started.elapsed();
            let Some(waiting) = self.sync.waiting((self.store_is_ready)()) else {
                if self.warned {
                    tracing::info!(?waited, "the initial sync of the controller is complete");
                }
                break;
            };
            if self.ends {
                return Poll::Ready(Trigger::SyncTimedOut { waited, waiting });
            }
            tracing::warn!(
                ?waited,
                waiting_for = waiting,
                "the initial sync of the controller is not complete"
            );
            self.warned = true;
            self.timer = Some(Box::pin(sleep_until(after(Instant::now(), self.limit))));
        }
        Poll::Pending
    }
}

impl<S, Ready> Stream for SyncWatchdog<S, Ready>
where
    S: Stream<Item = watcher::ErasedResult<Trigger>> + Unpin,
    Ready: Fn() -> bool + Unpin,
{
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Poll::Ready(trigger) = self.poll_timer(cx) {
            return Poll::Ready(Some(Ok(trigger)));
        }
        self.triggers.poll_next_unpin(cx)
    }
}
