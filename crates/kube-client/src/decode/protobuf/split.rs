//! A list, or the events of a watch, from protobuf to JSON while they arrive, without I/O.

use super::messages::{LIST_META, Writer};
use super::object::{Envelope, MAGIC, MAX_NAME, names, write_item, write_object};
use super::wire::{Fields, Malformed, Value, varint};
use crate::decode::object_too_large::ObjectTooLarge;
use crate::error::Error;

/// The media type of Kubernetes' protobuf, of lists and, with `;stream=watch`, of watches.
pub(crate) const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// Turns the bytes of a body, in whatever pieces they arrive, into JSON.
#[derive(Debug)]
pub(super) struct Splitter {
    /// What was received and not yet written.
    buffer: Vec<u8>,
    position: Position,
    /// The most bytes of one object.
    limit: usize,
    skips_managed_fields: bool,
    /// Whether the server sends other types than metadata.
    sends_other_types: bool,
}

#[derive(Debug)]
enum Position {
    /// Before the message of a list: in its envelope.
    Envelope,
    Items(Items),
    /// Behind the message of a list.
    End,
    Events,
}

/// Within the message of a list.
#[derive(Debug)]
struct Items {
    /// How many of its bytes are still to come.
    left: u64,
    any: bool,
    /// Metadata that follow items.
    metadata: Vec<u8>,
}

/// A field that is complete.
enum Received {
    Field {
        number: u64,
        end: usize,
        value: std::ops::Range<usize>,
    },
    /// Another piece is needed.
    Incomplete,
}

impl Splitter {
    pub(super) fn of_list(limit: usize, skips_managed_fields: bool) -> Self {
        let (buffer, position, sends_other_types) = (Vec::new(), Position::Envelope, false);
        Self { buffer, position, limit, skips_managed_fields, sends_other_types }
    }

    pub(super) fn of_events(limit: usize, skips_managed_fields: bool) -> Self {
        Self { position: Position::Events, ..Self::of_list(limit, skips_managed_fields) }
    }

    /// Writes what is complete with this piece.
    pub(super) fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        if matches!(self.position, Position::End) {
            return Ok(());
        }
        self.buffer.extend_from_slice(piece);
        let mut at = 0;
        let written = self.write(&mut at, out);
        self.buffer.drain(..at);
        if self.buffer.is_empty() {
            self.buffer = Vec::new(); // one object may have been large, and the next one may be far away
        }
        written
    }

    /// Whether the server has sent another type than metadata, as one does that does not know that part of the media type.
    pub(super) fn sends_other_types(&self) -> bool {
        self.sends_other_types
    }

    /// The end of the body. What is left of events is incomplete, and is ignored as an incomplete line is.
    pub(super) fn finish(&self) -> Result<(), Error> {
        match self.position {
            Position::End | Position::Events => Ok(()),
            _ => Err(not_a_list(Malformed::Truncated)),
        }
    }

    fn write(&mut self, at: &mut usize, out: &mut Vec<u8>) -> Result<(), Error> {
        let Self { buffer, position, limit, skips_managed_fields, sends_other_types } = self;
        let mut writer = Writer::new(out, *skips_managed_fields, *limit);
        loop {
            let rest = &buffer[*at..];
            match &mut *position {
                Position::Envelope => {
                    let Some((header, message)) = open_list(rest, *limit)? else { return Ok(()) };
                    *sends_other_types = true;
                    begin_list(&rest[..header], &mut writer)?;
                    *sends_other_types = false;
                    *at += header;
                    *position = Position::Items(Items { left: message, any: false, metadata: Vec::new() });
                }
                Position::Items(items) if items.left == 0 => {
                    end_list(items, &mut writer)?;
                    *position = Position::End;
                }
                Position::Items(items) => {
                    let Received::Field { number, end, value } = receive(rest, items.left, *limit)? else {
                        return Ok(());
                    };
                    write_field(items, number, &rest[value], &mut writer)?;
                    items.left -= end as u64;
                    *at += end;
                }
                Position::End => {
                    *at = buffer.len();
                    return Ok(());
                }
                Position::Events => {
                    let Some((length, frame)) = rest.split_first_chunk::<4>() else { return Ok(()) };
                    let length = u32::from_be_bytes(*length) as usize;
                    if length > *limit {
                        return Err(Error::LinesCodecMaxLineLengthExceeded);
                    }
                    let Some(event) = frame.get(..length) else { return Ok(()) };
                    *sends_other_types |= !write_event(event, &mut writer);
                    *at += 4 + length;
                }
            }
        }
    }
}

/// The length of all before the message of a list, and that of the message; `None` if that has not been received.
fn open_list(bytes: &[u8], limit: usize) -> Result<Option<(usize, u64)>, Error> {
    const MESSAGE: u64 = 2 << 3 | 2;
    let known = bytes.len().min(MAGIC.len());
    if bytes[..known] != MAGIC[..known] {
        return Err(not_a_list(Malformed::Envelope));
    }
    let mut at = MAGIC.len();
    while let Some(rest) = bytes.get(at..) {
        let mut value = rest;
        let (Some(tag), Some(length)) =
            (varint(&mut value).map_err(not_a_list)?, varint(&mut value).map_err(not_a_list)?)
        else {
            break;
        };
        if tag == MESSAGE {
            return Ok(Some((bytes.len() - value.len(), length)));
        }
        match receive(rest, u64::MAX, limit)? {
            Received::Field { end, .. } => at += end,
            Received::Incomplete => break,
        }
    }
    match bytes.len() > MAX_ENVELOPE {
        true => Err(not_a_list(Malformed::Envelope)),
        false => Ok(None),
    }
}

/// The most bytes before the message of a list: its type.
const MAX_ENVELOPE: usize = 1 << 16;

/// `header` ends with the length of the message.
fn begin_list(header: &[u8], writer: &mut Writer<'_>) -> Result<(), Error> {
    let mut envelope = Envelope::default();
    // The last field is that of the message, which is not there yet.
    for field in Fields::of(&header[MAGIC.len()..]).map_while(Result::ok) {
        envelope.add(field).map_err(not_a_list)?;
    }
    let kind = String::from_utf8_lossy(envelope.kind);
    if kind != "PartialObjectMetadataList" {
        return Err(Error::SerdeError(serde::de::Error::custom(format!(
            "the server has sent {kind:?} in protobuf, where a list of metadata was expected"
        ))));
    }
    writer.out.extend_from_slice(b"{\"kind\":");
    writer.text(envelope.kind);
    writer.out.extend_from_slice(b",\"apiVersion\":");
    writer.text(envelope.api_version);
    Ok(())
}

/// A field of the message of a list, of which `left` bytes are still to come.
fn receive(bytes: &[u8], left: u64, limit: usize) -> Result<Received, Error> {
    let mut value = bytes;
    let (Some(tag), Some(length)) =
        (varint(&mut value).map_err(not_a_list)?, varint(&mut value).map_err(not_a_list)?)
    else {
        return match left > bytes.len() as u64 {
            true => Ok(Received::Incomplete),
            false => Err(not_a_list(Malformed::Truncated)),
        };
    };
    let start = bytes.len() - value.len();
    // A number has its value in place of a length. Lists have no others.
    let length = match tag & 7 {
        2 => length,
        0 => 0,
        _ => return Err(not_a_list(Malformed::WireType)),
    };
    if left < length.saturating_add(start as u64) {
        return Err(not_a_list(Malformed::Truncated));
    }
    match usize::try_from(length).ok().filter(|length| *length <= limit) {
        None => Err(too_large(value, limit)),
        Some(length) if length > value.len() => Ok(Received::Incomplete),
        Some(length) => {
            let end = start + length;
            Ok(Received::Field { number: tag >> 3, end, value: start..end })
        }
    }
}

fn write_field(items: &mut Items, number: u64, value: &[u8], writer: &mut Writer<'_>) -> Result<(), Error> {
    match number {
        1 if items.any => value.clone_into(&mut items.metadata),
        1 => write_metadata(value, writer)?,
        2 => {
            writer.out.extend_from_slice(if items.any { b"," } else { b",\"items\":[" });
            items.any = true;
            write_item(value, writer);
        }
        _ => {} // of a newer server
    }
    Ok(())
}

fn write_metadata(message: &[u8], writer: &mut Writer<'_>) -> Result<(), Error> {
    writer.out.extend_from_slice(b",\"metadata\":");
    writer.begin_object();
    writer.message(LIST_META, message).map_err(not_a_list)
}

fn end_list(items: &Items, writer: &mut Writer<'_>) -> Result<(), Error> {
    writer.out.extend_from_slice(if items.any { b"]" } else { b",\"items\":[]" });
    if !items.metadata.is_empty() {
        write_metadata(&items.metadata, writer)?;
    }
    writer.out.push(b'}');
    Ok(())
}

/// An event of a watch, as a line. One whose envelope is malformed becomes one that does not decode and says so. Returns whether its object
/// is of a type that an event may have.
fn write_event(event: &[u8], writer: &mut Writer<'_>) -> bool {
    let (mut kind, mut object, mut malformed): (&[u8], &[u8], _) = (&[], &[], None);
    for field in Fields::of(event) {
        match field {
            Ok((1, Value::Bytes(text))) if text.len() > MAX_NAME => malformed = Some(Malformed::Envelope),
            Ok((1, Value::Bytes(text))) => kind = text,
            Ok((2, Value::Bytes(extension))) => match Fields::of(extension).next() {
                Some(Ok((1, Value::Bytes(raw)))) => object = raw,
                _ => malformed = Some(Malformed::Envelope),
            },
            Ok(_) => {}
            Err(err) => malformed = Some(err),
        }
    }
    writer.out.extend_from_slice(b"{\"type\":");
    match malformed {
        None => writer.text(kind),
        Some(err) => writer.text(format!("malformed protobuf: {err}").as_bytes()),
    }
    writer.out.extend_from_slice(b",\"object\":");
    let is_expected = write_object(object, writer);
    writer.out.extend_from_slice(b"}\n");
    is_expected
}

fn not_a_list(err: Malformed) -> Error {
    Error::SerdeError(serde::de::Error::custom(format!("not a list: malformed protobuf: {err}")))
}

/// `begin`: what has been received of the object.
fn too_large(begin: &[u8], limit: usize) -> Error {
    let names = names(begin);
    let name = |wanted| names.iter().find(|(name, _)| *name == wanted);
    let text = |(_, text): &(_, &[u8])| String::from_utf8_lossy(text).into_owned();
    let object = match (name("namespace").map(text), name("name").map(text)) {
        (Some(namespace), Some(name)) => format!("the object {namespace}/{name} of the list"),
        (None, Some(name)) => format!("the object {name} of the list"),
        _ => "an object of the list".to_owned(),
    };
    Error::Service(ObjectTooLarge { object, limit }.into())
}
