use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Map, Value, json};

use super::{
    messages::{FieldKind, Fields, fields},
    wire::{Reader, WireValue},
};

/// The prefix of every protobuf body.
pub(super) const MAGIC: &[u8] = b"k8s\0";
/// Deeper than any Kubernetes message.
const MAX_DEPTH: usize = 32;

/// Whether a body has the protobuf prefix.
pub(in crate::handlers) fn is_marked(body: &[u8]) -> bool {
    body.starts_with(MAGIC)
}

/// Decodes an object of a kind in the message table.
pub(in crate::handlers) fn decode(body: &[u8]) -> Result<Value, String> {
    let body =
        body.strip_prefix(MAGIC).ok_or("the body does not start with the protobuf prefix of Kubernetes")?;
    let envelope = message(body, "Envelope", MAX_DEPTH)?;
    let text = |key: &str| envelope["typeMeta"][key].as_str().unwrap_or_default().to_string();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let name = format!("{api_version}/{kind}");
    if fields(&name).is_none() {
        return Err(format!(
            "{kind} of {api_version} is not supported as protobuf, send it as application/json"
        ));
    }
    let raw = Reader(body).find(|field| !matches!(field, Ok((number, _)) if *number != 2)).transpose()?;
    let mut object = match raw {
        Some((_, WireValue::Bytes(raw))) => message(raw, &name, MAX_DEPTH)?,
        _ => json!({}),
    };
    object["apiVersion"] = api_version.into();
    object["kind"] = kind.into();
    Ok(object)
}

fn message(bytes: &[u8], name: &str, depth: usize) -> Result<Value, String> {
    let depth = depth.checked_sub(1).ok_or("the message is nested too deeply")?;
    let known = fields(name).ok_or_else(|| format!("unknown message {name}"))?;
    let mut out = Map::new();
    for field in Reader(bytes) {
        let (number, wire) = field?;
        member(&mut out, known, number, wire, depth)?;
    }
    Ok(Value::Object(out))
}

fn member(
    out: &mut Map<String, Value>,
    known: &Fields,
    number: u64,
    wire: WireValue<'_>,
    depth: usize,
) -> Result<(), String> {
    let Some(field) = known.get(&number) else {
        return Err(format!(
            "field {number} is not supported as protobuf, send the object as application/json"
        ));
    };
    let name = field.name;
    match (field.kind, wire) {
        (FieldKind::Ignored, _) => {}
        (FieldKind::Bool { keep_zero }, WireValue::Number(value)) => {
            if keep_zero || value != 0 {
                out.insert(name.into(), (value != 0).into());
            }
        }
        (FieldKind::Int { keep_zero }, WireValue::Number(value)) => {
            if keep_zero || value != 0 {
                out.insert(name.into(), signed(value).into());
            }
        }
        (FieldKind::Text, WireValue::Bytes(bytes)) => {
            if !bytes.is_empty() {
                out.insert(name.into(), text(bytes)?.into());
            }
        }
        (FieldKind::Texts, WireValue::Bytes(bytes)) => push(out, name, text(bytes)?.into()),
        (FieldKind::Either, WireValue::Bytes(bytes)) => drop(out.insert(name.into(), either(bytes)?)),
        (FieldKind::Message(of), WireValue::Bytes(bytes)) => {
            drop(out.insert(name.into(), message(bytes, of, depth)?))
        }
        (FieldKind::Messages(of), WireValue::Bytes(bytes)) => push(out, name, message(bytes, of, depth)?),
        (FieldKind::Inline(of), WireValue::Bytes(bytes)) => {
            if let Value::Object(members) = message(bytes, of, depth)? {
                out.extend(members);
            }
        }
        (FieldKind::TextMap | FieldKind::BytesMap | FieldKind::Quantities, WireValue::Bytes(bytes)) => {
            let (key, value) = entry(bytes)?;
            let value = match field.kind {
                FieldKind::TextMap => text(value)?,
                FieldKind::BytesMap => BASE64_STANDARD.encode(value),
                _ => quantity(value)?,
            };
            if let Value::Object(map) = out.entry(name).or_insert_with(|| json!({})) {
                map.insert(key, value.into());
            }
        }
        _ => return Err(format!("{name} has the wrong wire type")),
    }
    Ok(())
}

/// Appends to the list of a duplicates field.
fn push(out: &mut Map<String, Value>, name: &str, item: Value) {
    if let Value::Array(list) = out.entry(name).or_insert_with(|| json!([])) {
        list.push(item);
    }
}

/// Key and value of one entry of a map.
fn entry(bytes: &[u8]) -> Result<(String, &[u8]), String> {
    let (mut key, mut value) = (String::new(), &[][..]);
    for field in Reader(bytes) {
        match field? {
            (1, WireValue::Bytes(bytes)) => key = text(bytes)?,
            (2, WireValue::Bytes(bytes)) => value = bytes,
            (number, _) => return Err(format!("unknown field {number} in a map entry")),
        }
    }
    Ok((key, value))
}

/// An `IntOrString`: a type tag and both values.
fn either(bytes: &[u8]) -> Result<Value, String> {
    let (mut is_text, mut number, mut string) = (false, 0, String::new());
    for field in Reader(bytes) {
        match field? {
            (1, WireValue::Number(kind)) => is_text = kind == 1,
            (2, WireValue::Number(value)) => number = signed(value),
            (3, WireValue::Bytes(bytes)) => string = text(bytes)?,
            (field, _) => return Err(format!("unknown field {field} in an IntOrString")),
        }
    }
    Ok(if is_text { string.into() } else { number.into() })
}

/// A quantity is a message around its text.
fn quantity(bytes: &[u8]) -> Result<String, String> {
    match Reader(bytes).next().transpose()? {
        None => Ok("0".into()),
        Some((1, WireValue::Bytes(bytes))) => text(bytes),
        Some((number, _)) => Err(format!("unknown field {number} in a quantity")),
    }
}

/// Varints hold negative numbers in two's complement.
fn signed(number: u64) -> i64 {
    number.cast_signed()
}

fn text(bytes: &[u8]) -> Result<String, String> {
    String::from_utf8(bytes.to_vec()).map_err(|error| error.to_string())
}
