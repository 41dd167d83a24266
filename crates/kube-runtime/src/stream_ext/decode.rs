//! The adapter [`EventDecode`], which turns events into objects.

use crate::watcher::{Error, Event};
use futures::{Stream, ready};
use pin_project_lite::pin_project;
use std::{
    pin::Pin,
    task::{Context, Poll},
};

pin_project! {
    /// The objects of a stream of events.
    ///
    /// Returned by [`applied_objects`](super::WatchStreamExt::applied_objects) and
    /// [`touched_objects`](super::WatchStreamExt::touched_objects).
    #[must_use = "streams do nothing unless polled"]
    pub struct EventDecode<St> {
        #[pin]
        stream: St,
        deletions: bool,
    }
}

impl<St> EventDecode<St> {
    pub(super) fn applied(stream: St) -> Self {
        Self { stream, deletions: false }
    }

    pub(super) fn touched(stream: St) -> Self {
        Self { stream, deletions: true }
    }
}

impl<St, K> Stream for EventDecode<St>
where
    St: Stream<Item = Result<Event<K>, Error>>,
{
    type Item = Result<K, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        loop {
            let object = match ready!(this.stream.as_mut().poll_next(cx)) {
                None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                Some(Ok(event)) if *this.deletions => event.into_touched(),
                Some(Ok(event)) => event.into_applied(),
            };
            if let Some(object) = object {
                return Poll::Ready(Some(Ok(object)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{StreamExt, executor::block_on, stream};

    fn events() -> impl Stream<Item = Result<Event<u8>, Error>> {
        stream::iter(
            [Event::Init, Event::InitApply(1), Event::InitDone, Event::Apply(2), Event::Delete(3)].map(Ok),
        )
    }

    fn objects(decoded: impl Stream<Item = Result<u8, Error>>) -> Vec<u8> {
        block_on(decoded.map(|object| object.unwrap()).collect())
    }

    #[test]
    fn applied_objects_skip_deletions_and_touched_objects_include_them() {
        assert_eq!(objects(EventDecode::applied(events())), [1, 2]);
        assert_eq!(objects(EventDecode::touched(events())), [1, 2, 3]);
    }

    #[test]
    fn errors_are_passed_on() {
        let failing = stream::iter([Err::<Event<u8>, _>(Error::NoResourceVersion), Ok(Event::Apply(1))]);
        let items: Vec<_> = block_on(EventDecode::applied(failing).collect());
        assert!(matches!(items[..], [Err(Error::NoResourceVersion), Ok(1)]));
    }
}
