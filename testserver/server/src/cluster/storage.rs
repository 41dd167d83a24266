use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use crate::{
    journal::{Journal, WriteError},
    meta,
    scheme::{Resource, RuntimeConfig, Scheme, crd},
    store::{Change, EventType, Key, PageRequest, Store, Stored, TableId, TooOld},
};

/// The stored objects, the resources that are served, and the journal of every change.
#[derive(Debug)]
pub(super) struct Storage {
    pub(super) store: Store,
    pub(super) scheme: Scheme,
    /// The API versions that are switched on besides the stable ones.
    runtime_config: RuntimeConfig,
    /// Custom resources whose CRD was deleted; their history can still be read.
    unserved: Vec<Arc<Resource>>,
    /// Objects of the data directory whose resource is not served, such as those of an API version that is switched off. They stay there.
    pub(super) set_aside: Vec<StateEntry>,
    /// Present with a data directory.
    pub(super) journal: Option<Journal>,
    /// Increases whenever the whole state is replaced: positions in the history are then invalid.
    pub(super) incarnation: u64,
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
    pub(super) fn new(history: usize, runtime_config: RuntimeConfig) -> Self {
        let mut store = Store::new(history);
        let scheme = Scheme::serving(&mut store, &runtime_config);
        let (unserved, set_aside) = (Vec::new(), Vec::new());
        Self { store, scheme, runtime_config, unserved, set_aside, journal: None, incarnation: 0 }
    }

    /// Drops all objects and custom resources; the next change gets the revision after this one.
    pub(super) fn restart_at(&mut self, revision: u64) {
        self.store = self.store.restarted_at(revision);
        self.scheme = Scheme::serving(&mut self.store, &self.runtime_config);
        self.unserved.clear();
        self.set_aside.clear();
    }

    /// Stores a new version of an object. On error nothing has changed.
    pub(super) fn put(&mut self, resource: &Resource, key: Key, object: Value) -> Result<Change, WriteError> {
        let next = self.store.next_version(resource.table, key, object, |object| resource.as_read(object));
        self.append_to_journal(resource, &next)?;
        Ok(self.store.commit(resource.table, next))
    }

    /// Removes an object. `None` when it does not exist. On error nothing has changed.
    pub(super) fn remove(&mut self, resource: &Resource, key: &Key) -> Result<Option<Change>, WriteError> {
        let Some(last) = self.store.next_removal(resource.table, key) else { return Ok(None) };
        self.append_to_journal(resource, &last)?;
        Ok(Some(self.store.commit(resource.table, last)))
    }

    /// Serves what a changed CRD defines.
    pub(super) fn observe(&mut self, resource: &Resource, change: &Change) {
        if !is_definition(&resource.group, &resource.plural) {
            return;
        }
        let definition = change.object.value();
        if change.object.event == EventType::Deleted {
            return self.stop_serving_crd(&definition);
        }
        self.serve_crd(&definition);
        let versions = |definition: &Value| definition["spec"]["versions"].clone();
        if change.previous.as_ref().is_some_and(|before| versions(&before.value()) != versions(&definition)) {
            self.reapply_schema(&definition);
        }
    }

    pub(super) fn resource(&self, group: &str, plural: &str) -> Option<Arc<Resource>> {
        self.scheme.by_plural(group, plural).map(|endpoint| endpoint.resource.clone())
    }

    pub(super) fn table(&self, group: &str, plural: &str) -> Option<TableId> {
        self.scheme.by_plural(group, plural).map(|endpoint| endpoint.resource.table)
    }

    /// The custom resource of a CRD.
    pub(super) fn defined_by(&self, definition: &Value) -> Option<&Arc<Resource>> {
        let (plural, group) = meta::name(definition).split_once('.')?;
        let mut resources = self.scheme.resources();
        resources.find(|resource| resource.custom && resource.is(group, plural))
    }

    pub(super) fn has_objects_in(&self, namespace: &str) -> bool {
        let mut namespaced = self.scheme.resources().filter(|r| r.namespaced);
        namespaced.any(|resource| self.store.objects(resource.table, Some(namespace)).next().is_some())
    }

    /// All objects at one revision: CRDs first, then by resource and key.
    pub(super) fn contents(&self, at: Option<u64>) -> Result<Vec<StateEntry>, TooOld> {
        let at = at.filter(|at| *at < self.store.revision());
        let gone = self.unserved.iter().filter(|_| at.is_some());
        let mut resources: Vec<&Resource> = self.scheme.resources().chain(gone).map(AsRef::as_ref).collect();
        resources.sort_by_key(|r| (!is_definition(&r.group, &r.plural), r.group.clone(), r.plural.clone()));
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

    /// Restores a saved object, and serves what it defines. Returns it with its table, or as it was when its resource is not served.
    pub(super) fn restore(
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
        if is_definition(&entry.group, &entry.plural) {
            self.serve_crd(&stored.value());
        }
        Ok((table, stored))
    }

    /// Serves the resource of an established CRD; an existing table is kept.
    fn serve_crd(&mut self, definition: &Value) {
        let table = self.defined_by(definition).map(|resource| resource.table);
        if !crd::is_established(definition) {
            return;
        }
        let table = table.unwrap_or_else(|| self.store.add_table());
        let resource = crd::compile(definition, table);
        let resource = resource.expect("invariant: a CRD was compiled before it was written");
        self.scheme.insert(Arc::new(resource));
    }

    /// Prunes and defaults what reads see by the new schemas. What was written stays, also in its version: fields that a schema drops come back with a later schema, and a new storage version applies to later writes.
    fn reapply_schema(&mut self, definition: &Value) {
        if let Some(resource) = self.defined_by(definition).cloned() {
            self.store.change_views(resource.table, |object| resource.as_read(object));
        }
    }

    /// Stops serving the resource of a deleted CRD and ends its watches.
    fn stop_serving_crd(&mut self, definition: &Value) {
        if let Some(resource) = self.defined_by(definition).cloned() {
            self.scheme.remove(resource.table);
            self.store.close_table(resource.table);
            self.unserved.push(resource);
        }
    }
}

pub(super) fn is_definition(group: &str, plural: &str) -> bool {
    group == "apiextensions.k8s.io" && plural == "customresourcedefinitions"
}
