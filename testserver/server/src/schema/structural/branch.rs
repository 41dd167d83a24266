//! `allOf`, `anyOf`, `oneOf` and `not` may only contain value validations; the structure is declared outside of them.

use serde_json::{Value, json};

use super::unsupported::flag;
use crate::schema::ErrorList;

/// Checks the branches of a schema.
pub(super) fn check(errors: &mut ErrorList, at: &str, doc: &Value) {
    let free = if flag(doc, "x-kubernetes-int-or-string") { int_or_string(doc) } else { None };
    each(at, doc, &mut |path, inner| {
        if free.as_deref() != Some(path.strip_prefix(at).unwrap_or_default()) {
            limits(
                errors,
                path,
                inner,
                free.as_deref().is_some_and(|f| path.ends_with(f) && f.starts_with(".allOf")),
            );
        }
    });
}

/// The path of the permitted `anyOf: [{type: integer}, {type: string}]` of an int-or-string.
fn int_or_string(doc: &Value) -> Option<String> {
    let both = json!([{"type": "integer"}, {"type": "string"}]);
    if doc.get("anyOf") == Some(&both) {
        return Some(".anyOf".into());
    }
    (doc.pointer("/allOf/0/anyOf") == Some(&both)).then(|| ".allOf[0]".into())
}

/// Calls `f` for every branch of a schema, except those of a permitted `anyOf`.
fn each(at: &str, doc: &Value, f: &mut dyn FnMut(&str, &Value)) {
    let free_any_of =
        flag(doc, "x-kubernetes-int-or-string") && int_or_string(doc).as_deref() == Some(".anyOf");
    for name in ["allOf", "anyOf", "oneOf"] {
        if name == "anyOf" && free_any_of {
            continue;
        }
        for (i, inner) in doc.get(name).and_then(Value::as_array).into_iter().flatten().enumerate() {
            f(&format!("{at}.{name}[{i}]"), inner);
        }
    }
    if let Some(inner) = doc.get("not") {
        f(&format!("{at}.not"), inner);
    }
}

fn limits(errors: &mut ErrorList, at: &str, doc: &Value, typed_any_of: bool) {
    for (name, must) in [
        ("type", "empty"),
        ("title", "empty"),
        ("description", "empty"),
        ("default", "undefined"),
        ("additionalProperties", "undefined"),
        ("nullable", "false"),
        ("x-kubernetes-preserve-unknown-fields", "false"),
        ("x-kubernetes-embedded-resource", "false"),
        ("x-kubernetes-int-or-string", "false"),
        ("x-kubernetes-list-type", "undefined"),
        ("x-kubernetes-list-map-keys", "empty"),
        ("x-kubernetes-map-type", "undefined"),
        ("x-kubernetes-validations", "empty"),
    ] {
        let present =
            doc.get(name).is_some_and(|v| !matches!(v, Value::Null | Value::Bool(false)) && v != "");
        if present {
            errors.forbidden(format!("{at}.{name}"), &format!("must be {must} to be structural"));
        }
    }
    for (name, inner) in doc.get("properties").and_then(Value::as_object).into_iter().flatten() {
        limits(errors, &format!("{at}.properties[{name}]"), inner, false);
    }
    if let Some(inner @ Value::Object(_)) = doc.get("items") {
        limits(errors, &format!("{at}.items"), inner, false);
    }
    each(at, doc, &mut |path, inner| {
        if !(typed_any_of && path.starts_with(&format!("{at}.anyOf["))) {
            limits(errors, path, inner, false);
        }
    });
}
