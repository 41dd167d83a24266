//! What users see of what a watcher knows.

use super::{CollectionEvent, Error, Event, Result, undecodable::UndecodableObject};
use futures::{Stream, StreamExt, ready};
use kube_core::Resource;
use pin_project_lite::pin_project;
use std::{
    collections::BTreeMap,
    pin::Pin,
    task::{Context, Poll},
};

pin_project! {
    /// The public events of a collection.
    ///
    /// Of an undecodable object only an error can tell. Those of a list become one error, ahead of [`Event::InitDone`], so
    /// that a consumer that keeps states can keep the last readable ones. An event can't tell which undecodable object was
    /// deleted, so the watcher behind this has to list again then.
    pub(super) struct Events<S> {
        #[pin]
        collection: S,
        undecodable: UndecodableInList,
    }
}

impl<S> Events<S> {
    pub(super) fn of(collection: S) -> Self {
        Self { collection, undecodable: UndecodableInList::default() }
    }
}

impl<K: Resource, S: Stream<Item = Result<CollectionEvent<K>>>> Stream for Events<S> {
    type Item = Result<Event<K>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        if std::mem::take(&mut this.undecodable.done) {
            return Poll::Ready(Some(Ok(Event::InitDone)));
        }
        loop {
            let Some(item) = ready!(this.collection.as_mut().poll_next(cx)) else { return Poll::Ready(None) };
            let item = item.and_then(|event| this.undecodable.project(event)).transpose();
            if item.is_some() {
                return Poll::Ready(item);
            }
        }
    }
}

/// What a watch of one object brings.
pub(crate) enum ObjectState<K> {
    /// Its state; `None` when it is not there.
    Known(Option<K>),
    /// The same as before: the watch works.
    Unchanged,
}

/// The states of the one object that a collection contains at most.
pub(super) fn states<K: Send>(
    collection: impl Stream<Item = Result<CollectionEvent<K>>> + Send,
) -> impl Stream<Item = Result<ObjectState<K>>> + Send {
    let mut listed = false;
    collection.map(move |item| item.and_then(|event| state(event, &mut listed)))
}

/// The undecodable objects of the list under way, by namespace and name.
#[derive(Default)]
struct UndecodableInList {
    listing: bool,
    /// Whether the list is complete but for its `InitDone`.
    done: bool,
    objects: BTreeMap<(Option<String>, String), UndecodableObject>,
}

impl UndecodableInList {
    fn project<K: Resource>(&mut self, event: CollectionEvent<K>) -> Result<Option<Event<K>>> {
        Ok(Some(match event {
            CollectionEvent::Init => {
                *self = Self { listing: true, ..Self::default() };
                Event::Init
            }
            CollectionEvent::InitApply(object) => {
                self.forget(&object);
                Event::InitApply(object)
            }
            CollectionEvent::Synced { .. } => {
                let objects: Vec<_> = std::mem::take(self).objects.into_values().collect();
                if !objects.is_empty() {
                    self.done = true;
                    return Err(Error::of_list(objects));
                }
                Event::InitDone
            }
            CollectionEvent::Apply(object) => Event::Apply(object),
            CollectionEvent::Delete(object) => {
                self.forget(&object);
                Event::Delete(object)
            }
            CollectionEvent::Progress { .. } => return Ok(None),
            CollectionEvent::Undecodable(object) if self.listing && !object.deleted => {
                self.objects.insert((object.namespace.clone(), object.name.clone()), object);
                return Ok(None);
            }
            CollectionEvent::Undecodable(object) => return Err(object.into()),
        }))
    }

    /// A later state of an object can be decoded, or is its end.
    fn forget<K: Resource>(&mut self, object: &K) {
        if !self.objects.is_empty() {
            let meta = object.meta();
            self.objects.remove(&(meta.namespace.clone(), meta.name.clone().unwrap_or_default()));
        }
    }
}

/// What an event says about an object of which there is at most one. `listed`: the list under way contains it.
fn state<K>(event: CollectionEvent<K>, listed: &mut bool) -> Result<ObjectState<K>> {
    Ok(match event {
        CollectionEvent::Init => {
            *listed = false;
            ObjectState::Unchanged
        }
        CollectionEvent::InitApply(object) => {
            *listed = true;
            ObjectState::Known(Some(object))
        }
        CollectionEvent::Synced { .. } if *listed => ObjectState::Unchanged,
        CollectionEvent::Synced { .. } | CollectionEvent::Delete(_) => ObjectState::Known(None),
        CollectionEvent::Apply(object) => ObjectState::Known(Some(object)),
        CollectionEvent::Progress { .. } => ObjectState::Unchanged,
        CollectionEvent::Undecodable(object) if object.deleted => ObjectState::Known(None),
        CollectionEvent::Undecodable(object) => {
            *listed = true;
            return Err(object.into());
        }
    })
}
