//! The messages that metadata consist of, and how Go prints them in JSON.
//!
//! Names and numbers are those of `generated.proto`. Go always encodes a single value that is no pointer; JSON leaves an empty one out.

use std::io::Write;

use jiff::Timestamp;
use serde_json::value::RawValue;

use super::wire::{Fields, Malformed, Value};

/// A message: its fields by number.
pub(super) struct Message(&'static [(u64, &'static str, Kind)]);

enum Kind {
    /// Left out if it is empty.
    Text,
    RequiredText,
    /// Left out if it is zero.
    Number,
    /// A pointer in Go: also zero if it is there.
    SomeNumber,
    SomeBool,
    Time,
    Texts,
    TextMap,
    /// JSON within protobuf.
    Json,
    One(&'static Message),
    Many(&'static Message),
}

use Kind::{Json, Many, Number, One, RequiredText, SomeBool, SomeNumber, Text, TextMap, Texts, Time};

pub(super) const OBJECT: &Message = &Message(&[(1, "metadata", One(OBJECT_META))]);

pub(super) const LIST_META: &Message = &Message(&[
    (1, "selfLink", Text),
    (2, "resourceVersion", Text),
    (3, "continue", Text),
    (4, "remainingItemCount", SomeNumber),
]);

pub(super) const STATUS: &Message = &Message(&[
    (1, "metadata", One(LIST_META)),
    (2, "status", Text),
    (3, "message", Text),
    (4, "reason", Text),
    (5, "details", One(STATUS_DETAILS)),
    (6, "code", Number),
]);

const STATUS_DETAILS: &Message = &Message(&[
    (1, "name", Text),
    (2, "group", Text),
    (3, "kind", Text),
    (4, "causes", Many(STATUS_CAUSE)),
    (5, "retryAfterSeconds", Number),
    (6, "uid", Text),
]);

const STATUS_CAUSE: &Message = &Message(&[(1, "reason", Text), (2, "message", Text), (3, "field", Text)]);

const OBJECT_META: &Message = &Message(&[
    (1, "name", Text),
    (2, "generateName", Text),
    (3, "namespace", Text),
    (4, "selfLink", Text),
    (5, "uid", Text),
    (6, "resourceVersion", Text),
    (7, "generation", Number),
    (8, "creationTimestamp", Time),
    (9, "deletionTimestamp", Time),
    (10, "deletionGracePeriodSeconds", SomeNumber),
    (11, "labels", TextMap),
    (12, "annotations", TextMap),
    (13, "ownerReferences", Many(OWNER_REFERENCE)),
    (14, "finalizers", Texts),
    (17, MANAGED_FIELDS, Many(MANAGED_FIELDS_ENTRY)),
]);

const OWNER_REFERENCE: &Message = &Message(&[
    (1, "kind", RequiredText),
    (3, "name", RequiredText),
    (4, "uid", RequiredText),
    (5, "apiVersion", RequiredText),
    (6, "controller", SomeBool),
    (7, "blockOwnerDeletion", SomeBool),
]);

const MANAGED_FIELDS: &str = "managedFields";

const MANAGED_FIELDS_ENTRY: &Message = &Message(&[
    (1, "manager", Text),
    (2, "operation", Text),
    (3, "apiVersion", Text),
    (4, "time", Time),
    (6, "fieldsType", Text),
    (7, "fieldsV1", Json),
    (8, "subresource", Text),
]);

/// Writes JSON.
pub(super) struct Writer<'o> {
    pub(super) out: &'o mut Vec<u8>,
    pub(super) skips_managed_fields: bool,
    /// The most bytes of one object as JSON, in which a byte of a text may have six.
    pub(super) limit: usize,
    /// The most bytes of `out` with the present object.
    pub(super) end: usize,
}

impl<'o> Writer<'o> {
    pub(super) fn new(out: &'o mut Vec<u8>, skips_managed_fields: bool, limit: usize) -> Self {
        let end = out.len().saturating_add(limit);
        Self { out, skips_managed_fields, limit, end }
    }

    /// Whatever comes next is another object.
    pub(super) fn begin_object(&mut self) {
        self.end = self.out.len().saturating_add(self.limit);
    }

    /// An object with these fields, of which a caller may have written the first ones: then `comma` is true.
    pub(super) fn fields(&mut self, of: &Message, bytes: &[u8], mut comma: bool) -> Result<(), Malformed> {
        // A repeated field is written whole where it is first seen.
        let (mut fields, mut written) = (Fields::of(bytes), 0_u32);
        while let Some(field) = fields.next() {
            let (number, value) = field?;
            // An unknown number: of a newer server.
            let Some(index) = of.0.iter().position(|(known, ..)| *known == number) else { continue };
            let (_, name, kind) = &of.0[index];
            if (self.skips_managed_fields && *name == MANAGED_FIELDS) || written & (1 << index) != 0 {
                continue;
            }
            let start = self.out.len();
            if comma {
                self.out.push(b',');
            }
            self.text(name.as_bytes());
            self.out.push(b':');
            let more = Repeated { number, fields: fields.clone() };
            let is_written = match kind {
                Texts | TextMap | Many(_) => {
                    written |= 1 << index;
                    self.repeated(kind, value, more).map(|()| true)
                }
                kind => self.single(kind, value),
            }?;
            match is_written {
                true => comma = true,
                false => self.out.truncate(start),
            }
        }
        Ok(())
    }

    /// False if JSON leaves it out.
    fn single(&mut self, kind: &Kind, value: Value<'_>) -> Result<bool, Malformed> {
        match (kind, value) {
            (Text, Value::Bytes([])) | (Number, Value::Number(0)) | (Time, Value::Bytes([])) => {
                return Ok(false);
            }
            (Text | RequiredText, Value::Bytes(text)) => self.limited_text(text)?,
            (Number | SomeNumber, Value::Number(number)) => self.print(number.cast_signed()),
            (SomeBool, Value::Number(number)) => self.print(number != 0),
            (Time, Value::Bytes(time)) => self.time(time)?,
            (Json, Value::Bytes(bytes)) => self.json(bytes)?,
            (One(of), Value::Bytes(message)) => self.message(of, message)?,
            _ => return Err(Malformed::Type),
        }
        Ok(true)
    }

    fn repeated(&mut self, kind: &Kind, first: Value<'_>, more: Repeated<'_>) -> Result<(), Malformed> {
        let brackets = if matches!(kind, TextMap) { b"{}" } else { b"[]" };
        self.out.push(brackets[0]);
        for (index, value) in std::iter::once(Ok(first)).chain(more).enumerate() {
            let Value::Bytes(value) = value? else { return Err(Malformed::Type) };
            if self.out.len() >= self.end {
                return Err(Malformed::TooLarge);
            }
            if index > 0 {
                self.out.push(b',');
            }
            match kind {
                Many(of) => self.message(of, value)?,
                TextMap => self.entry(value)?,
                _ => self.limited_text(value)?,
            }
        }
        self.out.push(brackets[1]);
        Ok(())
    }

    pub(super) fn message(&mut self, of: &Message, bytes: &[u8]) -> Result<(), Malformed> {
        self.out.push(b'{');
        self.fields(of, bytes, false)?;
        self.out.push(b'}');
        Ok(())
    }

    /// An entry of a map.
    fn entry(&mut self, entry: &[u8]) -> Result<(), Malformed> {
        let (mut key, mut value): (&[u8], &[u8]) = (&[], &[]);
        for field in Fields::of(entry) {
            match field? {
                (1, Value::Bytes(text)) => key = text,
                (2, Value::Bytes(text)) => value = text,
                (1 | 2, _) => return Err(Malformed::Type),
                _ => {}
            }
        }
        self.limited_text(key)?;
        self.out.push(b':');
        self.limited_text(value)
    }

    /// A text that may be long.
    pub(super) fn limited_text(&mut self, text: &[u8]) -> Result<(), Malformed> {
        let room = self.end.saturating_sub(self.out.len());
        if text.len() > room / LONGEST_ESCAPE && json_length(text) > room {
            return Err(Malformed::TooLarge);
        }
        self.text(text);
        Ok(())
    }

    /// As Go prints it: what is not UTF-8 is replaced.
    pub(super) fn text(&mut self, text: &[u8]) {
        let text = String::from_utf8_lossy(text);
        serde_json::to_writer(&mut *self.out, &*text)
            .expect("invariant: a text is JSON, and memory takes it");
    }

    fn print(&mut self, value: impl std::fmt::Display) {
        write!(self.out, "{value}").expect("invariant: memory takes it");
    }

    fn time(&mut self, time: &[u8]) -> Result<(), Malformed> {
        let mut seconds = 0;
        for field in Fields::of(time) {
            match field? {
                (1, Value::Number(number)) => seconds = number.cast_signed(),
                (1, _) => return Err(Malformed::Type),
                _ => {} // Go's JSON has no fractions of a second
            }
        }
        let time = Timestamp::from_second(seconds).map_err(|_| Malformed::Time)?;
        self.print(format_args!("\"{time}\""));
        Ok(())
    }

    /// A message of one field, whose bytes are JSON.
    fn json(&mut self, message: &[u8]) -> Result<(), Malformed> {
        let mut json: &[u8] = b"null";
        for field in Fields::of(message) {
            if let (1, Value::Bytes(bytes)) = field? {
                json = bytes;
            }
        }
        // Checked here, because the text around it would break.
        let json: &RawValue = serde_json::from_slice(json).map_err(|_| Malformed::Json)?;
        self.out.extend(json.get().bytes().map(|byte| if byte == b'\n' { b' ' } else { byte }));
        Ok(())
    }
}

/// The most bytes of JSON for one byte of a text: `\u0001`.
const LONGEST_ESCAPE: usize = 6;

/// How many bytes the text has in JSON, at most.
fn json_length(text: &[u8]) -> usize {
    let is_text = std::str::from_utf8(text).is_ok();
    let length = |byte: &u8| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 2,
        0..0x20 => LONGEST_ESCAPE,
        0x80.. if !is_text => "\u{FFFD}".len(),
        _ => 1,
    };
    text.iter().map(length).sum::<usize>().saturating_add(2)
}

/// The values of the fields that have this number.
struct Repeated<'a> {
    number: u64,
    fields: Fields<'a>,
}

impl<'a> Iterator for Repeated<'a> {
    type Item = Result<Value<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.fields.next()? {
                Ok((number, value)) if number == self.number => return Some(Ok(value)),
                Ok(_) => {}
                Err(err) => return Some(Err(err)),
            }
        }
    }
}
