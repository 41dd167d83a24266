//! The document of OpenAPI v2 as a message. Its maps are lists of names and values, and its unions have a field for each case.

use serde_json::{Map, Value};

use super::{
    encode,
    table::{self, Cardinality, Field, Message, MessageId, Shape, ValueType},
    wire::put_bytes,
};

/// Members of any object that no message lists.
const EXTENSIONS: &str = "vendorExtension";

/// Encodes an OpenAPI v2 document.
pub(crate) fn document(document: &Value) -> Result<Vec<u8>, String> {
    let message = table::by_name("openapi.v2.Document").ok_or("no message of OpenAPI documents")?;
    let mut out = Vec::new();
    object(message, document, &mut out)?;
    Ok(out)
}

fn object(of: &'static Message, value: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    match (of.shape, value) {
        // Any value, as text of YAML, which JSON is.
        (Shape::Custom, value) => put_bytes(out, 2, value.to_string().as_bytes()),
        (Shape::List, Value::Array(items)) => {
            items.iter().try_for_each(|item| one(&of.fields[0], item, out))?;
        }
        (Shape::List, single) => one(&of.fields[0], single, out)?,
        (Shape::OneOf, value) => one(case(of, value), value, out)?,
        (Shape::Object, Value::Object(members)) => {
            of.fields.iter().try_for_each(|field| member(of, field, members, out))?;
        }
        (Shape::Object, other) => return Err(format!("{} is an object, not {other}", of.name)),
    }
    Ok(())
}

fn member(
    of: &'static Message,
    field: &'static Field,
    members: &Map<String, Value>,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    match (field.cardinality, members.get(field.name)) {
        (Cardinality::Map, _) => named(of, field, members, out),
        (_, None | Some(Value::Null)) => Ok(()),
        (Cardinality::List, Some(Value::Array(items))) => {
            items.iter().try_for_each(|item| one(field, item, out))
        }
        (_, Some(value)) => one(field, value, out),
    }
}

/// The members that have no field of their own: extensions, or what the object is a map of.
fn named(
    of: &'static Message,
    field: &'static Field,
    members: &Map<String, Value>,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let has_extensions = of.fields.iter().any(|field| field.name == EXTENSIONS);
    for (name, value) in members {
        if has_extensions && name.starts_with("x-") != (field.name == EXTENSIONS) {
            continue;
        }
        let mut entry = Vec::new();
        put_bytes(&mut entry, 1, name.as_bytes());
        match field.value {
            ValueType::Message(id) => put_message(2, id, value, &mut entry)?,
            scalar => encode::one(2, scalar, value, &mut entry)?,
        }
        put_bytes(out, field.number, &entry);
    }
    Ok(())
}

fn one(field: &'static Field, value: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    match field.value {
        ValueType::Message(id) => put_message(field.number, id, value, out),
        scalar => encode::one(field.number, scalar, value, out),
    }
    .map_err(|why| format!("{}: {why}", field.name))
}

fn put_message(number: u32, of: MessageId, value: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    let mut inner = Vec::new();
    object(of.get(), value, &mut inner)?;
    put_bytes(out, number, &inner);
    Ok(())
}

/// The field for the case of a union that a value is.
fn case(of: &'static Message, value: &Value) -> &'static Field {
    let wanted = match value {
        Value::Bool(_) => "boolean",
        _ if value.get("$ref").is_some() => "jsonReference",
        _ => match value["in"].as_str() {
            Some("body") => "bodyParameter",
            Some("query") => "queryParameterSubSchema",
            Some("path") => "pathParameterSubSchema",
            Some("header") => "headerParameterSubSchema",
            Some("formData") => "formDataParameterSubSchema",
            _ => "",
        },
    };
    let named = |name: &str| of.fields.iter().find(|field| field.name == name);
    // Parameters outside of the body are a union in a union, and other unions begin with the usual case.
    let found = named(wanted).or_else(|| named("nonBodyParameter").filter(|_| wanted != "bodyParameter"));
    found.unwrap_or(&of.fields[0])
}
