//! The filter of a controller's own objects: from changed objects to triggers.

use super::trigger::{CallbackPanic, Trigger};
use crate::{
    controller::reconcile::ReconcileReason,
    predicate::{BoxPredicate, SeenStates, State, state_of},
    queue::Priority,
    reflector::{Lookup, ObjectKey, ObjectRef, store::Store},
    watcher::{self, Event},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::{PartialObjectMeta, Resource};
use std::{borrow::Cow, hash::Hash, marker::PhantomData, sync::Arc};

/// Passes the changes of own objects that matter; without a predicate, all.
pub(super) struct OwnFilter<K>(Option<(OwnPredicate<K>, SeenStates)>);

/// The predicate of a controller's own objects.
pub(crate) enum OwnPredicate<K> {
    Object(BoxPredicate<K>),
    Metadata(BoxPredicate<PartialObjectMeta<K>>),
}

impl<K: Resource + Clone> OwnPredicate<K> {
    fn state_of(&self, object: &K) -> Result<State, String> {
        match self {
            Self::Object(predicate) => state_of(&**predicate, object, ()),
            Self::Metadata(predicate) => state_of(&**predicate, &only_metadata(object.meta().clone()), ()),
        }
    }
}

/// The metadata as a predicate sees them.
pub(super) fn only_metadata<K>(metadata: ObjectMeta) -> PartialObjectMeta<K> {
    PartialObjectMeta { types: None, metadata, _phantom: PhantomData }
}

/// A cache of own objects, as the filter reads it.
pub(super) trait OwnCache<K>: Send + 'static {
    /// An object as the cache keeps it.
    type Kept: Lookup<DynamicType: Eq + Hash + Clone + Send + Sync> + Clone + Send + Sync + 'static;

    /// Whether readers see exactly this object.
    fn shows(&self, object: &Arc<Self::Kept>) -> bool;

    /// The state of an object by a predicate, or the message of its panic.
    fn state(&self, predicate: &OwnPredicate<K>, object: &Self::Kept) -> Result<State, String>;
}

impl<K> OwnCache<K> for Store<K>
where
    K: Clone + Resource<DynamicType: Eq + Hash + Clone> + Send + Sync + 'static,
{
    type Kept = K;

    fn shows(&self, object: &Arc<K>) -> bool {
        self.contains(object)
    }

    fn state(&self, predicate: &OwnPredicate<K>, object: &K) -> Result<State, String> {
        predicate.state_of(object)
    }
}

impl<K> Default for OwnFilter<K> {
    fn default() -> Self {
        Self(None)
    }
}

/// The error of a predicate that panicked, and the trigger of an object.
type Triggers = [Option<Trigger>; 2];

impl<K> OwnFilter<K>
where
    K: Clone + Resource<DynamicType: Eq + Hash + Clone> + 'static,
{
    pub(super) fn new(predicate: OwnPredicate<K>) -> Self {
        Self(Some((predicate, SeenStates::default())))
    }

    /// The triggers of an event that `cache` has applied, which `store` reads.
    pub(super) fn triggers_of_event<C: OwnCache<K>>(
        &mut self,
        event: Event<Arc<C::Kept>>,
        cache: &C,
        store: &Store<K>,
    ) -> Triggers {
        let priority = priority_of(&event);
        if let (Event::Delete(object), Some((_, seen))) = (&event, &mut self.0) {
            seen.forget(&ObjectKey::of(&**object));
        }
        let relisted = store.is_ready() && matches!(event, Event::InitApply(_));
        let Some(object) = event.into_applied() else { return [None, None] };
        // In a relist, an object that the store does not show yet has changed; the others are in the background.
        let changed = store.is_ready() && !cache.shows(&object);
        let priority = if changed { Priority::Change } else { priority };
        if relisted && !changed && self.has_state_of(&*object) {
            return [None, None]; // without a call of the predicate, which may have to decode it
        }
        self.triggers_of_state(&*object, store, priority, |predicate| cache.state(predicate, &object))
    }

    /// The source failed.
    pub(super) fn failed(&mut self, error: &watcher::Error) {
        if let Some((_, seen)) = &mut self.0
            && error.is_storage_went_back()
        {
            seen.forget_all();
        }
    }

    /// The triggers of an object of a custom stream.
    pub(super) fn triggers_of_object(&mut self, object: &K, store: &Store<K>) -> Triggers {
        self.triggers_of_state(object, store, Priority::Change, |predicate| predicate.state_of(object))
    }

    /// The trigger of an object, if it has changed. `state` is its state for a predicate.
    fn triggers_of_state<T: Lookup>(
        &mut self,
        object: &T,
        store: &Store<K>,
        priority: Priority,
        state: impl FnOnce(&OwnPredicate<K>) -> Result<State, String>,
    ) -> Triggers {
        let key = ObjectKey::of(object);
        let (passes, panic) = self.check(&key, store, state);
        let panic = panic.map(|message| {
            let object = Box::new(reference(object, store).erase());
            Trigger::CallbackPanicked(CallbackPanic { callback: "predicate", object, message })
        });
        let reason = ReconcileReason::ObjectUpdated;
        [panic, passes.then_some(Trigger::Object { key, reason, priority, shows: None })]
    }

    /// Whether the predicate has seen the object, and it had a state.
    fn has_state_of<T: Lookup>(&self, object: &T) -> bool {
        self.0.as_ref().is_some_and(|(_, seen)| seen.has(&ObjectKey::of(object)))
    }

    fn check(
        &mut self,
        key: &ObjectKey,
        store: &Store<K>,
        state: impl FnOnce(&OwnPredicate<K>) -> Result<State, String>,
    ) -> (bool, Option<String>) {
        let Some((predicate, seen)) = &mut self.0 else { return (true, None) };
        // The stream of a custom source need not report deletions.
        seen.sweep(store.len(), |key| store.has(key));
        match state(predicate) {
            Ok(state) => (seen.observe(key, state), None),
            Err(message) => {
                seen.forget(key);
                (true, Some(message)) // the change may matter
            }
        }
    }
}

/// Events of a list have the priority of the background.
fn priority_of<T>(event: &Event<T>) -> Priority {
    match event {
        Event::Init | Event::InitApply(_) | Event::InitDone => Priority::Background,
        Event::Apply(_) | Event::Delete(_) => Priority::Change,
    }
}

/// The reference of an object as the cache keeps it.
fn reference<K, T: Lookup>(object: &T, store: &Store<K>) -> ObjectRef<K>
where
    K: Clone + Resource<DynamicType: Eq + Hash + Clone> + 'static,
{
    let mut reference = ObjectKey::of(object).into_ref(store.dyntype().clone());
    reference.extra.resource_version = object.resource_version().map(Cow::into_owned);
    reference.extra.uid = object.uid().map(Cow::into_owned);
    reference
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reflector::store::store;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube_client::client::ObjectVersion;

    fn object(name: &str, version: &str) -> ConfigMap {
        let (name, version) = (Some(name.into()), Some(version.into()));
        let metadata =
            ObjectMeta { name, resource_version: version, uid: Some("u".into()), ..Default::default() };
        ConfigMap { metadata, ..Default::default() }
    }

    #[test]
    fn what_a_relist_changes_comes_before_what_it_repeats() {
        let (store, mut writer) = store();
        let mut filter = OwnFilter::<ConfigMap>::default();
        let mut priorities = |event: Event<Arc<ConfigMap>>| -> Vec<(String, Priority)> {
            let triggers = filter.triggers_of_event(writer.apply_event(event), &store, &store);
            let priority_of = |trigger| match trigger {
                Trigger::Object { key, priority, .. } => (key.name.into(), priority),
                _ => unreachable!("there is no predicate"),
            };
            triggers.into_iter().flatten().map(priority_of).collect()
        };
        let one = |name: &str, priority| vec![(name.to_owned(), priority)];
        let a = Arc::new(object("a", "1")); // a watch returns what is known as it is
        let object = |name, version| Arc::new(object(name, version));
        assert!(priorities(Event::Init).is_empty());
        assert_eq!(
            priorities(Event::InitApply(Arc::clone(&a))),
            one("a", Priority::Background),
            "the first list"
        );
        priorities(Event::InitApply(object("b", "1")));
        assert!(priorities(Event::InitDone).is_empty());
        priorities(Event::Init);
        assert_eq!(priorities(Event::InitApply(a)), one("a", Priority::Background), "unchanged");
        assert_eq!(priorities(Event::InitApply(object("b", "2"))), one("b", Priority::Change), "changed");
        priorities(Event::InitDone);
        assert_eq!(priorities(Event::Apply(object("b", "3"))), one("b", Priority::Change));
    }

    #[test]
    fn a_relist_calls_the_predicate_only_for_objects_that_have_changed_or_have_no_state() {
        let (store, mut writer) = store();
        let calls = Arc::new(std::sync::Mutex::new(Vec::new()));
        let called = Arc::clone(&calls);
        let predicate = move |object: &ConfigMap| {
            let metadata = object.metadata.clone();
            called.lock().unwrap().push(metadata.name.clone().unwrap());
            metadata.resource_version.filter(|_| metadata.name.as_deref() != Some("stateless"))?.parse().ok()
        };
        let mut filter = OwnFilter::new(OwnPredicate::Object(Box::new(predicate)));
        let known = writer.find_known();
        let mut list = |objects: &[(&str, &str)]| -> (Vec<String>, Vec<String>) {
            let listed = |(name, version): &(&str, &str)| {
                let key = ObjectVersion { namespace: None, name, uid: Some("u"), resource_version: version };
                Event::InitApply(known(&key).unwrap_or_else(|| Arc::new(object(name, version))))
            };
            let objects = objects.iter().map(listed);
            let mut triggered = Vec::new();
            for event in std::iter::once(Event::Init).chain(objects).chain([Event::InitDone]) {
                let triggers = filter.triggers_of_event(writer.apply_event(event), &store, &store);
                for trigger in triggers.into_iter().flatten() {
                    let Trigger::Object { key, .. } = trigger else { unreachable!("it does not panic") };
                    triggered.push(key.name.into());
                }
            }
            (triggered, std::mem::take(&mut *calls.lock().unwrap()))
        };
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let all = [("a", "1"), ("b", "1"), ("stateless", "1")];
        assert_eq!(list(&all), (names(&["a", "b", "stateless"]), names(&["a", "b", "stateless"])));
        assert_eq!(list(&all), (names(&["stateless"]), names(&["stateless"])));
        let changed = [("a", "1"), ("b", "2"), ("stateless", "1")];
        assert_eq!(list(&changed), (names(&["b", "stateless"]), names(&["b", "stateless"])));
    }

    #[test]
    fn the_reconcile_of_a_change_sees_it_although_the_list_broke_off() {
        let (store, mut writer) = store();
        let version = |map: &ConfigMap| map.metadata.resource_version.as_deref()?.parse().ok();
        let mut filter = OwnFilter::new(OwnPredicate::Object(Box::new(version)));
        let mut triggers = |event| {
            filter.triggers_of_event(writer.apply_event(event), &store, &store).iter().flatten().count()
        };
        for event in [Event::Init, Event::InitApply(object("a", "1")), Event::InitDone, Event::Init] {
            triggers(event);
        }
        assert_eq!(triggers(Event::InitApply(object("a", "2"))), 1);
        triggers(Event::Init);
        let newest = || store.newest(&ObjectKey::of(&object("a", "0"))).unwrap().unwrap();
        assert_eq!(newest().metadata.resource_version.as_deref(), Some("2"), "a reconcile that starts now");
        assert_eq!(triggers(Event::InitApply(object("a", "2"))), 0, "it was triggered already");
    }
}
