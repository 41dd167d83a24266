//! The rules of a schema document and its nested schemas.

use serde_json::Value;

use super::{
    branch, list,
    unsupported::{self, flag, text},
};
use crate::schema::{ErrorList, FieldError, cel, parse, pattern, prune, validate};

/// All violations of the schema of a custom resource; their paths start with `at`.
pub(in crate::schema) fn check(at: &str, doc: &Value) -> ErrorList {
    let mut errors = ErrorList::default();
    unsupported::check(&mut errors, at, doc);
    if !errors.is_empty() {
        return errors;
    }
    match doc.get("type").and_then(Value::as_str).unwrap_or_default() {
        "" => errors.required(format!("{at}.type"), "must not be empty at the root"),
        "object" => {}
        other => errors.invalid(format!("{at}.type"), format!("{other:?}"), "must be object at the root"),
    }
    if doc.get("nullable") == Some(&Value::Bool(true)) {
        errors.forbidden(format!("{at}.nullable"), "nullable cannot be true at the root");
    }
    if doc.get("additionalProperties").is_some() {
        errors.forbidden(format!("{at}.additionalProperties"), "must not be used at the root");
    }
    node(&mut errors, at, doc, Role::Root);
    if errors.is_empty() {
        errors.extend(cel::check_definition(at, doc));
    }
    errors
}

/// The role of a schema, which determines the message for a missing type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Root,
    Member,
    Items,
}

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

fn node(errors: &mut ErrorList, at: &str, doc: &Value, role: Role) {
    patterns(errors, at, doc);
    the_type(errors, at, doc, role);
    extensions(errors, at, doc);
    list::check(errors, at, doc);
    branch::check(errors, at, doc);
    let resource = role == Role::Root || flag(doc, "x-kubernetes-embedded-resource");
    if resource {
        resource_members(errors, at, doc);
    }
    if role == Role::Root {
        names_without_default(errors, at, doc);
    }
    if let Some(value) = doc.get("default").filter(|v| !v.is_null()) {
        default_value(errors, at, doc, value, resource);
    }
    below(errors, at, doc, role);
}

fn below(errors: &mut ErrorList, at: &str, doc: &Value, role: Role) {
    for (name, inner) in doc.get("properties").and_then(Value::as_object).into_iter().flatten() {
        node(errors, &format!("{at}.properties[{name}]"), inner, Role::Member);
    }
    match doc.get("items") {
        Some(inner) => node(errors, &format!("{at}.items"), inner, Role::Items),
        None if text(doc, "type") == "array" => errors.required(format!("{at}.items"), "must be specified"),
        None => {}
    }
    let Some(inner) = doc.get("additionalProperties").filter(|_| role != Role::Root) else { return };
    let path = format!("{at}.additionalProperties");
    let declared = doc.get("properties").and_then(Value::as_object).is_some_and(|p| !p.is_empty());
    if declared && (inner.is_object() || *inner == false) {
        errors.forbidden(&path, "additionalProperties and properties are mutual exclusive");
    }
    if inner.is_object() {
        node(errors, &path, inner, Role::Member);
    }
}

fn patterns(errors: &mut ErrorList, at: &str, doc: &Value) {
    let pattern = text(doc, "pattern");
    if let Err(why) = pattern::compile(pattern) {
        let why = format!("must be a valid regular expression, but isn't: error parsing regexp: {why}");
        errors.invalid(format!("{at}.pattern"), Value::from(pattern), &why);
    }
}

fn the_type(errors: &mut ErrorList, at: &str, doc: &Value, role: Role) {
    let path = format!("{at}.type");
    let any = flag(doc, "x-kubernetes-int-or-string") || flag(doc, "x-kubernetes-preserve-unknown-fields");
    match (text(doc, "type"), role) {
        ("", Role::Root) => {}
        ("", _) if any => {}
        ("", Role::Member) => errors.required(path, "must not be empty for specified object fields"),
        ("", Role::Items) => errors.required(path, "must not be empty for specified array items"),
        (ty, _) if TYPES.contains(&ty) => {}
        (other, _) => {
            errors.not_supported(&path, format!("{other:?}"), &TYPES);
            if other == "null" {
                errors.forbidden(path, "type cannot be set to null, use nullable as an alternative");
            }
        }
    }
}

fn extensions(errors: &mut ErrorList, at: &str, doc: &Value) {
    let preserve = "x-kubernetes-preserve-unknown-fields";
    let ty = text(doc, "type");
    if flag(doc, "x-kubernetes-embedded-resource") {
        if !flag(doc, preserve)
            && doc.get("properties").and_then(Value::as_object).is_none_or(|p| p.is_empty())
        {
            let why = "must not be empty if x-kubernetes-embedded-resource is true without \
                       x-kubernetes-preserve-unknown-fields";
            errors.required(format!("{at}.properties"), why);
        }
        if ty != "object" {
            let why = "must be object if x-kubernetes-embedded-resource is true";
            errors.invalid(format!("{at}.type"), format!("{ty:?}"), why);
        }
    }
}

/// The rules of `apiVersion`, `kind` and `metadata` in whole objects.
fn resource_members(errors: &mut ErrorList, at: &str, doc: &Value) {
    for (name, must) in [("apiVersion", "string"), ("kind", "string"), ("metadata", "object")] {
        let Some(inner) = doc.pointer(&format!("/properties/{name}")) else { continue };
        let ty = text(inner, "type");
        if ty != must && !ty.is_empty() {
            let path = format!("{at}.properties[{name}].type");
            errors.invalid(path, format!("{ty:?}"), &format!("must be {must}"));
        }
    }
    let Some(Value::Object(metadata)) = doc.pointer("/properties/metadata") else { return };
    let plain = ["type", "description", "properties", "title"];
    let names =
        metadata.get("properties").and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name);
    let other = metadata.keys().any(|k| !plain.contains(&k.as_str()))
        || names.into_iter().any(|name| name != "name" && name != "generateName");
    if other {
        let why = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        errors.forbidden(format!("{at}.properties[metadata]"), why);
    }
}

/// The server generates names itself.
fn names_without_default(errors: &mut ErrorList, at: &str, doc: &Value) {
    let names = doc.pointer("/properties/metadata/properties").and_then(Value::as_object);
    for (name, _) in names.into_iter().flatten().filter(|(_, doc)| doc.get("default").is_some()) {
        let at = format!("{at}.properties[metadata].properties[{name}].default");
        errors.forbidden(at, "must not be set in top-level metadata");
    }
}

fn default_value(errors: &mut ErrorList, at: &str, doc: &Value, value: &Value, resource: bool) {
    let at = format!("{at}.default");
    let extent = if resource { parse::Extent::Resource } else { parse::Extent::Part };
    let field = parse::field(doc, extent);
    let mut pruned = value.clone();
    if !prune::value(&field, &mut pruned).is_empty() {
        errors.invalid(&at, value, "must not have unknown fields");
    }
    let mut wrong = validate::value(&field, &pruned);
    if wrong.is_empty() {
        wrong = cel::check_place(&field, &pruned, None);
    }
    for error in wrong {
        let field = match error.field.as_str() {
            "" => at.clone(),
            "<nil>" => at.clone(),
            below if below.starts_with('[') => format!("{at}{below}"),
            below => format!("{at}.{below}"),
        };
        errors.push(FieldError { field, ..error });
    }
}
