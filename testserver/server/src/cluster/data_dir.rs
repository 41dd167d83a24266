//! Opens a data directory: loads its state and journals every change from now on.

use std::{collections::BTreeMap, path::Path};

use super::ClusterState;
use crate::{
    rbac::TokenSigner,
    storage::{DataError, Journal, Key, KeyFiles, StateEntry, WriteError},
};

impl ClusterState {
    /// Loads the state of a data directory, if there is one, and journals every change from now on. Tasks that were not finished are run.
    pub(crate) fn open_data_dir(&mut self, dir: &Path, synced: bool) -> Result<(), DataError> {
        let (journal, saved) = Journal::open(dir, synced)?;
        let keys = KeyFiles::new(dir);
        self.access.token_signer =
            TokenSigner::from_pem(&keys.token_key()?).map_err(|why| keys.damaged("sa.key", why))?;
        if saved.revision > 0 {
            let objects = saved.objects.into_iter().map(|((group, plural, key), object)| StateEntry {
                group,
                plural,
                key: Key::raw(&key),
                object,
            });
            let set_aside = self.load_contents(objects.collect(), saved.revision);
            let mut counts = BTreeMap::new();
            for StateEntry { group, plural, .. } in &set_aside {
                *counts.entry((group, plural)).or_insert(0_usize) += 1;
            }
            for ((group, plural), count) in counts {
                tracing::warn!(
                    "{count} objects of {plural}.{group} stay in {} and are not served: their API version is switched off, or their CRD does not exist",
                    dir.display()
                );
            }
            self.storage.set_aside = set_aside;
        }
        let is_empty = journal.is_outdated();
        self.storage.journal = Some(journal);
        if is_empty {
            self.storage.rewrite_journal()?;
        }
        self.ensure_rbac_bootstrap()?;
        self.ensure_priority_classes()?;
        self.ensure_kubernetes_service()?;
        self.run_tasks();
        self.sync_journal()?;
        Ok(())
    }

    /// Whether every change is journaled in this directory, and waits for the disk if `synced`.
    pub(crate) fn is_kept_in(&self, dir: &Path, synced: bool) -> bool {
        self.storage
            .journal
            .as_ref()
            .is_some_and(|journal| journal.is_in(dir) && (journal.is_synced() || !synced))
    }

    /// Why the data directory refused the last write; checks whether it still does.
    pub(crate) fn check_journal(&mut self) -> Result<(), WriteError> {
        self.storage.check_journal()
    }

    /// Waits until the disk has every change, if the server was configured so.
    pub(crate) fn sync_journal(&mut self) -> Result<(), WriteError> {
        self.storage.sync_journal()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::cluster::Settings;

    fn config_map(name: &str) -> serde_json::Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}})
    }

    #[test]
    fn a_write_that_the_disk_refuses_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut cluster = ClusterState::new(Settings::default());
        cluster.open_data_dir(dir.path(), true).unwrap();
        let maps = cluster.storage.scheme.by_plural("", "configmaps").unwrap().resource.clone();
        let key = |name: &str| Key::new(Some("default"), name);
        cluster.put(&maps, key("a"), config_map("a")).unwrap();
        let revision = cluster.storage.store.revision();

        cluster.storage.journal.as_mut().unwrap().fill_disk();
        let error = cluster.put(&maps, key("b"), config_map("b")).unwrap_err().to_string();
        assert!(error.contains("No space left on device"), "{error}");
        assert_eq!(cluster.storage.store.revision(), revision);
        assert!(cluster.storage.store.get(maps.table, &key("b")).is_none());

        // There is space again: the state on disk is the one in memory.
        cluster.check_journal().unwrap();
        cluster.put(&maps, key("c"), config_map("c")).unwrap();
        cluster.sync_journal().unwrap();
        drop(cluster);
        let mut cluster = ClusterState::new(Settings::default());
        cluster.open_data_dir(dir.path(), false).unwrap();
        let names =
            cluster.storage.store.objects(maps.table, None).map(|stored| stored.key.name().to_owned());
        assert_eq!(names.collect::<Vec<_>>(), ["a", "c"]);
    }

    #[test]
    fn a_restart_does_not_give_the_revisions_of_compactions_away_again() {
        let dir = tempfile::tempdir().unwrap();
        let mut cluster = ClusterState::new(Settings::default());
        cluster.open_data_dir(dir.path(), false).unwrap();
        let revision = cluster.storage.store.revision();
        cluster.clock.advance(Duration::from_secs(1000));
        cluster.run_due_tasks();
        assert_eq!(cluster.storage.store.revision(), revision + 3);
        // Without space, no revision is given away.
        cluster.storage.journal.as_mut().unwrap().fill_disk();
        cluster.clock.advance(Duration::from_secs(300));
        cluster.run_due_tasks();
        assert_eq!(cluster.storage.store.revision(), revision + 3);
        cluster.run_due_tasks();
        assert_eq!(cluster.storage.store.revision(), revision + 4);
        drop(cluster);
        let mut cluster = ClusterState::new(Settings::default());
        cluster.open_data_dir(dir.path(), false).unwrap();
        assert_eq!(cluster.storage.store.revision(), revision + 4);
    }

    #[test]
    fn objects_of_a_version_that_is_switched_off_stay_on_disk() {
        let dir = tempfile::tempdir().unwrap();
        let open = |entries: &str| {
            let mut settings = Settings::default();
            settings.runtime_config.add(entries).unwrap();
            let mut cluster = ClusterState::new(settings);
            cluster.open_data_dir(dir.path(), false).unwrap();
            cluster
        };
        let candidates =
            |cluster: &ClusterState| cluster.storage.resource("coordination.k8s.io", "leasecandidates");
        let key = Key::new(Some("default"), "one");
        let mut cluster = open("api/beta=true");
        let resource = candidates(&cluster).unwrap();
        let candidate = json!({
            "apiVersion": "coordination.k8s.io/v1beta1",
            "kind": "LeaseCandidate",
            "metadata": {"name": "one", "namespace": "default", "uid": "u"},
        });
        cluster.put(&resource, key.clone(), candidate).unwrap();
        drop(cluster);

        let mut cluster = open("");
        assert!(candidates(&cluster).is_none());
        // As when the changes have outgrown the state.
        cluster.storage.rewrite_journal().unwrap();
        drop(cluster);

        let cluster = open("api/beta=true");
        let table = candidates(&cluster).unwrap().table;
        assert!(cluster.storage.store.get(table, &key).is_some());
    }

    #[test]
    fn a_task_whose_write_is_refused_runs_again() {
        let dir = tempfile::tempdir().unwrap();
        let mut cluster = ClusterState::new(Settings::default());
        cluster.open_data_dir(dir.path(), false).unwrap();
        let maps = cluster.storage.scheme.by_plural("", "configmaps").unwrap().resource.clone();
        let mut orphan = config_map("orphan");
        orphan["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "none", "uid": "u"}]);
        let key = Key::new(Some("default"), "orphan");
        cluster.put(&maps, key.clone(), orphan).unwrap();
        cluster.storage.journal.as_mut().unwrap().fill_disk();
        cluster.storage.journal.as_mut().unwrap().append(b"x").unwrap_err();
        let state = dir.path().join("state");
        std::fs::remove_file(&state).unwrap();
        // A rewrite fails, too.
        std::fs::create_dir_all(state.join("in the way")).unwrap();
        cluster.run_tasks();
        assert!(cluster.storage.store.get(maps.table, &key).is_some());
        std::fs::remove_dir_all(&state).unwrap();
        cluster.run_due_tasks();
        assert!(cluster.storage.store.get(maps.table, &key).is_none());
    }
}
