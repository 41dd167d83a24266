//! Checks for tests that the table of a record, `from_fields` and the derived `Serialize` agree.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{DataType, Field, Record, RecordType, UnknownKeys, deserialize};

/// Fills every field of the table, decodes the record, and serializes it to the same JSON. `other` counts the unknown keys that were kept.
pub(crate) fn check_record<T: Record + Serialize>(other: impl Fn(&T) -> usize) {
    let name = T::TYPE.name;
    let mut value = filled(T::TYPE);
    let decoded = decode::<T>(&value).unwrap();
    assert_eq!(serde_json::to_value(&decoded).unwrap(), value, "{name}");
    assert_eq!(other(&decoded), 0, "fields of {name} that are not taken");

    value["unknown"] = json!([1, null]);
    let decoded = decode::<T>(&value).unwrap();
    let kept = T::TYPE.unknown == UnknownKeys::Kept;
    assert_eq!(other(&decoded), usize::from(kept), "unknown keys of {name}");
    assert_eq!(serde_json::to_value(&decoded).unwrap() == value, kept, "{name}");

    check_required::<T>();
}

/// Adds the required fields, one after the other: the next one is missing, and no other field is.
fn check_required<T: Record>() {
    let mut value = Value::Object(Map::new());
    for field in T::TYPE.fields.iter().filter(|field| field.required) {
        let err = decode::<T>(&value).err().unwrap();
        assert_eq!(err.to_string(), format!("missing field `{}`", field.name));
        value[field.name] = sample(field.data_type);
    }
    assert!(decode::<T>(&value).is_ok(), "{}", T::TYPE.name);
}

fn decode<T: Record>(value: &Value) -> serde_json::Result<T> {
    deserialize(DataType::Record(T::TYPE), value)
}

/// The record with all its fields.
fn filled(record: &RecordType) -> Value {
    let field = |field: &Field| (field.name.to_owned(), sample(field.data_type));
    Value::Object(record.fields.iter().map(field).collect())
}

/// A value that is neither null nor empty.
fn sample(data_type: DataType) -> Value {
    match data_type {
        DataType::Any => json!({"a": [1, -2, 2.5, {"b": true}]}),
        DataType::Ignored => panic!("no field has this type"),
        DataType::Text => json!("text"),
        DataType::Base64 => json!("dGV4dA=="),
        DataType::Bool | DataType::UnquotedBool(_) => json!(true),
        DataType::OneOf(words) => json!(words[0]),
        DataType::Optional(inner) => sample(*inner),
        DataType::List(element) => json!([sample(*element), sample(*element)]),
        DataType::Map(value) => json!({"key": sample(*value)}),
        DataType::Record(record) => filled(record),
    }
}
