//! The keywords `anyOf` and `oneOf`: fields and types of every branch move out, value validations stay inside. Recursive, like
//! the schemas.

use serde_json::{Value, json};

use super::{
    combine::{intersect, union},
    descriptions::{put_descriptions, take_descriptions},
    node::{
        Node, NodeType, VALIDATIONS, add_condition, flag, inferred_type, is_null_only, node_type, property,
        required, set_type,
    },
    optional::enum_beside_null,
    rules,
};

/// Merges the (already rewritten) `branches` of the keyword `key` into `node`.
pub(super) fn hoist(node: &mut Node, key: &str, branches: Vec<Node>) {
    let (nulls, mut branches): (Vec<Node>, Vec<Node>) = branches.into_iter().partition(is_null_only);
    branches.dedup();
    let parent_type =
        node_type(node).or_else(|| inferred_type(node)).filter(|node_type| *node_type != NodeType::Any);
    for branch in branches.iter_mut().filter(|branch| node_type(branch).is_none()) {
        if parent_type.is_some() && flag(node, "nullable") {
            branch.insert("nullable".into(), true.into()); // the parent decides about null
        }
        if let Some(node_type) = parent_type.clone().or_else(|| inferred_type(branch)) {
            set_type(branch, node_type);
        }
    }
    let several = branches.len() > 1;
    let tag = discriminator(&branches).filter(|_| several).map(str::to_owned);
    let descriptions = if several { take_descriptions(&mut branches) } else { Vec::new() };
    let branch_rules = if several { rules::take_rules(&mut branches) } else { Vec::new() };
    let Some((first, rest)) = branches.split_first() else {
        nulls.into_iter().take(1).for_each(|null| intersect(node, null));
        return;
    };
    let mut merged = rest.iter().fold(first.clone(), |merged, branch| union(&merged, branch));
    if !nulls.is_empty() {
        merged.insert("nullable".into(), true.into());
    }
    let residues: Vec<Node> = branches.iter().map(|branch| residue(branch, &merged)).collect();
    let exclusive = key == "oneOf" && pairwise(&branches, disjoint);
    put_descriptions(&mut merged, &branches, tag.as_deref(), key, descriptions);
    rules::remove_branch_rules(node, &branch_rules);
    rules::put_rules(node, &mut merged, &branches, tag.as_deref(), branch_rules);
    remove_partial_defaults(node, &branches);
    intersect(node, merged);
    constrain(node, if exclusive { "oneOf" } else { "anyOf" }, residues);
}

/// The value validations of `branch` that `merged` does not have.
fn residue(branch: &Node, merged: &Node) -> Node {
    let mut rest = Node::new();
    if node_type(merged) == Some(NodeType::Any) {
        return rest;
    }
    for (key, value) in branch.iter().filter(|(key, value)| merged.get(*key) != Some(value)) {
        match (key.as_str(), value) {
            ("required", Value::Array(names)) => {
                let known = merged.get("required").and_then(Value::as_array);
                let new: Vec<_> =
                    names.iter().filter(|name| !known.is_some_and(|known| known.contains(name))).collect();
                if !new.is_empty() {
                    rest.insert(key.clone(), json!(new));
                }
            }
            ("properties", Value::Object(properties)) => {
                let inner: Node = properties
                    .iter()
                    .filter_map(|(name, value)| {
                        let outer = merged.get("properties")?.get(name)?.as_object()?;
                        let inner = residue(value.as_object()?, outer);
                        (!inner.is_empty()).then(|| (name.clone(), inner.into()))
                    })
                    .collect();
                if !inner.is_empty() {
                    rest.insert(key.clone(), inner.into());
                }
            }
            ("items", Value::Object(items)) => {
                let inner = merged.get("items").and_then(Value::as_object).map(|outer| residue(items, outer));
                if let Some(inner) = inner.filter(|inner| !inner.is_empty()) {
                    rest.insert(key.clone(), inner.into());
                }
            }
            (name, value)
                if VALIDATIONS.contains(&name) || matches!(name, "allOf" | "anyOf" | "oneOf" | "not") =>
            {
                rest.insert(key.clone(), value.clone());
            }
            _ => {}
        }
    }
    if flag(branch, "nullable") {
        enum_beside_null(&mut rest);
    }
    rest
}

/// Adds the residues of the branches, unless they restrict nothing.
fn constrain(node: &mut Node, key: &str, mut residues: Vec<Node>) {
    residues.dedup();
    let listed = residues.iter().all(|residue| residue.len() == 1 && residue.contains_key("enum"));
    if residues.len() < 2 || residues.iter().any(Node::is_empty) || (listed && node.contains_key("enum")) {
        return;
    }
    let residues = json!(residues);
    if node.contains_key(key) {
        add_condition(node, json!({ key: residues }));
    } else {
        node.insert(key.to_owned(), residues);
    }
}

fn pairwise(branches: &[Node], holds: impl Fn(&Node, &Node) -> bool) -> bool {
    branches.iter().enumerate().all(|(i, a)| branches[i + 1..].iter().all(|b| holds(a, b)))
}

/// Removes the defaults of fields of `node` that only some of the `branches` have: a server applies a default to the values
/// of every branch.
fn remove_partial_defaults(node: &mut Node, branches: &[Node]) {
    let Some(Value::Object(fields)) = node.get_mut("properties") else { return };
    for (name, field) in fields {
        let having = branches.iter().filter(|branch| property(branch, name).is_some()).count();
        if let Some(field) = field.as_object_mut().filter(|_| 0 < having && having < branches.len()) {
            field.remove("default");
        }
    }
}

/// The field that distinguishes all `branches`: each requires it, with disjoint strings.
fn discriminator(branches: &[Node]) -> Option<&str> {
    let text = |branch, name| {
        let values = property(branch, name)?.get("enum")?.as_array()?;
        values.iter().all(Value::is_string).then_some(())
    };
    let (first, rest) = branches.split_first()?;
    required(first).find(|name| {
        let everywhere = rest.iter().all(|branch| required(branch).any(|other| other == *name));
        everywhere
            && branches.iter().all(|branch| text(branch, name).is_some())
            && pairwise(branches, |a, b| {
                matches!((property(a, name), property(b, name)), (Some(a), Some(b)) if different_values(a, b))
            })
    })
}

/// Whether the residues of `a` and `b` still exclude each other: by a tag, by their values, or by a field of only one.
fn disjoint(a: &Node, b: &Node) -> bool {
    different_values(a, b) || required(a).any(|name| {
        required(b).any(|other| other == name)
            && matches!((property(a, name), property(b, name)), (Some(a), Some(b)) if different_values(a, b))
    })
        || (required(a).any(|name| property(b, name).is_none())
            && required(b).any(|name| property(a, name).is_none()))
}

fn different_values(a: &Node, b: &Node) -> bool {
    match (a.get("enum"), b.get("enum")) {
        (Some(Value::Array(a)), Some(Value::Array(b))) => !a.iter().any(|value| b.contains(value)),
        _ => false,
    }
}
