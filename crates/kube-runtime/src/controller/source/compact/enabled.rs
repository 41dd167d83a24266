//! Sources whose objects are kept in compact caches.

use crate::{
    controller::{
        scope::Covered,
        source::{
            filter::{OwnCache, OwnPredicate, only_metadata},
            namespaces::Apis,
            own::OwnSource,
            related::RelatedSource,
        },
    },
    predicate::{State, state_of},
    reflector::{CompactCache, CompactObject, CompactWriter, Index, WatchWriter},
    watcher::{self, CollectionEvent, RawObject, raw_collection_events},
};
use futures::StreamExt;
use kube_core::{PartialObjectMeta, Resource};
use serde::de::DeserializeOwned;
use std::{fmt::Debug, hash::Hash, sync::Arc};

impl<K> OwnSource<K>
where
    K: Clone + Resource<DynamicType: Eq + Hash + Clone> + DeserializeOwned + Debug + Send + Sync + 'static,
{
    /// Watches that fill a new store of the configured kind.
    pub(crate) fn configured(apis: Apis<K>, config: watcher::Config, dyntype: K::DynamicType) -> Self {
        match config.compact_cache {
            true => Self::compact(apis, config, dyntype),
            false => Self::watches(apis, config, dyntype),
        }
    }

    /// Like [`watches`](Self::watches), with a compact store.
    fn compact(apis: Apis<K>, config: watcher::Config, dyntype: K::DynamicType) -> Self {
        let writer = CompactWriter::new(dyntype.clone());
        let (store, compressed) = (writer.as_reader(), writer.kept_objects());
        let (writer, keeper) = writer.into_parts(apis.pruned().and(&config.pruned()));
        let (cache, selected) = (keeper.cache.clone(), apis.selected(&config));
        let watch = move |api, settings| {
            let keeper = keeper.clone();
            let events = raw_collection_events(api, config.clone(), settings, compressed.clone());
            events.map(move |item| item.map(|event| keeper.keep(event))).boxed()
        };
        Self::cached(apis, watch, writer, cache, store, selected, dyntype)
    }
}

impl<O> RelatedSource<PartialObjectMeta<O>, PartialObjectMeta<O>>
where
    O: Clone + Resource<DynamicType: Eq + Hash + Clone> + DeserializeOwned + Debug + Send + Sync + 'static,
{
    /// Watches of objects, which `writer` puts into its store before they trigger. No object is decoded to find its owners.
    pub(crate) fn compact(
        apis: Apis<O>,
        config: watcher::Config,
        dyntype: O::DynamicType,
        writer: CompactWriter<O>,
    ) -> Self {
        let writer = writer.with_index(&Index::owners());
        let covered = Covered::store(&writer.as_reader(), Some(apis.selected(&config)));
        let compressed = writer.kept_objects_with_owners();
        let (writer, keeper) = writer.into_parts(apis.pruned().and(&config.pruned()));
        let watch =
            move |api, settings| raw_collection_events(api, config.clone(), settings, compressed.clone());
        let apply = move |writer: &mut WatchWriter<_>, event: CollectionEvent<RawObject<_>>| {
            let metadata = event.object().map(|child| child.meta().clone()).unwrap_or_default();
            let event = writer.apply(keeper.keep(event));
            event.map(|_kept| only_metadata(metadata))
        };
        Self::written(apis, watch, writer, apply, covered, dyntype)
    }
}

impl<K: Resource + Send + Sync + 'static> OwnCache<K> for CompactCache<K> {
    type Kept = CompactObject;

    fn shows(&self, object: &Arc<CompactObject>) -> bool {
        self.contains(object)
    }

    /// An undecodable object has no state, so that it passes: its reconcile reports the error.
    fn state(&self, predicate: &OwnPredicate<K>, object: &CompactObject) -> Result<State, String> {
        match predicate {
            OwnPredicate::Object(predicate) => {
                self.decode(object).map_or(Ok(None), |object| state_of(&**predicate, &*object, ()))
            }
            OwnPredicate::Metadata(predicate) => self
                .metadata(object)
                .map_or(Ok(None), |metadata| state_of(&**predicate, &only_metadata(metadata), ())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        controller::source::{filter::OwnFilter, trigger::Trigger},
        queue::Priority,
    };
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube_client::client::{ObjectVersion, Prune};

    #[test]
    fn what_a_relist_changes_in_a_compact_cache_comes_first_as_well() {
        let writer = CompactWriter::<ConfigMap>::new(());
        let store = writer.as_reader();
        let (mut writer, keeper) = writer.into_parts(Prune::default());
        let (cache, known) = (keeper.cache.clone(), writer.find_known());
        let mut filter = OwnFilter::<ConfigMap>::default();
        let mut relist = |version: &str| -> Vec<Priority> {
            let object = format!(r#"{{"metadata":{{"name":"a","uid":"u","resourceVersion":"{version}"}}}}"#);
            let received = keeper.keep(CollectionEvent::InitApply(serde_json::from_str(&object).unwrap()));
            let key = ObjectVersion { namespace: None, name: "a", uid: Some("u"), resource_version: version };
            let listed = known(&key).map_or(received, CollectionEvent::InitApply);
            let synced = CollectionEvent::Synced { resource_version: version.to_owned() };
            let list = [CollectionEvent::Init, listed, synced];
            let mut priorities = Vec::new();
            for event in list {
                let Some(Ok(event)) = writer.apply_collection_event(event).into_public() else {
                    continue;
                };
                for trigger in filter.triggers_of_event(event, &cache, &store).into_iter().flatten() {
                    let Trigger::Object { priority, .. } = trigger else {
                        unreachable!("there is no predicate")
                    };
                    priorities.push(priority);
                }
            }
            priorities
        };
        assert_eq!(relist("1"), [Priority::Background], "the first list");
        assert_eq!(relist("1"), [Priority::Background], "unchanged");
        assert_eq!(relist("2"), [Priority::Change], "changed");
    }
}
