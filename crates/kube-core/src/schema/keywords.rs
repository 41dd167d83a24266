//! One spelling per fact: what JSON schema drafts write in several ways is brought to the one that the rest of the rewriting (and the server) reads.

use serde_json::{Value, json};

use super::Node;

/// Keywords of a node that servers know (`JSONSchemaProps`) and take in a structural schema.
const KNOWN: &[&str] = &[
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "default",
    "description",
    "enum",
    "example",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "externalDocs",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "nullable",
    "oneOf",
    "pattern",
    "properties",
    "required",
    "title",
    "type",
];

/// Keywords that restrict values and may stand inside of `allOf`, `anyOf`, `oneOf` and `not` (`format` may too, but servers
/// warn of one without a type beside it).
pub(super) const VALIDATIONS: &[&str] = &[
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
];

/// Formats that schemars gives to types of Rust and that no server knows: it would warn of each. Any other is somebody's wish.
const FOREIGN_FORMATS: &[&str] =
    &["int128", "ip", "partial-date-time", "partial-time", "uint128", "zoned-date-time"];

/// Base64 as `format: byte` has it, but that a server refuses empty data there.
const BASE64: &str = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";

pub(super) const OPEN: &str = "x-kubernetes-preserve-unknown-fields";
pub(super) const RULES: &str = "x-kubernetes-validations";
pub(super) const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// The node of `schema` in its one spelling; subschemas are left as they are.
pub(super) fn normalize(schema: Value) -> Node {
    let Value::Object(mut node) = schema else { return Node::new() };
    if let Some(value) = node.remove("const") {
        node.insert("enum".into(), json!([value]));
    }
    positions_to_items(&mut node);
    patterns_to_values(&mut node);
    exclusive_bounds(&mut node);
    if let Some(merge) = node.remove("x-kubernetes-struct-type") {
        node.insert("x-kubernetes-map-type".into(), merge); // the one key a CRD has for both
    }
    node.retain(|key, value| {
        (KNOWN.contains(&key.as_str()) || key.starts_with("x-kubernetes-")) && !value.is_null()
    });
    if node.get("additionalProperties") == Some(&Value::Bool(false)) {
        node.remove("additionalProperties");
    }
    types_to_type(&mut node);
    null_out_of_enum(&mut node);
    format(&mut node);
    node
}

/// Whether `null` is the only value of `node`.
pub(super) fn is_null_only(node: &Node) -> bool {
    node.get("enum").and_then(Value::as_array).is_some_and(|values| values.iter().all(Value::is_null))
}

/// Whether the key says `true`.
pub(super) fn flag(node: &Node, key: &str) -> bool {
    node.get(key) == Some(&Value::Bool(true))
}

/// The fields that the node requires.
pub(super) fn required(node: &Node) -> impl Iterator<Item = &str> {
    node.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// A field of the node.
pub(super) fn property<'a>(node: &'a Node, name: &str) -> Option<&'a Node> {
    node.get("properties")?.get(name)?.as_object()
}

/// Tuples: `prefixItems` or an array of `items` become one schema for every position.
fn positions_to_items(node: &mut Node) {
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

/// Maps whose keys have a pattern: servers only know maps with any key.
fn patterns_to_values(node: &mut Node) {
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

/// `minimum: 3, exclusiveMinimum: true` of older drafts is the `exclusiveMinimum: 3` of newer ones here, where every keyword says
/// something by itself. [`bounds_for_servers`] brings it back.
fn exclusive_bounds(node: &mut Node) {
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

const BOUNDS: [(&str, &str); 2] = [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")];

/// Servers read a bound, and a flag that says whether it is exclusive: of two bounds the narrower one stays.
pub(super) fn bounds_for_servers(node: &mut Node) {
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

/// A server refuses `null` wherever there is an `enum`, even one that lists it: `nullable` alone says so here.
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

/// Formats that servers do not know or read otherwise: those of Rust's integers become bounds and a known format, base64
/// a pattern.
fn format(node: &mut Node) {
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
                Some(own) if own != BASE64 => also(node, json!({ "pattern": BASE64 })),
                _ => {
                    node.insert("pattern".into(), BASE64.into());
                }
            }
            return;
        }
        foreign if FOREIGN_FORMATS.contains(&foreign) => {
            node.remove("format");
            return;
        }
        _ => return,
    };
    node.insert("format".into(), known.into());
}

/// Adds a further condition that `node` has no keyword left for.
pub(super) fn also(node: &mut Node, condition: Value) {
    if let Value::Array(all) = node.entry("allOf").or_insert(json!([]))
        && !all.contains(&condition)
    {
        all.push(condition);
    }
}
