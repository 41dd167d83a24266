//! The table of built-in types: indexed at first use; a type is parsed when first used.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use super::{
    model::{Field, LazyType, Link, Schema, Source},
    parse,
};

static TABLE: &str = include_str!("../../data/types.jsonl");

/// Name of the type of every object's `metadata`.
pub(crate) const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// A type of the table, parsed when first used.
struct Entry {
    text: &'static str,
    node: LazyType,
}

static TYPES: LazyLock<HashMap<&'static str, Entry>> = LazyLock::new(|| {
    let lines = TABLE.lines().filter_map(|line| line.split_once('\t'));
    lines
        .map(|(name, text)| {
            let node = LazyType::new(Box::new(move || parse::node_of(&document(text), Default::default())));
            (name, Entry { text, node })
        })
        .collect()
});

/// The schema of a built-in type by its OpenAPI name, such as `io.k8s.api.core.v1.Pod`.
pub(crate) fn by_name(name: &str) -> Option<Schema> {
    let (name, entry) = TYPES.get_key_value(name)?;
    Some(Schema { root: named(entry), source: Source::Table { name, text: entry.text } })
}

/// The names of all types of the table, in no order.
#[cfg(test)]
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TYPES.keys().copied()
}

/// A field of the named type. All references resolve, which a test checks.
pub(super) fn reference(name: &str) -> Field {
    match TYPES.get(name) {
        Some(entry) => named(entry),
        None => Field { link: Link::Inline(Arc::default()), meta: None },
    }
}

fn named(entry: &'static Entry) -> Field {
    Field { link: Link::Named(&entry.node), meta: None }
}

/// The parsed text of a line.
pub(super) fn document(text: &str) -> Value {
    serde_json::from_str(text).expect("invariant: every line of the type table is JSON, checked by a test")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::model::{ListType, Type};

    fn references(value: &Value, into: &mut Vec<String>) {
        match value {
            Value::Object(map) => map.iter().for_each(|(k, v)| match v {
                Value::String(name) if k == "$ref" => into.push(name.clone()),
                v => references(v, into),
            }),
            Value::Array(list) => list.iter().for_each(|v| references(v, into)),
            _ => {}
        }
    }

    #[test]
    fn every_type_parses_and_every_reference_resolves() {
        let mut seen = Vec::new();
        for name in names() {
            references(&document(TYPES[name].text), &mut seen);
            by_name(name).unwrap().root().node();
        }
        assert!(seen.len() > 1000);
        let lost: Vec<_> = seen.iter().filter(|name| !TYPES.contains_key(name.as_str())).collect();
        assert!(lost.is_empty(), "{lost:?}");
    }

    #[test]
    fn list_keys_and_defaults_are_those_of_the_genuine_server() {
        let list =
            |ty: &str, field: &str| by_name(ty).unwrap().root().node().properties[field].node().list.clone();
        assert_eq!(
            list("io.k8s.api.core.v1.ServiceSpec", "ports"),
            ListType::Map(vec!["port".into(), "protocol".into()])
        );
        assert_eq!(
            list("io.k8s.api.core.v1.Container", "ports"),
            ListType::Map(vec!["containerPort".into(), "protocol".into()])
        );
        assert_eq!(list("io.k8s.api.core.v1.Container", "args"), ListType::Atomic);
        assert_eq!(list(OBJECT_META, "finalizers"), ListType::Set);
        assert_eq!(list(OBJECT_META, "ownerReferences"), ListType::Map(vec!["uid".into()]));
        let port = by_name("io.k8s.api.core.v1.ServicePort").unwrap();
        assert_eq!(port.root().node().properties["protocol"].default_value(), Some(&Value::from("TCP")));
        assert_eq!(port.root().node().properties["port"].node().ty, Some(Type::Integer));
        let spec = &by_name("io.k8s.api.core.v1.Service").unwrap().root().node().properties["spec"].clone();
        assert!(spec.by_value() && spec.node().properties["selector"].node().atomic);
    }

    #[test]
    fn types_may_be_recursive() {
        let props =
            by_name("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps").unwrap();
        let inner = &props.root().node().properties["not"];
        assert!(inner.node().properties.contains_key("not"));
    }
}
