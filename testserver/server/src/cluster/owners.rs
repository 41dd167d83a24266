//! Garbage collection: an index of owners and dependents by uid, and the decision about one dependent.

use std::collections::{BTreeSet, HashMap};

use crate::{
    object::meta::Owner,
    scheme::TableId,
    storage::{Key, Stored},
};

/// Finalizers of the garbage collector on an owner.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";
pub(crate) const ORPHAN: &str = "orphan";

/// Table and key of an object.
pub(crate) type ObjectId = (TableId, Key);

/// Live objects by uid, and dependents by the uid of their owner.
#[derive(Debug, Default)]
pub(crate) struct OwnerIndex {
    live: HashMap<Box<str>, ObjectId>,
    dependents: HashMap<String, BTreeSet<ObjectId>>,
}

/// The state of an owner, in the terms of Kubernetes' garbage collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnerState {
    /// It exists.
    Solid,
    /// Unresolvable: the server does not serve the kind, or the reference lacks a namespace.
    Unknown,
    /// It is being deleted in the foreground and waits for its dependents.
    WaitingForDependents,
    /// It does not exist.
    Dangling,
}

/// What to do with a dependent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DependentAction {
    Keep,
    /// Some owner exists: remove only these references.
    DropReferences(Vec<String>),
    /// No owner exists.
    Delete {
        foreground: bool,
    },
}

impl OwnerIndex {
    /// Records a new version of an object, or its removal (`after` is `None`).
    pub(crate) fn record(&mut self, table: TableId, before: Option<&Stored>, after: Option<&Stored>) {
        if let Some(before) = before {
            if after.is_none_or(|after| after.uid != before.uid) {
                self.live.remove(&before.uid);
            }
            for owner in &before.owners {
                if let Some(dependents) = self.dependents.get_mut(&owner.uid) {
                    dependents.remove(&(table, before.key.clone()));
                    if dependents.is_empty() {
                        self.dependents.remove(&owner.uid);
                    }
                }
            }
        }
        if let Some(after) = after {
            if before.is_none_or(|before| after.uid != before.uid) {
                self.live.insert(after.uid.clone(), (table, after.key.clone()));
            }
            for owner in &after.owners {
                self.dependents.entry(owner.uid.clone()).or_default().insert((table, after.key.clone()));
            }
        }
    }

    pub(crate) fn live(&self, uid: &str) -> Option<&ObjectId> {
        self.live.get(uid)
    }

    pub(crate) fn dependents(&self, uid: &str) -> Vec<ObjectId> {
        self.each_dependent(uid).cloned().collect()
    }

    pub(crate) fn each_dependent(&self, uid: &str) -> impl Iterator<Item = &ObjectId> {
        self.dependents.get(uid).into_iter().flatten()
    }

    /// The keys of the dependents in one table.
    #[cfg_attr(not(feature = "workloads"), allow(dead_code))]
    pub(crate) fn dependents_in(&self, uid: &str, table: TableId) -> impl Iterator<Item = &Key> {
        let dependents = self.dependents.get(uid).into_iter();
        let from = dependents.flat_map(move |all| all.range((table, Key::first_in(None))..));
        from.take_while(move |(other, _)| *other == table).map(|(_, key)| key)
    }
}

/// Decides about a dependent by the states of its owners, in the order of its references.
pub(crate) fn decide(owners: &[Owner], states: &[OwnerState], has_dependents: bool) -> DependentAction {
    // While an owner is unresolvable, nothing is deleted.
    if states.contains(&OwnerState::Unknown) {
        return DependentAction::Keep;
    }
    let gone = owners.iter().zip(states).filter(|(_, state)| **state != OwnerState::Solid);
    let gone: Vec<String> = gone.map(|(owner, _)| owner.uid.clone()).collect();
    if gone.is_empty() {
        DependentAction::Keep
    } else if gone.len() < owners.len() {
        DependentAction::DropReferences(gone)
    } else {
        DependentAction::Delete {
            foreground: has_dependents && states.contains(&OwnerState::WaitingForDependents),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::json;

    use super::{OwnerState::*, *};
    use crate::storage::Store;

    fn object(name: u8, generation: u8, owners: &[u8]) -> Stored {
        let owner =
            |owner: &u8| json!({"apiVersion": "v1", "kind": "K", "name": "n", "uid": format!("u{owner}")});
        let owners: Vec<_> = owners.iter().map(owner).collect();
        let metadata = json!({"uid": format!("u{name}-{generation}"), "ownerReferences": owners});
        Stored::preview(Key::new(None, &format!("n{name}")), &json!({"metadata": metadata}))
    }

    proptest! {
        /// After any writes and removals, the index equals one built from scratch.
        #[test]
        fn the_index_equals_one_built_from_scratch(
            steps in prop::collection::vec((0..4u8, 0..2u8, prop::collection::vec(0..3u8, 0..3), any::<bool>()), 0..30)
        ) {
            let table = Store::new(1).add_table();
            let (mut index, mut objects) = (OwnerIndex::default(), BTreeMap::new());
            for (name, generation, owners, remove) in steps {
                let after = (!remove).then(|| object(name, generation, &owners));
                index.record(table, objects.get(&name), after.as_ref());
                match after {
                    Some(after) => drop(objects.insert(name, after)),
                    None => drop(objects.remove(&name)),
                }
            }
            for uid in ["u0", "u1", "u2"] {
                let owned = objects.values().filter(|o| o.owners.iter().any(|owner| owner.uid == uid));
                let owned: Vec<ObjectId> = owned.map(|o| (table, o.key.clone())).collect();
                prop_assert_eq!(index.dependents(uid), owned);
            }
            for (name, generation) in (0..4).flat_map(|n| [(n, 0), (n, 1)]) {
                let uid = format!("u{name}-{generation}");
                let lives = objects.get(&name).is_some_and(|o| *o.uid == *uid);
                prop_assert_eq!(index.live(&uid).is_some(), lives);
            }
        }
    }

    #[test]
    fn a_dependent_exists_as_long_as_an_owner() {
        let owner = |uid: &str| Owner {
            api_version: "v1".into(),
            kind: "K".into(),
            name: uid.into(),
            uid: uid.into(),
            controls: false,
            blocks_deletion: true,
        };
        let owners = [owner("a"), owner("b")];
        assert_eq!(decide(&[], &[], false), DependentAction::Keep);
        assert_eq!(decide(&owners, &[Solid, Solid], true), DependentAction::Keep);
        assert_eq!(
            decide(&owners, &[Solid, Dangling], true),
            DependentAction::DropReferences(vec!["b".into()])
        );
        assert_eq!(
            decide(&owners, &[WaitingForDependents, Solid], true),
            DependentAction::DropReferences(vec!["a".into()])
        );
        assert_eq!(decide(&owners, &[Unknown, Dangling], true), DependentAction::Keep);
        assert_eq!(
            decide(&owners, &[Dangling, Dangling], true),
            DependentAction::Delete { foreground: false }
        );
        assert_eq!(
            decide(&owners, &[Dangling, WaitingForDependents], true),
            DependentAction::Delete { foreground: true }
        );
        assert_eq!(
            decide(&owners, &[WaitingForDependents, WaitingForDependents], false),
            DependentAction::Delete { foreground: false }
        );
    }
}
