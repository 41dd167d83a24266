//! From the events of watches of related objects to triggers.

use super::{
    guard::CallbackPanic,
    owner_map::{OwnerMap, StaleOwners},
    related_sync::{RelatedSync, SyncCompleted},
    request::{ReconcileRequest, Trigger},
    trigger::related_request,
};
use crate::{
    predicate::{BoxPredicate, SeenStates, State, hash, state_of},
    queue::Priority,
    reflector::{ObjectKey, ObjectRef},
    watcher::{self, CollectionEvent, UndecodableObject},
};
use futures::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use kube_core::Resource;
use std::borrow::Borrow;

/// The result of a mapper.
pub(super) type MappedRequests<K> = Result<Vec<ReconcileRequest<K>>, CallbackPanic>;

/// The triggers of related objects: the requests that the mapper returns for the current state, and one for each object that
/// it returned for the previous state only.
pub(super) fn related_triggers<K, O, T>(
    watches: Vec<BoxStream<'static, watcher::ErasedResult<CollectionEvent<T>>>>,
    mapper: impl Fn(T) -> MappedRequests<K> + Send + 'static,
    predicate: Option<BoxPredicate<O>>,
    dyntype: K::DynamicType,
    related_type: O::DynamicType,
) -> impl Stream<Item = watcher::ErasedResult<Trigger<K>>> + Send + 'static
where
    K: Resource<DynamicType: Clone> + 'static,
    O: Resource<DynamicType: Clone> + 'static,
    T: Borrow<O> + Send + 'static,
{
    let mut related = Related {
        owners: watches.iter().map(|_| OwnerMap::default()).collect(),
        seen: watches.iter().map(|_| SeenStates::default()).collect(),
        sync: RelatedSync::new(watches.len()),
        mapper,
        predicate,
        dyntype,
        related_type,
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

/// The watches of one kind of related objects.
struct Related<K: Resource, O: Resource, M> {
    /// One per watch, because a list of one watch says nothing about the objects of another.
    owners: Vec<OwnerMap>,
    /// Also one per watch. Empty without a predicate.
    seen: Vec<SeenStates>,
    sync: RelatedSync,
    mapper: M,
    /// Of the changes that matter; without one, all do.
    predicate: Option<BoxPredicate<O>>,
    dyntype: K::DynamicType,
    related_type: O::DynamicType,
}

type Triggers<K> = Vec<watcher::ErasedResult<Trigger<K>>>;

impl<K, O, M> Related<K, O, M>
where
    K: Resource<DynamicType: Clone>,
    O: Resource<DynamicType: Clone>,
{
    fn handle<T: Borrow<O>>(
        &mut self,
        watch: usize,
        item: watcher::ErasedResult<CollectionEvent<T>>,
        triggers: &mut Triggers<K>,
    ) where
        M: Fn(T) -> MappedRequests<K>,
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
                let completed = self.sync.finish_list(watch);
                triggers.extend(completed.map(related_synced));
            }
            Ok(CollectionEvent::Apply(object)) => self.applied(watch, object, Priority::Change, triggers),
            Ok(CollectionEvent::Delete(object)) => self.deleted(watch, object, triggers),
            Ok(CollectionEvent::Progress { .. }) => {}
            Ok(CollectionEvent::Undecodable(object)) => self.undecodable(watch, object, triggers),
            Err(error) => {
                triggers.push(Err(error));
                let completed = self.sync.failed(watch);
                triggers.extend(completed.map(related_synced));
            }
        }
    }

    fn applied<T: Borrow<O>>(
        &mut self,
        watch: usize,
        object: T,
        priority: Priority,
        triggers: &mut Triggers<K>,
    ) where
        M: Fn(T) -> MappedRequests<K>,
    {
        let key = ObjectKey::of(object.borrow());
        let state = self.state(object.borrow(), triggers);
        let stale = match (self.mapper)(object) {
            Ok(requests) => {
                let owners = keys(&requests);
                let passes = self.passes(watch, &key, state, &owners);
                let stale = self.owners[watch].observe(key, owners);
                let requested = requests.into_iter().filter(|_| passes);
                triggers.extend(requested.map(|request| Ok(Trigger::Object { request, priority })));
                stale
            }
            Err(panic) => {
                triggers.push(Ok(Trigger::CallbackPanicked(panic)));
                self.seen[watch].forget(&key);
                let owners = self.owners[watch].observe_unknown(&key);
                (key, owners)
            }
        };
        self.trigger_owners_of(stale, triggers);
    }

    /// The state of an object by the predicate. An error of the predicate is an item of the output.
    fn state(&self, object: &O, triggers: &mut Triggers<K>) -> State {
        let predicate = self.predicate.as_ref()?;
        state_of(&**predicate, object, ()).unwrap_or_else(|message| {
            let object = ObjectRef::from_obj_with(object, self.related_type.clone()).erase();
            let panic = CallbackPanic { callback: "predicate", object: Box::new(object), message };
            triggers.push(Ok(Trigger::CallbackPanicked(panic)));
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

    fn deleted<T: Borrow<O>>(&mut self, watch: usize, object: T, triggers: &mut Triggers<K>)
    where
        M: Fn(T) -> MappedRequests<K>,
    {
        let (key, mapped) = (ObjectKey::of(object.borrow()), (self.mapper)(object));
        self.seen[watch].forget(&key);
        let (key, mut stale) = self.owners[watch].observe(key, Vec::new());
        match mapped {
            Ok(requests) => {
                let current = keys(&requests);
                stale.retain(|owner| !current.contains(owner));
                let requested = requests
                    .into_iter()
                    .map(|request| Trigger::Object { request, priority: Priority::Change });
                triggers.extend(requested.map(Ok));
            }
            Err(panic) => triggers.push(Ok(Trigger::CallbackPanicked(panic))),
        }
        self.trigger_owners_of((key, stale), triggers);
    }

    /// Triggers the former owners. An undecodable object keeps them; a deleted one does not.
    fn undecodable(&mut self, watch: usize, object: UndecodableObject, triggers: &mut Triggers<K>) {
        let key = ObjectKey {
            namespace: object.namespace.as_deref().map(Into::into),
            name: object.name.as_str().into(),
        };
        self.seen[watch].forget(&key);
        let former = if object.deleted {
            self.owners[watch].observe(key, Vec::new())
        } else {
            let owners = self.owners[watch].observe_unknown(&key);
            (key, owners)
        };
        self.trigger_owners_of(former, triggers);
        triggers.push(Err(object.into()));
    }

    fn trigger_owners_of(&self, (related, owners): StaleOwners, triggers: &mut Triggers<K>) {
        if owners.is_empty() {
            return;
        }
        let related: ObjectRef<_> = related.into_ref::<O>(self.related_type.clone()).erase();
        let requests =
            owners.into_iter().map(|owner| related_request(&related, owner.into_ref(self.dyntype.clone())));
        triggers.extend(requests.map(|request| Ok(request.into())));
    }
}

fn related_synced<K: Resource>(SyncCompleted { first }: SyncCompleted) -> watcher::ErasedResult<Trigger<K>> {
    Ok(Trigger::RelatedSynced { first })
}

fn keys<K: Resource>(requests: &[ReconcileRequest<K>]) -> Vec<ObjectKey> {
    requests.iter().map(|request| ObjectKey::from(&request.obj_ref)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predicate::predicates;
    use futures::executor::block_on;
    use k8s_openapi::api::core::v1::{ConfigMap, Secret};

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
        let mapper = |_: Secret| Ok(vec![ObjectRef::<ConfigMap>::new("owner").into()]);
        let triggers = related_triggers::<_, Secret, _>(
            vec![stream::iter(events).map(Ok).boxed()],
            mapper,
            None,
            (),
            (),
        );
        let to_text = |item: watcher::ErasedResult<Trigger<ConfigMap>>| match item {
            Ok(Trigger::Object { request, .. }) => request.obj_ref.name,
            Ok(_) => "other".into(),
            Err(_) => "error".into(),
        };
        let texts: Vec<String> = block_on(triggers.map(to_text).collect());
        assert_eq!(texts, ["owner", "owner", "error"]);
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
            Ok(owner.map(|owner| ObjectRef::<ConfigMap>::new(&owner).into()).into_iter().collect())
        };
        let predicate = |secret: &Secret| {
            assert_ne!(secret.metadata.generation, Some(0), "cannot read it");
            predicates::generation(secret)
        };
        let watch = stream::iter(events).map(Ok).boxed();
        let triggers =
            related_triggers::<_, Secret, _>(vec![watch], mapper, Some(Box::new(predicate)), (), ());
        let to_text = |item: watcher::ErasedResult<Trigger<ConfigMap>>| match item {
            Ok(Trigger::Object { request, .. }) => Some(request.obj_ref.name),
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
