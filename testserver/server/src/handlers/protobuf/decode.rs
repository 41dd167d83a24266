//! Decodes a protobuf body into the JSON of its kind.

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
    let Envelope { api_version, kind, raw } = envelope(body)?;
    let name = format!("{api_version}/{kind}");
    if fields(&name).is_none() {
        return Err(format!(
            "{kind} of {api_version} is not supported as protobuf, send it as application/json"
        ));
    }
    let mut object = message(raw, &name, MAX_DEPTH)?;
    object["apiVersion"] = api_version.into();
    object["kind"] = kind.into();
    Ok(object)
}

/// `Unknown` of `k8s.io/apimachinery/pkg/runtime`: the type of an object, and the object's own message.
#[derive(Default)]
struct Envelope<'a> {
    api_version: String,
    kind: String,
    raw: &'a [u8],
}

fn envelope(body: &[u8]) -> Result<Envelope<'_>, String> {
    let mut envelope = Envelope::default();
    for field in Reader(body) {
        match field? {
            (1, WireValue::Bytes(type_meta)) => {
                let (api_version, kind) = pair(type_meta, "the type of the object")?;
                (envelope.api_version, envelope.kind) = (api_version, text(kind)?);
            }
            (2, WireValue::Bytes(raw)) => envelope.raw = raw,
            (3 | 4, WireValue::Bytes(_encoding)) => {}
            (number, _) => return Err(format!("unknown field {number} around the object")),
        }
    }
    Ok(envelope)
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
        (FieldKind::Ints, WireValue::Number(value)) => push(out, name, signed(value).into()),
        (FieldKind::Text { keep_empty }, WireValue::Bytes(bytes)) => {
            if keep_empty || !bytes.is_empty() {
                out.insert(name.into(), text(bytes)?.into());
            }
        }
        (FieldKind::Texts, WireValue::Bytes(bytes)) => push(out, name, text(bytes)?.into()),
        (FieldKind::Either, WireValue::Bytes(bytes)) => drop(out.insert(name.into(), either(bytes)?)),
        (FieldKind::Quantity, WireValue::Bytes(bytes)) => {
            drop(out.insert(name.into(), quantity(bytes)?.into()))
        }
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
            let (key, value) = pair(bytes, "a map entry")?;
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

/// Appends to the list of a repeated field.
fn push(out: &mut Map<String, Value>, name: &str, item: Value) {
    if let Value::Array(list) = out.entry(name).or_insert_with(|| json!([])) {
        list.push(item);
    }
}

/// A message of a text and another field, such as the key and the value of a map entry.
fn pair<'a>(bytes: &'a [u8], what: &str) -> Result<(String, &'a [u8]), String> {
    let (mut first, mut second) = (String::new(), &[][..]);
    for field in Reader(bytes) {
        match field? {
            (1, WireValue::Bytes(bytes)) => first = text(bytes)?,
            (2, WireValue::Bytes(bytes)) => second = bytes,
            (number, _) => return Err(format!("unknown field {number} in {what}")),
        }
    }
    Ok((first, second))
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
