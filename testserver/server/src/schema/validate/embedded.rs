//! Embedded objects must have `apiVersion` and `kind`.

use serde_json::{Map, Value};

use crate::schema::{
    ErrorList,
    model::{Field, Schema},
    path::Path,
};

impl Schema {
    /// The embedded objects of an object and their paths.
    pub(crate) fn embedded<'v>(&self, object: &'v Value) -> Vec<(String, &'v Value)> {
        let mut objects = Vec::new();
        find(&mut objects, self.root(), object, &Path::Root);
        objects
    }
}

fn find<'v>(objects: &mut Vec<(String, &'v Value)>, field: &Field, value: &'v Value, path: &Path<'_>) {
    let node = field.node();
    let top = matches!(path, Path::Root);
    if node.resource && value.is_object() && !top {
        objects.push((path.to_string(), value));
    }
    for (name, inner) in
        value.as_object().into_iter().flatten().filter(|(name, _)| !top || *name != "metadata")
    {
        if let Some(field) = node.properties.get(name.as_str()).or(node.additional.as_deref()) {
            find(objects, field, inner, &path.member(name));
        }
    }
    if let Some(field) = &node.items {
        for (i, inner) in value.as_array().into_iter().flatten().enumerate() {
            find(objects, field, inner, &path.element(i));
        }
    }
}

const KIND: &str = "may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case \
                    alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric \
                    character (e.g. 'my-name',  or 'abc-123', regex used for validation is \
                    '[a-z]([-a-z0-9]*[a-z0-9])?')";

pub(super) fn check(errors: &mut ErrorList, map: &Map<String, Value>, path: &Path<'_>) {
    for name in ["apiVersion", "kind"] {
        let at = path.member(name).to_string();
        match map.get(name) {
            None => errors.required(at, ""),
            Some(Value::String(text)) if text.is_empty() => errors.invalid(at, "\"\"", "must not be empty"),
            Some(Value::String(text)) if name == "apiVersion" && text.matches('/').count() > 1 => {
                let why = format!("unexpected GroupVersion string: {text}");
                errors.invalid(at, format!("{text:?}"), &why);
            }
            Some(Value::String(text)) if name == "kind" && !is_label(&text.to_ascii_lowercase()) => {
                errors.invalid(at, format!("{text:?}"), KIND);
            }
            Some(Value::String(_)) => {}
            Some(other) => errors.invalid(at, other, "must be a string"),
        }
    }
}

fn is_label(text: &str) -> bool {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.len() <= 63
        && text.as_bytes().first().is_some_and(u8::is_ascii_lowercase)
        && text.as_bytes().last().is_some_and(|c| inner(*c))
        && text.bytes().all(|c| inner(c) || c == b'-')
}
