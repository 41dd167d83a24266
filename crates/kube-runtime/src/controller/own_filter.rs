//! The filter of a controller's own objects: from changed objects to triggers.

use super::{
    guard::CallbackPanic,
    request::{Trigger, priority_of},
    trigger::self_request,
};
use crate::{
    predicate::{BoxPredicate, SeenStates, state_of},
    queue::Priority,
    reflector::{ObjectKey, store::Store},
    watcher::{self, Event},
};
use futures::{Stream, StreamExt, stream};
use kube_core::Resource;
use std::{borrow::Borrow, hash::Hash, sync::Arc};

/// Passes the changes of own objects that matter; without a predicate, all.
pub(super) struct OwnFilter<K>(Option<(BoxPredicate<K>, SeenStates)>);

impl<K> Default for OwnFilter<K> {
    fn default() -> Self {
        Self(None)
    }
}

impl<K> OwnFilter<K>
where
    K: Clone + Resource + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    pub(super) fn new(predicate: BoxPredicate<K>) -> Self {
        Self(Some((predicate, SeenStates::default())))
    }

    /// The triggers of an event that `store` has applied.
    pub(super) fn triggers_of_event(
        &mut self,
        event: Event<Arc<K>>,
        store: &Store<K>,
    ) -> impl Iterator<Item = Trigger<K>> + use<K> {
        let priority = priority_of(&event);
        if let (Event::Delete(object), Some((_, seen))) = (&event, &mut self.0) {
            seen.forget(&ObjectKey::of(&**object));
        }
        let object = event.into_applied().map(|object| {
            // In a relist, an object that the store does not show yet has changed; the others are in the background.
            let changed = store.is_ready() && !store.contains(&object);
            let priority = if changed { Priority::Change } else { priority };
            self.triggers_of_object(&*object, store, priority)
        });
        object.into_iter().flatten()
    }

    /// The trigger of an object, if it has changed, after the error of a predicate that panicked.
    fn triggers_of_object(
        &mut self,
        object: &K,
        store: &Store<K>,
        priority: Priority,
    ) -> impl Iterator<Item = Trigger<K>> + use<K> {
        let (passes, panic) = self.check(object, store);
        let request = || self_request(object, store.dyntype().clone());
        let panic = panic.map(|message| {
            let object = Box::new(request().obj_ref.erase());
            Trigger::CallbackPanicked(CallbackPanic { callback: "predicate", object, message })
        });
        let trigger = passes.then(|| Trigger::Object { request: request(), priority });
        panic.into_iter().chain(trigger)
    }

    fn check(&mut self, object: &K, store: &Store<K>) -> (bool, Option<String>) {
        let Some((predicate, seen)) = &mut self.0 else { return (true, None) };
        // The stream of a custom source need not report deletions.
        seen.sweep(store.len(), |key| store.newest(key).is_some());
        let key = ObjectKey::of(object);
        match state_of(&**predicate, object, ()) {
            Ok(state) => (seen.observe(&key, state), None),
            Err(message) => {
                seen.forget(&key);
                (true, Some(message)) // the change may matter
            }
        }
    }

    /// The triggers of a custom stream of objects.
    pub(super) fn triggers_of_stream<T>(
        mut self,
        objects: impl Stream<Item = watcher::Result<T>> + Send + 'static,
        store: Store<K>,
    ) -> impl Stream<Item = watcher::Result<Trigger<K>>> + Send + 'static
    where
        K: Send + Sync,
        T: Borrow<K> + Send + 'static,
    {
        objects.flat_map(move |item| {
            let triggers = item.map(|object| {
                let triggers = self.triggers_of_object(object.borrow(), &store, Priority::Change);
                triggers.collect::<Vec<_>>()
            });
            let (triggers, error) = match triggers {
                Ok(triggers) => (triggers, None),
                Err(error) => (Vec::new(), Some(Err(error))),
            };
            stream::iter(triggers.into_iter().map(Ok).chain(error))
        })
    }
}
