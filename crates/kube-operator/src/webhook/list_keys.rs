//! The keys of the lists in an object: the fields that tell the items of a list apart. Pure.
//!
//! `metadata.managedFields` has them as the server knows them from the schema (`k:{"name":"a"}`); for lists that it does not
//! describe, they are guessed from the fields that are keys in Kubernetes' own types.

use serde_json::Value;

use crate::apply::is_item;

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

/// What all managers own at one place of an object: nodes of `fieldsV1`.
#[derive(Clone, Debug, Default)]
pub(super) struct Owned<'a>(Vec<&'a Value>);

impl<'a> Owned<'a> {
    /// The root of an object.
    pub(super) fn of(object: &'a Value) -> Self {
        let entries = object["metadata"]["managedFields"].as_array();
        Self(entries.into_iter().flatten().map(|entry| &entry["fieldsV1"]).collect())
    }

    /// Below a field of an object.
    pub(super) fn field(&self, name: &str) -> Self {
        let key = format!("f:{name}");
        Self(self.0.iter().filter_map(|node| node.get(&key)).collect())
    }

    /// Below an item of a list.
    pub(super) fn item(&self, item: &Value) -> Self {
        let nodes = self.0.iter().filter_map(|node| node.as_object()).flatten();
        Self(nodes.filter(|(key, _)| is_item(key, item)).map(|(_, node)| node).collect())
    }

    /// The names of the keys of a list.
    fn keys(&self) -> Option<Vec<String>> {
        let mut names = self.0.iter().filter_map(|node| node.as_object()).flatten().map(|(name, _)| name);
        let keys: Value = serde_json::from_str(names.find_map(|name| name.strip_prefix("k:"))?).ok()?;
        Some(keys.as_object()?.keys().cloned().collect())
    }
}

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
        Self { names: owned.keys().or_else(usual).unwrap_or_default() }
    }

    /// The values of the keys in an item, in the order of their names; `None` if it has none of them.
    pub(super) fn in_item<'a>(&self, item: &'a Value) -> Option<Vec<Option<&'a Value>>> {
        let values: Vec<_> = self.names.iter().map(|name| item.get(name)).collect();
        values.iter().any(Option::is_some).then_some(values)
    }
}
