//! The scheduler and its plain form as a stream.

use super::{Hold, HoldUnless, ScheduleRequest};
use crate::{
    delay::{MAX_DELAY, after},
    queue::{Alarm, Queue, Urgency},
};
use futures::Stream;
use pin_project_lite::pin_project;
use std::{
    hash::Hash,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::Instant;

/// How many requests are taken in before messages get their turn again.
const INTAKE: usize = 256;

/// Gives each message back at the time asked for.
///
/// Equal messages that wait are one; the earliest of their times counts. The stream ends when `requests` has ended
/// and nothing waits.
///
/// ```
/// use futures::{StreamExt, stream};
/// use kube_runtime::scheduler::{ScheduleRequest, scheduler};
/// use tokio::time::Instant;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let run_at = Instant::now();
/// let requests = ["a", "b", "a"].map(|message| ScheduleRequest { message, run_at });
/// let messages: Vec<_> = scheduler(stream::iter(requests)).collect().await;
/// assert_eq!(messages, ["a", "b"]);
/// # }
/// ```
pub fn scheduler<T: Eq + Hash + Clone, S: Stream<Item = ScheduleRequest<T>>>(requests: S) -> Scheduler<T, S> {
    debounced_scheduler(requests, Duration::ZERO)
}

/// Like [`scheduler`], giving no message back sooner than `debounce` after it was asked for.
///
/// What is asked for again in that time adds nothing, so a burst of requests becomes one message, `debounce` after
/// the first of them.
///
/// ```
/// use futures::{StreamExt, stream};
/// use kube_runtime::scheduler::{ScheduleRequest, debounced_scheduler};
/// use std::time::Duration;
/// use tokio::time::Instant;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let run_at = Instant::now();
/// let burst = ["a", "a", "a"].map(|message| ScheduleRequest { message, run_at });
/// let debounce = Duration::from_millis(20);
/// let messages: Vec<_> = debounced_scheduler(stream::iter(burst), debounce).collect().await;
/// assert_eq!(messages, ["a"]);
/// assert!(run_at.elapsed() >= debounce);
/// # }
/// ```
pub fn debounced_scheduler<T: Eq + Hash + Clone, S: Stream<Item = ScheduleRequest<T>>>(
    requests: S,
    debounce: Duration,
) -> Scheduler<T, S> {
    Scheduler { requests, requests_ended: false, queue: Queue::new(0), alarm: Alarm::default(), debounce }
}

pin_project! {
    /// A stream of messages, each at its time: see [`scheduler`].
    ///
    /// Where some messages must not come for the moment, poll it through [`hold`](Self::hold) or
    /// [`hold_unless`](Self::hold_unless).
    pub struct Scheduler<T, R> {
        #[pin]
        requests: R,
        requests_ended: bool,
        queue: Queue<T, T>,
        alarm: Alarm,
        debounce: Duration,
    }
}

impl<T, R> Scheduler<T, R>
where
    T: Eq + Hash + Clone,
    R: Stream<Item = ScheduleRequest<T>>,
{
    /// A stream that takes requests in and gives no message back: they wait for another way of polling.
    ///
    /// It ends when there will be no more requests.
    #[must_use]
    pub fn hold(self: Pin<&mut Self>) -> Hold<'_, T, R> {
        Hold::new(self)
    }

    /// A stream that gives back only messages for which `can_take_message` holds; the others stay first in line.
    ///
    /// # Cost
    ///
    /// Each poll asks about every message that is due and held.
    pub fn hold_unless<C: Fn(&T) -> bool>(
        self: Pin<&mut Self>,
        can_take_message: C,
    ) -> HoldUnless<'_, T, R, C> {
        HoldUnless::new(self, can_take_message)
    }

    /// Takes in what was asked for, then looks for a message that may go.
    pub(super) fn poll_take(
        self: Pin<&mut Self>,
        may_go: impl Fn(&T) -> bool,
        cx: &mut Context<'_>,
    ) -> Poll<Option<T>> {
        let this = self.project();
        let mut requests = this.requests;
        for turn in 0.. {
            if *this.requests_ended {
                break;
            }
            if turn == INTAKE {
                cx.waker().wake_by_ref();
                break;
            }
            match requests.as_mut().poll_next(cx) {
                Poll::Pending => break,
                Poll::Ready(None) => *this.requests_ended = true,
                Poll::Ready(Some(ScheduleRequest { message, run_at })) => {
                    let now = Instant::now();
                    let due = run_at.max(after(now, *this.debounce)).min(after(now, MAX_DELAY));
                    this.queue.push(message.clone(), message, due, Urgency::Change, now);
                }
            }
        }
        loop {
            let now = Instant::now();
            if let Some((key, message)) = this.queue.start_where(now, &may_go) {
                this.queue.finish(&key, now);
                return Poll::Ready(Some(message));
            }
            if this.alarm.poll_at(this.queue.next_due(), cx).is_pending() {
                let done = *this.requests_ended && this.queue.is_empty();
                return if done { Poll::Ready(None) } else { Poll::Pending };
            }
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.requests_ended
    }
}

impl<T, R> Stream for Scheduler<T, R>
where
    T: Eq + Hash + Clone,
    R: Stream<Item = ScheduleRequest<T>>,
{
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_take(|_| true, cx)
    }
}
