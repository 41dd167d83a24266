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
        Collection::Undecodable(UndecodableObject {
            namespace: None,
            name: name.into(),
            uid: None,
            resource_version: None,
            deleted,
            error: "odd".into(),
        })
    }

    fn synced() -> Collection {
        Collection::Synced { resource_version: "9".into() }
    }

    /// The public events in words, and an error by the names in it.
    fn public(events: Vec<Collection>) -> Vec<String> {
        let in_words = |item: Result<Event<ConfigMap>>| match item {
            Ok(event) => event.to_string(),
            Err(error) => error.undecodable().map(ToString::to_string).collect::<Vec<_>>().join("+"),
        };
        block_on(Events::of(stream::iter(events.into_iter().map(Ok))).map(in_words).collect())
    }

    #[test]
    fn undecodable_objects_of_a_list_are_one_error_ahead_of_its_end() {
        let list = vec![Collection::Init, undecodable("b", false), undecodable("c", false), synced()];
        assert_eq!(public(list), ["Init", "b+c", "InitDone"]);
        assert_eq!(public(vec![Collection::Init, synced()]), ["Init", "InitDone"]);
    }

    #[test]
    fn what_becomes_of_an_undecodable_object_within_the_list_counts() {
        let changed = Collection::InitApply(object("a"));
        let deleted = Collection::Delete(object("b"));
        let [a, b, c] = ["a", "b", "c"].map(|name| undecodable(name, false));
        let told = public(vec![Collection::Init, a, b, c, changed, deleted, synced()]);
        assert_eq!(told, ["Init", "InitApply(a)", "Delete(b)", "c", "InitDone"]);
    }

    #[test]
    fn a_list_that_starts_over_forgets_the_one_before() {
        let told = public(vec![Collection::Init, undecodable("a", false), Collection::Init, synced()]);
        assert_eq!(told, ["Init", "Init", "InitDone"]);
    }

    #[test]
    fn between_lists_each_undecodable_object_is_an_error() {
        let progress = Collection::Progress { resource_version: "9".into() };
        let [a, b] = [undecodable("a", false), undecodable("b", true)];
        assert_eq!(public(vec![Collection::Init, synced(), a, progress, b]), ["Init", "InitDone", "a", "b"]);
    }

    #[test]
    fn one_object_is_there_unless_a_list_or_a_deletion_says_otherwise() {
        let told = |events: Vec<Collection>| -> Vec<String> {
            let in_words = |item| match item {
                Ok(ObjectState::Known(Some(_))) => "there".to_owned(),
                Ok(ObjectState::Known(None)) => "absent".to_owned(),
                Ok(ObjectState::Unchanged) => "-".to_owned(),
                Err(_) => "error".to_owned(),
            };
            block_on(states(stream::iter(events.into_iter().map(Ok))).map(in_words).collect())
        };
        let listed = |state| vec![Collection::Init, state, synced()];
        assert_eq!(told(listed(Collection::InitApply(object("a")))), ["-", "there", "-"]);
        assert_eq!(told(listed(undecodable("a", false))), ["-", "error", "-"]);
        assert_eq!(told(vec![Collection::Init, synced()]), ["-", "absent"]);
        let changes = [Collection::Apply(object("a")), undecodable("a", false), undecodable("a", true)];
        assert_eq!(told(changes.into()), ["there", "error", "absent"]);
        let again = [listed(undecodable("a", false)), vec![Collection::Init, synced()]].concat();
        assert_eq!(told(again), ["-", "error", "-", "-", "absent"]);
    }
}
