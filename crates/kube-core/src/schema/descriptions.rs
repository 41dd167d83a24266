//! Descriptions of `anyOf` and `oneOf` branches. Servers allow none inside of the branches, so each moves to the field of its
//! variant, to the tag, or to the node that contains the branches.

use serde_json::Value;

use super::node::{Node, property, required};

/// A temporary key with the descriptions of a node's branches, which [`render_alternatives`] removes.
pub(super) const ALTERNATIVES: &str = "alternatives";

/// Removes and returns the description of every branch.
pub(super) fn take_descriptions(branches: &mut [Node]) -> Vec<Option<String>> {
    branches
        .iter_mut()
        .map(|branch| {
            render_alternatives(branch);
            match branch.remove("description") {
                Some(Value::String(text)) => Some(text),
                _ => None,
            }
        })
        .collect()
}

/// Adds the descriptions of the `branches` to `merged`, their union.
pub(super) fn put_descriptions(
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
            render_alternatives(field);
        }
        None => {
            merged.insert(ALTERNATIVES.into(), items.into());
        }
    }
}

/// Appends the descriptions of the branches to the description of the node.
pub(super) fn render_alternatives(node: &mut Node) {
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

/// The name of a branch: its tag, its only text, or its only field.
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

/// The name of the only field of a branch, if it is required: an externally tagged variant.
fn only_field(branch: &Node) -> Option<&str> {
    let mut names = required(branch);
    let name = names.next().filter(|_| names.next().is_none())?;
    let fields = branch.get("properties").and_then(Value::as_object)?;
    (fields.len() == 1 && fields.contains_key(name)).then_some(name)
}
