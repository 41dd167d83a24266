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

/// Appends the entries of `second` whose names are not in `first`.
pub(super) fn append_new<T: Named>(first: &mut Vec<T>, second: Vec<T>) {
    let are_new = are_new(&names(first), &names(&second));
    for (entry, is_new) in second.into_iter().zip(are_new) {
        if is_new {
            first.push(entry);
        }
    }
}

/// For each name of `second`, whether it is not in `first`.
fn are_new(first: &[&str], second: &[&str]) -> Vec<bool> {
    let known: HashSet<&str> = first.iter().copied().collect();
    second.iter().map(|name| !known.contains(name)).collect()
}
