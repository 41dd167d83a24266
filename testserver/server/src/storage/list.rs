//! Pages of lists, at the current and at earlier revisions.

use std::{collections::BTreeMap, sync::Arc};

use super::{Key, Store, Stored, TooOld};
use crate::scheme::TableId;

/// A list request for one resource.
pub(crate) struct PageRequest<'a> {
    pub(crate) table: TableId,
    pub(crate) namespace: Option<&'a str>,
    /// The revision to list; `None` is the current one.
    pub(crate) at: Option<u64>,
    /// The first key.
    pub(crate) start: Option<Key>,
    /// The largest number of objects to return; 0 means all.
    pub(crate) limit: usize,
    pub(crate) matches: &'a dyn Fn(&Stored) -> bool,
}

/// A page of one consistent state.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) revision: u64,
    pub(crate) objects: Vec<Arc<Stored>>,
    /// The first key of the next page; `None` after the last page.
    pub(crate) next: Option<Key>,
    /// The number of keys after this page, matching or not.
    pub(crate) remaining: usize,
}

impl Store {
    /// Lists a page of the state at one revision, current or in the history. Costs the page, a count of the keys after it, and for earlier
    /// revisions the changes since.
    pub(crate) fn page(&self, request: PageRequest<'_>) -> Result<Page, TooOld> {
        let PageRequest { table, namespace, at, start, limit, matches } = request;
        let revision = at.unwrap_or(self.revision());
        let undone = match at {
            Some(at) => self.undo(table, at)?,
            None => BTreeMap::new(),
        };
        let start = start.unwrap_or_else(|| Key::first_in(namespace));
        let present =
            self.range(table, namespace, start.clone()).filter(|(key, _)| !undone.contains_key(*key));
        let past = undone
            .range::<Key, _>(&start..)
            .filter_map(|(key, was)| Some((*key, (*was)?)))
            .filter(|(key, _)| key.is_in(namespace));
        let mut page = Page { revision, objects: Vec::new(), next: None, remaining: 0 };
        for (key, object) in merge(present, past).filter(|(_, object)| matches(object)) {
            if limit > 0 && page.objects.len() == limit {
                page.next = page.objects.last().map(|last| last.key.successor());
                page.remaining = self.count(table, namespace, key, &undone);
                break;
            }
            page.objects.push(object.clone());
        }
        Ok(page)
    }

    /// The number of keys from this one on, without the undone changes.
    fn count(&self, table: TableId, namespace: Option<&str>, from: &Key, undone: &Undone<'_>) -> usize {
        let undone = || undone.range::<Key, _>(from..).filter(|(key, _)| key.is_in(namespace));
        let hidden = undone().filter(|(key, _)| self.get(table, key).is_some()).count();
        let restored = undone().filter(|(_, was)| was.is_some()).count();
        self.range(table, namespace, from.clone()).count() - hidden + restored
    }

    /// One object at a revision. Costs the changes since then.
    pub(crate) fn get_at(
        &self,
        table: TableId,
        key: &Key,
        revision: u64,
    ) -> Result<Option<&Arc<Stored>>, TooOld> {
        self.check_readable(table, revision)?;
        let first = self.table(table).since(revision).find(|change| change.object.key == *key);
        Ok(first.map_or_else(|| self.get(table, key), |change| change.previous.as_ref()))
    }

    /// The version that each key changed since `revision` had then; `None` for keys that did not exist.
    fn undo(&self, table: TableId, revision: u64) -> Result<Undone<'_>, TooOld> {
        self.check_readable(table, revision)?;
        let mut undone = BTreeMap::new();
        for change in self.table(table).since(revision) {
            undone.entry(&change.object.key).or_insert(change.previous.as_ref());
        }
        Ok(undone)
    }
}

type Undone<'a> = BTreeMap<&'a Key, Option<&'a Arc<Stored>>>;

type Item<'a> = (&'a Key, &'a Arc<Stored>);

/// Merges two ordered sequences without common keys.
fn merge<'a>(
    left: impl Iterator<Item = Item<'a>>,
    right: impl Iterator<Item = Item<'a>>,
) -> impl Iterator<Item = Item<'a>> {
    let (mut left, mut right) = (left.peekable(), right.peekable());
    std::iter::from_fn(move || match (left.peek(), right.peek()) {
        (Some((l, _)), Some((r, _))) if r < l => right.next(),
        (None, _) => right.next(),
        _ => left.next(),
    })
}
