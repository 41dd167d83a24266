//! Polling a scheduler without taking every message that is due.

use super::{ScheduleRequest, Scheduler};
use futures::Stream;
use std::{
    hash::Hash,
    pin::Pin,
    task::{Context, Poll},
};

/// Takes requests in, gives nothing back: see [`Scheduler::hold`].
pub struct Hold<'a, T, R> {
    scheduler: Pin<&'a mut Scheduler<T, R>>,
}

impl<'a, T, R> Hold<'a, T, R> {
    pub(super) fn new(scheduler: Pin<&'a mut Scheduler<T, R>>) -> Self {
        Self { scheduler }
    }
}

impl<T, R> Stream for Hold<'_, T, R>
where
    T: Eq + Hash + Clone,
    R: Stream<Item = ScheduleRequest<T>>,
{
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let taken = self.scheduler.as_mut().poll_take(|_| false, cx);
        if self.scheduler.has_ended() { Poll::Ready(None) } else { taken }
    }
}

/// Gives back only what may go: see [`Scheduler::hold_unless`].
pub struct HoldUnless<'a, T, R, C> {
    /// Whether a message that is due may be taken now.
    may_go: C,
    scheduler: Pin<&'a mut Scheduler<T, R>>,
}

impl<'a, T, R, C> HoldUnless<'a, T, R, C> {
    pub(super) fn new(scheduler: Pin<&'a mut Scheduler<T, R>>, may_go: C) -> Self {
        Self { may_go, scheduler }
    }
}

impl<T, R, C> Stream for HoldUnless<'_, T, R, C>
where
    T: Eq + Hash + Clone,
    R: Stream<Item = ScheduleRequest<T>>,
    C: Fn(&T) -> bool + Unpin,
{
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Self { may_go, scheduler } = self.get_mut();
        scheduler.as_mut().poll_take(&*may_go, cx)
    }
}
