//! The waits of sources after failures: each source waits alone, by its own backoff or by one that all share.

use crate::{
    backoff::{Backoff, DefaultBackoff, RepeatLast},
    stream_ext::StreamBackoff,
    watcher::{self, RetryBackoff},
};
use futures::{Stream, StreamExt, stream::BoxStream};
use parking_lot::Mutex;
use std::{sync::Arc, time::Duration};

/// The backoff of failing sources.
#[derive(Clone)]
pub(super) enum SourceBackoff {
    /// A [`DefaultBackoff`] per source.
    PerSource,
    /// One configured backoff for all sources. Only a failing source waits.
    Shared(SharedSequence),
}

/// The delays that all sources share, including the last one, which repeats after the end.
type SharedSequence = Arc<Mutex<RepeatLast<Box<dyn Backoff>>>>;

impl SourceBackoff {
    /// One for all sources.
    pub(super) fn shared(backoff: impl Backoff + 'static) -> Self {
        Self::Shared(Arc::new(Mutex::new(RepeatLast::new(Box::new(backoff)))))
    }

    /// For a watch that the controller makes, which waits by itself.
    pub(super) fn for_watch(&self) -> RetryBackoff {
        match self {
            Self::PerSource => RetryBackoff::with_default(),
            Self::Shared(backoff) => RetryBackoff::at_least(SharedBackoff::new(backoff)),
        }
    }

    /// Adds the backoff to a custom stream: a delay after each error that is not about a single object.
    pub(super) fn apply<T: 'static>(
        &self,
        stream: impl Stream<Item = watcher::ErasedResult<T>> + Send + 'static,
    ) -> BoxStream<'static, watcher::ErasedResult<T>> {
        let stream = stream.map(|item| match item {
            Err(error) if error.get().is_about_objects() => Ok(Err(error)),
            item => item.map(Ok),
        });
        match self {
            Self::PerSource => {
                StreamBackoff::new(stream, DefaultBackoff::default()).map(Result::flatten).boxed()
            }
            Self::Shared(backoff) => {
                StreamBackoff::new(stream, SharedBackoff::new(backoff)).map(Result::flatten).boxed()
            }
        }
    }
}

/// The handle of one source to the shared delays.
struct SharedBackoff {
    sequence: SharedSequence,
    /// Whether this source has failed since it last worked. Only then does its success reset the shared delays.
    failed: bool,
}

impl SharedBackoff {
    fn new(sequence: &SharedSequence) -> Self {
        Self { sequence: Arc::clone(sequence), failed: false }
    }
}

impl Iterator for SharedBackoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.failed = true;
        Some(self.sequence.lock().next())
    }
}

impl Backoff for SharedBackoff {
    fn reset(&mut self) {
        if std::mem::take(&mut self.failed) {
            self.sequence.lock().reset();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        PredicateConfig, WatchStreamExt,
        backoff::{ExponentialBackoff, unlimited},
    };
    use futures::{TryStreamExt, stream};
    use k8s_openapi::api::core::v1::ConfigMap;
    use tokio::time::Instant;

    /// A shared backoff of two delays: 1 s and 2 s.
    fn shared() -> SourceBackoff {
        let two = unlimited(Duration::from_secs(1), Duration::from_secs(60)).with_max_times(2);
        SourceBackoff::shared(ExponentialBackoff::from(two))
    }

    fn down() -> watcher::ErasedResult<u32> {
        Err(watcher::Error::NoResourceVersion.into())
    }

    /// When the items arrive, in seconds from now.
    async fn times(items: impl Stream<Item = watcher::ErasedResult<u32>>) -> Vec<u64> {
        let start = Instant::now();
        items.map(|_| start.elapsed().as_secs()).collect().await
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_delay_of_a_shared_backoff_repeats_for_every_source() {
        let backoff = shared();
        let failing = || backoff.apply(stream::iter((0..4).map(|_| down())));
        assert_eq!(times(failing()).await, [0, 1, 3, 5]);
        assert_eq!(times(failing()).await, [0, 2, 4, 6], "the other source waits for the same delay");
    }

    #[tokio::test(start_paused = true)]
    async fn a_working_source_does_not_reset_the_shared_backoff_of_a_failing_one() {
        let backoff = shared();
        let mut working = backoff.apply(stream::repeat_with(|| Ok(1)));
        let mut failing = backoff.apply(stream::iter([down(), down(), down(), Ok(1), down(), down()]));
        let (start, mut seconds) = (Instant::now(), Vec::new());
        while failing.next().await.is_some() {
            seconds.push(start.elapsed().as_secs());
            working.next().await;
        }
        assert_eq!(seconds, [0, 1, 3, 5, 5, 6], "only its own success resets it");
    }

    #[tokio::test(start_paused = true)]
    async fn errors_about_single_objects_cause_no_delay() {
        let objects = stream::iter((0..100).map(|_| Ok(ConfigMap::default())));
        let panics = |_: &ConfigMap| -> Option<u64> { panic!("cannot read it") };
        let start = Instant::now();
        let objects = objects.predicate_filter(panics, PredicateConfig::default());
        let items = SourceBackoff::PerSource.apply(objects.map_err(watcher::ErasedError::from));
        assert_eq!((items.count().await, start.elapsed()), (200, Duration::ZERO));
    }
}
