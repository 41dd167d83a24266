use serde_json::Value;

use super::{World, addresses::Addresses};
use crate::{
    gc::OwnerIndex,
    registry::{Registry, Resource},
    store::{Key, PageRequest, TooOld},
};

/// An object with its place, complete with uid and resourceVersion.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    pub(crate) group: String,
    pub(crate) plural: String,
    pub(crate) key: Key,
    pub(crate) value: Value,
}

impl World {
    /// Everything there is, at one revision: definitions first, then in the order of resources and keys.
    pub(crate) fn contents(&self, at: Option<u64>) -> Result<Vec<Object>, TooOld> {
        let at = at.filter(|at| *at < self.store.revision());
        let gone = self.withdrawn.iter().filter(|_| at.is_some());
        let mut resources: Vec<&Resource> =
            self.registry.resources().chain(gone).map(AsRef::as_ref).collect();
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
            contents.extend(self.store.page(all)?.objects.into_iter().map(|stored| Object {
                group: resource.group.clone(),
                plural: resource.plural.clone(),
                key: stored.key.clone(),
                value: stored.value(),
            }));
        }
        Ok(contents)
    }

    /// Replaces the whole state. The history is empty afterwards, and every watch ends. Returns the objects that no
    /// resource is there for.
    pub(crate) fn refill(&mut self, contents: Vec<Object>, revision: u64) -> Vec<Object> {
        self.store = self.store.again(revision);
        self.registry = Registry::with_built_in(&mut self.store);
        self.owners = OwnerIndex::default();
        self.tasks.clear();
        self.timers.clear();
        self.addresses = Addresses::default();
        self.withdrawn.clear();
        self.bindings.take();
        self.incarnation += 1;
        let (definitions, objects): (Vec<_>, Vec<_>) =
            contents.into_iter().partition(|object| is_definition(&object.group, &object.plural));
        let mut homeless = Vec::new();
        for object in definitions.into_iter().chain(objects) {
            let found = self.registry.by_plural(&object.group, &object.plural);
            let Some(table) = found.map(|endpoint| endpoint.resource.table) else {
                homeless.push(object);
                continue;
            };
            let stored = self.store.load(table, object.key, &object.value);
            self.owners.record(table, None, Some(&stored));
            if let Some(resource) = self.registry.by_table(table).cloned() {
                self.note_event(&resource, &stored, false);
                self.note_taken_over(&resource, &stored);
                self.note_addresses(&resource, None, Some(&stored));
            }
            if is_definition(&object.group, &object.plural) {
                self.serve(&object.value);
            }
        }
        self.begin_journal();
        self.reread_hooks();
        homeless
    }

    /// Goes back to an earlier revision, as a cluster does whose etcd is restored from a backup.
    pub(crate) fn rewind(&mut self, revision: u64) -> Result<(), TooOld> {
        let contents = self.contents(Some(revision))?;
        let revision = revision.min(self.store.revision());
        self.refill(contents, revision);
        Ok(())
    }
}

fn is_definition(group: &str, plural: &str) -> bool {
    group == "apiextensions.k8s.io" && plural == "customresourcedefinitions"
}
