//! What users see of what a watcher knows.

use super::{CollectionEvent, Error, Event, Result, undecodable::UndecodableObject};
use futures::{Stream, StreamExt, stream};
use kube_core::Resource;
use std::collections::BTreeMap;

/// The public events of a collection.
///
/// Of an undecodable object only an error can tell. Those of a list become one error, ahead of [`Event::InitDone`], so that who keeps
/// states can keep the last readable ones. The stream must come from a watcher that lists again where an undecodable object was
/// deleted: an event can't tell which.
pub(super) fn events<K: Resource + Send>(
    collection: impl Stream<Item = Result<CollectionEvent<K>>> + Send,
) -> impl Stream<Item = Result<Event<K>>> + Send {
    let mut undecodable = UndecodableInList::default();
    collection.flat_map(move |item| {
        let (first, second) = match item {
            Ok(event) => undecodable.project(event),
            Err(error) => (Some(Err(error)), None),
        };
        stream::iter(first.into_iter().chain(second))
    })
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

type Items<K> = (Option<Result<Event<K>>>, Option<Result<Event<K>>>);

/// The undecodable objects of the list under way, by namespace and name.
#[derive(Default)]
struct UndecodableInList {
    listing: bool,
    objects: BTreeMap<(Option<String>, String), UndecodableObject>,
}

impl UndecodableInList {
    fn project<K: Resource>(&mut self, event: CollectionEvent<K>) -> Items<K> {
        let event = match event {
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
                let error = (!objects.is_empty()).then(|| Err(Error::of_list(objects)));
                return (error, Some(Ok(Event::InitDone)));
            }
            CollectionEvent::Apply(object) => Event::Apply(object),
            CollectionEvent::Delete(object) => {
                self.forget(&object);
                Event::Delete(object)
            }
            CollectionEvent::Progress { .. } => return (None, None),
            CollectionEvent::Undecodable(object) if self.listing && !object.deleted => {
                self.objects.insert((object.namespace.clone(), object.name.clone()), object);
                return (None, None);
            }
            CollectionEvent::Undecodable(object) => return (Some(Err(object.into())), None),
        };
        (Some(Ok(event)), None)
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
