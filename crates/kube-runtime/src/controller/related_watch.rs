//! From the events of watches of related objects to triggers.

use super::{
    guard::CallbackPanic,
    owner_map::{OwnerMap, StaleOwners},
    related_sync::{RelatedSync, SyncCompleted},
    request::{ReconcileRequest, Trigger},
    trigger::related_request,
};
use crate::{
    queue::Priority,
    reflector::{ObjectKey, ObjectRef},
    watcher::{self, CollectionEvent, UndecodableObject},
};
use futures::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use kube_core::Resource;

/// The result of a mapper.
pub(super) type MappedRequests<K> = Result<Vec<ReconcileRequest<K>>, CallbackPanic>;

/// The triggers of related objects: the requests that the mapper returns for the current state, and one for each object that
/// it returned for the previous state only.
pub(super) fn related_triggers<K, T>(
    watches: Vec<BoxStream<'static, watcher::Result<CollectionEvent<T>>>>,
    mapper: impl Fn(T) -> MappedRequests<K> + Send + 'static,
    dyntype: K::DynamicType,
    related_type: T::DynamicType,
) -> impl Stream<Item = watcher::Result<Trigger<K>>> + Send + 'static
where
    K: Resource<DynamicType: Clone> + 'static,
    T: Resource<DynamicType: Clone> + Send + 'static,
{
    let mut related = Related {
        owners: watches.iter().map(|_| OwnerMap::default()).collect(),
        sync: RelatedSync::new(watches.len()),
        mapper,
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
struct Related<K: Resource, T: Resource, M> {
    /// One per watch, because a list of one watch says nothing about the objects of another.
    owners: Vec<OwnerMap>,
    sync: RelatedSync,
    mapper: M,
    dyntype: K::DynamicType,
    related_type: T::DynamicType,
}

type Triggers<K> = Vec<watcher::Result<Trigger<K>>>;

impl<K, T, M> Related<K, T, M>
where
    K: Resource<DynamicType: Clone>,
    T: Resource<DynamicType: Clone>,
    M: Fn(T) -> MappedRequests<K>,
{
    fn handle(
        &mut self,
        watch: usize,
        item: watcher::Result<CollectionEvent<T>>,
        triggers: &mut Triggers<K>,
    ) {
        match item {
            Ok(CollectionEvent::Init) => {
                self.owners[watch].start_list();
                self.sync.start_list(watch);
            }
            Ok(CollectionEvent::InitApply(object)) => {
                self.applied(watch, object, Priority::Background, triggers)
            }
            Ok(CollectionEvent::Synced { .. }) => {
                let stale = self.owners[watch].finish_list();
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

    fn applied(&mut self, watch: usize, object: T, priority: Priority, triggers: &mut Triggers<K>) {
        let key = ObjectKey::of(&object);
        let stale = match (self.mapper)(object) {
            Ok(requests) => {
                let stale = self.owners[watch].observe(key, keys(&requests));
                triggers
                    .extend(requests.into_iter().map(|request| Ok(Trigger::Object { request, priority })));
                stale
            }
            Err(panic) => {
                triggers.push(Ok(Trigger::CallbackPanicked(panic)));
                let owners = self.owners[watch].observe_unknown(&key);
                (key, owners)
            }
        };
        self.trigger_owners_of(stale, triggers);
    }

    fn deleted(&mut self, watch: usize, object: T, triggers: &mut Triggers<K>) {
        let (key, mapped) = (ObjectKey::of(&object), (self.mapper)(object));
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
        let related: ObjectRef<_> = related.to_ref::<T>(self.related_type.clone()).erase();
        let requests =
            owners.iter().map(|owner| related_request(&related, owner.to_ref(self.dyntype.clone())));
        triggers.extend(requests.map(|request| Ok(request.into())));
    }
}

fn related_synced<K: Resource>(SyncCompleted { first }: SyncCompleted) -> watcher::Result<Trigger<K>> {
    Ok(Trigger::RelatedSynced { first })
}

fn keys<K: Resource>(requests: &[ReconcileRequest<K>]) -> Vec<ObjectKey> {
    requests.iter().map(|request| ObjectKey::from(&request.obj_ref)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
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
        let triggers = related_triggers(vec![stream::iter(events).map(Ok).boxed()], mapper, (), ());
        let to_text = |item: watcher::Result<Trigger<ConfigMap>>| match item {
            Ok(Trigger::Object { request, .. }) => request.obj_ref.name,
            Ok(_) => "other".into(),
            Err(_) => "error".into(),
        };
        let texts: Vec<String> = block_on(triggers.map(to_text).collect());
        assert_eq!(texts, ["owner", "owner", "error"]);
    }
}
