//! A stream that emits each message once, when it is due.
//!
//! The public form of the queue behind a [`Controller`](crate::Controller).

use crate::{
    delay::{MAX_DELAY, after},
    queue::{Priority, Queue},
};
use futures::Stream;
use pin_project_lite::pin_project;
use std::{
    hash::Hash,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::time::{Instant, Sleep, sleep_until};

/// The maximum of requests read per poll, so that endless requests cannot starve the messages.
const MAX_REQUESTS_PER_POLL: usize = 256;

/// Asks a [`Scheduler`] to emit `message` at `run_at`.
#[derive(Debug)]
pub struct ScheduleRequest<T> {
    /// What to emit. Equal messages are one message.
    pub message: T,
    /// When to emit it; a time in the past means at once.
    pub run_at: Instant,
}

/// Emits each message when it is due.
///
/// Equal messages that wait are merged into one, due at the earliest of their times. The stream ends when `requests` has
/// ended and no message waits.
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

/// Like [`scheduler`], but emits no message earlier than `debounce` after its first request.
///
/// Further requests for it within that time are merged into it, so a burst of requests becomes one message, `debounce`
/// after the first of them.
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
    Scheduler { requests, requests_ended: false, queue: Queue::new(0), timer: Timer::default(), debounce }
}

pin_project! {
    /// The stream made by [`scheduler`].
    ///
    /// To hold some messages back for a while, poll it through [`hold`](Self::hold) or
    /// [`hold_unless`](Self::hold_unless).
    pub struct Scheduler<T, R> {
        #[pin]
        requests: R,
        requests_ended: bool,
        queue: Queue<T, T>,
        timer: Timer,
        debounce: Duration,
    }
}

impl<T, R> Scheduler<T, R>
where
    T: Eq + Hash + Clone,
    R: Stream<Item = ScheduleRequest<T>>,
{
    /// A stream that reads requests and holds every message back, to be emitted once the scheduler is polled otherwise.
    ///
    /// It ends when the requests have ended.
    #[must_use]
    pub fn hold(self: Pin<&mut Self>) -> Hold<'_, T, R> {
        Hold { scheduler: self }
    }

    /// A stream that emits only messages for which `can_take_message` holds. The others keep their positions.
    ///
    /// # Cost
    ///
    /// Each poll calls `can_take_message` for every message that is due and held back.
    pub fn hold_unless<C: Fn(&T) -> bool>(
        self: Pin<&mut Self>,
        can_take_message: C,
    ) -> HoldUnless<'_, T, R, C> {
        HoldUnless { can_take_message, scheduler: self }
    }

    /// Reads requests, then looks for a message that is due and for which `can_take_message` holds.
    fn poll_message(
        self: Pin<&mut Self>,
        can_take_message: impl Fn(&T) -> bool,
        cx: &mut Context<'_>,
    ) -> Poll<Option<T>> {
        let this = self.project();
        let mut requests = this.requests;
        for read in 0.. {
            if *this.requests_ended {
                break;
            }
            if read == MAX_REQUESTS_PER_POLL {
                cx.waker().wake_by_ref();
                break;
            }
            match requests.as_mut().poll_next(cx) {
                Poll::Pending => break,
                Poll::Ready(None) => *this.requests_ended = true,
                Poll::Ready(Some(ScheduleRequest { message, run_at })) => {
                    let now = Instant::now();
                    let due = run_at.max(after(now, *this.debounce)).min(after(now, MAX_DELAY));
                    this.queue.push(message.clone(), message, due, Priority::Change, now);
                }
            }
        }
        loop {
            let now = Instant::now();
            if let Some((key, message)) = this.queue.start_where(now, &can_take_message) {
                this.queue.finish(&key, now);
                return Poll::Ready(Some(message));
            }
            if this.timer.poll_until(this.queue.next_due(), cx).is_pending() {
                let ended = *this.requests_ended && this.queue.is_empty();
                return if ended { Poll::Ready(None) } else { Poll::Pending };
            }
        }
    }
}

impl<T, R> Stream for Scheduler<T, R>
where
    T: Eq + Hash + Clone,
    R: Stream<Item = ScheduleRequest<T>>,
{
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_message(|_| true, cx)
    }
}

/// Reads requests and emits no message: see [`Scheduler::hold`].
pub struct Hold<'a, T, R> {
    scheduler: Pin<&'a mut Scheduler<T, R>>,
}

impl<T, R> Stream for Hold<'_, T, R>
where
    T: Eq + Hash + Clone,
    R: Stream<Item = ScheduleRequest<T>>,
{
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let held = self.scheduler.as_mut().poll_message(|_| false, cx);
        if self.scheduler.requests_ended { Poll::Ready(None) } else { held }
    }
}

/// Emits only messages that a function accepts: see [`Scheduler::hold_unless`].
pub struct HoldUnless<'a, T, R, C> {
    can_take_message: C,
    scheduler: Pin<&'a mut Scheduler<T, R>>,
}

impl<T, R, C> Stream for HoldUnless<'_, T, R, C>
where
    T: Eq + Hash + Clone,
    R: Stream<Item = ScheduleRequest<T>>,
    C: Fn(&T) -> bool + Unpin,
{
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Self { can_take_message, scheduler } = self.get_mut();
        scheduler.as_mut().poll_message(&*can_take_message, cx)
    }
}

/// A resettable timer.
#[derive(Debug, Default)]
struct Timer(Option<Pin<Box<Sleep>>>);

impl Timer {
    /// Ready at `due`; never, if that is `None`. Wakes the task for the `due` of the last call only.
    fn poll_until(&mut self, due: Option<Instant>, cx: &mut Context<'_>) -> Poll<()> {
        let Some(due) = due else { return Poll::Pending };
        let sleep = self.0.get_or_insert_with(|| Box::pin(sleep_until(due)));
        if sleep.deadline() != due {
            sleep.as_mut().reset(due);
        }
        ready!(sleep.as_mut().poll(cx));
        Poll::Ready(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{FutureExt, SinkExt, StreamExt, channel::mpsc, stream};
    use std::pin::pin;
    use tokio::time::advance;

    fn request(message: &'static str, delay_ms: u64) -> ScheduleRequest<&'static str> {
        ScheduleRequest { message, run_at: Instant::now() + Duration::from_millis(delay_ms) }
    }

    #[tokio::test(start_paused = true)]
    async fn emits_each_message_once_when_it_is_due() {
        let start = Instant::now();
        let requests = stream::iter([
            request("late", 200),
            request("soon", 100),
            request("late", 300),
            request("now", 0),
        ]);
        let timeline: Vec<_> =
            scheduler(requests).map(|message| (start.elapsed().as_millis(), message)).collect().await;
        assert_eq!(timeline, [(0, "now"), (100, "soon"), (200, "late")]);
    }

    /// The guide's example: a debounce of one second, requests at 0.0, 0.3 and 1.2 s.
    #[tokio::test(start_paused = true)]
    async fn debounce_emits_a_burst_once_as_in_the_guide() {
        let start = Instant::now();
        let (mut requests, receiver) = mpsc::unbounded();
        let mut messages = debounced_scheduler(receiver, Duration::from_secs(1));
        requests.send(request("A", 0)).await.unwrap();
        assert_eq!(messages.next().now_or_never(), None, "not before a second has passed");
        advance(Duration::from_millis(300)).await;
        requests.send(request("A", 0)).await.unwrap();
        assert_eq!(messages.next().await, Some("A"));
        assert_eq!(start.elapsed().as_millis(), 1000, "the second request is merged into the first");
        advance(Duration::from_millis(200)).await;
        requests.send(request("A", 0)).await.unwrap();
        assert_eq!(messages.next().await, Some("A"));
        assert_eq!(start.elapsed().as_millis(), 2200, "a request after the message starts a new debounce");
        drop(requests);
        assert_eq!(messages.next().await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn debounce_does_not_extend_a_longer_delay() {
        let start = Instant::now();
        let requests = stream::iter([request("A", 5000)]);
        debounced_scheduler(requests, Duration::from_secs(1)).next().await;
        assert_eq!(start.elapsed().as_millis(), 5000);
    }

    #[tokio::test(start_paused = true)]
    async fn held_messages_are_merged_and_emitted_later() {
        let (mut requests, receiver) = mpsc::unbounded();
        let mut scheduler = pin!(scheduler(receiver));
        for message in ["a", "b", "a"] {
            requests.send(request(message, 0)).await.unwrap();
        }
        assert_eq!(scheduler.as_mut().hold().next().now_or_never(), None);
        assert_eq!(
            scheduler.as_mut().hold_unless(|message| *message != "a").next().now_or_never(),
            Some(Some("b"))
        );
        assert_eq!(scheduler.as_mut().hold_unless(|message| *message != "a").next().now_or_never(), None);
        assert_eq!(scheduler.next().now_or_never(), Some(Some("a")));
        assert_eq!(scheduler.next().now_or_never(), None, "two requests for a are one message");
        drop(requests);
        assert_eq!(scheduler.as_mut().hold().next().now_or_never(), Some(None));
    }

    #[tokio::test(start_paused = true)]
    async fn endless_requests_do_not_starve_messages() {
        let endless = stream::repeat_with(|| request("a", 0));
        assert_eq!(scheduler(endless).next().now_or_never(), Some(Some("a")));
    }
}
