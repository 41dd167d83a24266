//! From what watches of related objects bring to the objects to reconcile.

use super::{
    guard::CallbackPanic,
    owner_map::{OwnerMap, StaleOwners},
    related_sync::{Pass, RelatedSync},
    request::{Asked, ReconcileRequest},
    trigger::on_behalf_of,
};
use crate::{
    queue::Urgency,
    reflector::{ObjectKey, ObjectRef},
    watcher::{self, CollectionEvent, UndecodableObject},
};
use futures::{
    Stream, StreamExt,
    stream::{self, BoxStream},
};
use kube_core::Resource;

/// What a mapper makes of an object.
pub(super) type Mapped<K> = Result<Vec<ReconcileRequest<K>>, CallbackPanic>;

/// What changes of related objects ask for: the requests that they make now, and one for each object that they made a request
/// for when they were last seen and do not any more.
pub(super) fn asked_by<K, T>(
    watches: Vec<BoxStream<'static, watcher::Result<CollectionEvent<T>>>>,
    mapper: impl Fn(T) -> Mapped<K> + Send + 'static,
    dyntype: K::DynamicType,
    related_type: T::DynamicType,
) -> impl Stream<Item = watcher::Result<Asked<K>>> + Send + 'static
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
        let mut asked = Vec::new();
        related.take_in(watch, item, &mut asked);
        stream::iter(asked)
    })
}

/// The watches of one kind of related objects.
struct Related<K: Resource, T: Resource, M> {
    /// One for each watch: a list says nothing of what belongs to another.
    owners: Vec<OwnerMap>,
    sync: RelatedSync,
    mapper: M,
    dyntype: K::DynamicType,
    related_type: T::DynamicType,
}

type Asks<K> = Vec<watcher::Result<Asked<K>>>;

impl<K, T, M> Related<K, T, M>
where
    K: Resource<DynamicType: Clone>,
    T: Resource<DynamicType: Clone>,
    M: Fn(T) -> Mapped<K>,
{
    fn take_in(&mut self, watch: usize, item: watcher::Result<CollectionEvent<T>>, asks: &mut Asks<K>) {
        match item {
            Ok(CollectionEvent::Init) => {
                self.owners[watch].start_list();
                self.sync.start_list(watch);
            }
            Ok(CollectionEvent::InitApply(object)) => self.exists(watch, object, Urgency::Background, asks),
            Ok(CollectionEvent::Synced { .. }) => {
                let gone = self.owners[watch].finish_list();
                gone.into_iter().for_each(|stale| self.ask_stale(stale, asks));
                let pass = self.sync.finish_list(watch);
                asks.extend(pass.map(reviewed));
            }
            Ok(CollectionEvent::Apply(object)) => self.exists(watch, object, Urgency::Change, asks),
            Ok(CollectionEvent::Delete(object)) => self.gone(watch, object, asks),
            Ok(CollectionEvent::Progress { .. }) => {}
            Ok(CollectionEvent::Undecodable(object)) => self.undecodable(watch, object, asks),
            Err(error) => {
                asks.push(Err(error));
                let pass = self.sync.failed(watch);
                asks.extend(pass.map(reviewed));
            }
        }
    }

    fn exists(&mut self, watch: usize, object: T, urgency: Urgency, asks: &mut Asks<K>) {
        let key = ObjectKey::of(&object);
        let stale = match (self.mapper)(object) {
            Ok(requests) => {
                let stale = self.owners[watch].observe(key, names(&requests));
                asks.extend(requests.into_iter().map(|request| Ok(Asked::One { request, urgency })));
                stale
            }
            Err(panic) => {
                asks.push(Ok(Asked::CallbackPanicked(panic)));
                let names = self.owners[watch].observe_unknown(&key);
                (key, names)
            }
        };
        self.ask_stale(stale, asks);
    }

    fn gone(&mut self, watch: usize, object: T, asks: &mut Asks<K>) {
        let (key, mapped) = (ObjectKey::of(&object), (self.mapper)(object));
        let (key, mut stale) = self.owners[watch].observe(key, Vec::new());
        match mapped {
            Ok(requests) => {
                let named = names(&requests);
                stale.retain(|name| !named.contains(name));
                let asked =
                    requests.into_iter().map(|request| Asked::One { request, urgency: Urgency::Change });
                asks.extend(asked.map(Ok));
            }
            Err(panic) => asks.push(Ok(Asked::CallbackPanicked(panic))),
        }
        self.ask_stale((key, stale), asks);
    }

    /// An object whose state cannot be decoded keeps its owners; one that is gone has none. They hear of either.
    fn undecodable(&mut self, watch: usize, object: UndecodableObject, asks: &mut Asks<K>) {
        let key = ObjectKey {
            namespace: object.namespace.as_deref().map(Into::into),
            name: object.name.as_str().into(),
        };
        let concerned = if object.deleted {
            self.owners[watch].observe(key, Vec::new())
        } else {
            let names = self.owners[watch].observe_unknown(&key);
            (key, names)
        };
        self.ask_stale(concerned, asks);
        asks.push(Err(object.into()));
    }

    fn ask_stale(&self, (related, names): StaleOwners, asks: &mut Asks<K>) {
        if names.is_empty() {
            return;
        }
        let related: ObjectRef<_> = related.to_ref::<T>(self.related_type.clone()).erase();
        let requests = names.iter().map(|name| on_behalf_of(&related, name.to_ref(self.dyntype.clone())));
        asks.extend(requests.map(|request| Ok(request.into())));
    }
}

fn reviewed<K: Resource>(Pass { first }: Pass) -> watcher::Result<Asked<K>> {
    Ok(Asked::Reviewed { first })
}

fn names<K: Resource>(requests: &[ReconcileRequest<K>]) -> Vec<ObjectKey> {
    requests.iter().map(|request| ObjectKey::from(&request.obj_ref)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::executor::block_on;
    use k8s_openapi::api::core::v1::{ConfigMap, Secret};

    #[test]
    fn an_owner_hears_of_a_child_that_can_no_longer_be_decoded() {
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
        let asked = asked_by(vec![stream::iter(events).map(Ok).boxed()], mapper, (), ());
        let in_words = |item: watcher::Result<Asked<ConfigMap>>| match item {
            Ok(Asked::One { request, .. }) => request.obj_ref.name,
            Ok(_) => "another".into(),
            Err(_) => "error".into(),
        };
        let told: Vec<String> = block_on(asked.map(in_words).collect());
        assert_eq!(told, ["owner", "owner", "error"]);
    }
}
