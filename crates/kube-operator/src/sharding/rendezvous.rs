//! Rendezvous hashing: each key belongs to the member with the highest score for it.
//!
//! When a member joins or leaves, only the keys that it gets or had move: about 1/n of all keys.

use std::sync::Arc;
use twox_hash::XxHash64;

/// What decides on the member that reconciles an object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartitionBy {
    /// Namespace and name: the most even distribution.
    #[default]
    Object,
    /// The namespace: one member reconciles all objects of a namespace. Objects of the whole cluster are distributed by name.
    Namespace,
}

impl PartitionBy {
    /// All members must compute the same hash, so it is a specified one (XXH64).
    pub(super) fn hash(self, namespace: Option<&str>, name: &str) -> u64 {
        match (self, namespace) {
            (Self::Object, Some(namespace)) => mix(hash(namespace), hash(name)),
            (Self::Namespace, Some(namespace)) => hash(namespace),
            (_, None) => hash(name),
        }
    }
}

fn hash(text: &str) -> u64 {
    XxHash64::oneshot(0, text.as_bytes())
}

/// A hash of both values (the finalizer of MurmurHash3).
fn mix(left: u64, right: u64) -> u64 {
    let mut mixed = left.rotate_left(32) ^ right;
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        mixed = (mixed ^ (mixed >> 33)).wrapping_mul(factor);
    }
    mixed ^ (mixed >> 33)
}

/// A set of members, which decides on the owner of each key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct View {
    /// Sorted by name, without duplicates.
    members: Vec<(Arc<str>, u64)>,
}

impl View {
    pub(super) fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.members.iter().map(|(name, _)| name)
    }

    /// The owner of a key with this hash; `None` without members.
    pub(super) fn owner(&self, key: u64) -> Option<&str> {
        // The first one of the highest score, so that equal scores have one owner as well.
        let first = self.members.iter().rev().max_by_key(|(_, member)| mix(*member, key));
        first.map(|(name, _)| &**name)
    }
}

impl<T: Into<Arc<str>>> FromIterator<T> for View {
    fn from_iter<I: IntoIterator<Item = T>>(names: I) -> Self {
        let mut members: Vec<_> =
            names.into_iter().map(Into::into).map(|name| (Arc::clone(&name), hash(&name))).collect();
        members.sort_unstable();
        members.dedup();
        Self { members }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    const KEYS: usize = 100_000;

    fn view(count: usize) -> View {
        (0..count).map(|n| format!("operator-{n}")).collect()
    }

    fn owners(view: &View) -> Vec<&str> {
        let hashes = (0..KEYS).map(|n| PartitionBy::Object.hash(Some("default"), &format!("page-{n}")));
        hashes.map(|hash| view.owner(hash).unwrap_or_default()).collect()
    }

    #[test]
    fn keys_are_distributed_evenly() {
        for members in [2, 3, 7, 20] {
            let view = view(members);
            let mut counts = BTreeMap::<_, usize>::new();
            for owner in owners(&view) {
                *counts.entry(owner).or_default() += 1;
            }
            assert_eq!(counts.len(), members);
            let fair = KEYS / members;
            let (least, most) = (counts.values().min().copied(), counts.values().max().copied());
            assert!(least > Some(fair * 9 / 10) && most < Some(fair * 11 / 10), "{members}: {counts:?}");
        }
    }

    #[test]
    fn a_new_member_takes_its_share_and_moves_no_other_key() {
        for members in [1, 3, 9] {
            let (before, after) = (view(members), view(members + 1));
            let newcomer = format!("operator-{members}");
            let moved: Vec<_> =
                owners(&before).into_iter().zip(owners(&after)).filter(|(a, b)| a != b).collect();
            assert!(moved.iter().all(|(_, owner)| *owner == newcomer));
            let share = KEYS / (members + 1);
            assert!(
                moved.len() > share * 9 / 10 && moved.len() < share * 11 / 10,
                "{} of {share}",
                moved.len()
            );
        }
    }

    #[test]
    fn the_owner_depends_on_neither_order_nor_process() {
        let view: View = ["b", "a", "c", "a"].into_iter().collect();
        assert_eq!(view.names().map(|name| &**name).collect::<Vec<_>>(), ["a", "b", "c"]);
        let owned: Vec<_> =
            (0..8).map(|n| view.owner(PartitionBy::Object.hash(None, &n.to_string())).unwrap()).collect();
        assert_eq!(owned.concat(), "acabccac");
        assert_eq!(View::default().owner(7), None);
    }

    #[test]
    fn by_namespace_one_member_has_all_objects_of_a_namespace() {
        let hash = |namespace, name| PartitionBy::Namespace.hash(namespace, name);
        assert_eq!(hash(Some("web"), "a"), hash(Some("web"), "b"));
        assert_ne!(hash(Some("web"), "a"), hash(Some("db"), "a"));
        assert_ne!(hash(None, "a"), hash(None, "b"));
        let object = |namespace, name| PartitionBy::Object.hash(namespace, name);
        assert_ne!(object(Some("web"), "a"), object(Some("web"), "b"));
        assert_ne!(object(Some("ab"), "c"), object(Some("a"), "bc"));
        assert_ne!(object(Some("a"), "b"), object(Some("b"), "a"));
    }
}
