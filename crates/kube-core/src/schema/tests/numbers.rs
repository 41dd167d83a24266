//! `IntOrString`, bounds and formats.

use serde_json::{Value, json};

use super::rewritten;

fn rewritten_number(schema: Value) -> Value {
    let mut schema = rewritten(schema);
    schema.as_object_mut().unwrap().remove("type");
    schema
}

#[test]
fn the_narrower_of_two_bounds_stays() {
    let integer = |mut schema: Value| {
        schema["type"] = "integer".into();
        rewritten_number(schema)
    };
    assert_eq!(integer(json!({ "minimum": 5, "exclusiveMinimum": 3 })), json!({ "minimum": 5 }));
    assert_eq!(
        integer(json!({ "minimum": 3, "exclusiveMinimum": 3 })),
        json!({ "minimum": 3, "exclusiveMinimum": true })
    );
    assert_eq!(
        integer(json!({ "maximum": 5, "exclusiveMaximum": 3 })),
        json!({ "maximum": 3, "exclusiveMaximum": true })
    );
    assert_eq!(integer(json!({ "maximum": 3, "exclusiveMaximum": 5.5 })), json!({ "maximum": 3 }));
    assert_eq!(
        integer(json!({ "minimum": 3, "exclusiveMinimum": true })),
        json!({ "minimum": 3, "exclusiveMinimum": true })
    );
    assert_eq!(integer(json!({ "minimum": 3, "exclusiveMinimum": false })), json!({ "minimum": 3 }));
}

#[test]
fn bounds_of_two_schemas_are_not_mixed() {
    let exclusive = json!({ "minimum": 3, "exclusiveMinimum": true });
    assert_eq!(
        rewritten_number(json!({ "type": "integer", "minimum": 5, "allOf": [exclusive] })),
        json!({ "minimum": 5 })
    );
    let either = rewritten_number(json!({ "anyOf": [
        { "type": "integer", "minimum": 3, "exclusiveMinimum": true },
        { "type": "integer", "minimum": 3, "maximum": 3 },
    ] }));
    assert_eq!(
        either,
        json!({ "anyOf": [{ "minimum": 3, "exclusiveMinimum": true }, { "minimum": 3, "maximum": 3 }] })
    );
}

#[test]
fn handwritten_formats_stay() {
    for format in ["quantity", "duration", "k8s-short-name"] {
        let schema = json!({ "type": "string", "format": format });
        assert_eq!(rewritten(schema.clone()), schema);
    }
    for format in ["ip", "partial-time", "zoned-date-time"] {
        assert_eq!(rewritten(json!({ "type": "string", "format": format })), json!({ "type": "string" }));
    }
}

#[test]
fn base64_becomes_a_pattern_that_allows_empty_data() {
    let schema = rewritten(json!({ "type": "string", "format": "byte" }));
    assert_eq!(schema.get("format"), None, "servers reject an empty string for this format");
    let pattern = schema["pattern"].as_str().unwrap();
    assert!(pattern.starts_with("^(") && pattern.ends_with(")?$"), "{pattern}");
    let own = rewritten(json!({ "type": "string", "format": "byte", "pattern": "^A" }));
    assert_eq!((&own["pattern"], &own["allOf"]), (&json!("^A"), &json!([{ "pattern": pattern }])));
}
