//! Cuts the body of a list into its items while it arrives.

use std::ops::Range;

use bytes::Bytes;

use super::lengths::{Lengths, Scan, Text};

/// Takes the chunks of a list in any cut and gives its items, each as the bytes of one JSON value. What is around them, the
/// envelope, stays here with an empty `items`.
///
/// Only as much of JSON is understood as the cut needs: whoever decodes the pieces finds what is wrong within them.
#[derive(Debug)]
pub(super) struct ItemSplitter {
    chunk: Bytes,
    /// What of the chunk has been taken in.
    at: usize,
    place: Place,
    past_items: bool,
    /// Of the envelope: whether a string is open, and how many brackets.
    text: Text,
    depth: usize,
    /// Of the item that has begun.
    scan: Scan,
    /// The item, or its beginning, if it spans several chunks.
    partial: Vec<u8>,
    /// The last item, where it is whole.
    found: Option<Found>,
    envelope: Vec<u8>,
}

/// One item, and what is known of it.
#[derive(Debug)]
pub(super) struct Item<'a> {
    pub(super) json: &'a [u8],
    pub(super) lengths: &'a Lengths,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Envelope,
    /// Behind the array's opening bracket.
    First,
    /// Behind a comma.
    Next,
    /// Within an item in brackets.
    Item,
    /// Within an item that is a number, a word or a string.
    Scalar,
    /// Behind an item.
    Behind,
}

/// Where an item lies.
#[derive(Clone, Debug)]
enum Found {
    Chunk(Range<usize>),
    Partial,
}

/// The items are not one array with commas between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotAList;

impl Default for ItemSplitter {
    fn default() -> Self {
        Self {
            chunk: Bytes::new(),
            at: 0,
            place: Place::Envelope,
            past_items: false,
            text: Text::Outside,
            depth: 0,
            scan: Scan::default(),
            partial: Vec::new(),
            found: None,
            envelope: Vec::new(),
        }
    }
}

impl ItemSplitter {
    /// Takes the next chunk. All items of the one before have to be taken out first.
    pub(super) fn push(&mut self, chunk: Bytes) {
        debug_assert!(self.at == self.chunk.len(), "the chunk before still has items");
        self.chunk = chunk;
        self.at = 0;
    }

    /// Moves up to the first item; whether it is reached, so that all of what stands before the items is in the envelope.
    pub(super) fn reach_items(&mut self) -> bool {
        if self.envelope_is_open() {
            self.read_envelope();
        }
        !self.envelope_is_open()
    }

    /// Moves behind the next item; whether it is whole, or another chunk is needed.
    pub(super) fn find(&mut self) -> Result<bool, NotAList> {
        self.found = self.next_place()?;
        Ok(self.found.is_some())
    }

    /// The item that was found. One that lies within a chunk is not copied.
    pub(super) fn item(&self) -> Option<Item<'_>> {
        let json = match self.found.clone()? {
            Found::Chunk(range) => &self.chunk[range],
            Found::Partial => &self.partial,
        };
        Some(Item { json, lengths: self.scan.lengths() })
    }

    /// What is around the items. Before its end it lacks closing brackets.
    pub(super) fn envelope(&self) -> &[u8] {
        &self.envelope
    }

    /// Whether the items are still to come.
    pub(super) fn envelope_is_open(&self) -> bool {
        self.place == Place::Envelope && !self.past_items
    }

    fn next_place(&mut self) -> Result<Option<Found>, NotAList> {
        while let Some(&byte) = self.chunk.get(self.at) {
            match self.place {
                Place::Envelope => self.read_envelope(),
                Place::First | Place::Next | Place::Behind if byte.is_ascii_whitespace() => self.at += 1,
                Place::First | Place::Behind if byte == b']' => {
                    self.place = Place::Envelope;
                    self.past_items = true;
                    self.depth = 1;
                    self.envelope.push(byte);
                    self.at += 1;
                }
                Place::Behind if byte == b',' => {
                    self.place = Place::Next;
                    self.at += 1;
                }
                Place::First | Place::Next if !matches!(byte, b',' | b']' | b'}') => {
                    self.scan.clear();
                    self.partial.clear();
                    self.text = Text::Outside;
                    self.place = if matches!(byte, b'{' | b'[') { Place::Item } else { Place::Scalar };
                }
                Place::First | Place::Next | Place::Behind => return Err(NotAList),
                Place::Item | Place::Scalar => {
                    if let Some(found) = self.read_item() {
                        return Ok(Some(found));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Moves up to the end of the item, or to the end of the chunk.
    fn read_item(&mut self) -> Option<Found> {
        let rest = &self.chunk[self.at..];
        let end = if self.place == Place::Item {
            self.scan.end_of_value(rest)
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
        self.place = Place::Behind;
        if self.partial.is_empty() {
            return Some(Found::Chunk(range));
        }
        self.partial.extend_from_slice(&self.chunk[range]);
        Some(Found::Partial)
    }

    /// Moves everything up to the items, or to the end of the chunk, to the envelope.
    fn read_envelope(&mut self) {
        let rest = &self.chunk[self.at..];
        for (at, &byte) in rest.iter().enumerate() {
            if self.text.step(byte) {
                continue;
            }
            match byte {
                b'[' if self.depth == 1 && opens_items(&self.envelope, &rest[..at]) => {
                    self.envelope.extend_from_slice(&rest[..=at]);
                    self.at += at + 1;
                    self.place = Place::First;
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

impl Text {
    /// Where in the next part of a number, word or string of an array it ends, if it does.
    fn end_of_scalar(&mut self, part: &[u8]) -> Option<usize> {
        part.iter().position(|byte| !self.step(*byte) && matches!(byte, b',' | b']'))
    }
}

/// Whether an array that opens behind these bytes is the value of the key `items`.
fn opens_items(before: &[u8], chunk: &[u8]) -> bool {
    const KEY: &[u8] = b"\"items\"";
    let mut back = chunk.iter().rev().chain(before.iter().rev()).filter(|byte| !byte.is_ascii_whitespace());
    back.next() == Some(&b':')
        && KEY.iter().rev().all(|byte| back.next() == Some(byte))
        // Not the end of a longer key that has a quotation mark in it.
        && back.next() != Some(&b'\\')
}

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
    fn any_cut_gives_the_same_items() {
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
    fn commas_stand_between_items_and_nowhere_else() {
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
