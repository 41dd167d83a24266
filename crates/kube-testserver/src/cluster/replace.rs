use std::sync::Arc;

use bytes::Bytes;

use super::{ClusterState, allocator::ServiceAllocator};
use crate::{
    gc::OwnerIndex,
    scheme::{Resource, Scheme},
    store::{Key, PageRequest, Stored, TooOld},
};

/// An object with its resource and key; uid and resourceVersion are set.
#[derive(Clone, Debug)]
pub(crate) struct StateEntry {
    pub(crate) group: String,
    pub(crate) plural: String,
    pub(crate) key: Key,
    /// Serialized JSON.
    pub(crate) object: Bytes,
}

impl ClusterState {
    /// All objects at one revision: CRDs first, then by resource and key.
    pub(crate) fn contents(&self, at: Option<u64>) -> Result<Vec<StateEntry>, TooOld> {
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

    /// Replaces the whole state. The history is empty afterwards, and every watch ends; the controllers go on from the new state. Returns the objects whose resource is not served.
    pub(crate) fn replace_state(&mut self, contents: Vec<StateEntry>, revision: u64) -> Vec<StateEntry> {
        self.incarnation += 1;
        let unresolved = self.load_contents(contents, revision);
        self.replace_journal();
        self.run_tasks();
        unresolved
    }

    /// Replaces the state in memory and enqueues what the controllers find undone in it.
    pub(super) fn load_contents(&mut self, contents: Vec<StateEntry>, revision: u64) -> Vec<StateEntry> {
        self.ids.continue_after(revision);
        self.store = self.store.restarted_at(revision);
        self.scheme = Scheme::serving(&mut self.store, &self.settings.runtime_config);
        self.owners = OwnerIndex::default();
        self.tasks.clear();
        self.timers.clear();
        self.allocator = ServiceAllocator::default();
        self.unserved.clear();
        self.rbac_authorizer.take();
        let (definitions, objects): (Vec<_>, Vec<_>) =
            contents.into_iter().partition(|object| is_definition(&object.group, &object.plural));
        let (mut restored, mut unresolved) = (Vec::new(), Vec::new());
        for object in definitions.into_iter().chain(objects) {
            let found = self.scheme.by_plural(&object.group, &object.plural);
            let Some(table) = found.map(|endpoint| endpoint.resource.table) else {
                unresolved.push(object);
                continue;
            };
            let Ok(mut stored) = Stored::from_bytes(object.key.clone(), revision, &object.object) else {
                unresolved.push(object);
                continue;
            };
            if let Some(resource) = self.scheme.by_table(table).filter(|resource| resource.custom)
                && let Some(seen) = resource.as_read(&stored.value())
            {
                stored = stored.with_view(&seen);
            }
            let stored = Arc::new(stored);
            self.store.restore(table, stored.clone());
            self.owners.record(table, None, Some(&stored));
            if is_definition(&object.group, &object.plural) {
                self.serve_crd(&stored.value());
            }
            restored.push((table, stored));
        }
        self.reload_admission();
        // Owners and namespaces are complete now.
        for (table, stored) in restored {
            if let Some(resource) = self.scheme.by_table(table).cloned() {
                self.record_allocations(&resource, None, Some(&stored));
                self.resume(&resource, &stored);
            }
        }
        self.count_quotas();
        unresolved
    }

    /// Restores an earlier revision, like a cluster whose etcd is restored from a backup.
    pub(crate) fn rewind(&mut self, revision: u64) -> Result<(), TooOld> {
        let contents = self.contents(Some(revision))?;
        let revision = revision.min(self.store.revision());
        self.replace_state(contents, revision);
        Ok(())
    }
}

fn is_definition(group: &str, plural: &str) -> bool {
    group == "apiextensions.k8s.io" && plural == "customresourcedefinitions"
}
