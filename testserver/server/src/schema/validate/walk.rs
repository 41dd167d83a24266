//! Walks an object with its schema and collects the errors of every field.

use serde_json::{Map, Value};

use super::{embedded, lists, numbers, values};
use crate::schema::{
    ErrorList, FieldError,
    model::{Field, Node, Schema, Type, ValueValidation},
    path::Path,
};

impl Schema {
    /// All errors of a custom resource, whose `metadata` is validated only by its own schema.
    pub(crate) fn validate(&self, object: &Value) -> ErrorList {
        self.compared(object, None)
    }

    /// All errors of an object that replaces `old`, except those in unchanged fields, which an earlier schema accepted
    /// ([KEP-4008](https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/4008-crd-ratcheting)).
    pub(crate) fn validate_update(&self, object: &Value, old: &Value) -> ErrorList {
        self.compared(object, Some(old))
    }

    fn compared(&self, object: &Value, old: Option<&Value>) -> ErrorList {
        let mut errors = ErrorList::default();
        let mut walk = Walk { errors: &mut errors, duplicates: true };
        walk.compared(self.root(), object, old, &Path::Root);
        errors
    }
}

/// Validates a value of a field; used for defaults, which are not whole objects.
pub(in crate::schema) fn value(field: &Field, value: &Value) -> ErrorList {
    let mut errors = ErrorList::default();
    if let (true, Value::Object(map)) = (field.node().resource, value) {
        embedded::check(&mut errors, map, &Path::Root);
    }
    let mut walk = Walk { errors: &mut errors, duplicates: false };
    walk.value(field, value, &Path::Root);
    errors
}

struct Walk<'e> {
    errors: &'e mut ErrorList,
    /// Whether lists are checked for duplicates: genuine servers do not look for these in defaults.
    duplicates: bool,
}

impl Walk<'_> {
    /// The same walk with another list of errors.
    fn with_errors<'e>(&self, errors: &'e mut ErrorList) -> Walk<'e> {
        Walk { errors, duplicates: self.duplicates }
    }

    fn value(&mut self, field: &Field, value: &Value, path: &Path<'_>) {
        self.compared(field, value, None, path);
    }

    /// Validates a value, unless it equals `old`.
    fn compared(&mut self, field: &Field, value: &Value, old: Option<&Value>, path: &Path<'_>) {
        if old == Some(value) {
            return;
        }
        let node = field.node();
        if value.is_null() && node.nullable {
            // A null must be in the `enum` even where it is permitted.
            values::check(self.errors, node, value, path);
        }
        if value.is_null() && (node.nullable || node.ty.is_none() && !node.int_or_string) {
            return;
        }
        self.kind(node, value, path);
        values::check(self.errors, node, value, path);
        match value {
            Value::Object(map) => self.object(node, map, old, path),
            Value::Array(list) => self.array(node, list, old, path),
            _ => {}
        }
        if let Some(rules) = &node.rules {
            combined_schemas(self, rules, value, path);
        }
    }

    /// The JSON type.
    fn kind(&mut self, node: &Node, value: &Value, path: &Path<'_>) {
        let got = type_of(value);
        let expected_type = match node.ty {
            _ if node.int_or_string => {
                if matches!(got, "integer" | "string") {
                    return;
                }
                "integer,string"
            }
            None => return,
            Some(Type::Number) if got == "integer" => return,
            Some(ty) => name(ty),
        };
        // A string format also checks the type.
        if expected_type == got || (expected_type == "string" && values::has_string_format(node)) {
            return;
        }
        let format = node.rules.as_ref().and_then(|rules| rules.format.as_deref()).unwrap_or_default();
        if let ("integer", "int32" | "int64", Value::Number(_)) = (expected_type, format, value) {
            let why =
                format!("Invalid value: \"float64\": {path} in body must be of type {format}: \"float64\"");
            self.errors.push(FieldError::new(path.to_string(), "FieldValueTypeInvalid", why));
            return;
        }
        let message =
            format!("Invalid value: {got:?}: {path} in body must be of type {expected_type}: {got:?}");
        self.errors.push(FieldError::new(path.to_string(), "FieldValueTypeInvalid", message));
        let in_range = |n: f64| n.fract() == 0.0 && n.abs() < numbers::INT64;
        if expected_type == "integer" && got == "number" && !value.as_f64().is_some_and(in_range) {
            let why = format!("Checked value must be of type integer (default format) in {path}");
            self.errors.without_field(&why);
        }
    }

    fn object(&mut self, node: &Node, map: &Map<String, Value>, old: Option<&Value>, path: &Path<'_>) {
        for name in node.rules.iter().flat_map(|rules| &rules.required) {
            if !map.contains_key(name.as_ref()) {
                self.errors.required(path.member(name).to_string(), "");
            }
        }
        if node.resource && !matches!(path, Path::Root) {
            embedded::check(self.errors, map, path);
        }
        for (name, value) in map {
            let Some(field) = node.properties.get(name.as_str()).or(node.additional.as_deref()) else {
                continue;
            };
            match (name.as_str(), &node.rules) {
                // Decoding has checked the types in metadata.
                ("metadata", Some(rules)) if node.resource => {
                    if let Some(own) = &rules.metadata {
                        self.value(own, value, &path.member(name));
                    }
                }
                ("metadata" | "apiVersion" | "kind", _) if node.resource => {}
                _ => self.compared(field, value, old.and_then(|old| old.get(name)), &path.member(name)),
            }
        }
    }

    fn array(&mut self, node: &Node, list: &[Value], old: Option<&Value>, path: &Path<'_>) {
        let old = old.and_then(Value::as_array);
        if let Some(field) = &node.items {
            for (i, value) in list.iter().enumerate() {
                let former = old.and_then(|old| lists::correlated(node, old, value));
                self.compared(field, value, former, &path.element(i));
            }
        }
        if !self.duplicates {
            return;
        }
        let mut before = ErrorList::default();
        old.into_iter().for_each(|old| lists::check(&mut before, node, old, path));
        if before.is_empty() {
            lists::check(self.errors, node, list, path);
        }
    }
}

/// `allOf`, `anyOf`, `oneOf` and `not`, whose subschemas are validated like the value itself.
fn combined_schemas(walk: &mut Walk<'_>, rules: &ValueValidation, value: &Value, path: &Path<'_>) {
    any_of(walk, &rules.any_of, value, path);
    one_of(walk, &rules.one_of, value, path);
    all_of(walk, &rules.all_of, value, path);
    if let Some(field) = &rules.not
        && failures(walk, field, value, path).is_empty()
    {
        walk.errors.without_field(&format!("\"{path}\" must not validate the schema (not)"));
    }
}

fn any_of(walk: &mut Walk<'_>, fields: &[Field], value: &Value, path: &Path<'_>) {
    let tried: Vec<_> = fields.iter().map(|field| failures(walk, field, value, path)).collect();
    if tried.is_empty() || tried.iter().any(|errors| errors.is_empty()) {
        return;
    }
    let why = format!("\"{path}\" must validate at least one schema (anyOf)");
    walk.errors.without_field(&why);
    walk.errors.extend(nearest(tried));
}

fn one_of(walk: &mut Walk<'_>, fields: &[Field], value: &Value, path: &Path<'_>) {
    let tried: Vec<_> = fields.iter().map(|field| failures(walk, field, value, path)).collect();
    let valid = tried.iter().filter(|errors| errors.is_empty()).count();
    let detail = match valid {
        1 => return,
        _ if tried.is_empty() => return,
        0 => "Found none valid".to_owned(),
        n => format!("Found {n} valid alternatives"),
    };
    let why = format!("\"{path}\" must validate one and only one schema (oneOf). {detail}");
    walk.errors.without_field(&why);
    if valid == 0 {
        walk.errors.extend(nearest(tried));
    }
}

fn all_of(walk: &mut Walk<'_>, fields: &[Field], value: &Value, path: &Path<'_>) {
    let tried: Vec<_> = fields.iter().map(|field| failures(walk, field, value, path)).collect();
    let failed = tried.iter().filter(|errors| !errors.is_empty()).count();
    walk.errors.extend(tried.into_iter().flatten());
    if failed > 0 {
        let none = if failed == fields.len() { ". None validated" } else { "" };
        let why = format!("\"{path}\" must validate all the schemas (allOf){none}");
        walk.errors.without_field(&why);
    }
}

fn failures(walk: &Walk<'_>, field: &Field, value: &Value, path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::default();
    walk.with_errors(&mut errors).value(field, value, path);
    errors
}

/// The errors of the alternative with the fewest.
fn nearest(tried: Vec<ErrorList>) -> ErrorList {
    tried.into_iter().min_by_key(|errors| errors.len()).unwrap_or_default()
}

fn name(ty: Type) -> &'static str {
    match ty {
        Type::Object => "object",
        Type::Array => "array",
        Type::String => "string",
        Type::Integer => "integer",
        Type::Number => "number",
        Type::Boolean => "boolean",
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_i64() || n.as_f64().is_some_and(numbers::is_whole) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
