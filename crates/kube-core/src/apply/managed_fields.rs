//! Reads `metadata.managedFields`: whose entry one is, and what it owns. Pure; for the crates of this project.
//!
//! There is an entry for each manager; its `fieldsV1` is a tree with the shape of the object (KEP-555). A [`PathElement`] names each node:
//! `f:name` is a field, `k:{...}` an item of a list by its keys, `v:value` an item of a set. `.` is the value itself, and an empty node a
//! value that is owned as a whole, or that is an empty map or list.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use serde_json::{Map, Value};

/// Whether `manager` has made this entry by `Apply` or `Update`, through whatever subresource.
#[must_use]
pub fn is_made_by(entry: &ManagedFieldsEntry, manager: &str, operation: &str) -> bool {
    entry.manager.as_deref() == Some(manager) && entry.operation.as_deref() == Some(operation)
}

/// Whether `manager` has made this entry by `Apply` or `Update` of the object, or of the subresource.
#[must_use]
pub fn is_entry_of(
    entry: &ManagedFieldsEntry,
    manager: &str,
    operation: &str,
    subresource: Option<&str>,
) -> bool {
    is_made_by(entry, manager, operation)
        && entry.subresource.as_deref().filter(|it| !it.is_empty()) == subresource
}

/// The root of what an entry owns; `None` if it has none that can be read.
#[must_use]
pub fn tree_of(entry: &ManagedFieldsEntry) -> Option<&Map<String, Value>> {
    entry.fields_v1.as_ref()?.0.as_object()
}

/// The name of a node in a tree of fields.
#[derive(Debug, PartialEq)]
pub enum PathElement<'a> {
    /// A field of an object.
    Field(&'a str),
    /// An item of a list: the values of its keys.
    Key(Map<String, Value>),
    /// An item of a set.
    Value(Value),
}

impl<'a> PathElement<'a> {
    /// `None` for the value itself (`.`), a place in a list (`i:0`), and what cannot be read.
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Self> {
        let (form, rest) = text.split_once(':')?;
        match form {
            "f" => Some(Self::Field(rest)),
            "k" => serde_json::from_str(rest).ok().map(Self::Key),
            "v" => serde_json::from_str(rest).ok().map(Self::Value),
            _ => None,
        }
    }

    /// Whether it names this item of a list. The item has all keys, as the server returns it.
    #[must_use]
    pub fn names(&self, item: &Value) -> bool {
        match self {
            Self::Field(_) => false,
            Self::Key(keys) => keys.iter().all(|(key, value)| item.get(key) == Some(value)),
            Self::Value(value) => value == item,
        }
    }

    /// Whether it may name this item of a list. A key that the item does not have may be a default of the server, but not all of them.
    #[must_use]
    pub fn may_name(&self, item: &Value) -> bool {
        let Self::Key(keys) = self else { return self.names(item) };
        let has = |key: &str, value: &Value| item.get(key).is_none_or(|of_item| of_item == value);
        item.is_object()
            && keys.iter().any(|(key, _)| item.get(key).is_some())
            && keys.iter().all(|(key, value)| has(key, value))
    }
}

/// What all managers, or some of them, own at one place of an object.
#[derive(Clone, Debug, Default)]
pub struct Owned<'a>(Vec<&'a Value>);

impl<'a> Owned<'a> {
    /// The root of an object with these entries.
    pub fn of(entries: impl IntoIterator<Item = &'a ManagedFieldsEntry>) -> Self {
        Self(entries.into_iter().filter_map(|entry| Some(&entry.fields_v1.as_ref()?.0)).collect())
    }

    /// The root of an object in JSON.
    #[must_use]
    pub fn of_json(object: &'a Value) -> Self {
        let entries = object["metadata"]["managedFields"].as_array();
        Self(entries.into_iter().flatten().map(|entry| &entry["fieldsV1"]).collect())
    }

    /// Below the node with this name.
    #[must_use]
    pub fn at(&self, node: &str) -> Self {
        Self(self.0.iter().filter_map(|tree| tree.get(node)).collect())
    }

    /// Below a field of an object.
    #[must_use]
    pub fn field(&self, name: &str) -> Self {
        self.at(&format!("f:{name}"))
    }

    /// Below an item of a list.
    #[must_use]
    pub fn item(&self, item: &Value) -> Self {
        let may_name = |name: &str| PathElement::parse(name).is_some_and(|element| element.may_name(item));
        Self(self.nodes().filter(|(name, _)| may_name(name)).map(|(_, node)| node).collect())
    }

    /// Whether nobody owns anything there.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether someone owns a part of the value, and not only the value.
    #[must_use]
    pub fn has_parts(&self) -> bool {
        self.nodes().any(|(name, _)| name != ".")
    }

    /// The names of the keys of a list, if someone owns an item by them.
    #[must_use]
    pub fn key_names(&self) -> Option<Vec<String>> {
        self.nodes().find_map(|(name, _)| match PathElement::parse(name)? {
            PathElement::Key(keys) => Some(keys.keys().cloned().collect()),
            PathElement::Field(_) | PathElement::Value(_) => None,
        })
    }

    fn nodes(&self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        let trees = self.0.iter().filter_map(|tree| tree.as_object());
        trees.flatten().map(|(name, node)| (name.as_str(), node))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn elements_name_fields_and_items() {
        assert_eq!(PathElement::parse("f:a:b"), Some(PathElement::Field("a:b")));
        for unreadable in [".", "i:0", "odd", "k:not json", "k:[]", "v:", "x:1", ""] {
            assert_eq!(PathElement::parse(unreadable), None, "{unreadable}");
        }
        let key = PathElement::parse(r#"k:{"port":53,"protocol":"UDP"}"#).unwrap();
        for (item, names, may_name) in [
            (json!({ "port": 53, "protocol": "UDP", "x": 1 }), true, true),
            (json!({ "port": 53 }), false, true),
            (json!({ "port": 53, "protocol": "TCP" }), false, false),
            (json!({ "x": 1 }), false, false),
            (json!(53), false, false),
        ] {
            assert_eq!((key.names(&item), key.may_name(&item)), (names, may_name), "{item}");
        }
        let value = PathElement::parse(r#"v:"a""#).unwrap();
        assert!(value.names(&json!("a")) && value.may_name(&json!("a")) && !value.may_name(&json!("b")));
    }

    #[test]
    fn trees_are_read_together() {
        let entries = json!([
            { "manager": "a", "operation": "Apply", "subresource": "", "fieldsV1": { "f:list": { "k:{\"id\":1}": { "f:x": {} } } } },
            { "manager": "b", "operation": "Update", "fieldsV1": { "f:list": { ".": {}, "k:{\"id\":2}": {} }, "f:whole": { ".": {} } } },
            { "manager": "c", "operation": "Apply", "fieldsV1": "odd" },
        ]);
        let object = json!({ "metadata": { "managedFields": entries } });
        let entries: Vec<ManagedFieldsEntry> = serde_json::from_value(entries).unwrap();
        for owned in [Owned::of(&entries), Owned::of_json(&object)] {
            let list = owned.field("list");
            assert_eq!(list.key_names(), Some(vec!["id".to_owned()]));
            assert!(list.has_parts() && list.item(&json!({ "id": 1 })).has_parts());
            assert!(!list.item(&json!({ "id": 2 })).is_empty() && list.item(&json!({ "id": 3 })).is_empty());
            let whole = owned.at("f:whole");
            assert!(!whole.is_empty() && !whole.has_parts() && whole.key_names().is_none());
        }
        assert!(is_entry_of(&entries[0], "a", "Apply", None) && tree_of(&entries[0]).is_some());
        assert!(
            !is_entry_of(&entries[1], "b", "Apply", None)
                && !is_entry_of(&entries[0], "a", "Apply", Some("status"))
        );
        assert!(tree_of(&entries[2]).is_none());
        assert!(Owned::of_json(&json!({})).is_empty());
    }
}
