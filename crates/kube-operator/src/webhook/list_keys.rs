//! The keys of the lists in an object: the fields that tell the items of a list apart. Pure.
//!
//! `metadata.managedFields` has them as the server knows them from the schema (`k:{"name":"a"}`); for lists that it does not
//! describe, they are guessed from the fields that are keys in Kubernetes' own types.

use kube_core::apply::managed_fields::Owned;
use serde_json::Value;

/// Fields that are keys in Kubernetes' own types, most frequent first.
const USUAL: [&[&str]; 10] = [
    &["name"],
    &["containerPort", "protocol"],
    &["port", "protocol"],
    &["mountPath"],
    &["devicePath"],
    &["topologyKey", "whenUnsatisfiable"],
    &["type"],
    &["uid"],
    &["ip"],
    &["key"],
];

/// The values of the keys of each item: `None` for an item that has none of them.
pub(super) struct ItemKeys {
    names: Vec<String>,
}

impl ItemKeys {
    /// The keys of a list with these items, before and after a change. No names if none are known.
    pub(super) fn of(owned: &Owned<'_>, before: &[Value], after: &[Value]) -> Self {
        let everywhere = |keys: &&[&str]| {
            let has =
                |item: &Value| item.get(keys[0]).is_some_and(|value| value.is_string() || value.is_number());
            !before.is_empty() && before.iter().chain(after).all(has)
        };
        let usual =
            || USUAL.into_iter().find(everywhere).map(|keys| keys.iter().map(ToString::to_string).collect());
        Self { names: owned.key_names().or_else(usual).unwrap_or_default() }
    }

    /// The values of the keys in an item, in the order of their names; `None` if it has none of them.
    pub(super) fn in_item<'a>(&self, item: &'a Value) -> Option<Vec<Option<&'a Value>>> {
        let values: Vec<_> = self.names.iter().map(|name| item.get(name)).collect();
        values.iter().any(Option::is_some).then_some(values)
    }
}
