//! Uniqueness of list elements.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::schema::{
    ErrorList,
    model::{ListType, Node},
    path::Path,
};

pub(super) fn check(errors: &mut ErrorList, node: &Node, list: &[Value], path: &Path<'_>) {
    match &node.list {
        ListType::Atomic => {}
        ListType::Set => report_duplicates(errors, list.iter().map(Value::clone).enumerate(), path),
        ListType::Map(keys) => {
            for (i, value) in list.iter().enumerate().filter(|(_, value)| !value.is_object()) {
                let at = path.element(i).to_string();
                errors.invalid(at, value, "must be an object for an array of list-type map");
            }
            let key = |(i, value): (usize, &Value)| {
                let member = |name: &str| Some((name.to_owned(), value.get(name)?.clone()));
                value.is_object().then(|| {
                    (i, Value::Object(keys.iter().filter_map(|name| member(name)).collect::<Map<_, _>>()))
                })
            };
            report_duplicates(errors, list.iter().enumerate().filter_map(key), path);
        }
    }
}

/// The item of `list` with the same key, if the list type has keys.
pub(in crate::schema) fn correlated<'v>(node: &Node, list: &'v [Value], item: &Value) -> Option<&'v Value> {
    match &node.list {
        ListType::Map(_) => list.iter().find(|other| same(&node.list, item, other)),
        ListType::Atomic | ListType::Set => None,
    }
}

/// Whether two items of a list have the same key.
pub(in crate::schema) fn same(list: &ListType, one: &Value, other: &Value) -> bool {
    match list {
        ListType::Atomic => false,
        ListType::Set => one == other,
        ListType::Map(keys) => keys.iter().all(|key| one.get(&**key) == other.get(&**key)),
    }
}

/// Reports each duplicate value at its second position.
fn report_duplicates(errors: &mut ErrorList, values: impl Iterator<Item = (usize, Value)>, path: &Path<'_>) {
    let (mut seen, mut reported) = (BTreeMap::new(), BTreeSet::new());
    for (i, value) in values {
        let text = value.to_string();
        if seen.insert(text.clone(), i).is_some() && reported.insert(text) {
            errors.duplicate(path.element(i).to_string(), value);
        }
    }
}
