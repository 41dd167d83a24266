//! ValueValidation of `x-kubernetes-list-type`, its keys, and `x-kubernetes-map-type`.

use serde_json::Value;

use super::unsupported::{flag, text};
use crate::schema::{ErrorList, FieldError};

const LIST: &str = "x-kubernetes-list-type";
const KEYS: &str = "x-kubernetes-list-map-keys";
const MAP: &str = "x-kubernetes-map-type";

pub(super) fn check(errors: &mut ErrorList, at: &str, doc: &Value) {
    let ty = text(doc, "type");
    let mut wrong_type = |must: &str, ext: &str| {
        let why = format!("must be {must} if {ext} is specified");
        errors.invalid(format!("{at}.type"), format!("{ty:?}"), &why);
    };
    if !text(doc, LIST).is_empty() && ty != "array" {
        wrong_type("array", LIST);
    }
    if !text(doc, MAP).is_empty() && ty != "object" {
        wrong_type("object", MAP);
    }
    one_of(errors, at, doc, LIST, &["atomic", "set", "map"]);
    one_of(errors, at, doc, MAP, &["atomic", "granular"]);
    let keys = doc.get(KEYS).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    match text(doc, LIST) {
        "map" => map(errors, at, doc, keys),
        other => {
            if !keys.is_empty() {
                let why = format!("must be map if {KEYS} is non-empty");
                errors.push(if other.is_empty() {
                    FieldError::required(format!("{at}.{LIST}"), &why)
                } else {
                    FieldError::invalid(format!("{at}.{LIST}"), format!("{other:?}"), &why)
                });
            }
            if other == "set" {
                set(errors, at, doc);
            }
        }
    }
}

fn one_of(errors: &mut ErrorList, at: &str, doc: &Value, name: &str, supported: &[&str]) {
    let value = text(doc, name);
    if !value.is_empty() && !supported.contains(&value) {
        errors.not_supported(format!("{at}.{name}"), format!("{value:?}"), supported);
    }
}

fn set(errors: &mut ErrorList, at: &str, doc: &Value) {
    let Some(items) = doc.get("items") else { return };
    if flag(items, "nullable") {
        errors.forbidden(
            format!("{at}.items.nullable"),
            "cannot be nullable when x-kubernetes-list-type is set",
        );
    }
    let atomic = |ext: &str| items.get(ext).is_none_or(|v| v == "atomic");
    let must = "must be atomic as item of a list with x-kubernetes-list-type=set";
    match text(items, "type") {
        "object" if text(items, MAP) != "atomic" => {
            let map_type = items.get(MAP).unwrap_or(&Value::Null);
            errors.invalid(format!("{at}.items.{MAP}"), map_type, must);
        }
        "array" if !atomic(LIST) => errors.invalid(format!("{at}.items.{LIST}"), &items[LIST], must),
        _ => {}
    }
}

fn map(errors: &mut ErrorList, at: &str, doc: &Value, keys: &[Value]) {
    if keys.is_empty() {
        errors.required(format!("{at}.{KEYS}"), "must not be empty if x-kubernetes-list-type is map");
    }
    let Some(items) = doc.get("items") else { return };
    let ty = text(items, "type");
    if ty != "object" {
        let why = "must be object if parent array's x-kubernetes-list-type is map";
        errors.invalid(format!("{at}.items.type"), format!("{ty:?}"), why);
        return;
    }
    let map_keys = Value::from(keys.to_vec());
    let mut names: Vec<&str> = keys.iter().filter_map(Value::as_str).collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    if names.len() < all {
        errors.invalid(format!("{at}.{KEYS}"), &map_keys, "must not contain duplicate entries");
    }
    for name in names {
        match items.get("properties").and_then(|p| p.get(name)) {
            None => {
                let why = "entries must all be names of item properties";
                errors.invalid(format!("{at}.{KEYS}"), &map_keys, why);
            }
            Some(member) => key(errors, &format!("{at}.items.properties[{name}]"), name, items, member),
        }
    }
}

fn key(errors: &mut ErrorList, at: &str, name: &str, items: &Value, member: &Value) {
    let ty = text(member, "type");
    if matches!(ty, "object" | "array") {
        let why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
        errors.invalid(format!("{at}.type"), format!("{ty:?}"), why);
    }
    if flag(member, "nullable") {
        errors.forbidden(format!("{at}.nullable"), "cannot be nullable when x-kubernetes-list-type is map");
    }
    let required =
        items.get("required").and_then(Value::as_array).is_some_and(|r| r.iter().any(|r| r == name));
    if !required && member.get("default").is_none() {
        let why = format!("this property is in {KEYS}, so it must have a default or be a required property");
        errors.required(format!("{at}.default"), &why);
    }
}
