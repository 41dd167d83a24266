//! Decodes metadata as Go does: the first value of a wrong type, with Go's message.

use serde_json::Value;

use super::{golang, validate::format::date_time};

/// The Go type of a field.
#[derive(Clone, Copy)]
enum GoType {
    /// Decoded from a string; the name of the type.
    Text(&'static str),
    Int64,
    Bool,
    Time,
    Texts,
    TextsByName,
    /// Any JSON.
    Raw,
    /// Structs; the name of their type.
    Structs(&'static str, &'static [(&'static str, GoType)]),
}

const STRING: GoType = GoType::Text("string");

const OBJECT_META: &[(&str, GoType)] = &[
    ("annotations", GoType::TextsByName),
    ("creationTimestamp", GoType::Time),
    ("deletionGracePeriodSeconds", GoType::Int64),
    ("deletionTimestamp", GoType::Time),
    ("finalizers", GoType::Texts),
    ("generateName", STRING),
    ("generation", GoType::Int64),
    ("labels", GoType::TextsByName),
    ("managedFields", GoType::Structs("ManagedFieldsEntry", MANAGED_FIELDS)),
    ("name", STRING),
    ("namespace", STRING),
    ("ownerReferences", GoType::Structs("OwnerReference", OWNER_REFERENCE)),
    ("resourceVersion", STRING),
    ("selfLink", STRING),
    ("uid", GoType::Text("types.UID")),
];

const OWNER_REFERENCE: &[(&str, GoType)] = &[
    ("apiVersion", STRING),
    ("blockOwnerDeletion", GoType::Bool),
    ("controller", GoType::Bool),
    ("kind", STRING),
    ("name", STRING),
    ("uid", GoType::Text("types.UID")),
];

const MANAGED_FIELDS: &[(&str, GoType)] = &[
    ("apiVersion", STRING),
    ("fieldsType", STRING),
    ("fieldsV1", GoType::Raw),
    ("manager", STRING),
    ("operation", GoType::Text("v1.ManagedFieldsOperationType")),
    ("subresource", STRING),
    ("time", GoType::Time),
];

/// Why metadata cannot be decoded.
pub(crate) fn undecodable(metadata: &Value) -> Option<String> {
    match metadata {
        Value::Null => None,
        Value::Object(_) => members(metadata, "ObjectMeta", "", OBJECT_META),
        other => {
            let found = golang::json_type(other);
            Some(format!("json: cannot unmarshal {found} into Go value of type v1.ObjectMeta"))
        }
    }
}

fn members(value: &Value, of: &str, above: &str, fields: &[(&str, GoType)]) -> Option<String> {
    fields.iter().find_map(|(name, ty)| field(value.get(name)?, &format!("{of}.{above}{name}"), name, *ty))
}

/// `at` is the field as Go names it.
fn field(value: &Value, at: &str, name: &str, ty: GoType) -> Option<String> {
    let wrong = |value: &Value, ty: &str| {
        let found = golang::json_type(value);
        Some(format!("json: cannot unmarshal {found} into Go struct field {at} of type {ty}"))
    };
    let text =
        |value: &Value| if value.is_string() || value.is_null() { None } else { wrong(value, "string") };
    match (ty, value) {
        (_, Value::Null) | (GoType::Raw, _) | (GoType::Bool, Value::Bool(_)) => None,
        (GoType::Text(_), Value::String(_)) => None,
        (GoType::Text(ty), other) => wrong(other, ty),
        (GoType::Bool, other) => wrong(other, "bool"),
        (GoType::Int64, Value::Number(number)) if number.is_i64() => None,
        (GoType::Int64, Value::Number(number)) => {
            Some(format!("json: cannot unmarshal number {number} into Go struct field {at} of type int64"))
        }
        (GoType::Int64, other) => wrong(other, "int64"),
        (GoType::Time, Value::String(text)) if date_time(text) => None,
        (GoType::Time, Value::String(text)) => {
            let text = golang::quoted(text);
            Some(format!(
                "parsing time {text} as \"2006-01-02T15:04:05Z07:00\": cannot parse {text} as \"2006\""
            ))
        }
        (GoType::Time, other) => wrong(other, "string"),
        (GoType::Texts, Value::Array(list)) => list.iter().find_map(text),
        (GoType::Texts, other) => wrong(other, "[]string"),
        (GoType::TextsByName, Value::Object(map)) => map.values().find_map(text),
        (GoType::TextsByName, other) => wrong(other, "map[string]string"),
        (GoType::Structs(ty, fields), Value::Array(list)) => list.iter().find_map(|element| match element {
            Value::Null => None,
            Value::Object(_) => members(element, ty, &format!("{name}."), fields),
            other => wrong(other, &format!("v1.{ty}")),
        }),
        (GoType::Structs(ty, _), other) => wrong(other, &format!("[]v1.{ty}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Responses of 1.37.
    #[test]
    fn messages_are_those_of_go() {
        for (metadata, want) in [
            (
                json!({"labels": ""}),
                "cannot unmarshal string into Go struct field ObjectMeta.labels of type map[string]string",
            ),
            (
                json!({"labels": {"a": 1}}),
                "cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
            ),
            (
                json!({"name": 5}),
                "cannot unmarshal number into Go struct field ObjectMeta.name of type string",
            ),
            (
                json!({"namespace": ["a"]}),
                "cannot unmarshal array into Go struct field ObjectMeta.namespace of type string",
            ),
            (
                json!({"annotations": {"a": {}}}),
                "cannot unmarshal object into Go struct field ObjectMeta.annotations of type string",
            ),
            (
                json!({"finalizers": "a"}),
                "cannot unmarshal string into Go struct field ObjectMeta.finalizers of type []string",
            ),
            (
                json!({"finalizers": [1]}),
                "cannot unmarshal number into Go struct field ObjectMeta.finalizers of type string",
            ),
            (
                json!({"ownerReferences": {}}),
                "cannot unmarshal object into Go struct field ObjectMeta.ownerReferences of type []v1.OwnerReference",
            ),
            (
                json!({"ownerReferences": ["x"]}),
                "cannot unmarshal string into Go struct field ObjectMeta.ownerReferences of type v1.OwnerReference",
            ),
            (
                json!({"ownerReferences": [{"controller": "x"}]}),
                "cannot unmarshal string into Go struct field OwnerReference.ownerReferences.controller of type bool",
            ),
            (
                json!({"generation": "x"}),
                "cannot unmarshal string into Go struct field ObjectMeta.generation of type int64",
            ),
            (
                json!({"creationTimestamp": 5}),
                "cannot unmarshal number into Go struct field ObjectMeta.creationTimestamp of type string",
            ),
            (
                json!({"managedFields": {}}),
                "cannot unmarshal object into Go struct field ObjectMeta.managedFields of type []v1.ManagedFieldsEntry",
            ),
            (
                json!({"uid": 5}),
                "cannot unmarshal number into Go struct field ObjectMeta.uid of type types.UID",
            ),
            (json!(true), "cannot unmarshal bool into Go value of type v1.ObjectMeta"),
            (json!([]), "cannot unmarshal array into Go value of type v1.ObjectMeta"),
        ] {
            assert_eq!(undecodable(&metadata).unwrap(), format!("json: {want}"), "{metadata}");
        }
        assert_eq!(
            undecodable(&json!({"managedFields": [{"time": "x"}]})).unwrap(),
            r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#
        );
        let good = json!({"name": null, "labels": {"a": null}, "generation": 1, "other": 1, "creationTimestamp": null});
        assert_eq!((undecodable(&good), undecodable(&Value::Null)), (None, None));
    }
}
