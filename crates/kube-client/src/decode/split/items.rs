//! Splits the body of a list into its items while it arrives, without I/O.

use std::ops::Range;

use bytes::Bytes;

use super::mask::StringState;
use super::scan::{ArrayLengths, ValueScanner, ends_with_key};
use super::version::{ObjectVersion, VersionLocation};

/// Splits the chunks of a list into its items, each the bytes of one JSON value. The rest, the envelope, is kept with empty `items`.
///
/// It checks only the syntax between the items; decoding finds the errors within them.
#[derive(Debug)]
pub(in crate::decode) struct ItemSplitter {
    chunk: Bytes,
    /// The end of the processed part of the chunk.
    at: usize,
    position: Position,
    past_items: bool,
    /// In the envelope: whether a string is open, and the number of open brackets.
    text: StringState,
    depth: usize,
    /// The state of the current item.
    scan: ValueScanner,
    /// The current item, if it spans several chunks.
    partial: Vec<u8>,
    /// The last complete item.
    found: Option<ItemLocation>,
    envelope: Vec<u8>,
}

/// One item, with the lengths of its arrays.
#[derive(Debug)]
pub(in crate::decode) struct Item<'a> {
    pub(in crate::decode) json: &'a [u8],
    pub(in crate::decode) lengths: &'a ArrayLengths,
}

/// An item that does not depend on the splitter.
#[derive(Debug)]
pub(in crate::decode) struct RawItem {
    pub(in crate::decode) json: Bytes,
    pub(in crate::decode) lengths: Box<ArrayLengths>,
    version: VersionLocation,
}

impl RawItem {
    /// Which object it is; `None` if its metadata do not say so.
    pub(in crate::decode) fn version(&self) -> Option<ObjectVersion<'_>> {
        self.version.of(&self.json)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    Envelope,
    /// After the opening bracket of the array.
    First,
    /// After a comma.
    Next,
    /// Within an item that is an array or a map.
    Item,
    /// Within an item that is a number, a literal or a string.
    Scalar,
    /// After an item.
    After,
}

/// Where an item is stored.
#[derive(Clone, Debug)]
enum ItemLocation {
    Chunk(Range<usize>),
    Partial,
}

/// The items are not separated by single commas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::decode) struct NotAList;

impl Default for ItemSplitter {
    fn default() -> Self {
        Self {
            chunk: Bytes::new(),
            at: 0,
            position: Position::Envelope,
            past_items: false,
            text: StringState::Outside,
            depth: 0,
            scan: ValueScanner::default(),
            partial: Vec::new(),
            found: None,
            envelope: Vec::new(),
        }
    }
}

impl ItemSplitter {
    /// Adds a chunk. All items of the previous chunk must have been read.
    pub(in crate::decode) fn push(&mut self, chunk: Bytes) {
        debug_assert!(self.at == self.chunk.len(), "the previous chunk still has items");
        self.chunk = chunk;
        self.at = 0;
    }

    /// Processes up to the first item. Returns whether it is reached, so that the envelope holds everything before the items.
    pub(in crate::decode) fn reach_items(&mut self) -> bool {
        if self.envelope_is_open() {
            self.read_envelope();
        }
        !self.envelope_is_open()
    }

    /// Processes the next item. Returns whether it is complete; if not, another chunk is needed.
    pub(in crate::decode) fn find(&mut self) -> Result<bool, NotAList> {
        self.found = self.next_item()?;
        Ok(self.found.is_some())
    }

    /// The item that [`find`](Self::find) completed. An item within one chunk is not copied.
    pub(in crate::decode) fn item(&self) -> Option<Item<'_>> {
        let json = match self.found.clone()? {
            ItemLocation::Chunk(range) => &self.chunk[range],
            ItemLocation::Partial => &self.partial,
        };
        Some(Item { json, lengths: self.scan.lengths() })
    }

    /// The same item, to be kept. Only an item that spans several chunks was copied.
    pub(in crate::decode) fn take_item(&mut self) -> Option<RawItem> {
        let json: Bytes = match self.found.take()? {
            ItemLocation::Chunk(range) => self.chunk.slice(range),
            ItemLocation::Partial => std::mem::take(&mut self.partial).into(),
        };
        let version = self.scan.version_location(&json);
        Some(RawItem { json, lengths: self.scan.lengths().into(), version })
    }

    /// How many bytes of the current item have arrived, or of the text around the items.
    pub(in crate::decode) fn held_bytes(&self) -> usize {
        match (&self.found, self.position) {
            (Some(ItemLocation::Chunk(range)), _) => range.len(),
            (Some(ItemLocation::Partial), _) | (None, Position::Item | Position::Scalar) => {
                self.partial.len()
            }
            (None, _) => self.envelope.len(),
        }
    }

    /// The name of the current item, `namespace/name`, once its metadata have arrived.
    pub(in crate::decode) fn item_name(&self) -> Option<String> {
        let json = self.item().map_or(&*self.partial, |item| item.json);
        let version = self.scan.version(json)?;
        let namespace = version.namespace.map(|namespace| format!("{namespace}/"));
        Some(namespace.unwrap_or_default() + version.name)
    }

    /// The text around the items. Closing brackets are missing until the end of the body.
    pub(in crate::decode) fn envelope(&self) -> &[u8] {
        &self.envelope
    }

    /// Whether the items are still to come.
    pub(in crate::decode) fn envelope_is_open(&self) -> bool {
        self.position == Position::Envelope && !self.past_items
    }

    fn next_item(&mut self) -> Result<Option<ItemLocation>, NotAList> {
        while let Some(&byte) = self.chunk.get(self.at) {
            match self.position {
                Position::Envelope => self.read_envelope(),
                Position::First | Position::Next | Position::After if byte.is_ascii_whitespace() => {
                    self.at += 1
                }
                Position::First | Position::After if byte == b']' => {
                    self.position = Position::Envelope;
                    self.past_items = true;
                    self.depth = 1;
                    self.envelope.push(byte);
                    self.at += 1;
                }
                Position::After if byte == b',' => {
                    self.position = Position::Next;
                    self.at += 1;
                }
                Position::First | Position::Next if !matches!(byte, b',' | b']' | b'}') => {
                    self.scan.clear();
                    self.partial.clear();
                    self.text = StringState::Outside;
                    self.position =
                        if matches!(byte, b'{' | b'[') { Position::Item } else { Position::Scalar };
                }
                Position::First | Position::Next | Position::After => return Err(NotAList),
                Position::Item | Position::Scalar => {
                    if let Some(found) = self.read_item() {
                        return Ok(Some(found));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Processes up to the end of the item or of the chunk.
    fn read_item(&mut self) -> Option<ItemLocation> {
        let rest = &self.chunk[self.at..];
        let end = if self.position == Position::Item {
            self.scan.end_of_value(&self.partial, rest)
        } else {
            self.text.end_of_scalar(rest)
        };
        let Some(end) = end else {
            self.partial.extend_from_slice(rest);
            self.at = self.chunk.len();
            return None;
        };
        let range = self.at..self.at + end;
        self.at = range.end;
        self.position = Position::After;
        if self.partial.is_empty() {
            return Some(ItemLocation::Chunk(range));
        }
        self.partial.extend_from_slice(&self.chunk[range]);
        Some(ItemLocation::Partial)
    }

    /// Appends everything up to the items or the end of the chunk to the envelope.
    fn read_envelope(&mut self) {
        let rest = &self.chunk[self.at..];
        for (at, &byte) in rest.iter().enumerate() {
            if self.text.step(byte) {
                continue;
            }
            match byte {
                b'[' if self.depth == 1 && ends_with_key(&self.envelope, &rest[..at], ITEMS) => {
                    self.envelope.extend_from_slice(&rest[..=at]);
                    self.at += at + 1;
                    self.position = Position::First;
                    return;
                }
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        self.envelope.extend_from_slice(rest);
        self.at = self.chunk.len();
    }
}

impl StringState {
    /// Scans the next part of a number, literal or string in an array. Returns the offset of its end, if it ends in this part.
    fn end_of_scalar(&mut self, part: &[u8]) -> Option<usize> {
        part.iter().position(|byte| !self.step(*byte) && matches!(byte, b',' | b']'))
    }
}

/// The key of the array.
const ITEMS: &[u8] = b"\"items\"";

#[cfg(test)]
mod tests {
    use super::*;

    fn split(chunks: &[&[u8]]) -> Result<(Vec<String>, String), NotAList> {
        let mut splitter = ItemSplitter::default();
        let mut items = Vec::new();
        for chunk in chunks {
            splitter.push(Bytes::copy_from_slice(chunk));
            while splitter.find()? {
                items.push(String::from_utf8(splitter.item().unwrap().json.to_vec()).unwrap());
            }
        }
        Ok((items, String::from_utf8(splitter.envelope().to_vec()).unwrap()))
    }

    #[test]
    fn chunk_boundaries_do_not_change_the_items() {
        let text = br#"{"kind":"L","metadata":{"items":[1],"x":"\"items\":["},"a\"items":[2],"items" : [
            {"a":"]}\"{","b":[{}]} , {"c":"\\"},null, 7 ,[[]]
        ],"z":{"items":[3]}}"#;
        let (items, envelope) = split(&[text]).unwrap();
        assert_eq!(items, [r#"{"a":"]}\"{","b":[{}]}"#, r#"{"c":"\\"}"#, "null", "7 ", "[[]]"]);
        assert!(envelope.ends_with(r#""items" : [],"z":{"items":[3]}}"#), "{envelope}");
        serde_json::from_str::<serde_json::Value>(&envelope).unwrap();
        for first in 0..text.len() {
            for second in first..text.len() {
                let cut = split(&[&text[..first], &text[first..second], &text[second..]]).unwrap();
                assert_eq!((&cut.0, &cut.1), (&items, &envelope));
            }
        }
    }

    #[test]
    fn a_list_without_an_array_is_all_envelope() {
        for text in ["{}", r#"{"items":null}"#, r#"{"items":[]}"#, r#"{"items":[ ]}"#, "<html>", "[1]", "]]}"]
        {
            let (items, envelope) = split(&[text.as_bytes()]).unwrap();
            assert!(items.is_empty());
            assert_eq!(envelope.replace(' ', ""), text.replace(' ', ""));
        }
    }

    #[test]
    fn wrong_commas_between_items_are_an_error() {
        for text in ["[{}{}]", "[,{}]", "[{},]", "[{},,{}]", "[}]", "[{}:{}]"] {
            let text = format!("{{\"items\":{text}}}");
            assert_eq!(split(&[text.as_bytes()]), Err(NotAList), "{text}");
        }
    }

    #[test]
    fn an_item_within_a_chunk_is_not_copied() {
        let chunk = Bytes::from_static(br#"{"items":[{"a":1}]}"#);
        let mut splitter = ItemSplitter::default();
        splitter.push(chunk.clone());
        assert!(splitter.find().unwrap());
        let item = splitter.item().unwrap();
        assert_eq!(item.json.as_ptr(), chunk[10..].as_ptr());
    }
}
