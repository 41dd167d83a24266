//! Fields that are lists and maps.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque},
    hash::{BuildHasher, Hash},
};

use serde::Serialize;

/// A field that `[..]` can be written to.
#[diagnostic::on_unimplemented(
    message = "a field of type `{Self}` is no list",
    label = "this list is written to a field of type `{Self}`"
)]
pub trait ListField {
    /// What the list has.
    type Item;
    /// A list without items.
    fn empty() -> Self;
    /// Adds an item.
    fn push(&mut self, item: Self::Item);
}

/// A list whose items can be written in braces: an item stays where it is until the next one.
#[diagnostic::on_unimplemented(
    message = "the items of a `{Self}` cannot be written in braces or brackets",
    label = "the items of a `{Self}` are whole values"
)]
pub trait ListItems: ListField {
    /// Adds an item, and returns it.
    fn add(&mut self, item: Self::Item) -> &mut Self::Item;
}

/// A field that `{ "key": value }` can be written to.
#[diagnostic::on_unimplemented(
    message = "a field of type `{Self}` is no map",
    label = "this map is written to a field of type `{Self}`",
    note = "the names of the fields of a struct are written without quotes"
)]
pub trait MapField {
    /// What identifies an entry.
    type Key: Serialize;
    /// What the map has.
    type Value;
    /// A map without entries.
    fn empty() -> Self;
    /// Adds an entry, or replaces it.
    fn insert(&mut self, key: Self::Key, value: Self::Value);
}

/// A map whose values can be written in braces or brackets.
#[diagnostic::on_unimplemented(
    message = "the values of a `{Self}` cannot be written in braces or brackets",
    label = "the values of a `{Self}` are whole values"
)]
pub trait MapValues: MapField {
    /// The value of this key, `blank()` if there is none.
    fn value(&mut self, key: Self::Key, blank: fn() -> Self::Value) -> &mut Self::Value;
}

impl<T> ListField for Vec<T> {
    type Item = T;
    fn empty() -> Self {
        Self::new()
    }
    fn push(&mut self, item: T) {
        self.push(item);
    }
}

impl<T> ListItems for Vec<T> {
    fn add(&mut self, item: T) -> &mut T {
        let position = self.len();
        self.push(item);
        &mut self[position]
    }
}

impl<T> ListField for VecDeque<T> {
    type Item = T;
    fn empty() -> Self {
        Self::new()
    }
    fn push(&mut self, item: T) {
        self.push_back(item);
    }
}

impl<T> ListItems for VecDeque<T> {
    fn add(&mut self, item: T) -> &mut T {
        let position = self.len();
        self.push_back(item);
        &mut self[position]
    }
}

impl<T: Ord> ListField for BTreeSet<T> {
    type Item = T;
    fn empty() -> Self {
        Self::new()
    }
    fn push(&mut self, item: T) {
        self.insert(item);
    }
}

impl<T: Eq + Hash, S: BuildHasher + Default> ListField for HashSet<T, S> {
    type Item = T;
    fn empty() -> Self {
        Self::default()
    }
    fn push(&mut self, item: T) {
        self.insert(item);
    }
}

impl<K: Ord + Serialize, V> MapField for BTreeMap<K, V> {
    type Key = K;
    type Value = V;
    fn empty() -> Self {
        Self::new()
    }
    fn insert(&mut self, key: K, value: V) {
        self.insert(key, value);
    }
}

impl<K: Ord + Serialize, V> MapValues for BTreeMap<K, V> {
    fn value(&mut self, key: K, blank: fn() -> V) -> &mut V {
        self.entry(key).or_insert_with(blank)
    }
}

impl<K: Eq + Hash + Serialize, V, S: BuildHasher + Default> MapField for HashMap<K, V, S> {
    type Key = K;
    type Value = V;
    fn empty() -> Self {
        Self::default()
    }
    fn insert(&mut self, key: K, value: V) {
        self.insert(key, value);
    }
}

impl<K: Eq + Hash + Serialize, V, S: BuildHasher + Default> MapValues for HashMap<K, V, S> {
    fn value(&mut self, key: K, blank: fn() -> V) -> &mut V {
        self.entry(key).or_insert_with(blank)
    }
}
