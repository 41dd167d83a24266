//! The document of OpenAPI v2 as a message. Its maps are lists of names and values, and its unions have a field for each case.

use serde_json::{Map, Value};

use super::{encode, wire::put_bytes};
use crate::gotypes::{self, GoField, GoStruct, GoType, Presence};

/// Members of any object that no message lists.
const EXTENSIONS: &str = "vendorExtension";
/// Any value, as text of YAML, which JSON is.
const ANY: &str = "openapi.v2.Any";

/// Encodes an OpenAPI v2 document.
pub(crate) fn document(document: &Value) -> Result<Vec<u8>, String> {
    let message = gotypes::by_name("openapi.v2.Document").ok_or("no message of OpenAPI documents")?;
    let mut out = Vec::new();
    object(message, document, &mut out)?;
    Ok(out)
}

fn object(of: &'static GoStruct, value: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    let fields = of.members();
    match value {
        value if of.name == ANY => put_bytes(out, 2, value.to_string().as_bytes()),
        value if fields.iter().any(|field| field.presence == Presence::Case) => {
            member(case(fields, value), value, out)?;
        }
        Value::Object(members) => {
            for field in fields {
                match (field.ty, members.get(field.name)) {
                    (GoType::Map(item, _), _) => entries(of, field, item, members, out)?,
                    (_, None | Some(Value::Null)) => {}
                    (_, Some(value)) => member(field, value, out)?,
                }
            }
        }
        other => return Err(format!("{} is an object, not {other}", of.name)),
    }
    Ok(())
}

fn member(field: &'static GoField, value: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    put(field.number, &field.ty, value, out).map_err(|why| format!("{}: {why}", field.name))
}

/// The members that have no field of their own: extensions, or what the object is a map of.
fn entries(
    of: &'static GoStruct,
    field: &GoField,
    item: &'static GoType,
    members: &Map<String, Value>,
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let has_extensions = of.members().iter().any(|field| field.name == EXTENSIONS);
    for (name, value) in members {
        if has_extensions && name.starts_with("x-") != (field.name == EXTENSIONS) {
            continue;
        }
        let mut entry = Vec::new();
        put_bytes(&mut entry, 1, name.as_bytes());
        put(2, item, value, &mut entry)?;
        put_bytes(out, field.number, &entry);
    }
    Ok(())
}

/// Encodes a value. A list of one may be that one.
fn put(number: u32, ty: &'static GoType, value: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    let mut inner = Vec::new();
    match (ty, value) {
        (GoType::List(item), Value::Array(items)) => {
            return items.iter().try_for_each(|value| put(number, item, value, out));
        }
        (GoType::List(item), single) => return put(number, item, single, out),
        (GoType::Items(item), Value::Array(items)) => {
            items.iter().try_for_each(|value| put(1, item, value, &mut inner))?;
        }
        (GoType::Items(item), single) => put(1, item, single, &mut inner)?,
        (GoType::Struct(structure), value) => object(structure, value, &mut inner)?,
        (scalar, value) => return encode::put(number, scalar, value, out),
    }
    put_bytes(out, number, &inner);
    Ok(())
}

/// The field for the case of a union that a value is.
fn case(fields: &'static [GoField], value: &Value) -> &'static GoField {
    let name = match value {
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
    let named = |name: &str| fields.iter().find(|field| field.name == name);
    // Parameters outside of the body are a union in a union, and other unions begin with the usual case.
    let nested = || named("nonBodyParameter").filter(|_| name != "bodyParameter");
    named(name).or_else(nested).unwrap_or(&fields[0])
}
