//! Journals the changes of the storage, and rewrites the journal with the whole state.

use super::{EventType, Journal, JournalLine, StateEntry, Storage, Stored, WriteError};
use crate::scheme::Resource;

impl Storage {
    /// Why the data directory refused the last write; checks whether it still does.
    pub(crate) fn check_journal(&mut self) -> Result<(), WriteError> {
        let revision = self.store.revision();
        match &mut self.journal {
            Some(journal) if journal.is_outdated() => self.rewrite_journal(),
            // A repeated header changes nothing.
            Some(journal) if journal.failure().is_some() => journal.append(&JournalLine::head(revision)),
            _ => Ok(()),
        }
    }

    /// Takes `count` revisions without a change. They are journaled, so that no restart gives them to other states.
    pub(crate) fn skip_revisions(&mut self, count: u64) -> Result<(), WriteError> {
        if count == 0 {
            return Ok(());
        }
        let revision = self.store.revision() + count;
        if self.journal.as_ref().is_some_and(Journal::is_outdated) {
            self.rewrite_journal()?;
        }
        if let Some(journal) = &mut self.journal {
            journal.append(&JournalLine::head(revision))?;
        }
        self.store.advance_to(revision);
        Ok(())
    }

    /// Waits until the disk has every change, if the server was configured so.
    pub(crate) fn sync_journal(&mut self) -> Result<(), WriteError> {
        self.journal.as_mut().map_or(Ok(()), Journal::sync)
    }

    /// Appends the next version of an object, or its removal, before anybody sees it.
    pub(crate) fn append_to_journal(&mut self, resource: &Resource, next: &Stored) -> Result<(), WriteError> {
        let Some(journal) = &self.journal else { return Ok(()) };
        if journal.is_outdated() {
            self.rewrite_journal()?;
        } else if journal.is_long() {
            // Without space for another file, the present one is still complete.
            drop(self.rewrite_journal());
        }
        let Some(journal) = &mut self.journal else { return Ok(()) };
        // Under the stored kind, also when the object was written as its storage equivalent.
        let resource = self.scheme.by_table(resource.table).map_or(resource, AsRef::as_ref);
        let object = next.written();
        let object = Some(&object).filter(|_| next.event != EventType::Deleted);
        let key = next.key.to_string();
        journal.append(&JournalLine::change(next.revision, &resource.group, &resource.plural, &key, object))
    }

    /// Rewrites the journal after the state was replaced. Until that succeeds, changes are refused.
    pub(crate) fn replace_journal(&mut self) {
        if let Some(journal) = &mut self.journal {
            journal.set_outdated();
            // The error is logged, and reported by `/readyz` and every write.
            drop(self.rewrite_journal());
        }
    }

    /// Rewrites the journal with the current state.
    pub(crate) fn rewrite_journal(&mut self) -> Result<(), WriteError> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
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
                    Some(&stored.written()),
                )
            })
        });
        let is_served = |entry: &StateEntry| scheme.by_plural(&entry.group, &entry.plural).is_some();
        // A CRD that was created meanwhile makes its objects anew.
        let set_aside = self.set_aside.iter().filter(|entry| !is_served(entry)).map(|entry| {
            let key = entry.key.to_string();
            JournalLine::change(store.revision(), &entry.group, &entry.plural, &key, Some(&entry.object))
        });
        journal.rewrite(std::iter::once(head).chain(set_aside).chain(objects))
    }
}
