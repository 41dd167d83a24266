//! Converts JSON to CEL values by the schema.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashMap},
    sync::{Arc, LazyLock},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use kube_cel::cel::{
    Value as Cel,
    objects::{Key, Map},
};
use kube_core::cel::{escape_property, is_reserved};
use serde_json::Value;

use super::{Expression, Scope};
use crate::schema::{
    model::{Field, ListType, Node, Type},
    validate::lists::{correlated, same},
};

/// The CEL value of a field, with escaped property names. A property named by a reserved word has both of its names.
pub(super) fn typed(field: &Field, value: &Value) -> Cel {
    let node = field.node();
    match value {
        Value::Number(number) if node.ty == Some(Type::Number) => {
            Cel::Float(number.as_f64().unwrap_or_default())
        }
        Value::String(text) => formatted(node, text),
        Value::Array(items) => match &node.items {
            Some(inner) => Cel::List(items.iter().map(|item| typed(inner, item)).collect::<Vec<_>>().into()),
            None => untyped(value),
        },
        Value::Object(members) => {
            let seen =
                |name: &str| !node.resource || matches!(name, "apiVersion" | "kind") || own(node, name);
            let mut out: HashMap<Key, Cel> = HashMap::with_capacity(members.len());
            for (name, value) in members {
                if node.resource && name == "metadata" {
                    out.insert(key("metadata"), names_only(value));
                } else if let Some(inner) = node.properties.get(name.as_str()).filter(|_| seen(name)) {
                    let Some(escaped) = escape_property(name) else { continue };
                    let value = typed(inner, value);
                    if is_reserved(name) {
                        out.insert(key(name), value.clone());
                    }
                    out.insert(key(&escaped), value);
                } else if let Some(inner) = &node.additional {
                    out.insert(key(name), typed(inner, value));
                } else if !node.resource {
                    out.insert(key(name), untyped(value));
                }
            }
            map(out)
        }
        other => untyped(other),
    }
}

/// The CEL value of JSON without a schema.
pub(crate) fn untyped(value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(value) => Cel::Bool(*value),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(int), _) => Cel::Int(int),
            (None, Some(uint)) => Cel::UInt(uint),
            (None, None) => Cel::Float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => Cel::String(Arc::new(text.clone())),
        Value::Array(items) => Cel::List(Arc::new(items.iter().map(untyped).collect())),
        Value::Object(members) => {
            map(members.iter().map(|(name, value)| (key(name), untyped(value))).collect())
        }
    }
}

/// The old value with its sets and maps in the order of the new value, so that `self == oldSelf` ignores their order.
pub(super) fn aligned(field: &Field, old: &Value, new: &Value) -> Value {
    let node = field.node();
    match (old, new) {
        (Value::Array(before), Value::Array(now)) => {
            let position = |item: &Value| now.iter().position(|other| same(&node.list, item, other));
            let mut sorted: Vec<&Value> = before.iter().collect();
            if node.list != ListType::Atomic {
                sorted.sort_by(|a, b| match (position(a), position(b)) {
                    (Some(a), Some(b)) => a.cmp(&b),
                    (Some(_), None) => Ordering::Less,
                    (None, Some(_)) => Ordering::Greater,
                    (None, None) => Ordering::Equal,
                });
            }
            let inner = |item: &Value| match (&node.items, correlated(node, now, item)) {
                (Some(inner), Some(now)) => aligned(inner, item, now),
                _ => item.clone(),
            };
            sorted.into_iter().map(inner).collect()
        }
        (Value::Object(before), Value::Object(now)) => {
            let member = |(name, value): (&String, &Value)| {
                let inner = node.properties.get(name.as_str()).or(node.additional.as_deref());
                let value = match (inner, now.get(name)) {
                    (Some(inner), Some(now)) => aligned(inner, value, now),
                    _ => value.clone(),
                };
                (name.clone(), value)
            };
            Value::Object(before.iter().map(member).collect())
        }
        _ => old.clone(),
    }
}

/// Whether the schema of a resource has a property, besides those of every resource.
fn own(node: &Node, name: &str) -> bool {
    node.properties.contains_key(name)
}

/// Rules see only the names in metadata.
fn names_only(metadata: &Value) -> Cel {
    let names = ["name", "generateName"].into_iter().filter_map(|name| {
        let value = metadata.get(name).filter(|value| value.is_string())?;
        Some((key(name), untyped(value)))
    });
    map(names.collect())
}

fn formatted(node: &Node, text: &str) -> Cel {
    static TIMESTAMP: LazyLock<Option<Expression>> =
        LazyLock::new(|| Expression::compile("timestamp(text)").ok());
    static DURATION: LazyLock<Option<Expression>> =
        LazyLock::new(|| Expression::compile("duration(text)").ok());
    let plain = Cel::String(Arc::new(text.to_owned()));
    let through = |function: &Option<Expression>, text: &str| {
        let mut scope = Scope::new();
        scope.set("text", Cel::String(Arc::new(text.to_owned())));
        function.as_ref().and_then(|function| function.run(&scope).ok())
    };
    match node.rules.as_ref().and_then(|rules| rules.format.as_deref()) {
        Some("date-time") => through(&TIMESTAMP, text).unwrap_or(plain),
        Some("date") => through(&TIMESTAMP, &format!("{text}T00:00:00Z")).unwrap_or(plain),
        Some("duration") => through(&DURATION, text).unwrap_or(plain),
        Some("byte") => BASE64_STANDARD.decode(text).map_or(plain, |bytes| Cel::Bytes(Arc::new(bytes))),
        _ => plain,
    }
}

/// A map of values.
pub(crate) fn cel_map(members: &BTreeMap<&str, Cel>) -> Cel {
    map(members.iter().map(|(name, value)| (key(name), value.clone())).collect())
}

fn key(name: &str) -> Key {
    Key::String(Arc::new(name.to_owned()))
}

fn map(members: HashMap<Key, Cel>) -> Cel {
    Cel::Map(Map { map: Arc::new(members) })
}
