//! The guard around a source: its panics as triggers.

use super::trigger::{SourcePanic, Trigger};
use crate::unwind::catch_panic;
use futures::{Stream, StreamExt};
use std::{
    pin::Pin,
    task::{Context, Poll},
};

/// The triggers of a source, which runs user code: the streams of a program, and the layers of its clients.
///
/// What has panicked is not polled again, but kept: it may own the writer of the store.
pub(super) struct GuardedSource<S> {
    name: String,
    /// `Some` until it is dropped.
    triggers: Option<S>,
    panicked: bool,
}

impl<S> GuardedSource<S> {
    /// `name` is for people, such as `the stream of ConfigMap objects`.
    pub(super) fn new(name: impl Into<String>, triggers: S) -> Self {
        Self { name: name.into(), triggers: Some(triggers), panicked: false }
    }
}

impl<S, E> Stream for GuardedSource<S>
where
    S: Stream<Item = Result<Trigger, E>> + Unpin,
{
    type Item = S::Item;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        let this = self.get_mut();
        let Some(triggers) = this.triggers.as_mut().filter(|_| !this.panicked) else { return Poll::Pending };
        catch_panic(|| triggers.poll_next_unpin(cx)).unwrap_or_else(|message| {
            this.panicked = true;
            Poll::Ready(Some(Ok(Trigger::SourcePanicked(SourcePanic { source: this.name.clone(), message }))))
        })
    }
}

impl<S> Drop for GuardedSource<S> {
    fn drop(&mut self) {
        if let Err(message) = catch_panic(|| drop(self.triggers.take())) {
            tracing::error!(
                source = self.name,
                message,
                "a source of a controller panicked when it was dropped"
            );
        }
    }
}

impl<S: Unpin> Unpin for GuardedSource<S> {}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{FutureExt, stream};
    use std::convert::Infallible;

    struct PanicsOnDrop;

    impl Drop for PanicsOnDrop {
        fn drop(&mut self) {
            panic!("no end");
        }
    }

    #[test]
    fn a_source_that_panics_is_silent_from_then_on() {
        let mut left = 2;
        let owned = PanicsOnDrop;
        let triggers = stream::poll_fn(move |_| {
            let _owned = &owned;
            left -= 1;
            assert!(left > 0, "nothing left");
            Poll::Ready(Some(Ok::<_, Infallible>(Trigger::All)))
        });
        let mut guarded = GuardedSource::new("the stream", triggers);
        assert!(matches!(guarded.next().now_or_never(), Some(Some(Ok(Trigger::All)))));
        let Some(Some(Ok(Trigger::SourcePanicked(panic)))) = guarded.next().now_or_never() else {
            panic!("expected the panic");
        };
        assert_eq!((&*panic.source, &*panic.message), ("the stream", "nothing left"));
        assert!(guarded.next().now_or_never().is_none());
        drop(guarded);
    }
}
