use std::path::Path;

use super::{ClusterState, StateEntry};
use crate::{
    journal::{DataError, Journal, JournalLine},
    scheme::Resource,
    store::{Key, Stored},
};

impl ClusterState {
    /// Loads the state of a data directory, if there is one, and journals every change from now on.
    pub(crate) fn open_data_dir(&mut self, dir: &Path) -> Result<(), DataError> {
        let (journal, saved) = Journal::open(dir)?;
        if saved.revision > 0 {
            let objects = saved.objects.into_iter().map(|((group, plural, key), value)| StateEntry {
                group,
                plural,
                key: Key::raw(&key),
                value,
            });
            for object in self.replace_state(objects.collect(), saved.revision) {
                let (key, plural, group) = (&object.key, &object.plural, &object.group);
                tracing::warn!("skipped {plural}.{group} {key}: its CRD does not exist");
            }
            self.ensure_rbac_bootstrap();
        }
        self.journal = Some(journal);
        self.rewrite_journal();
        Ok(())
    }

    /// The error after which changes are no longer written.
    pub(crate) fn journal_error(&self) -> Option<&str> {
        self.journal.as_ref()?.write_error()
    }

    /// Appends the new version of an object, or its removal.
    pub(super) fn append_to_journal(&mut self, resource: &Resource, stored: &Stored, gone: bool) {
        let Some(journal) = &mut self.journal else { return };
        // Under the stored kind, also when the object was written as its storage equivalent.
        let resource = self.scheme.by_table(resource.table).map_or(resource, AsRef::as_ref);
        let object = stored.bytes();
        let object = Some(&object).filter(|_| !gone);
        let key = stored.key.to_string();
        journal.append(&JournalLine::change(
            stored.revision,
            &resource.group,
            &resource.plural,
            &key,
            object,
        ));
        if journal.is_long() {
            self.rewrite_journal();
        }
    }

    /// Rewrites the journal with the current state.
    pub(super) fn rewrite_journal(&mut self) {
        let Some(journal) = &mut self.journal else { return };
        let head = JournalLine::head(self.store.revision());
        let (store, scheme) = (&self.store, &self.scheme);
        let objects = scheme.resources().flat_map(|resource| {
            store.objects(resource.table, None).map(move |stored| {
                let key = stored.key.to_string();
                JournalLine::change(
                    stored.revision,
                    &resource.group,
                    &resource.plural,
                    &key,
                    Some(&stored.bytes()),
                )
            })
        });
        journal.rewrite(std::iter::once(head).chain(objects));
    }
}
