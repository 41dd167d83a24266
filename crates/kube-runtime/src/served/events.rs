//! The events of a watch that is open while its kind is served.

use super::{availability::Availability, kinds::ServedKind};
use crate::watcher::{CollectionEvent, ErasedResult};
use futures::{Stream, StreamExt, stream};
use std::{collections::VecDeque, pin::Pin};

/// What says whether the watch is open.
pub(crate) type ServedGate = ServedKind;

struct Gated<Open, S, T> {
    kind: ServedGate,
    open: Open,
    watch: Option<Pin<Box<S>>>,
    /// Events to emit first.
    first: VecDeque<CollectionEvent<T>>,
}

/// The events of `open`, which is called each time that the kind becomes served. While it is missing, its collection is empty: nothing
/// waits for a list that does not come, and what was in it is gone. So it is while the server has another form of the kind, which this
/// watch cannot see. While nothing is known, it is [closed](CollectionEvent::Closed): no list, and a store that was not filled is not
/// ready; the controller does not wait.
pub(crate) fn while_served<T, S>(
    kind: ServedGate,
    open: impl Fn() -> S + Send + 'static,
) -> impl Stream<Item = ErasedResult<CollectionEvent<T>>> + Send + 'static
where
    T: Send + 'static,
    S: Stream<Item = ErasedResult<CollectionEvent<T>>> + Send + 'static,
{
    let gated = Gated { kind, open, watch: None, first: VecDeque::new() };
    stream::unfold(gated, |mut gated| async move {
        let item = gated.next().await?;
        Some((item, gated))
    })
}

impl<Open, S, T> Gated<Open, S, T>
where
    Open: Fn() -> S,
    S: Stream<Item = ErasedResult<CollectionEvent<T>>>,
{
    async fn next(&mut self) -> Option<ErasedResult<CollectionEvent<T>>> {
        loop {
            if let Some(event) = self.first.pop_front() {
                return Some(Ok(event));
            }
            let availability = match &mut self.watch {
                None => self.kind.next().await,
                Some(watch) => tokio::select! {
                    biased; // the end of the kind before the errors that follow from it
                    availability = self.kind.next() => availability,
                    item = watch.next() => return item,
                },
            };
            let was_open = self.watch.take().is_some();
            match availability {
                Availability::Served(_) => self.watch = Some(Box::pin((self.open)())),
                Availability::Missing(_) | Availability::Mismatch(_) => self.empty(),
                Availability::Unknown(_) => self.first.push_back(CollectionEvent::Closed),
            }
            if was_open && self.watch.is_some() {
                self.empty(); // another version or scope: other objects
            }
        }
    }

    fn empty(&mut self) {
        let end = CollectionEvent::Synced { resource_version: String::new() };
        self.first.extend([CollectionEvent::Init, end]);
    }
}
