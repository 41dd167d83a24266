//! One object, valid or not, as JSON.

use super::messages::{Message, OBJECT, STATUS, Writer};
use super::wire::{Fields, Malformed, Value, varint};

/// What precedes every message that is not within another one.
pub(super) const MAGIC: &[u8] = b"k8s\0";

/// The type of the objects in responses that have metadata only.
const PARTIAL: [&[u8]; 2] = [b"meta.k8s.io/v1", b"PartialObjectMetadata"];

/// A message in its envelope.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Envelope<'a> {
    pub(super) api_version: &'a [u8],
    pub(super) kind: &'a [u8],
    pub(super) message: &'a [u8],
}

impl<'a> Envelope<'a> {
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut envelope = Self::default();
        for field in Fields::of(bytes.strip_prefix(MAGIC).ok_or(Malformed::Envelope)?) {
            envelope.add(field?)?;
        }
        Ok(envelope)
    }

    /// Adds a field of it.
    pub(super) fn add(&mut self, field: (u64, Value<'a>)) -> Result<(), Malformed> {
        match field {
            (1, Value::Bytes(types)) => {
                for field in Fields::of(types) {
                    match field? {
                        (1, Value::Bytes(text)) => self.api_version = text,
                        (2, Value::Bytes(text)) => self.kind = text,
                        _ => {}
                    }
                }
            }
            (2, Value::Bytes(message)) => self.message = message,
            (1 | 2, _) => return Err(Malformed::Type),
            _ => {}
        }
        Ok(())
    }
}

/// Writes an item of a list. A malformed one becomes an object that does not decode, which has its names and says what is wrong.
pub(super) fn write_item(message: &[u8], writer: &mut Writer<'_>) {
    let start = writer.out.len();
    if let Err(err) = write_typed(PARTIAL, OBJECT, message, writer) {
        writer.out.truncate(start);
        write_malformed(PARTIAL, message, err, writer);
    }
}

/// Writes the object of an event: metadata, or a `Status`. Returns whether it is of one of these types, or of none.
pub(super) fn write_object(envelope: &[u8], writer: &mut Writer<'_>) -> bool {
    let start = writer.out.len();
    let envelope = Envelope::open(envelope).unwrap_or_default();
    let Envelope { api_version, kind, message } = envelope;
    let written = match kind {
        b"Status" => write_typed([api_version, kind], STATUS, message, writer),
        _ if kind == PARTIAL[1] => write_typed([api_version, kind], OBJECT, message, writer),
        _ => Err(Malformed::Envelope),
    };
    if let Err(err) = written {
        writer.out.truncate(start);
        write_malformed([api_version, kind], message, err, writer);
    }
    kind.is_empty() || kind == b"Status" || kind == PARTIAL[1]
}

/// The JSON of a `Status` that is the body of an error response.
pub(in crate::decode) fn status_json(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write_object(body, &mut Writer::new(&mut out, true, body.len().saturating_mul(8)));
    out
}

fn write_typed(
    [api_version, kind]: [&[u8]; 2],
    of: &Message,
    message: &[u8],
    writer: &mut Writer<'_>,
) -> Result<(), Malformed> {
    writer.begin_object();
    writer.out.extend_from_slice(b"{\"kind\":");
    writer.limited_text(kind)?;
    writer.out.extend_from_slice(b",\"apiVersion\":");
    writer.limited_text(api_version)?;
    writer.fields(of, message, true)?;
    writer.out.push(b'}');
    Ok(())
}

/// The longest text that is taken for a name: four times as long as the longest name in Kubernetes.
pub(super) const MAX_NAME: usize = 1024;

/// The error is in place of the labels, so that decoding reports it for this object alone.
fn write_malformed(types: [&[u8]; 2], message: &[u8], err: Malformed, writer: &mut Writer<'_>) {
    let [api_version, kind] = types.map(|text| if text.len() > MAX_NAME { b"" as &[u8] } else { text });
    writer.out.extend_from_slice(b"{\"kind\":");
    writer.text(kind);
    writer.out.extend_from_slice(b",\"apiVersion\":");
    writer.text(api_version);
    writer.out.extend_from_slice(b",\"metadata\":{");
    for (name, text) in names(message) {
        writer.text(name.as_bytes());
        writer.out.push(b':');
        writer.text(text);
        writer.out.push(b',');
    }
    writer.out.extend_from_slice(b"\"labels\":");
    writer.text(format!("malformed protobuf: {err}").as_bytes());
    writer.out.extend_from_slice(b"}}");
}

/// What identifies the object of this message, as far as it can be read: the message may be incomplete.
pub(super) fn names(message: &[u8]) -> Vec<(&'static str, &[u8])> {
    /// The tag of the metadata of an object, its first field.
    const METADATA: u64 = 1 << 3 | 2;
    const NAMES: [(u64, &str); 4] = [(1, "name"), (3, "namespace"), (5, "uid"), (6, "resourceVersion")];
    let mut rest = message;
    let metadata = match (varint(&mut rest), varint(&mut rest)) {
        (Ok(Some(METADATA)), Ok(Some(length))) => {
            &rest[..usize::try_from(length).unwrap_or(usize::MAX).min(rest.len())]
        }
        _ => &[],
    };
    let mut texts: [Option<&[u8]>; NAMES.len()] = Default::default();
    for (number, value) in Fields::of(metadata).map_while(Result::ok) {
        if let Value::Bytes(text) = value
            && (1..=MAX_NAME).contains(&text.len())
            && let Some(index) = NAMES.iter().position(|(known, _)| *known == number)
        {
            texts[index].get_or_insert(text);
        }
    }
    NAMES.iter().zip(texts).filter_map(|((_, name), text)| Some((*name, text?))).collect()
}
