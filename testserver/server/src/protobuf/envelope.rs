//! A whole body: a prefix, and around the object its type. Watches have frames around such bodies.

use serde_json::Value;

use super::{
    decode::{MAX_DEPTH, message as decode_message},
    encode::message as encode_message,
    wire::{Reader, WireValue, put_bytes},
};
use crate::gotypes::{self, GoStruct};

/// The prefix of every body.
const MAGIC: &[u8] = b"k8s\0";

/// Why a body was not decoded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Undecoded {
    /// The body is not an object in protobuf.
    Body(String),
    /// The object in the body is not what its type says.
    Object { api_version: String, kind: String, why: String },
}

/// Decodes an object. Where the body has no `apiVersion` or no `kind`, it is that of `default`.
pub(crate) fn decode(body: &[u8], default: (&str, &str)) -> Result<Value, Undecoded> {
    let Envelope { api_version, kind, raw } = Envelope::read(body).map_err(Undecoded::Body)?;
    let or = |text: String, default: &str| if text.is_empty() { default.to_owned() } else { text };
    let (api_version, kind) = (or(api_version, default.0), or(kind, default.1));
    let object = match gotypes::of_kind(&api_version, &kind) {
        Some(structure) => decode_message(structure, raw, MAX_DEPTH),
        None => Err(format!(
            "no kind {kind:?} is registered for version {api_version:?} in scheme \"pkg/runtime/scheme.go:111\""
        )),
    };
    match object {
        Ok(mut object) => {
            object.json["apiVersion"] = api_version.into();
            object.json["kind"] = kind.into();
            Ok(object.json)
        }
        Err(why) => Err(Undecoded::Object { api_version, kind, why }),
    }
}

/// Whether an object, by its `apiVersion` and `kind`, has an encoding: custom resources have none.
pub(crate) fn is_encodable(object: &Value) -> bool {
    message_of(object).is_some()
}

/// Encodes an object with `apiVersion` and `kind`.
pub(crate) fn encode(object: &Value) -> Result<Vec<u8>, String> {
    let message = message_of(object)
        .ok_or_else(|| format!("no kind {} of {} is encoded", object["kind"], object["apiVersion"]))?;
    let mut kind = Vec::new();
    put_bytes(&mut kind, 1, text(object, "apiVersion").as_bytes());
    put_bytes(&mut kind, 2, text(object, "kind").as_bytes());
    let mut out = MAGIC.to_vec();
    put_bytes(&mut out, 1, &kind);
    put_bytes(&mut out, 2, &encode_message(message, object)?);
    put_bytes(&mut out, 3, b"");
    put_bytes(&mut out, 4, b"");
    Ok(out)
}

/// Encodes an event of a watch, after its length.
pub(crate) fn watch_frame(event: &Value) -> Result<Vec<u8>, String> {
    let mut object = Vec::new();
    put_bytes(&mut object, 1, &encode(&event["object"])?);
    let mut out = vec![0; 4];
    put_bytes(&mut out, 1, text(event, "type").as_bytes());
    put_bytes(&mut out, 2, &object);
    let length = u32::try_from(out.len() - 4).map_err(|_| "an event of more than 4 GB")?;
    out[..4].copy_from_slice(&length.to_be_bytes());
    Ok(out)
}

/// The document of the core group's versions has a kind only.
fn message_of(object: &Value) -> Option<&'static GoStruct> {
    let api_version = Some(text(object, "apiVersion")).filter(|version| !version.is_empty());
    gotypes::of_kind(api_version.unwrap_or("v1"), text(object, "kind"))
}

fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object[name].as_str().unwrap_or_default()
}

/// The type of an object, and its message. Its encoding is not read, as on genuine servers.
#[derive(Default)]
struct Envelope<'a> {
    api_version: String,
    kind: String,
    raw: &'a [u8],
}

impl<'a> Envelope<'a> {
    fn read(body: &'a [u8]) -> Result<Self, String> {
        if body.is_empty() {
            return Err("empty data".into());
        }
        let body = body.strip_prefix(MAGIC).ok_or(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
        )?;
        if body.is_empty() {
            return Err("empty body".into());
        }
        let mut envelope = Self::default();
        for field in Reader(body) {
            match field? {
                (1, WireValue::Bytes(kind)) => envelope.read_kind(kind)?,
                (2, WireValue::Bytes(raw)) => envelope.raw = raw,
                (number @ 1..=4, wire) if wire.wire_type() != 2 => {
                    let actual = wire.wire_type();
                    return Err(format!("proto: wrong wireType = {actual} for field {number}"));
                }
                _ => {}
            }
        }
        Ok(envelope)
    }

    fn read_kind(&mut self, bytes: &[u8]) -> Result<(), String> {
        for field in Reader(bytes) {
            match field? {
                (1, WireValue::Bytes(version)) => self.api_version = String::from_utf8_lossy(version).into(),
                (2, WireValue::Bytes(kind)) => self.kind = String::from_utf8_lossy(kind).into(),
                _ => {}
            }
        }
        Ok(())
    }
}
