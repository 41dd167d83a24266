//! One line of the journal, with its checksum.

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A new version of an object, or its removal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Record {
    pub(crate) revision: u64,
    pub(crate) group: String,
    pub(crate) plural: String,
    /// `namespace/name`, or the name.
    pub(crate) key: String,
    /// Serialized JSON; `None` when it was removed.
    pub(crate) object: Option<Bytes>,
}

/// A line of the journal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum JournalLine {
    /// The first line: the revision of the state that follows.
    Head(u64),
    Record(Record),
}

#[derive(Serialize, Deserialize)]
struct Head {
    format: String,
    #[serde(rename = "resourceVersion")]
    revision: u64,
}

const FORMAT: &str = "kube-testserver/1";

impl JournalLine {
    pub(crate) fn head(revision: u64) -> Vec<u8> {
        let head = Head { format: FORMAT.into(), revision };
        with_checksum(&serde_json::to_vec(&head).expect("invariant: a text and a number can be written"))
    }

    /// The line of a change; `object` is serialised JSON.
    pub(crate) fn change(
        revision: u64,
        group: &str,
        plural: &str,
        key: &str,
        object: Option<&Bytes>,
    ) -> Vec<u8> {
        let header = serde_json::to_string(&(revision, group, plural, key));
        let header = header.expect("invariant: texts and a number can be written");
        let object = object.map_or(&b"null"[..], |object| object);
        let text = [&header.as_bytes()[..header.len() - 1], b",", object, b"]"].concat();
        with_checksum(&text)
    }

    /// Parses a line without its newline; the object shares its memory. The error says what is wrong with it.
    pub(crate) fn read(line: &Bytes) -> Result<Self, String> {
        let (sum, text) = line.split_at_checked(9).ok_or("it is too short")?;
        let sum = std::str::from_utf8(&sum[..8]).ok().and_then(|sum| u32::from_str_radix(sum, 16).ok());
        if sum != Some(crc32fast::hash(text)) {
            return Err("its checksum is wrong".into());
        }
        if text.first() == Some(&b'{') {
            let head: Head = serde_json::from_slice(text).map_err(|error| error.to_string())?;
            if head.format != FORMAT {
                return Err(format!("its format is {:?}, expected {FORMAT:?}", head.format));
            }
            return Ok(Self::Head(head.revision));
        }
        type Parts<'a> = (u64, String, String, String, Option<&'a RawValue>);
        let (revision, group, plural, key, object): Parts<'_> =
            serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let object = object.map(|object| line.slice_ref(object.get().as_bytes()));
        Ok(Self::Record(Record { revision, group, plural, key, object }))
    }
}

/// Checksum, space, text, newline.
fn with_checksum(text: &[u8]) -> Vec<u8> {
    [format!("{:08x} ", crc32fast::hash(text)).as_bytes(), text, b"\n"].concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn lines_round_trip() {
        let object = json!({"metadata": {"name": "a\nb\"", "labels": {"x": "ü"}}});
        let object = Bytes::from(object.to_string());
        let line = JournalLine::change(7, "g.x", "things", "ns/a\nb\"", Some(&object));
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
        let record = |object| Record {
            revision: 7,
            group: "g.x".into(),
            plural: "things".into(),
            key: "ns/a\nb\"".into(),
            object,
        };
        let read = |line: Vec<u8>| JournalLine::read(&Bytes::from(line.trim_ascii_end().to_vec()));
        assert_eq!(read(line), Ok(JournalLine::Record(record(Some(object)))));
        let gone = JournalLine::change(7, "g.x", "things", "ns/a\nb\"", None);
        assert_eq!(read(gone), Ok(JournalLine::Record(record(None))));
        assert_eq!(read(JournalLine::head(9)), Ok(JournalLine::Head(9)));
    }

    proptest! {
        /// Any changed byte is detected, and no input panics.
        #[test]
        fn damage_is_detected(at in 0usize..40, byte in any::<u8>(), noise in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = JournalLine::read(&noise.into());
            let mut line = JournalLine::change(7, "", "pods", "default/a", None);
            line.pop();
            let at = at % line.len();
            let same = line[at].eq_ignore_ascii_case(&byte) || at == 8;
            line[at] = byte;
            prop_assert!(same || JournalLine::read(&line.into()).is_err());
        }
    }
}
