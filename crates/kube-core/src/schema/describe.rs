//! Descriptions of alternatives. Servers take none inside of `anyOf` and `oneOf`: what a branch says of itself moves to the field
//! that stands for it, to the tag, or to the node of them all.

use serde_json::Value;

use super::{
    Node,
    keywords::{property, required},
};

/// The alternatives of a node, described; while it is being rewritten only, see [`settle`].
pub(super) const ALTERNATIVES: &str = "alternatives";

/// Takes the descriptions out of every branch.
pub(super) fn take(branches: &mut [Node]) -> Vec<Option<String>> {
    branches
        .iter_mut()
        .map(|branch| {
            settle(branch);
            match branch.remove("description") {
                Some(Value::String(text)) => Some(text),
                _ => None,
            }
        })
        .collect()
}

/// Puts the descriptions of the `branches` into `merged`, which allows what any of them does.
pub(super) fn put(
    merged: &mut Node,
    branches: &[Node],
    tag: Option<&str>,
    key: &str,
    descriptions: Vec<Option<String>>,
) {
    let mut items = Vec::new();
    for (branch, text) in branches.iter().zip(descriptions) {
        let Some(text) = text else { continue };
        let named = only_field(branch).filter(|_| tag.is_none() && key == "oneOf");
        match named.and_then(|name| field(merged, name)) {
            Some(field) => {
                field.insert("description".into(), text.into());
            }
            None => items.push(item(label(branch, tag), &text)),
        }
    }
    if items.is_empty() {
        return;
    }
    match tag.and_then(|tag| field(merged, tag)) {
        Some(field) => {
            field.insert(ALTERNATIVES.into(), items.into());
            settle(field);
        }
        None => {
            merged.insert(ALTERNATIVES.into(), items.into());
        }
    }
}

/// Writes the alternatives into the description.
pub(super) fn settle(node: &mut Node) {
    let Some(Value::Array(items)) = node.remove(ALTERNATIVES) else { return };
    let items: Vec<_> = items.iter().filter_map(Value::as_str).collect();
    let list = items.join("\n");
    let description = match node.get("description").and_then(Value::as_str) {
        Some(text) => format!("{text}\n\n{list}"),
        None => list,
    };
    node.insert("description".into(), description.into());
}

fn field<'a>(node: &'a mut Node, name: &str) -> Option<&'a mut Node> {
    node.get_mut("properties")?.get_mut(name)?.as_object_mut()
}

fn item(label: Option<String>, text: &str) -> Value {
    let text = text.replace('\n', "\n  ").replace("\n  \n", "\n\n");
    match label {
        Some(label) => format!("- `{label}`: {text}"),
        None => format!("- {text}"),
    }
    .into()
}

/// What a value of the branch is called: its tag, its text, or its only field.
fn label(branch: &Node, tag: Option<&str>) -> Option<String> {
    let values = match tag {
        Some(tag) => property(branch, tag)?,
        None => branch,
    };
    match values.get("enum").and_then(Value::as_array).map(Vec::as_slice) {
        Some([Value::String(value)]) => Some(value.clone()),
        Some(_) => None,
        None => only_field(branch).map(str::to_owned),
    }
}

/// The name of the field of a branch that has one field, which is required: a variant under its name.
fn only_field(branch: &Node) -> Option<&str> {
    let mut names = required(branch);
    let name = names.next().filter(|_| names.next().is_none())?;
    let fields = branch.get("properties").and_then(Value::as_object)?;
    (fields.len() == 1 && fields.contains_key(name)).then_some(name)
}
