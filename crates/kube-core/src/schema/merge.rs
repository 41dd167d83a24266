//! What two nodes have in common: [`intersect`] for values that satisfy both, [`union`] for values that satisfy either.

use serde_json::{Value, json};

use super::{
    Node,
    describe::ALTERNATIVES,
    keywords::{INT_OR_STRING, OPEN, RULES, VALIDATIONS, also, flag, property},
};

/// The one thing a structural node must say.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Type(String),
    IntOrString,
    /// Any value: open, without a type.
    Any,
}

/// What `node` says of its type, `None` where it says nothing yet.
pub(super) fn kind(node: &Node) -> Option<Kind> {
    if flag(node, INT_OR_STRING) {
        return Some(Kind::IntOrString);
    }
    match node.get("type") {
        Some(Value::String(name)) => Some(Kind::Type(name.clone())),
        _ if flag(node, OPEN) => Some(Kind::Any),
        _ => None,
    }
}

/// What the keywords of a node without a type tell of it.
pub(super) fn inferred_kind(node: &Node) -> Option<Kind> {
    let of_values = node.get("enum").and_then(Value::as_array).and_then(|values| common_type(values));
    let has = |keys: &[&str]| keys.iter().any(|key| node.contains_key(*key));
    let name = match of_values {
        Some(name) => name,
        None if has(&["properties", "additionalProperties", "required"]) => "object",
        None if has(&["items"]) => "array",
        None => return None,
    };
    Some(Kind::Type(name.into()))
}

fn common_type(values: &[Value]) -> Option<&'static str> {
    let name = |value: &Value| match value {
        Value::Bool(_) => Some("boolean"),
        Value::Number(number) if number.is_f64() => Some("number"),
        Value::Number(_) => Some("integer"),
        Value::String(_) => Some("string"),
        Value::Array(_) => Some("array"),
        Value::Object(_) => Some("object"),
        Value::Null => None,
    };
    let first = name(values.first()?)?;
    values.iter().all(|value| name(value) == Some(first)).then_some(first)
}

pub(super) fn set_kind(node: &mut Node, kind: Kind) {
    match kind {
        Kind::Type(name) => node.insert("type".into(), name.into()),
        Kind::IntOrString => node.insert(INT_OR_STRING.into(), true.into()),
        Kind::Any => node.insert(OPEN.into(), true.into()),
    };
}

/// Narrows `node` to the values that `other` allows too. Where both describe, `node` is heard.
pub(super) fn intersect(node: &mut Node, mut other: Node) {
    match (kind(node), kind(&other)) {
        (None, _) => {
            if let Some(nullable) = other.get("nullable").filter(|_| !flag(node, "nullable")) {
                node.insert("nullable".into(), nullable.clone());
            }
            if let Some(kind) = kind(&other) {
                set_kind(node, kind);
            }
        }
        (_, None | Some(Kind::Any)) => {}
        (Some(of_node), Some(of_other)) => {
            if !flag(&other, "nullable") {
                node.remove("nullable");
            }
            if let Some(narrower) = narrower(&of_node, of_other) {
                for key in ["type", INT_OR_STRING, OPEN] {
                    node.remove(key);
                }
                set_kind(node, narrower);
            }
        }
    }
    if flag(&other, OPEN) && kind(&other) != Some(Kind::Any) {
        node.insert(OPEN.into(), true.into());
    }
    for key in ["type", "nullable", INT_OR_STRING, OPEN] {
        other.remove(key);
    }
    for (key, value) in other {
        intersect_keyword(node, key, value);
    }
}

/// The kind of `other` where it allows less than that of `node`.
fn narrower(node: &Kind, other: Kind) -> Option<Kind> {
    let is = |kind: &Kind, name: &str| *kind == Kind::Type(name.to_owned());
    let narrows = match node {
        Kind::Any => true,
        Kind::IntOrString => matches!(other, Kind::Type(_)),
        Kind::Type(_) => is(node, "number") && is(&other, "integer"),
    };
    narrows.then_some(other)
}

fn intersect_keyword(node: &mut Node, key: String, value: Value) {
    let Some(own) = node.get_mut(&key) else {
        node.insert(key, value);
        return;
    };
    if *own == value {
        return;
    }
    match (key.as_str(), own, value) {
        ("properties", Value::Object(own), Value::Object(others)) => {
            for (name, value) in others {
                match (own.get_mut(&name), value) {
                    (Some(Value::Object(own)), Value::Object(value)) => intersect(own, value),
                    (_, value) => {
                        own.insert(name, value);
                    }
                }
            }
        }
        ("items" | "additionalProperties", Value::Object(own), Value::Object(value)) => intersect(own, value),
        ("items" | "additionalProperties", own, value @ Value::Object(_)) => *own = value,
        ("required" | "allOf" | RULES | ALTERNATIVES, Value::Array(own), Value::Array(values)) => {
            append_new(own, values)
        }
        (key, _, value) if VALIDATIONS.contains(&key) || matches!(key, "anyOf" | "oneOf" | "not") => {
            also(node, json!({ key: value }));
        }
        _ => {}
    }
}

pub(super) fn append_new(own: &mut Vec<Value>, values: Vec<Value>) {
    for value in values {
        if !own.contains(&value) {
            own.push(value);
        }
    }
}

/// The node that allows whatever `a` or `b` allows, as far as a structural schema can say it outside of `anyOf`.
pub(super) fn union(a: &Node, b: &Node) -> Node {
    let mut node = Node::new();
    let kind = union_kind(kind(a), kind(b));
    let anything = kind == Kind::Any;
    if flag(a, "nullable")
        || flag(b, "nullable")
        || (anything && (self::kind(a).is_none() || self::kind(b).is_none()))
    {
        node.insert("nullable".into(), true.into());
    } else if let (Some(never), Some(_)) = (a.get("nullable"), b.get("nullable")) {
        node.insert("nullable".into(), never.clone());
    }
    set_kind(&mut node, kind);
    for (key, value) in a {
        let other = b.get(key);
        match (key.as_str(), value, other) {
            ("nullable" | "type" | INT_OR_STRING, ..) => {}
            (OPEN, ..) => {
                node.insert(key.clone(), value.clone());
            }
            ("description" | "title", value, Some(other)) if value == other => {
                node.insert(key.clone(), value.clone());
            }
            _ if anything => {}
            (_, value, Some(other)) if value == other => {
                node.insert(key.clone(), value.clone());
            }
            (_, value, other) => union_keyword(&mut node, key, value, other),
        }
    }
    for (key, value) in b.iter().filter(|(key, _)| !a.contains_key(*key)) {
        let shape = matches!(key.as_str(), "properties" | "items" | "additionalProperties");
        if (shape && !anything) || key == OPEN {
            node.insert(key.clone(), value.clone());
        }
    }
    leave_out_defaults(&mut node, a, b);
    leave_out_defaults(&mut node, b, a);
    node
}

/// Removes from `node`, the union of `a` and `b`, the defaults of fields that only `a` has: a server would fill them into
/// what was written as `b`. Below such a field, too, where `b` may have it among others that it does not name.
fn leave_out_defaults(node: &mut Node, a: &Node, b: &Node) {
    let open = flag(b, OPEN) || b.contains_key("additionalProperties");
    let Some(Value::Object(fields)) = node.get_mut("properties") else { return };
    for (name, field) in fields {
        let only_a = property(a, name).is_some() && property(b, name).is_none();
        if let Some(field) = field.as_object_mut().filter(|_| only_a) {
            field.remove("default");
            if open {
                without_defaults(field);
            }
        }
    }
}

fn without_defaults(node: &mut Node) {
    node.remove("default");
    for (key, value) in node {
        match (key.as_str(), value) {
            ("properties", Value::Object(fields)) => {
                fields.values_mut().filter_map(Value::as_object_mut).for_each(without_defaults);
            }
            ("items" | "additionalProperties", Value::Object(inner)) => without_defaults(inner),
            _ => {}
        }
    }
}

fn union_kind(a: Option<Kind>, b: Option<Kind>) -> Kind {
    let (Some(a), Some(b)) = (a, b) else { return Kind::Any };
    if a == b {
        return a;
    }
    let is = |kind: &Kind, name: &str| *kind == Kind::Type(name.to_owned());
    let has = |name: &str| is(&a, name) || is(&b, name);
    if has("integer") && has("number") {
        Kind::Type("number".into())
    } else if [&a, &b]
        .iter()
        .all(|kind| is(kind, "integer") || is(kind, "string") || **kind == Kind::IntOrString)
    {
        Kind::IntOrString
    } else {
        Kind::Any
    }
}

fn union_keyword(node: &mut Node, key: &str, a: &Value, b: Option<&Value>) {
    let both = match (key, a, b) {
        ("properties", Value::Object(a), Some(Value::Object(b))) => {
            let mut all = a.clone();
            for (name, value) in b {
                let merged = match (all.get(name), value) {
                    (Some(Value::Object(own)), Value::Object(value)) => union(own, value).into(),
                    _ => value.clone(),
                };
                all.insert(name.clone(), merged);
            }
            all.into()
        }
        ("items" | "additionalProperties", Value::Object(a), Some(Value::Object(b))) => union(a, b).into(),
        ("properties" | "items" | "additionalProperties", a, None) => a.clone(),
        ("additionalProperties", _, Some(_)) => true.into(),
        ("required", Value::Array(a), Some(Value::Array(b))) => {
            a.iter().filter(|name| b.contains(name)).cloned().collect::<Vec<_>>().into()
        }
        ("enum", Value::Array(a), Some(Value::Array(b))) => {
            let mut all = a.clone();
            append_new(&mut all, b.clone());
            all.into()
        }
        _ => return,
    };
    node.insert(key.to_owned(), both);
}
