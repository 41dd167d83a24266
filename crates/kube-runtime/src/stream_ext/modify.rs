//! The adapter [`EventModify`], which changes the objects of events.

use crate::watcher::{Error, Event};
use futures::Stream;
use pin_project_lite::pin_project;
use std::{
    pin::Pin,
    task::{Context, Poll},
};

pin_project! {
    /// Events whose objects are changed in place. Returned by [`modify`](super::WatchStreamExt::modify).
    #[must_use = "streams do nothing unless polled"]
    pub struct EventModify<St, F> {
        #[pin]
        stream: St,
        f: F,
    }
}

impl<St, F> EventModify<St, F> {
    pub(super) fn new(stream: St, f: F) -> Self {
        Self { stream, f }
    }
}

impl<St, F, K> Stream for EventModify<St, F>
where
    St: Stream<Item = Result<Event<K>, Error>>,
    F: FnMut(&mut K),
{
    type Item = Result<Event<K>, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.project();
        let f = this.f;
        this.stream.poll_next(cx).map(|item| item.map(|event| event.map(|event| event.modify(f))))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.stream.size_hint()
    }
}
