//! The wait until stores and watches show what a reconcile wrote.

use super::{shows::Shows, watch_health::WatchHealth};
use crate::reflector::{
    ObjectKey,
    store::{Awaited, StoreWait},
};
use std::{
    collections::BTreeSet,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

/// Completes once everything that was added is shown. Dropping it removes the waits from stores and watches.
#[derive(Default)]
pub(crate) struct WritesShown {
    waits: Vec<Wait>,
}

/// What one store or watch has to show of one object.
pub(super) struct Step {
    pub(super) shows: Arc<dyn Shows>,
    pub(super) health: Arc<WatchHealth>,
    pub(super) plural: Box<str>,
    pub(super) key: ObjectKey,
    /// One after the other, the first at the end.
    pub(super) awaited: Vec<Awaited>,
}

struct Wait {
    current: StoreWait,
    /// `None` for the controller's own store.
    step: Option<Step>,
}

impl WritesShown {
    /// The wait of a store for what an action names.
    pub(crate) fn add_wait(&mut self, wait: StoreWait) {
        if !wait.is_over() {
            self.waits.push(Wait { current: wait, step: None });
        }
    }

    pub(super) fn add(&mut self, mut step: Step) {
        if let Some(current) = step.next() {
            self.waits.push(Wait { current, step: Some(step) });
        }
    }

    /// Whether everything was shown before it was polled.
    pub(crate) fn is_over(&self) -> bool {
        self.waits.is_empty()
    }

    /// Nobody waits any longer. Returns whether that is news: each store or watch is late once, until it brings anything.
    pub(crate) fn give_up(&self) -> bool {
        let was_late = |wait: &Wait| wait.step.as_ref().is_none_or(|step| step.health.was_late());
        self.waits.iter().filter(|wait| was_late(wait)).count() > 0
    }

    /// What is not shown yet, for people.
    pub(crate) fn missing(&self) -> String {
        let text = |wait: &Wait| match &wait.step {
            None => "the controller's store".to_owned(),
            Some(step) => step.shows.describe(&step.plural),
        };
        let missing: BTreeSet<String> = self.waits.iter().map(text).collect();
        missing.into_iter().collect::<Vec<_>>().join(", ")
    }
}

impl Step {
    /// The wait for the next state that is not shown yet.
    fn next(&mut self) -> Option<StoreWait> {
        while let Some(awaited) = self.awaited.pop() {
            let wait = self.shows.wait_until(self.key.clone(), awaited);
            if !wait.is_over() {
                return Some(wait);
            }
        }
        None
    }
}

impl Wait {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // An error: the store will not show it, because its writer is gone or its namespace is no longer watched.
        while Pin::new(&mut self.current).poll(cx).is_ready() {
            let Some(next) = self.step.as_mut().and_then(Step::next) else { return Poll::Ready(()) };
            self.current = next;
        }
        Poll::Pending
    }
}

impl Future for WritesShown {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.waits.retain_mut(|wait| wait.poll(cx).is_pending());
        if self.waits.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    }
}
