//! Changing objects on their way.

use crate::watcher::{Error, Event};
use futures::Stream;
use pin_project_lite::pin_project;
use std::{
    pin::Pin,
    task::{Context, Poll},
};

pin_project! {
    /// Events whose objects were changed in place. Made by [`modify`](super::WatchStreamExt::modify).
    #[must_use = "streams do nothing unless polled"]
    pub struct EventModify<St, F> {
        #[pin]
        stream: St,
        change: F,
    }
}

impl<St, F> EventModify<St, F> {
    pub(super) fn new(stream: St, change: F) -> Self {
        Self { stream, change }
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
        let change = this.change;
        this.stream.poll_next(cx).map(|item| item.map(|event| event.map(|event| event.modify(change))))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.stream.size_hint()
    }
}
