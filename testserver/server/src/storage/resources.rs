//! The stored objects, the resources that are served, and the journal: one change goes through all three.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use super::{Change, Journal, Key, PageRequest, Store, Stored, TooOld, WriteError};
use crate::{
    object::meta,
    scheme::{Resource, RuntimeConfig, Scheme, TableId},
};

/// The stored objects, the resources that are served, and the journal of every change.
#[derive(Debug)]
pub(crate) struct Storage {
    pub(crate) store: Store,
    pub(crate) scheme: Scheme,
    /// The API versions that are switched on besides the stable ones.
    runtime_config: RuntimeConfig,
    /// Custom resources whose CRD was deleted; their history can still be read.
    unserved: Vec<Arc<Resource>>,
    /// Objects of the data directory whose resource is not served, such as those of an API version that is switched off. They stay there.
    pub(crate) set_aside: Vec<StateEntry>,
    /// Present with a data directory.
    pub(crate) journal: Option<Journal>,
    /// Increases whenever the whole state is replaced: positions in the history are then invalid.
    pub(crate) incarnation: u64,
}

/// An object with its resource and key; uid and resourceVersion are set.
#[derive(Clone, Debug)]
pub(crate) struct StateEntry {
    pub(crate) group: String,
    pub(crate) plural: String,
    pub(crate) key: Key,
    /// Serialized JSON.
    pub(crate) object: Bytes,
}

impl Storage {
    pub(crate) fn new(history: usize, runtime_config: RuntimeConfig) -> Self {
        let mut store = Store::new(history);
        let scheme = Scheme::serving(&runtime_config);
        store.add_tables_of(&scheme);
        let (unserved, set_aside) = (Vec::new(), Vec::new());
        Self { store, scheme, runtime_config, unserved, set_aside, journal: None, incarnation: 0 }
    }

    /// Drops all objects and custom resources; the next change gets the revision after this one.
    pub(crate) fn restart_at(&mut self, revision: u64) {
        self.store = self.store.restarted_at(revision);
        self.scheme = Scheme::serving(&self.runtime_config);
        self.store.add_tables_of(&self.scheme);
        self.unserved.clear();
        self.set_aside.clear();
    }

    /// Stores a new version of an object. On error nothing has changed.
    pub(crate) fn put(&mut self, resource: &Resource, key: Key, object: Value) -> Result<Change, WriteError> {
        let next = self.store.next_version(resource.table, key, object, |object| resource.as_read(object));
        self.append_to_journal(resource, &next)?;
        Ok(self.store.commit(resource.table, next))
    }

    /// Removes an object. `None` when it does not exist. On error nothing has changed.
    pub(crate) fn remove(&mut self, resource: &Resource, key: &Key) -> Result<Option<Change>, WriteError> {
        let Some(last) = self.store.next_removal(resource.table, key) else { return Ok(None) };
        self.append_to_journal(resource, &last)?;
        Ok(Some(self.store.commit(resource.table, last)))
    }

    pub(crate) fn resource(&self, group: &str, plural: &str) -> Option<Arc<Resource>> {
        self.scheme.by_plural(group, plural).map(|endpoint| endpoint.resource.clone())
    }

    pub(crate) fn table(&self, group: &str, plural: &str) -> Option<TableId> {
        self.scheme.by_plural(group, plural).map(|endpoint| endpoint.resource.table)
    }

    /// An object of the resource with this group and plural. `None` also when the resource is not served.
    pub(crate) fn object(&self, group: &str, plural: &str, key: &Key) -> Option<&Arc<Stored>> {
        self.store.get(self.table(group, plural)?, key)
    }

    /// An object by its table, with its resource.
    pub(crate) fn read(&self, table: TableId, key: &Key) -> Option<(Arc<Resource>, Value)> {
        let resource = self.scheme.by_table(table)?.clone();
        Some((resource, self.store.get(table, key)?.value()))
    }

    /// The custom resource of a CRD.
    pub(crate) fn defined_by(&self, definition: &Value) -> Option<&Arc<Resource>> {
        let (plural, group) = meta::name(definition).split_once('.')?;
        let mut resources = self.scheme.resources();
        resources.find(|resource| resource.custom && resource.is(group, plural))
    }

    pub(crate) fn has_objects_in(&self, namespace: &str) -> bool {
        let mut namespaced = self.scheme.resources().filter(|r| r.namespaced);
        namespaced.any(|resource| self.store.objects(resource.table, Some(namespace)).next().is_some())
    }

    /// All objects at one revision: CRDs first, then by resource and key.
    pub(crate) fn contents(&self, at: Option<u64>) -> Result<Vec<StateEntry>, TooOld> {
        let at = at.filter(|at| *at < self.store.revision());
        let gone = self.unserved.iter().filter(|_| at.is_some());
        let mut resources: Vec<&Resource> = self.scheme.resources().chain(gone).map(AsRef::as_ref).collect();
        resources.sort_by_key(|r| (!r.is_definition(), r.group.clone(), r.plural.clone()));
        let mut contents = Vec::new();
        for resource in resources {
            let all = PageRequest {
                table: resource.table,
                namespace: None,
                at,
                start: None,
                limit: 0,
                matches: &|_| true,
            };
            contents.extend(self.store.page(all)?.objects.into_iter().map(|stored| StateEntry {
                group: resource.group.clone(),
                plural: resource.plural.clone(),
                key: stored.key.clone(),
                object: stored.written(),
            }));
        }
        Ok(contents)
    }

    /// Restores a saved object. Returns it with its table, or as it was when its resource is not served.
    pub(crate) fn restore(
        &mut self,
        entry: StateEntry,
        revision: u64,
    ) -> Result<(TableId, Arc<Stored>), StateEntry> {
        let Some(resource) = self.resource(&entry.group, &entry.plural) else { return Err(entry) };
        let Ok(mut stored) = Stored::from_bytes(entry.key.clone(), revision, &entry.object) else {
            return Err(entry);
        };
        let table = resource.table;
        if resource.custom
            && let Some(seen) = resource.as_read(&stored.value())
        {
            stored = stored.with_view(&seen);
        }
        let stored = Arc::new(stored);
        self.store.restore(table, stored.clone());
        Ok((table, stored))
    }

    /// Stops serving a resource and ends its watches. Its history can still be read.
    pub(crate) fn stop_serving(&mut self, resource: Arc<Resource>) {
        self.scheme.remove(resource.table);
        self.store.close_table(resource.table);
        self.unserved.push(resource);
    }
}
