//! Replaces the whole state: restore, rewind, and loading a data directory.

use super::{ClusterState, event_index::EventIndex, task::Task};
use crate::{
    crd,
    scheme::is_definition,
    storage::{StateEntry, TooOld},
};

impl ClusterState {
    /// All objects at one revision: CRDs first, then by resource and key.
    pub(crate) fn contents(&self, at: Option<u64>) -> Result<Vec<StateEntry>, TooOld> {
        self.storage.contents(at)
    }

    /// Replaces the whole state. The history is empty afterwards, and every watch ends; the controllers go on from the new state. Returns
    /// the objects whose resource is not served.
    pub(crate) fn replace_state(&mut self, contents: Vec<StateEntry>, revision: u64) -> Vec<StateEntry> {
        self.storage.incarnation += 1;
        let unresolved = self.load_contents(contents, revision);
        self.storage.replace_journal();
        self.run_tasks();
        unresolved
    }

    /// Replaces the state in memory and enqueues what the controllers find undone in it.
    pub(super) fn load_contents(&mut self, contents: Vec<StateEntry>, revision: u64) -> Vec<StateEntry> {
        self.ids.continue_after(revision);
        self.storage.restart_at(revision);
        self.compactor.forget();
        self.events = EventIndex::default();
        self.work.clear();
        self.services.clear();
        self.access.reset();
        let (definitions, objects): (Vec<_>, Vec<_>) =
            contents.into_iter().partition(|entry| is_definition(&entry.group, &entry.plural));
        let (mut restored, mut unresolved) = (Vec::new(), Vec::new());
        for entry in definitions.into_iter().chain(objects) {
            let defines = is_definition(&entry.group, &entry.plural);
            match self.storage.restore(entry, revision) {
                Ok((table, stored)) => {
                    if defines {
                        crd::serve(&mut self.storage, &stored.value());
                    }
                    self.work.owners.record(table, None, Some(&stored));
                    restored.push((table, stored));
                }
                Err(entry) => unresolved.push(entry),
            }
        }
        self.admission.reload(&self.storage);
        // Owners and namespaces are complete now.
        for (table, stored) in restored {
            if let Some(resource) = self.storage.scheme.by_table(table) {
                self.services.restore(resource, &stored);
                self.work.resume(&self.storage, resource, &stored);
            }
        }
        for quota in self.admission.count_quotas(&self.storage) {
            self.work.enqueue(Task::QuotaStatus(quota));
        }
        unresolved
    }

    /// Restores an earlier revision, like a cluster whose etcd is restored from a backup.
    pub(crate) fn rewind(&mut self, revision: u64) -> Result<(), TooOld> {
        let contents = self.contents(Some(revision))?;
        let revision = revision.min(self.storage.store.revision());
        self.replace_state(contents, revision);
        Ok(())
    }
}
