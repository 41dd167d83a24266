//! Gauges that change with time alone, such as the age of the last event: set every few seconds, and on request.

use super::Refresh;
use crate::capacity::release;
use futures::Stream;
use parking_lot::Mutex;
use pin_project_lite::pin_project;
use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::{Instant, Sleep, sleep_until};

pub(crate) const ENABLED: bool = true;

/// How often gauges are set while the controller is active.
const SHORTEST_PERIOD: Duration = Duration::from_secs(5);

/// While a controller is idle, the period is this part of the time since it was active: an error of 1/8 of a time.
const PERIODS_PER_IDLE_TIME: u32 = 8;

/// All that is running.
static REFRESHED: Mutex<Vec<Weak<dyn Refresh>>> = Mutex::new(Vec::new());

pub(crate) fn register<R: Refresh + 'static>(refreshed: &Arc<R>) {
    let weak: Weak<R> = Arc::downgrade(refreshed);
    REFRESHED.lock().push(weak);
}

/// The counterpart of [`register`]. A weak reference would keep the memory.
pub(crate) fn unregister<R: Refresh + 'static>(refreshed: &Arc<R>) {
    let ended = Arc::as_ptr(refreshed);
    let mut all = REFRESHED.lock();
    all.retain(|other| !std::ptr::addr_eq(other.as_ptr(), ended));
    release(&mut *all);
}

/// Sets the gauges of all that is running.
pub(crate) fn refresh_all() {
    let now = Instant::now();
    let all: Vec<_> = REFRESHED.lock().iter().filter_map(Weak::upgrade).collect();
    all.iter().for_each(|refreshed| refreshed.refresh(now));
}

/// Sets the gauges of `refreshed` from time to time while `stream` is polled.
pub(crate) fn ticking<S: Stream, R: Refresh>(
    stream: S,
    refreshed: Option<Arc<R>>,
) -> impl Stream<Item = S::Item> {
    Ticking { stream, refreshed, timer: None, active: Instant::now() }
}

pin_project! {
    struct Ticking<S, R> {
        #[pin]
        stream: S,
        refreshed: Option<Arc<R>>,
        // `None` before the first poll: only then there is a runtime.
        timer: Option<Pin<Box<Sleep>>>,
        // When the stream was polled last for another reason than the timer.
        active: Instant,
    }
}

impl<S: Stream, R: Refresh> Stream for Ticking<S, R> {
    type Item = S::Item;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        let this = self.project();
        if let Some(refreshed) = this.refreshed {
            let now = Instant::now();
            let timer = this.timer.get_or_insert_with(|| Box::pin(sleep_until(now + SHORTEST_PERIOD)));
            if timer.deadline() <= now {
                refreshed.refresh(now);
                let idle = now.saturating_duration_since(*this.active);
                timer.as_mut().reset(now + (idle / PERIODS_PER_IDLE_TIME).max(SHORTEST_PERIOD));
            } else {
                *this.active = now;
                if timer.deadline() > now + SHORTEST_PERIOD {
                    timer.as_mut().reset(now + SHORTEST_PERIOD);
                }
            }
            if timer.as_mut().poll(cx).is_ready() {
                cx.waker().wake_by_ref();
            }
        }
        this.stream.poll_next(cx)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.stream.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{StreamExt, stream};
    use tokio::time::{sleep, timeout};

    struct Times(Mutex<Vec<u64>>, Instant);

    impl Refresh for Times {
        fn refresh(&self, now: Instant) {
            self.0.lock().push((now - self.1).as_secs());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn gauges_are_set_every_few_seconds_and_more_seldom_while_idle() {
        let times = Arc::new(Times(Mutex::default(), Instant::now()));
        let items = stream::once(sleep(Duration::from_secs(12))).chain(stream::pending());
        let mut items = Box::pin(ticking(items, Some(Arc::clone(&times))));
        items.next().await;
        assert_eq!(times.0.lock().split_off(0), [5, 10]);
        let year = Duration::from_secs(365 * 24 * 3600);
        assert!(timeout(year, items.next()).await.is_err());
        let times = times.0.lock();
        assert!(
            times.len() < 150 && times.starts_with(&[15, 20, 25, 30, 35, 40, 45, 50, 55, 60]),
            "{times:?}"
        );
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] <= (pair[0] / 8).max(5)), "{times:?}");
    }

    #[test]
    fn what_was_dropped_is_not_refreshed() {
        let times = Arc::new(Times(Mutex::default(), Instant::now()));
        register(&times);
        refresh_all();
        refresh_all();
        assert_eq!(times.0.lock().len(), 2);
        let weak = Arc::downgrade(&times);
        drop(times);
        refresh_all();
        assert_eq!(weak.strong_count(), 0);
    }
}
