//! The adapter [`StreamBackoff`], which waits after each error of a stream.

use crate::{
    backoff::{Backoff, RepeatLast},
    watcher::WatchHealth,
};
use futures::{Stream, TryStream, ready};
use pin_project_lite::pin_project;
use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};
use tokio::time::{Sleep, sleep};

pin_project! {
    /// A stream that is not polled for a while after each error.
    ///
    /// The error is returned at once. The inner stream is polled again only after the next wait of the backoff, which is reset by
    /// each item that is not an error; behind a [`watcher`](fn@crate::watcher), by a change or a watch of 5 s, but not by a list that
    /// follows a failure. A backoff that ends does not end the stream: its last wait repeats.
    ///
    /// Returned by [`backoff`](super::WatchStreamExt::backoff).
    #[must_use = "streams do nothing unless polled"]
    pub struct StreamBackoff<S, B> {
        #[pin]
        stream: S,
        backoff: RepeatLast<B>,
        #[pin]
        state: State,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State {
        Polling,
        Waiting { #[pin] sleep: Sleep },
    }
}

impl<S: TryStream, B: Backoff> StreamBackoff<S, B> {
    /// Waits by `backoff` after each error of `stream`.
    pub fn new(stream: S, backoff: B) -> Self {
        Self { stream, backoff: RepeatLast::new(backoff), state: State::Polling }
    }
}

impl<S: TryStream, B: Backoff> Stream for StreamBackoff<S, B> {
    type Item = Result<S::Ok, S::Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        match this.state.as_mut().project() {
            StateProjection::Polling => {}
            StateProjection::Waiting { sleep } => {
                ready!(sleep.poll(cx));
                this.state.set(State::Polling);
            }
        }
        let (polled, health) = WatchHealth::observe(|| this.stream.try_poll_next(cx));
        if health.proven {
            this.backoff.reset();
        }
        let item = ready!(polled);
        match &item {
            Some(Ok(_)) if health.only_listed => {}
            Some(Ok(_)) => this.backoff.reset(),
            Some(Err(_)) => this.state.set(State::Waiting { sleep: sleep(this.backoff.next()) }),
            None => {}
        }
        Poll::Ready(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backoff::{ExponentialBackoff, unlimited};
    use futures::{StreamExt, stream};
    use std::time::Duration;
    use tokio::time::Instant;

    fn seconds() -> backon::ExponentialBuilder {
        unlimited(Duration::from_secs(1), Duration::from_secs(60))
    }

    #[tokio::test(start_paused = true)]
    async fn waits_grow_with_each_error_and_are_reset_by_an_item() {
        let items = stream::iter([Err("a"), Err("b"), Ok(1), Err("c"), Ok(2)]);
        let start = Instant::now();
        let timeline: Vec<_> = StreamBackoff::new(items, ExponentialBackoff::from(seconds()))
            .map(|item| (start.elapsed().as_secs(), item))
            .collect()
            .await;
        assert_eq!(timeline, [(0, Err("a")), (1, Err("b")), (3, Ok(1)), (3, Err("c")), (4, Ok(2))]);
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_wait_of_a_backoff_that_ends_repeats() {
        let items = stream::repeat(Err::<(), _>("down")).take(5);
        let two = ExponentialBackoff::from(seconds().with_max_times(2));
        let start = Instant::now();
        let times: Vec<_> = StreamBackoff::new(items, two).map(|_| start.elapsed().as_secs()).collect().await;
        assert_eq!(times, [0, 1, 3, 5, 7]);
    }
}
