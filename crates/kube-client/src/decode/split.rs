//! Cuts the body of a list into its items while it arrives.

use bytes::Bytes;
use memchr::memchr2;

/// Takes the chunks of a list in any cut and gives its items, each as the bytes of one JSON value. What is around them, the
/// envelope, stays here with an empty `items`.
///
/// Only as much of JSON is understood as the cut needs: whoever decodes the pieces finds what is wrong within them.
#[derive(Debug)]
pub(super) struct ItemSplitter {
    chunk: Bytes,
    place: Place,
    /// Within a string, and there behind a backslash.
    text: Text,
    /// Open brackets: of the envelope, or of the item.
    depth: usize,
    /// The beginning of an item that goes on in the next chunk.
    partial: Vec<u8>,
    envelope: Vec<u8>,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Text {
    Outside,
    Inside,
    Escaped,
}

/// The items are not one array with commas between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotAList;

impl Default for ItemSplitter {
    fn default() -> Self {
        Self {
            chunk: Bytes::new(),
            place: Place::Envelope,
            text: Text::Outside,
            depth: 0,
            partial: Vec::new(),
            envelope: Vec::new(),
        }
    }
}

impl ItemSplitter {
    /// Takes the next chunk. All items of the one before have to be taken out first.
    pub(super) fn push(&mut self, chunk: Bytes) {
        debug_assert!(self.chunk.is_empty(), "the chunk before still has items");
        self.chunk = chunk;
    }

    /// The next whole item, or `None` if another chunk is needed. One that lies within a chunk is not copied.
    pub(super) fn next_item(&mut self) -> Result<Option<Bytes>, NotAList> {
        while let Some(&byte) = self.chunk.first() {
            match self.place {
                Place::Envelope => self.read_envelope(),
                Place::First | Place::Next | Place::Behind if byte.is_ascii_whitespace() => self.skip(),
                Place::First | Place::Behind if byte == b']' => {
                    self.place = Place::Envelope;
                    self.depth = 1;
                    self.envelope.push(byte);
                    self.skip();
                }
                Place::Behind if byte == b',' => {
                    self.place = Place::Next;
                    self.skip();
                }
                Place::First | Place::Next if !matches!(byte, b',' | b']' | b'}') => {
                    self.depth = 0;
                    self.place = if matches!(byte, b'{' | b'[') { Place::Item } else { Place::Scalar };
                }
                Place::First | Place::Next | Place::Behind => return Err(NotAList),
                Place::Item | Place::Scalar => {
                    if let Some(end) = self.item_end() {
                        self.place = Place::Behind;
                        return Ok(Some(self.cut(end)));
                    }
                    self.partial.extend_from_slice(&self.chunk);
                    self.chunk.clear();
                }
            }
        }
        Ok(None)
    }

    /// What is around the items. Before its end it lacks closing brackets.
    pub(super) fn envelope(&self) -> &[u8] {
        &self.envelope
    }

    fn skip(&mut self) {
        let _ = self.chunk.split_to(1);
    }

    fn cut(&mut self, end: usize) -> Bytes {
        let piece = self.chunk.split_to(end);
        if self.partial.is_empty() {
            return piece;
        }
        let mut item = std::mem::take(&mut self.partial);
        item.extend_from_slice(&piece);
        Bytes::from(item)
    }

    /// Moves everything up to the items, or to the end of the chunk, to the envelope.
    fn read_envelope(&mut self) {
        for (at, &byte) in self.chunk.iter().enumerate() {
            if self.text.step(byte) {
                continue;
            }
            match byte {
                b'[' if self.depth == 1 && opens_items(&self.envelope, &self.chunk[..at]) => {
                    self.envelope.extend_from_slice(&self.chunk.split_to(at + 1));
                    self.place = Place::First;
                    return;
                }
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        self.envelope.extend_from_slice(&self.chunk);
        self.chunk.clear();
    }

    /// Where in the chunk the item ends that has begun.
    fn item_end(&mut self) -> Option<usize> {
        let mut at = 0;
        while let Some(&byte) = self.chunk.get(at) {
            if self.text == Text::Inside {
                // Most of a list is text, and within it only two bytes count.
                at += memchr2(b'"', b'\\', &self.chunk[at..])?;
                self.text.step(self.chunk[at]);
            } else if !self.text.step(byte) {
                match byte {
                    b'{' | b'[' if self.place == Place::Item => self.depth += 1,
                    b'}' | b']' if self.place == Place::Item => {
                        self.depth -= 1;
                        if self.depth == 0 {
                            return Some(at + 1);
                        }
                    }
                    b',' | b']' if self.place == Place::Scalar => return Some(at),
                    _ => {}
                }
            }
            at += 1;
        }
        None
    }
}

impl Text {
    /// Passes one byte; whether it is part of a string.
    #[inline]
    fn step(&mut self, byte: u8) -> bool {
        let (next, within) = match (*self, byte) {
            (Self::Outside, b'"') => (Self::Inside, true),
            (Self::Outside, _) => return false,
            (Self::Inside, b'"') => (Self::Outside, true),
            (Self::Inside, b'\\') => (Self::Escaped, true),
            (Self::Inside, _) => return true,
            (Self::Escaped, _) => (Self::Inside, true),
        };
        *self = next;
        within
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
            while let Some(item) = splitter.next_item()? {
                items.push(String::from_utf8(item.to_vec()).unwrap());
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
        let item = splitter.next_item().unwrap().unwrap();
        assert_eq!(item.as_ptr(), chunk[10..].as_ptr());
    }
}
