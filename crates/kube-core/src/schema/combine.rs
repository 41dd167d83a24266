//! Combines two nodes: [`intersect`] allows the values that satisfy both, [`union`] the values that satisfy either. Recursive,
//! like the schemas.

use serde_json::{Value, json};

use super::{
    descriptions::ALTERNATIVES,
    node::{
        INT_OR_STRING, Node, NodeType, OPEN, RULES, VALIDATIONS, add_condition, flag, node_type, property,
        set_type,
    },
};

/// Narrows `node` to the values that `other` allows too. The description of `node` has precedence.
pub(super) fn intersect(node: &mut Node, mut other: Node) {
    match (node_type(node), node_type(&other)) {
        (None, _) => {
            if let Some(nullable) = other.get("nullable").filter(|_| !flag(node, "nullable")) {
                node.insert("nullable".into(), nullable.clone());
            }
            if let Some(node_type) = node_type(&other) {
                set_type(node, node_type);
            }
        }
        (_, None | Some(NodeType::Any)) => {}
        (Some(of_node), Some(of_other)) => {
            if !flag(&other, "nullable") {
                node.remove("nullable");
            }
            if let Some(narrower) = narrower(&of_node, of_other) {
                for key in ["type", INT_OR_STRING, OPEN] {
                    node.remove(key);
                }
                set_type(node, narrower);
            }
        }
    }
    if flag(&other, OPEN) && node_type(&other) != Some(NodeType::Any) {
        node.insert(OPEN.into(), true.into());
    }
    for key in ["type", "nullable", INT_OR_STRING, OPEN] {
        other.remove(key);
    }
    for (key, value) in other {
        intersect_keyword(node, key, value);
    }
}

/// The type of `other`, if it allows fewer values than that of `node`.
fn narrower(node: &NodeType, other: NodeType) -> Option<NodeType> {
    let is = |node_type: &NodeType, name: &str| *node_type == NodeType::Type(name.to_owned());
    let narrows = match node {
        NodeType::Any => true,
        NodeType::IntOrString => matches!(other, NodeType::Type(_)),
        NodeType::Type(_) => is(node, "number") && is(&other, "integer"),
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
            add_condition(node, json!({ key: value }));
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

/// The node that allows the values of `a` and of `b`, as far as a structural schema can express that outside of `anyOf`.
pub(super) fn union(a: &Node, b: &Node) -> Node {
    let mut node = Node::new();
    let node_type = union_type(node_type(a), node_type(b));
    let anything = node_type == NodeType::Any;
    if flag(a, "nullable")
        || flag(b, "nullable")
        || (anything && (self::node_type(a).is_none() || self::node_type(b).is_none()))
    {
        node.insert("nullable".into(), true.into());
    } else if let (Some(never), Some(_)) = (a.get("nullable"), b.get("nullable")) {
        node.insert("nullable".into(), never.clone());
    }
    set_type(&mut node, node_type);
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
    remove_defaults_of_one_side(&mut node, a, b);
    remove_defaults_of_one_side(&mut node, b, a);
    node
}

/// Removes from `node`, the union of `a` and `b`, the defaults of fields that only `a` has: a server would apply them to
/// values of `b`. If `b` allows arbitrary fields, the defaults below such a field are removed too.
fn remove_defaults_of_one_side(node: &mut Node, a: &Node, b: &Node) {
    let open = flag(b, OPEN) || b.contains_key("additionalProperties");
    let Some(Value::Object(fields)) = node.get_mut("properties") else { return };
    for (name, field) in fields {
        let only_a = property(a, name).is_some() && property(b, name).is_none();
        if let Some(field) = field.as_object_mut().filter(|_| only_a) {
            field.remove("default");
            if open {
                remove_all_defaults(field);
            }
        }
    }
}

fn remove_all_defaults(node: &mut Node) {
    node.remove("default");
    for (key, value) in node {
        match (key.as_str(), value) {
            ("properties", Value::Object(fields)) => {
                fields.values_mut().filter_map(Value::as_object_mut).for_each(remove_all_defaults);
            }
            ("items" | "additionalProperties", Value::Object(inner)) => remove_all_defaults(inner),
            _ => {}
        }
    }
}

fn union_type(a: Option<NodeType>, b: Option<NodeType>) -> NodeType {
    let (Some(a), Some(b)) = (a, b) else { return NodeType::Any };
    if a == b {
        return a;
    }
    let is = |node_type: &NodeType, name: &str| *node_type == NodeType::Type(name.to_owned());
    let has = |name: &str| is(&a, name) || is(&b, name);
    if has("integer") && has("number") {
        NodeType::Type("number".into())
    } else if [&a, &b].iter().all(|node_type| {
        is(node_type, "integer") || is(node_type, "string") || **node_type == NodeType::IntOrString
    }) {
        NodeType::IntOrString
    } else {
        NodeType::Any
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
