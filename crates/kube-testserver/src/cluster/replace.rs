use serde_json::Value;

use super::{ClusterState, allocator::ServiceAllocator};
use crate::{
    gc::OwnerIndex,
    scheme::{Resource, Scheme},
    store::{Key, PageRequest, TooOld},
};

/// An object with its resource and key; uid and resourceVersion are set.
#[derive(Clone, Debug)]
pub(crate) struct StateEntry {
    pub(crate) group: String,
    pub(crate) plural: String,
    pub(crate) key: Key,
    pub(crate) value: Value,
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
                value: stored.value(),
            }));
        }
        Ok(contents)
    }

    /// Replaces the whole state. The history is empty afterwards, and every watch ends. Returns the objects whose resource is not served.
    pub(crate) fn replace_state(&mut self, contents: Vec<StateEntry>, revision: u64) -> Vec<StateEntry> {
        self.store = self.store.restarted_at(revision);
        self.scheme = Scheme::with_built_in(&mut self.store);
        self.owners = OwnerIndex::default();
        self.tasks.clear();
        self.timers.clear();
        self.allocator = ServiceAllocator::default();
        self.unserved.clear();
        self.rbac_authorizer.take();
        self.incarnation += 1;
        let (definitions, objects): (Vec<_>, Vec<_>) =
            contents.into_iter().partition(|object| is_definition(&object.group, &object.plural));
        let mut unresolved = Vec::new();
        for object in definitions.into_iter().chain(objects) {
            let found = self.scheme.by_plural(&object.group, &object.plural);
            let Some(table) = found.map(|endpoint| endpoint.resource.table) else {
                unresolved.push(object);
                continue;
            };
            let stored = self.store.restore(table, object.key, &object.value);
            self.owners.record(table, None, Some(&stored));
            if let Some(resource) = self.scheme.by_table(table).cloned() {
                self.schedule_event_expiry(&resource, &stored, false);
                self.requeue_restored(&resource, &stored);
                self.record_allocations(&resource, None, Some(&stored));
            }
            if is_definition(&object.group, &object.plural) {
                self.serve_crd(&object.value);
            }
        }
        self.rewrite_journal();
        self.reload_webhooks();
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
