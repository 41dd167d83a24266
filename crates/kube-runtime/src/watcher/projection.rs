//! Projections of [`CollectionEvent`]s: to public [`Event`]s, and to the states of one object.

use super::{
    CollectionEvent, Error, Event, Result,
    error::{ErasedError, ErasedResult},
    health::WatchHealth,
    undecodable::UndecodableObject,
};
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
    /// Undecodable objects become errors. Those of a list become one error, before [`Event::InitDone`], so that a cache can keep
    /// their last readable states. No event can tell which undecodable object was deleted, so the machine has to relist
    /// after such a deletion.
    pub(super) struct PublicEvents<S> {
        #[pin]
        collection: S,
        undecodable: UndecodableInList,
    }
}

impl<S> PublicEvents<S> {
    pub(super) fn new(collection: S) -> Self {
        Self { collection, undecodable: UndecodableInList::default() }
    }
}

impl<K: Resource, S: Stream<Item = ErasedResult<CollectionEvent<K>>>> Stream for PublicEvents<S> {
    type Item = Result<Event<K>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        if std::mem::take(&mut this.undecodable.init_done_pending) {
            WatchHealth { only_listed: true, ..WatchHealth::default() }.report();
            return Poll::Ready(Some(Ok(Event::InitDone)));
        }
        loop {
            let Some(item) = ready!(this.collection.as_mut().poll_next(cx)) else { return Poll::Ready(None) };
            let item = item
                .map_err(ErasedError::into_error)
                .and_then(|event| this.undecodable.project(event))
                .transpose();
            if item.is_some() {
                return Poll::Ready(item);
            }
        }
    }
}

/// An item of a watch of one object.
pub(crate) enum ObjectState<K> {
    /// Its state; `None` if it does not exist.
    Known(Option<K>),
    /// The watch made progress without a change.
    Unchanged,
}

/// The states of one object, from a collection that contains at most that object.
pub(super) fn object_states<K: Send>(
    collection: impl Stream<Item = ErasedResult<CollectionEvent<K>>> + Send,
) -> impl Stream<Item = Result<ObjectState<K>>> + Send {
    let mut listed = false;
    collection
        .map(move |item| item.map_err(ErasedError::into_error).and_then(|event| state(event, &mut listed)))
}

/// The undecodable objects of the running list, by namespace and name.
#[derive(Default)]
struct UndecodableInList {
    listing: bool,
    /// Whether the list is complete except for its `InitDone`.
    init_done_pending: bool,
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
                self.remove(&object);
                Event::InitApply(object)
            }
            CollectionEvent::Synced { .. } => {
                let objects: Vec<_> = std::mem::take(self).objects.into_values().collect();
                if !objects.is_empty() {
                    self.init_done_pending = true;
                    return Err(Error::of_list(objects));
                }
                Event::InitDone
            }
            CollectionEvent::Apply(object) => Event::Apply(object),
            CollectionEvent::Delete(object) => {
                self.remove(&object);
                Event::Delete(object)
            }
            CollectionEvent::Progress { .. } | CollectionEvent::Closed => return Ok(None),
            CollectionEvent::Undecodable(object) if self.listing && !object.deleted => {
                self.objects.insert((object.namespace.clone(), object.name.clone()), object);
                return Ok(None);
            }
            CollectionEvent::Undecodable(object) => return Err(object.into()),
        }))
    }

    /// Removes an object whose later state could be decoded, or which was deleted.
    fn remove<K: Resource>(&mut self, object: &K) {
        if !self.objects.is_empty() {
            let meta = object.meta();
            self.objects.remove(&(meta.namespace.clone(), meta.name.clone().unwrap_or_default()));
        }
    }
}

/// Maps an event of a collection of at most one object. `listed`: whether the running list contains it.
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
        CollectionEvent::Progress { .. } | CollectionEvent::Closed => ObjectState::Unchanged,
        CollectionEvent::Undecodable(object) if object.deleted => ObjectState::Known(None),
        CollectionEvent::Undecodable(object) => {
            *listed = true;
            return Err(object.into());
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::{executor::block_on, stream};
    use k8s_openapi::api::core::v1::ConfigMap;

    type Collection = CollectionEvent<ConfigMap>;

    fn object(name: &str) -> ConfigMap {
        let mut object = ConfigMap::default();
        object.metadata.name = Some(name.into());
        object
    }

    fn undecodable(name: &str, deleted: bool) -> Collection {
        Collection::Undecodable(UndecodableObject { deleted, ..UndecodableObject::named(None, name, "odd") })
    }

    fn synced() -> Collection {
        Collection::Synced { resource_version: "9".into() }
    }

    /// The public events as strings; an error as the names in it.
    fn public(events: Vec<Collection>) -> Vec<String> {
        let to_string = |item: Result<Event<ConfigMap>>| match item {
            Ok(event) => event.to_string(),
            Err(error) => error.undecodable().map(ToString::to_string).collect::<Vec<_>>().join("+"),
        };
        block_on(PublicEvents::new(stream::iter(events.into_iter().map(Ok))).map(to_string).collect())
    }

    #[test]
    fn undecodable_objects_of_a_list_are_one_error_before_init_done() {
        let list = vec![Collection::Init, undecodable("b", false), undecodable("c", false), synced()];
        assert_eq!(public(list), ["Init", "b+c", "InitDone"]);
        assert_eq!(public(vec![Collection::Init, synced()]), ["Init", "InitDone"]);
    }

    #[test]
    fn an_undecodable_object_that_is_replaced_or_deleted_within_the_list_is_no_error() {
        let changed = Collection::InitApply(object("a"));
        let deleted = Collection::Delete(object("b"));
        let [a, b, c] = ["a", "b", "c"].map(|name| undecodable(name, false));
        let events = public(vec![Collection::Init, a, b, c, changed, deleted, synced()]);
        assert_eq!(events, ["Init", "InitApply(a)", "Delete(b)", "c", "InitDone"]);
    }

    #[test]
    fn a_list_that_starts_over_discards_the_one_before() {
        let events = public(vec![Collection::Init, undecodable("a", false), Collection::Init, synced()]);
        assert_eq!(events, ["Init", "Init", "InitDone"]);
    }

    #[test]
    fn each_undecodable_object_outside_a_list_is_an_error() {
        let progress = Collection::Progress { resource_version: "9".into() };
        let [a, b] = [undecodable("a", false), undecodable("b", true)];
        assert_eq!(public(vec![Collection::Init, synced(), a, progress, b]), ["Init", "InitDone", "a", "b"]);
    }

    #[test]
    fn an_object_is_absent_only_after_a_list_without_it_or_its_deletion() {
        let states = |events: Vec<Collection>| -> Vec<String> {
            let to_string = |item| match item {
                Ok(ObjectState::Known(Some(_))) => "exists".to_owned(),
                Ok(ObjectState::Known(None)) => "absent".to_owned(),
                Ok(ObjectState::Unchanged) => "-".to_owned(),
                Err(_) => "error".to_owned(),
            };
            block_on(object_states(stream::iter(events.into_iter().map(Ok))).map(to_string).collect())
        };
        let listed = |state| vec![Collection::Init, state, synced()];
        assert_eq!(states(listed(Collection::InitApply(object("a")))), ["-", "exists", "-"]);
        assert_eq!(states(listed(undecodable("a", false))), ["-", "error", "-"]);
        assert_eq!(states(vec![Collection::Init, synced()]), ["-", "absent"]);
        let changes = [Collection::Apply(object("a")), undecodable("a", false), undecodable("a", true)];
        assert_eq!(states(changes.into()), ["exists", "error", "absent"]);
        let relisted = [listed(undecodable("a", false)), vec![Collection::Init, synced()]].concat();
        assert_eq!(states(relisted), ["-", "error", "-", "-", "absent"]);
    }
}
