use std::path::Path;

use super::{ClusterState, StateEntry};
use crate::{
    journal::{DataError, Journal, JournalLine},
    scheme::Resource,
    store::{Key, Stored},
};

impl ClusterState {
    /// Takes over the state of a data directory, if there is one, and keeps every change there from now on.
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
                tracing::warn!("{plural}.{group} {key} is left out: its CRD is not there");
            }
            self.ensure_rbac_bootstrap();
        }
        self.journal = Some(journal);
        self.rewrite_journal();
        Ok(())
    }

    /// Why changes can no longer be kept.
    pub(crate) fn journal_error(&self) -> Option<&str> {
        self.journal.as_ref()?.write_error()
    }

    /// Notes the newest version of an object, or that it is gone.
    pub(super) fn append_to_journal(&mut self, resource: &Resource, stored: &Stored, gone: bool) {
        let Some(journal) = &mut self.journal else { return };
        // Whichever of two twins it was written as.
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

    /// Writes the whole state anew.
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
