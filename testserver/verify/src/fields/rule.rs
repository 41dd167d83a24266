//! What a schema says of one value.

use serde_json::Value;

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Text,
    Integer,
    Number,
    Boolean,
    List,
    /// With any keys.
    Map,
    /// With these fields.
    Object,
    IntOrString,
    /// Anything: nothing can be derived.
    Unknown,
}

impl Type {
    pub(super) fn of(schema: &Value) -> Self {
        if schema["x-kubernetes-int-or-string"] == true {
            return Self::IntOrString;
        }
        match schema["type"].as_str() {
            Some("string") => Self::Text,
            Some("integer") => Self::Integer,
            Some("number") => Self::Number,
            Some("boolean") => Self::Boolean,
            Some("array") => Self::List,
            Some("object") if schema["additionalProperties"].is_object() => Self::Map,
            Some("object") if schema["properties"].is_object() => Self::Object,
            _ => Self::Unknown,
        }
    }
}

/// The values that a schema lists, also in the branches of an `anyOf` or `oneOf`, as optional enums have them; null is none of them.
pub(super) fn listed(schema: &Value) -> Option<Vec<&Value>> {
    let is_list = |schema: &Value| schema["enum"].is_array();
    let lists: Vec<&Value> = if is_list(schema) {
        vec![schema]
    } else {
        let branches = ["anyOf", "oneOf"].into_iter().filter_map(|name| schema[name].as_array());
        let of_lists = |branches: &&Vec<Value>| !branches.is_empty() && branches.iter().all(is_list);
        branches.into_iter().find(of_lists)?.iter().collect()
    };
    let values = lists.into_iter().filter_map(|schema| schema["enum"].as_array()).flatten();
    Some(values.filter(|value| !value.is_null()).collect())
}

/// Whether a value is within the enum and the limits of a schema. Patterns, formats and rules are the server's.
pub(super) fn allows(schema: &Value, value: &Value) -> bool {
    let limit = |name: &str| schema[name].as_f64();
    let is_excluded = |name: &str| schema[name] == true;
    let within = |size: usize, least: &str, most: &str| {
        let size = size as f64;
        limit(least).is_none_or(|least| size >= least) && limit(most).is_none_or(|most| size <= most)
    };
    let is_listed = listed(schema).is_none_or(|values| values.contains(&value));
    is_listed
        && match value {
            Value::Number(number) => {
                let number = number.as_f64().unwrap_or_default();
                let above = limit("minimum").is_none_or(|least| {
                    number > least || number == least && !is_excluded("exclusiveMinimum")
                });
                let below = limit("maximum")
                    .is_none_or(|most| number < most || number == most && !is_excluded("exclusiveMaximum"));
                let whole = limit("multipleOf").is_none_or(|step| step == 0.0 || number % step == 0.0);
                above && below && whole
            }
            Value::String(text) => within(text.chars().count(), "minLength", "maxLength"),
            Value::Array(items) => within(items.len(), "minItems", "maxItems"),
            Value::Object(fields) => within(fields.len(), "minProperties", "maxProperties"),
            Value::Null | Value::Bool(_) => true,
        }
}

/// The largest whole number of a format. Servers know two of them; the others say what the program reads.
pub(super) fn largest_of(format: Option<&str>) -> Value {
    match format {
        Some("int8") => i8::MAX.into(),
        Some("uint8") => u8::MAX.into(),
        Some("int16") => i16::MAX.into(),
        Some("uint16") => u16::MAX.into(),
        Some("int32") => i32::MAX.into(),
        Some("uint32") => u32::MAX.into(),
        _ => i64::MAX.into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn limits_are_read_in_both_directions() {
        for (schema, passes, fails) in [
            (json!({"minimum": 1, "maximum": 3}), vec![json!(1), json!(3)], vec![json!(0), json!(4)]),
            (
                json!({"minimum": 1, "exclusiveMinimum": true, "maximum": 3, "exclusiveMaximum": true}),
                vec![json!(2)],
                vec![json!(1), json!(3)],
            ),
            (json!({"multipleOf": 5}), vec![json!(0), json!(-5)], vec![json!(6)]),
            (json!({"enum": ["a", 1]}), vec![json!("a"), json!(1)], vec![json!("b"), json!(2)]),
            (
                json!({"minLength": 1, "maxLength": 2}),
                vec![json!("ä"), json!("ää")],
                vec![json!(""), json!("äää")],
            ),
            (json!({"minItems": 1, "maxItems": 1}), vec![json!([1])], vec![json!([]), json!([1, 2])]),
            (json!({"minProperties": 1}), vec![json!({"a": 1})], vec![json!({})]),
        ] {
            passes.iter().for_each(|value| assert!(allows(&schema, value), "{schema} {value}"));
            fails.iter().for_each(|value| assert!(!allows(&schema, value), "{schema} {value}"));
        }
    }

    #[test]
    fn the_values_of_all_branches_are_listed() {
        let of = |schema: &Value| listed(schema).map(|values| json!(values));
        let nullable = json!({"enum": [null], "nullable": true});
        assert_eq!(of(&json!({"enum": ["a", null, 1]})), Some(json!(["a", 1])));
        assert_eq!(of(&json!({"anyOf": [{"enum": ["a", "b"]}, nullable]})), Some(json!(["a", "b"])));
        assert_eq!(of(&json!({"oneOf": [{"enum": ["a"]}, {"enum": ["b"]}]})), Some(json!(["a", "b"])));
        assert_eq!(of(&json!({"oneOf": [{"enum": ["a"]}, {"pattern": "b"}]})), None);
        assert_eq!(of(&json!({"type": "string"})), None);
        assert_eq!(of(&json!({"anyOf": [{"minLength": 1}], "oneOf": [{"enum": ["a"]}]})), Some(json!(["a"])));
        assert_eq!(of(&json!({"anyOf": []})), None, "an empty list says nothing");
    }

    #[test]
    fn types_are_told_apart() {
        let of = |schema| Type::of(&schema);
        assert_eq!(of(json!({"type": "object", "additionalProperties": {"type": "string"}})), Type::Map);
        assert_eq!(of(json!({"type": "object", "properties": {}})), Type::Object);
        assert_eq!(
            of(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})),
            Type::Unknown
        );
        assert_eq!(of(json!({"x-kubernetes-int-or-string": true})), Type::IntOrString);
        assert_eq!(of(json!({})), Type::Unknown);
    }
}
