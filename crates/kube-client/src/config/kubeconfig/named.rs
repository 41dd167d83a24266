//! The lists of a kubeconfig, whose entries have names.

use std::collections::HashSet;

use super::{NamedAuthInfo, NamedCluster, NamedContext, NamedExtension};

/// An entry of a list.
pub(super) trait Named {
    fn name(&self) -> &str;
}

macro_rules! named {
    ($($entry:ty),+) => {$(
        impl Named for $entry {
            fn name(&self) -> &str {
                &self.name
            }
        }
    )+};
}
named!(NamedCluster, NamedAuthInfo, NamedContext, NamedExtension);

pub(super) fn names<T: Named>(list: &[T]) -> Vec<&str> {
    list.iter().map(Named::name).collect()
}

/// The first name that occurs again.
pub(super) fn repeated<'a>(names: &[&'a str]) -> Option<&'a str> {
    let mut seen = HashSet::new();
    names.iter().copied().find(|name| !seen.insert(*name))
}

/// Appends the entries of `second` whose names are not in `first`.
pub(super) fn append_new<T: Named>(first: &mut Vec<T>, mut second: Vec<T>) {
    let known: HashSet<&str> = names(first).into_iter().collect();
    second.retain(|entry| !known.contains(entry.name()));
    first.append(&mut second);
}
