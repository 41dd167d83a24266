//! Normalizes keywords: the several spellings of JSON schema drafts become the one that the rest of the rewriting and the server
//! expect.

use serde_json::{Value, json};

use super::field::apply_written_format;
use super::node::{INT_OR_STRING, Node, OPEN, VALIDATIONS, add_condition, is_null_only};

/// Keywords of `JSONSchemaProps`, besides the value validations, that servers allow in a structural schema.
const STRUCTURAL: &[&str] = &[
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "default",
    "description",
    "example",
    "externalDocs",
    "format",
    "items",
    "not",
    "nullable",
    "oneOf",
    "properties",
    "required",
    "title",
    "type",
];

/// Formats that schemars writes for Rust types, unknown to servers, which would warn about them. Any other unknown format is kept, because
/// the author of the type chose it.
const RUST_FORMATS: &[&str] =
    &["int128", "ip", "partial-date-time", "partial-time", "uint128", "zoned-date-time"];

/// Base64 like `format: byte`, but including the empty string, which servers reject for that format.
const BASE64: &str = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";

/// The node of `schema` with normalized keywords; subschemas are unchanged.
pub(super) fn normalize(schema: Value) -> Node {
    let Value::Object(mut node) = schema else { return Node::new() };
    if let Some(value) = node.remove("const") {
        node.insert("enum".into(), json!([value]));
    }
    tuple_to_items(&mut node);
    patterns_to_additional(&mut node);
    bounds_to_numbers(&mut node);
    if let Some(merge) = node.remove("x-kubernetes-struct-type") {
        node.insert("x-kubernetes-map-type".into(), merge); // CRDs have one key for both
    }
    node.retain(|key, value| is_supported(key) && !value.is_null());
    if node.get("additionalProperties") == Some(&Value::Bool(false)) {
        node.remove("additionalProperties");
    }
    types_to_type(&mut node);
    null_out_of_enum(&mut node);
    normalize_format(&mut node);
    node
}

fn is_supported(key: &str) -> bool {
    STRUCTURAL.contains(&key) || VALIDATIONS.contains(&key) || key.starts_with("x-kubernetes-")
}

/// Tuples: `prefixItems` or an array of `items` become one schema for all positions.
fn tuple_to_items(node: &mut Node) {
    let mut positions = match node.remove("prefixItems") {
        Some(Value::Array(positions)) => positions,
        _ => Vec::new(),
    };
    match node.remove("items") {
        Some(Value::Array(more)) => positions.extend(more),
        Some(rest @ Value::Object(_)) => positions.push(rest),
        Some(Value::Bool(true)) => positions.push(json!({})),
        _ => {}
    }
    if let Some(Value::Object(rest)) = node.remove("additionalItems") {
        positions.push(Value::Object(rest));
    }
    match positions.len() {
        0 => {}
        1 => {
            node.insert("items".into(), positions.remove(0));
        }
        _ => {
            node.insert("items".into(), json!({ "anyOf": positions }));
        }
    }
}

/// Maps with key patterns: servers support maps with arbitrary keys only.
fn patterns_to_additional(node: &mut Node) {
    if let Some(open) = node.remove("unevaluatedProperties") {
        node.entry("additionalProperties").or_insert(open);
    }
    let Some(Value::Object(patterns)) = node.remove("patternProperties") else { return };
    let mut values: Vec<Value> = patterns.into_iter().map(|(_, value)| value).collect();
    match node.remove("additionalProperties") {
        None | Some(Value::Bool(false)) => {}
        Some(value) => values.push(value),
    }
    let all = if values.len() == 1 { values.remove(0) } else { json!({ "anyOf": values }) };
    node.insert("additionalProperties".into(), all);
}

/// `minimum: 3, exclusiveMinimum: true` of older drafts becomes `exclusiveMinimum: 3` of newer ones, so that every keyword has a
/// meaning by itself. [`for_servers`] converts it back.
fn bounds_to_numbers(node: &mut Node) {
    for (exclusive, bound) in BOUNDS {
        match node.get(exclusive) {
            Some(Value::Bool(true)) => match node.remove(bound) {
                Some(limit) => node.insert(exclusive.into(), limit),
                None => node.remove(exclusive),
            },
            Some(Value::Bool(false)) => node.remove(exclusive),
            _ => None,
        };
    }
}

/// The last step: the spelling that servers expect, and an order that does not depend on that of the fields in Rust.
pub(super) fn for_servers(node: &mut Node) {
    bounds_for_servers(node);
    apply_written_format(node);
    if let Some(Value::Array(names)) = node.get_mut("required") {
        names.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
    }
}

const BOUNDS: [(&str, &str); 2] = [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")];

/// Servers expect a bound and a flag whether it is exclusive: of two bounds the narrower one stays.
fn bounds_for_servers(node: &mut Node) {
    for (exclusive, bound) in BOUNDS {
        let Some(Value::Number(limit)) = node.get(exclusive).cloned() else { continue };
        let narrower = match (node.get(bound).and_then(Value::as_f64), limit.as_f64()) {
            (Some(other), Some(limit)) if bound == "minimum" => limit >= other,
            (Some(other), Some(limit)) => limit <= other,
            _ => true,
        };
        if narrower {
            node.insert(bound.into(), limit.into());
            node.insert(exclusive.into(), true.into());
        } else {
            node.remove(exclusive);
        }
    }
}

fn types_to_type(node: &mut Node) {
    let mut types: Vec<String> = match node.remove("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => return,
    };
    if types.iter().any(|t| t == "null") {
        types.retain(|t| t != "null");
        node.insert("nullable".into(), true.into());
        if types.is_empty() {
            node.insert("enum".into(), json!([null]));
        }
    }
    let has = |t: &str| types.iter().any(|other| other == t);
    match types.len() {
        0 => {}
        1 => {
            node.insert("type".into(), types.remove(0).into());
        }
        2 if has("integer") && has("string") => {
            node.insert(INT_OR_STRING.into(), true.into());
        }
        2 if has("integer") && has("number") => {
            node.insert("type".into(), "number".into());
        }
        _ => {
            node.insert(OPEN.into(), true.into());
        }
    }
}

/// Servers reject `null` for any `enum`, even one that lists it: `nullable` alone allows it here.
fn null_out_of_enum(node: &mut Node) {
    if is_null_only(node) {
        node.insert("nullable".into(), true.into());
        return;
    }
    let Some(Value::Array(values)) = node.get_mut("enum") else { return };
    let before = values.len();
    values.retain(|value| !value.is_null());
    if values.len() < before {
        node.insert("nullable".into(), true.into());
    }
}

/// Formats that servers do not know or interpret differently: those of Rust's integers become bounds and a known format,
/// base64 becomes a pattern.
fn normalize_format(node: &mut Node) {
    let Some(format) = node.get("format").and_then(Value::as_str) else { return };
    let known = match format {
        "int8" | "uint8" | "int16" | "uint16" => "int32",
        "uint32" => {
            node.entry("maximum").or_insert(u32::MAX.into());
            "int64"
        }
        "int" | "uint" | "uint64" => "int64",
        "byte" => {
            node.remove("format");
            match node.get("pattern") {
                Some(own) if own != BASE64 => add_condition(node, json!({ "pattern": BASE64 })),
                _ => {
                    node.insert("pattern".into(), BASE64.into());
                }
            }
            return;
        }
        rust if RUST_FORMATS.contains(&rust) => {
            node.remove("format");
            return;
        }
        _ => return,
    };
    node.insert("format".into(), known.into());
}
