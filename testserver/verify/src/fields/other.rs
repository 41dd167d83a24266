//! Another value of a field that its schema lets pass.

use serde_json::{Map, Value, json};

use super::rule::{Type, allows, listed};

/// The key that is added to a map.
const KEY: &str = "verify";
/// How deep an example goes.
const DEPTH: usize = 8;

/// A value that differs from the present one; an example if there is none. `None` where none can be derived.
pub(crate) fn other(schema: &Value, present: Option<&Value>) -> Option<Value> {
    let Some(present) = present.filter(|value| !value.is_null()) else { return example(schema, DEPTH) };
    if let Some(values) = listed(schema) {
        // The next one, and after the last the first.
        let at = values.iter().position(|value| *value == present).map_or(0, |at| at + 1);
        let mut others = values.iter().cycle().skip(at).take(values.len());
        return others.find(|value| **value != present).copied().cloned();
    }
    let candidates = match (Type::of(schema), present) {
        (Type::Boolean, Value::Bool(is)) => vec![json!(!is)],
        (Type::Integer | Type::Number | Type::IntOrString, Value::Number(_)) => neighbours(schema, present),
        (Type::Text | Type::IntOrString, Value::String(text)) => another_text(schema, text),
        (Type::List, Value::Array(items)) => another_list(schema, items),
        (Type::Map, Value::Object(fields)) => another_map(schema, fields),
        _ => Vec::new(),
    };
    candidates.into_iter().find(|value| value != present && allows(schema, value))
}

/// The numbers before and after.
fn neighbours(schema: &Value, present: &Value) -> Vec<Value> {
    let step = &schema["multipleOf"];
    match present.as_i64() {
        Some(number) => {
            let step = step.as_i64().unwrap_or(1);
            let both = [number.checked_add(step), number.checked_sub(step)];
            both.into_iter().flatten().map(Value::from).collect()
        }
        None => {
            let (number, step) = (present.as_f64().unwrap_or_default(), step.as_f64().unwrap_or(1.0));
            vec![json!(number + step), json!(number - step)]
        }
    }
}

/// A text of the same form: one letter or digit is another. In what begins with a digit (quantities, times, addresses) the last digit.
fn another_text(schema: &Value, text: &str) -> Vec<Value> {
    let is_number = text.starts_with(|letter: char| letter.is_ascii_digit());
    let counts = |letter: char| letter.is_ascii_digit() || !is_number && letter.is_ascii_alphabetic();
    let Some(at) = text.rfind(counts) else { return example(schema, DEPTH).into_iter().collect() };
    let new = match text.as_bytes()[at] {
        b'1' => "2",
        b'0' | b'2'..=b'9' => "1",
        b'a' => "b",
        b'A' => "B",
        b'B'..=b'Z' => "A",
        _ => "a",
    };
    vec![format!("{}{new}{}", &text[..at], &text[at + 1..]).into()]
}

/// With one more item, or one less.
fn another_list(schema: &Value, items: &[Value]) -> Vec<Value> {
    let added = example(&schema["items"], DEPTH).map(|item| {
        // Items of a set are different.
        let item = if items.contains(&item) { other(&schema["items"], Some(&item)) } else { Some(item) };
        Value::from_iter(items.iter().cloned().chain(item))
    });
    let less = items.split_last().map(|(_, others)| Value::from(others));
    added.into_iter().chain(less).collect()
}

/// With one more key, or one less.
fn another_map(schema: &Value, fields: &Map<String, Value>) -> Vec<Value> {
    let mut added = fields.clone();
    let value = example(&schema["additionalProperties"], DEPTH);
    let added = value.map(|value| {
        added.insert(KEY.to_owned(), value);
        Value::Object(added)
    });
    let less = Value::Object(fields.clone().into_iter().skip(1).collect());
    added.into_iter().chain([less]).collect()
}

/// A value where there is none.
fn example(schema: &Value, depth: usize) -> Option<Value> {
    if let Some(values) = listed(schema) {
        return values.first().copied().cloned();
    }
    let depth = depth.checked_sub(1)?;
    let candidates = match Type::of(schema) {
        Type::Boolean => vec![json!(true)],
        Type::Integer | Type::Number => {
            let ends = ["minimum", "maximum", "multipleOf"].map(|end| schema[end].clone());
            let beside = ends.iter().flat_map(|end| neighbours(&json!({}), end)).collect::<Vec<_>>();
            [json!(1)].into_iter().chain(ends.clone()).chain(beside).filter(Value::is_number).collect()
        }
        Type::IntOrString => vec![json!(1)],
        Type::Text => text(schema).into_iter().collect(),
        Type::List => example(&schema["items"], depth).map(|item| json!([item])).into_iter().collect(),
        Type::Map => {
            let value = example(&schema["additionalProperties"], depth);
            value.map(|value| json!({ KEY: value })).into_iter().collect()
        }
        Type::Object => object(schema, depth).into_iter().collect(),
        Type::Unknown => Vec::new(),
    };
    candidates.into_iter().find(|value| allows(schema, value))
}

/// With what is required; if nothing is, with the first field that can be derived.
fn object(schema: &Value, depth: usize) -> Option<Value> {
    let properties = schema["properties"].as_object()?;
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let field = |name: &str| Some((name.to_owned(), example(properties.get(name)?, depth)?));
    let fields: Option<Map<_, _>> = match required.is_empty() {
        false => required.iter().map(|name| field(name)).collect(),
        true => properties.keys().find_map(|name| field(name)).map(|field| Map::from_iter([field])),
    };
    fields.map(Value::Object)
}

/// A text of a format, or any of the right length. Of a pattern nothing is known.
fn text(schema: &Value) -> Option<Value> {
    if schema["pattern"].is_string() {
        return None;
    }
    let of_format = match schema["format"].as_str().unwrap_or_default() {
        "date-time" | "datetime" => "2030-01-01T00:00:00Z",
        "date" => "2030-01-01",
        "duration" => "1h",
        "uri" | "url" => "https://verify.example.com/",
        "email" => "verify@example.com",
        "hostname" => "verify.example.com",
        "ipv4" | "ip" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "cidr" => "192.0.2.0/24",
        "mac" => "00:00:5e:00:53:01",
        "uuid" | "uuid3" | "uuid4" | "uuid5" => "00000000-0000-4000-8000-000000000001",
        "byte" => "dmVyaWZ5",
        _ => "",
    };
    if !of_format.is_empty() {
        return Some(of_format.into());
    }
    let length = |name: &str| schema[name].as_u64().and_then(|length| usize::try_from(length).ok());
    let most = length("maxLength").unwrap_or(KEY.len()).min(KEY.len());
    Some(format!("{:x<1$}", &KEY[..most], length("minLength").unwrap_or(0)).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_has_another_value() {
        let text = json!({"type": "string"});
        for (schema, present, expected) in [
            (text.clone(), json!("one"), json!("ona")),
            (text.clone(), json!("https://a.example.com/"), json!("https://a.example.coa/")),
            (text.clone(), json!("500m"), json!("501m")),
            (text.clone(), json!("2026-01-01T00:00:00Z"), json!("2026-01-01T00:00:01Z")),
            (text.clone(), json!("10.0.0.1"), json!("10.0.0.2")),
            (text.clone(), json!(""), json!("verify")),
            (json!({"type": "string", "enum": ["a", "b"]}), json!("b"), json!("a")),
            (json!({"type": "string", "enum": ["a", null, "b"]}), json!("a"), json!("b")),
            (json!({"type": "boolean"}), json!(true), json!(false)),
            (json!({"type": "integer"}), json!(1), json!(2)),
            (json!({"type": "integer", "maximum": 3}), json!(3), json!(2)),
            (json!({"type": "integer", "multipleOf": 5}), json!(10), json!(15)),
            (json!({"type": "integer"}), json!(i64::MAX), json!(i64::MAX - 1)),
            (json!({"type": "number"}), json!(0.5), json!(1.5)),
            (json!({"x-kubernetes-int-or-string": true}), json!("25%"), json!("21%")),
            (json!({"x-kubernetes-int-or-string": true}), json!(1), json!(2)),
            (json!({"type": "array", "items": text}), json!(["a"]), json!(["a", "verify"])),
            (json!({"type": "array", "items": text}), json!(["verify"]), json!(["verify", "verifa"])),
            (json!({"type": "array", "items": text, "maxItems": 1}), json!(["a"]), json!([])),
            (
                json!({"type": "object", "additionalProperties": text}),
                json!({"a": "b"}),
                json!({"a": "b", "verify": "verify"}),
            ),
        ] {
            assert_eq!(other(&schema, Some(&present)), Some(expected), "{schema} {present}");
        }
    }

    #[test]
    fn where_nothing_is_there_an_example_is_derived() {
        let required = json!({"type": "object", "required": ["b"],
            "properties": {"a": {"type": "string"}, "b": {"type": "integer", "minimum": 5}}});
        let optional = json!({"type": "object",
            "properties": {"a": {"type": "string", "pattern": "^x$"}, "b": {"type": "boolean"}}});
        for (schema, expected) in [
            (json!({"type": "string"}), json!("verify")),
            (json!({"type": "string", "maxLength": 3}), json!("ver")),
            (json!({"type": "string", "minLength": 8}), json!("verifyxx")),
            (json!({"type": "string", "format": "ipv4"}), json!("192.0.2.1")),
            (json!({"type": "string", "enum": ["a", "b"]}), json!("a")),
            (json!({"type": "integer", "maximum": -2}), json!(-2)),
            (json!({"type": "integer", "minimum": 1, "exclusiveMinimum": true}), json!(2)),
            (json!({"type": "integer", "multipleOf": 4}), json!(4)),
            (required.clone(), json!({"b": 5})),
            (optional, json!({"b": true})),
            (json!({"type": "array", "items": required}), json!([{"b": 5}])),
        ] {
            assert_eq!(other(&schema, None), Some(expected.clone()), "{schema}");
            assert_eq!(other(&schema, Some(&Value::Null)), Some(expected), "{schema}");
        }
    }

    #[test]
    fn what_cannot_be_derived_is_not() {
        for (schema, present) in [
            (json!({"type": "string", "pattern": "^x$"}), None),
            (json!({"type": "string", "enum": ["a"]}), Some(json!("a"))),
            (json!({"type": "integer", "minimum": 3, "maximum": 3}), Some(json!(3))),
            (json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}), None),
            (json!({"type": "array", "items": {"type": "string", "pattern": "^x$"}}), Some(json!([]))),
            (json!({}), Some(json!("a"))),
        ] {
            assert_eq!(other(&schema, present.as_ref()), None, "{schema}");
        }
    }

    #[test]
    fn a_schema_of_schemas_ends() {
        let mut schema = json!({"type": "string"});
        for _ in 0..20 {
            schema = json!({"type": "array", "items": schema});
        }
        assert_eq!(other(&schema, None), None);
    }
}
