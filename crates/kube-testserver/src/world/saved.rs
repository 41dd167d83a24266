use std::path::Path;

use super::{Object, World};
use crate::{
    journal::{DataError, Journal, Line},
    registry::Resource,
    store::{Key, Stored},
};

impl World {
    /// Takes over the state of a data directory, if there is one, and keeps every change there from now on.
    pub(crate) fn keep_in(&mut self, dir: &Path) -> Result<(), DataError> {
        let (journal, saved) = Journal::open(dir)?;
        if saved.revision > 0 {
            let objects = saved.objects.into_iter().map(|((group, plural, key), value)| Object {
                group,
                plural,
                key: Key::raw(&key),
                value,
            });
            for object in self.refill(objects.collect(), saved.revision) {
                let (key, plural, group) = (&object.key, &object.plural, &object.group);
                tracing::warn!("{plural}.{group} {key} is left out: its CRD is not there");
            }
            self.ensure_access();
        }
        self.journal = Some(journal);
        self.begin_journal();
        Ok(())
    }

    /// Why changes can no longer be kept.
    pub(crate) fn journal_failure(&self) -> Option<&str> {
        self.journal.as_ref()?.failure()
    }

    /// Notes the newest version of an object, or that it is gone.
    pub(super) fn note_in_journal(&mut self, resource: &Resource, stored: &Stored, gone: bool) {
        let Some(journal) = &mut self.journal else { return };
        // Whichever of two twins it was written as.
        let resource = self.registry.by_table(resource.table).map_or(resource, AsRef::as_ref);
        let object = stored.bytes();
        let object = Some(&object).filter(|_| !gone);
        let key = stored.key.to_string();
        journal.append(&Line::change(stored.revision, &resource.group, &resource.plural, &key, object));
        if journal.is_long() {
            self.begin_journal();
        }
    }

    /// Writes the whole state anew.
    pub(super) fn begin_journal(&mut self) {
        let Some(journal) = &mut self.journal else { return };
        let head = Line::head(self.store.revision());
        let (store, registry) = (&self.store, &self.registry);
        let objects = registry.resources().flat_map(|resource| {
            store.objects(resource.table, None).map(move |stored| {
                let key = stored.key.to_string();
                Line::change(stored.revision, &resource.group, &resource.plural, &key, Some(&stored.bytes()))
            })
        });
        journal.begin(std::iter::once(head).chain(objects));
    }
}
