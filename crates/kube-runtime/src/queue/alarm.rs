//! A timer that is set again and again.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::time::{Instant, Sleep, sleep_until};

/// Wakes the task that polls it at the time it was last set to.
#[derive(Debug, Default)]
pub(crate) struct Alarm(Option<Pin<Box<Sleep>>>);

impl Alarm {
    /// Ready when `due` has come; never, if there is no such time.
    pub(crate) fn poll_at(&mut self, due: Option<Instant>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(due) = due else { return Poll::Pending };
        let sleep = self.0.get_or_insert_with(|| Box::pin(sleep_until(due)));
        if sleep.deadline() != due {
            sleep.as_mut().reset(due);
        }
        ready!(sleep.as_mut().poll(cx));
        Poll::Ready(())
    }
}
