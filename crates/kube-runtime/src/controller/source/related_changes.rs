//! From the changes of related objects to triggers.

use super::{
    owner_map::{OwnerMap, StaleOwners},
    related_sync::{RelatedSync, SyncCompleted},
    sources::EventStream,
    trigger::{CallbackPanic, Trigger, related_trigger},
};
use crate::{
    controller::scope::ShownState,
    predicate::{BoxPredicate, SeenStates, State, hash, state_of},
    queue::Priority,
    reflector::{ObjectKey, ObjectRef},
    watcher::{self, CollectionEvent, UndecodableObject},
};
use futures::{Stream, StreamExt, TryStreamExt, stream};
use kube_core::{DynamicObject, Resource};
use std::borrow::Borrow;

/// The objects to reconcile after a change of a related object, or the message of the mapper's panic.
pub(crate) type Mapped = Result<Vec<ObjectKey>, String>;

type Triggers = Vec<watcher::ErasedResult<Trigger>>;

/// The triggers of watches of related objects: of the objects that the mapper returns for the current state, and of those that it returned
/// for the previous state only.
pub(super) fn triggers_of_watches<O, T>(
    watches: Vec<EventStream<T>>,
    mapper: impl Fn(T) -> Mapped + Send + 'static,
    predicate: Option<BoxPredicate<O>>,
    skips_own_writes: bool,
    dyntype: O::DynamicType,
) -> impl Stream<Item = watcher::ErasedResult<Trigger>> + Send + 'static
where
    O: Resource<DynamicType: Clone> + 'static,
    T: Borrow<O> + 'static,
{
    let mut related = Related {
        owners: watches.iter().map(|_| OwnerMap::default()).collect(),
        seen: watches.iter().map(|_| SeenStates::default()).collect(),
        sync: RelatedSync::new(watches.len()),
        mapper,
        predicate,
        skips_own_writes,
        dyntype,
    };
    let numbered = watches.into_iter().enumerate();
    let events =
        stream::select_all(numbered.map(|(watch, events)| events.map(move |item| (watch, item)).boxed()));
    events.flat_map(move |(watch, item)| {
        let mut triggers = Vec::new();
        related.handle(watch, item, &mut triggers);
        stream::iter(triggers)
    })
}

/// The triggers of a stream of changed related objects, which does not report deletions: of what the mapper returns for each.
pub(super) fn triggers_of_stream<O, T>(
    objects: impl Stream<Item = watcher::ErasedResult<T>> + Send + 'static,
    mapper: impl Fn(T) -> Mapped + Send + 'static,
    dyntype: O::DynamicType,
) -> impl Stream<Item = watcher::ErasedResult<Trigger>> + Send + 'static
where
    O: Resource<DynamicType: Clone> + 'static,
    T: Borrow<O> + 'static,
{
    let triggers = objects.map_ok(move |object| {
        let related = ObjectRef::from_obj_with(object.borrow(), dyntype.clone()).erase();
        let triggers: Triggers = match mapper(object) {
            Ok(keys) => triggers_of(keys, &related, Priority::Change).collect(),
            Err(message) => vec![Ok(panicked("mapper", related, message))],
        };
        stream::iter(triggers)
    });
    triggers.try_flatten()
}

/// The watches of one kind of related objects.
struct Related<O: Resource, M> {
    /// One per watch, because a list of one watch says nothing about the objects of another.
    owners: Vec<OwnerMap>,
    /// Also one per watch. Empty without a predicate.
    seen: Vec<SeenStates>,
    sync: RelatedSync,
    mapper: M,
    /// Of the changes that matter; without one, all do.
    predicate: Option<BoxPredicate<O>>,
    /// Whether triggers say which change they are about.
    skips_own_writes: bool,
    dyntype: O::DynamicType,
}

impl<O, M> Related<O, M>
where
    O: Resource<DynamicType: Clone>,
{
    /// The triggers of an item, which say which change they are about, if it is one of a watch and may be an own one.
    fn handle<T: Borrow<O>>(
        &mut self,
        watch: usize,
        item: watcher::ErasedResult<CollectionEvent<T>>,
        triggers: &mut Triggers,
    ) where
        M: Fn(T) -> Mapped,
    {
        let shown = match &item {
            Ok(CollectionEvent::Apply(object)) if self.skips_own_writes => {
                ShownState::of(object.borrow(), false)
            }
            Ok(CollectionEvent::Delete(object)) if self.skips_own_writes => {
                ShownState::of(object.borrow(), true)
            }
            _ => None,
        };
        let before = triggers.len();
        self.handle_item(watch, item, triggers);
        if let Some(shown) = shown {
            triggers.iter_mut().skip(before).flatten().for_each(|trigger| trigger.set_shown(&shown));
        }
    }

    fn handle_item<T: Borrow<O>>(
        &mut self,
        watch: usize,
        item: watcher::ErasedResult<CollectionEvent<T>>,
        triggers: &mut Triggers,
    ) where
        M: Fn(T) -> Mapped,
    {
        match item {
            Ok(CollectionEvent::Init) => {
                self.owners[watch].start_list();
                self.seen[watch].start_list();
                self.sync.start_list(watch);
            }
            Ok(CollectionEvent::InitApply(object)) => {
                self.applied(watch, object, Priority::Background, triggers)
            }
            Ok(CollectionEvent::Synced { .. }) => {
                let stale = self.owners[watch].finish_list();
                self.seen[watch].finish_list();
                stale.into_iter().for_each(|stale| self.trigger_owners_of(stale, triggers));
                triggers.extend(self.sync.finish_list(watch).map(related_synced));
            }
            Ok(CollectionEvent::Apply(object)) => self.applied(watch, object, Priority::Change, triggers),
            Ok(CollectionEvent::Delete(object)) => self.deleted(watch, object, triggers),
            Ok(CollectionEvent::Progress { .. }) => {}
            Ok(CollectionEvent::Closed) => triggers.extend(self.sync.closed(watch).map(related_synced)),
            Ok(CollectionEvent::Undecodable(object)) => self.undecodable(watch, object, triggers),
            Err(error) => {
                triggers.push(Err(error));
                triggers.extend(self.sync.failed(watch).map(related_synced));
            }
        }
    }

    fn applied<T: Borrow<O>>(&mut self, watch: usize, object: T, priority: Priority, triggers: &mut Triggers)
    where
        M: Fn(T) -> Mapped,
    {
        let key = ObjectKey::of(object.borrow());
        let related = self.reference(object.borrow());
        let state = self.state(object.borrow(), triggers);
        let stale = match (self.mapper)(object) {
            Ok(owners) => {
                let passes = self.passes(watch, &key, state, &owners);
                let stale = self.owners[watch].observe(key, &owners);
                if passes {
                    triggers.extend(triggers_of(owners, &related, priority));
                }
                stale
            }
            Err(message) => {
                triggers.push(Ok(panicked("mapper", related, message)));
                self.seen[watch].forget(&key);
                let owners = self.owners[watch].observe_unknown(&key);
                (key, owners)
            }
        };
        self.trigger_owners_of(stale, triggers);
    }

    fn reference(&self, object: &O) -> ObjectRef<DynamicObject> {
        ObjectRef::from_obj_with(object, self.dyntype.clone()).erase()
    }

    /// The state of an object by the predicate. An error of the predicate is an item of the output.
    fn state(&self, object: &O, triggers: &mut Triggers) -> State {
        let predicate = self.predicate.as_ref()?;
        state_of(&**predicate, object, ()).unwrap_or_else(|message| {
            triggers.push(Ok(panicked("predicate", self.reference(object), message)));
            None
        })
    }

    /// Whether a change matters: always if the objects that it maps to have changed.
    fn passes(&mut self, watch: usize, key: &ObjectKey, state: State, owners: &[ObjectKey]) -> bool {
        if self.predicate.is_none() {
            return true;
        }
        if owners.is_empty() {
            self.seen[watch].forget(key); // so that unrelated objects use no memory
            return true;
        }
        self.seen[watch].observe(key, state.map(|state| hash((state, owners))))
    }

    fn deleted<T: Borrow<O>>(&mut self, watch: usize, object: T, triggers: &mut Triggers)
    where
        M: Fn(T) -> Mapped,
    {
        let (key, related) = (ObjectKey::of(object.borrow()), self.reference(object.borrow()));
        let mapped = (self.mapper)(object);
        self.seen[watch].forget(&key);
        let (key, mut stale) = self.owners[watch].observe(key, &[]);
        match mapped {
            Ok(owners) => {
                stale.retain(|owner| !owners.contains(owner));
                triggers.extend(triggers_of(owners, &related, Priority::Change));
            }
            Err(message) => triggers.push(Ok(panicked("mapper", related, message))),
        }
        self.trigger_owners_of((key, stale), triggers);
    }

    /// Triggers the former owners. An undecodable object keeps them; a deleted one does not.
    fn undecodable(&mut self, watch: usize, object: UndecodableObject, triggers: &mut Triggers) {
        let key = ObjectKey {
            namespace: object.namespace.as_deref().map(Into::into),
            name: object.name.as_str().into(),
        };
        self.seen[watch].forget(&key);
        let former = if object.deleted {
            self.owners[watch].observe(key, &[])
        } else {
            let owners = self.owners[watch].observe_unknown(&key);
            (key, owners)
        };
        self.trigger_owners_of(former, triggers);
        triggers.push(Err(object.into()));
    }

    fn trigger_owners_of(&self, (related, owners): StaleOwners, triggers: &mut Triggers) {
        if owners.is_empty() {
            return;
        }
        let related = related.into_ref::<O>(self.dyntype.clone()).erase();
        triggers.extend(triggers_of(owners, &related, Priority::Change));
    }
}

fn triggers_of(
    keys: Vec<ObjectKey>,
    related: &ObjectRef<DynamicObject>,
    priority: Priority,
) -> impl Iterator<Item = watcher::ErasedResult<Trigger>> {
    keys.into_iter().map(move |key| Ok(related_trigger(related, key, priority)))
}

fn panicked(callback: &'static str, object: ObjectRef<DynamicObject>, message: String) -> Trigger {
    Trigger::CallbackPanicked(CallbackPanic { callback, object: Box::new(object), message })
}

fn related_synced(SyncCompleted { first }: SyncCompleted) -> watcher::ErasedResult<Trigger> {
    Ok(Trigger::RelatedSynced { first })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predicate::predicates;
    use futures::executor::block_on;
    use k8s_openapi::api::core::v1::Secret;

    #[test]
    fn a_child_that_becomes_undecodable_triggers_its_owner() {
        let mut child = Secret::default();
        child.metadata.name = Some("child".into());
        let undecodable = UndecodableObject {
            namespace: None,
            name: "child".into(),
            uid: None,
            resource_version: None,
            deleted: false,
            error: "odd".into(),
        };
        let events = [CollectionEvent::Apply(child), CollectionEvent::Undecodable(undecodable)];
        let mapper = |_: Secret| Ok(vec![key("owner")]);
        let watch = stream::iter(events).map(Ok).boxed();
        let triggers = triggers_of_watches::<Secret, _>(vec![watch], mapper, None, false, ());
        let to_text = |item: watcher::ErasedResult<Trigger>| match item {
            Ok(Trigger::Object { key, .. }) => key.name.into(),
            Ok(_) => "other".into(),
            Err(_) => "error".into(),
        };
        let texts: Vec<String> = block_on(triggers.map(to_text).collect());
        assert_eq!(texts, ["owner", "owner", "error"]);
    }

    fn key(name: &str) -> ObjectKey {
        ObjectKey { namespace: None, name: name.into() }
    }

    fn child(name: &str, generation: i64, owner: &str) -> Secret {
        let mut child = Secret::default();
        child.metadata.name = Some(name.into());
        child.metadata.generation = Some(generation);
        child.metadata.labels = Some([("owner".to_owned(), owner.to_owned())].into());
        child
    }

    /// The owners that a filter by generation triggers for `events`.
    fn filtered(events: Vec<CollectionEvent<Secret>>) -> Vec<String> {
        let mapper = |secret: Secret| {
            let owner =
                secret.metadata.labels.unwrap_or_default().remove("owner").filter(|it| !it.is_empty());
            Ok(owner.map(|owner| key(&owner)).into_iter().collect())
        };
        let predicate = |secret: &Secret| {
            assert_ne!(secret.metadata.generation, Some(0), "cannot read it");
            predicates::generation(secret)
        };
        let watch = stream::iter(events).map(Ok).boxed();
        let triggers =
            triggers_of_watches::<Secret, _>(vec![watch], mapper, Some(Box::new(predicate)), false, ());
        let to_text = |item: watcher::ErasedResult<Trigger>| match item {
            Ok(Trigger::Object { key, .. }) => Some(String::from(key.name)),
            Ok(Trigger::CallbackPanicked(panic)) => Some(format!("{} panicked", panic.callback)),
            _ => None,
        };
        block_on(triggers.filter_map(|item| std::future::ready(to_text(item))).collect())
    }

    #[test]
    fn a_filter_drops_changes_that_do_not_matter() {
        use CollectionEvent::{Apply, Delete};
        let same = || Apply(child("a", 1, "x"));
        assert_eq!(
            filtered(vec![same(), same(), Apply(child("a", 2, "x")), Apply(child("b", 2, "x"))]),
            ["x", "x", "x"]
        );
        assert_eq!(
            filtered(vec![same(), Delete(child("a", 1, "x")), same()]),
            ["x", "x", "x"],
            "deletions matter"
        );
        let moved = vec![same(), Apply(child("a", 1, "y"))];
        assert_eq!(filtered(moved), ["x", "y", "x"], "the new owner and the former one");
        let lost = vec![same(), Apply(child("a", 1, "")), same()];
        assert_eq!(filtered(lost), ["x", "x", "x"]);
        let panicking = vec![same(), Apply(child("a", 0, "x")), same()];
        assert_eq!(filtered(panicking), ["x", "predicate panicked", "x", "x"], "the change may matter");
    }

    #[test]
    fn a_relist_triggers_only_what_has_changed_and_forgets_what_is_gone() {
        use CollectionEvent::{Init, InitApply, Synced};
        let synced = || Synced { resource_version: String::new() };
        let list = |children: &[(&str, i64)]| {
            let listed = children.iter().map(|(name, generation)| InitApply(child(name, *generation, name)));
            [Init].into_iter().chain(listed).chain([synced()]).collect::<Vec<_>>()
        };
        let lists =
            [list(&[("a", 1), ("b", 1)]), list(&[("a", 1), ("b", 2)]), list(&[("a", 1)]), list(&[("b", 2)])];
        assert_eq!(
            filtered(lists.concat()),
            ["a", "b", "b", "b", "b", "a"],
            "both, b, b is gone, b is back and a is gone"
        );
    }
}
