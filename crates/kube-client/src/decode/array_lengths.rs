//! Finds the end of a JSON value, and counts the elements of its arrays in the same pass.

use memchr::{memchr2, memrchr};

/// The lengths of a value's arrays, in the order of their opening brackets. Empty if they are not known.
///
/// With them each array is allocated once with its exact size: a list of Pods then needs a sixth less memory. Counting needs a pass over
/// the text, so it is done only where such a pass is needed anyway.
pub(super) type ArrayLengths = [u32];

/// The lengths of a complete value.
#[cfg(test)]
pub(super) fn lengths_of(json: &[u8]) -> Vec<u32> {
    let mut scan = ValueScanner::default();
    scan.end_of_value(json);
    scan.lengths
}

/// The number of arrays in a value, including the value itself.
pub(super) fn arrays_in(json: &str) -> usize {
    // Most values have no array, or are the only one.
    let json = match memrchr(b'[', json.as_bytes()) {
        Some(last @ 1..) => &json.as_bytes()[..=last],
        found => return usize::from(found.is_some()),
    };
    let (mut text, mut at, mut arrays) = (StringState::Outside, 0, 0);
    while let Some(&byte) = json.get(at) {
        arrays += usize::from(!text.step(byte) && byte == b'[');
        at += 1;
        if text == StringState::Inside {
            at += memchr2(b'"', b'\\', &json[at..]).unwrap_or(json.len() - at);
        }
    }
    arrays
}

/// Scans a value that arrives in parts, 64 bytes at a time.
///
/// Each block becomes bit masks, as in "Parsing Gigabytes of JSON per Second" (Langdale and Lemire, 2019): brackets and commas outside of
/// strings are then found without a branch for every byte.
#[derive(Debug, Default)]
pub(super) struct ValueScanner {
    strings: StringMask,
    /// The open brackets: the index in `lengths` for an array, [`MAP`] for a map.
    open: Vec<u32>,
    /// The last bracket opens an array, and its next byte is not known yet.
    opened: bool,
    lengths: Vec<u32>,
}

const MAP: u32 = u32::MAX;

/// Whether a position is inside a string, and there after a backslash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum StringState {
    #[default]
    Outside,
    Inside,
    Escaped,
}

impl ValueScanner {
    /// The lengths of the scanned part of the value.
    pub(super) fn lengths(&self) -> &ArrayLengths {
        &self.lengths
    }

    /// Starts a new value.
    pub(super) fn clear(&mut self) {
        self.strings = StringMask::default();
        self.open.clear();
        self.opened = false;
        self.lengths.clear();
    }

    /// Scans the next part of an array or map. Returns the offset behind its end, if the value ends in this part.
    pub(super) fn end_of_value(&mut self, part: &[u8]) -> Option<usize> {
        if self.opened {
            self.open_array(part);
        }
        let (blocks, rest) = part.as_chunks::<BLOCK>();
        for (index, block) in blocks.iter().enumerate() {
            if let Some(end) = self.scan(block, BLOCK, part, index * BLOCK) {
                return Some(end);
            }
        }
        if rest.is_empty() {
            return None;
        }
        let mut last = [b' '; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        self.scan(&last, rest.len(), part, blocks.len() * BLOCK)
    }

    /// Scans the first `length` bytes of a block, which are those of `part` from `start`.
    fn scan(&mut self, block: &Block, length: usize, part: &[u8], start: usize) -> Option<usize> {
        let strings = self.strings.next(block, length);
        let mut marks = bits(block, |byte| matches!(byte | 0x20, b'{' | b'}') | (byte == b',')) & !strings;
        while marks != 0 {
            let at = marks.trailing_zeros() as usize;
            marks &= marks - 1;
            match block[at] {
                b',' => self.count(),
                b'{' => self.open.push(MAP),
                b'[' => {
                    self.open.push(u32::try_from(self.lengths.len()).unwrap_or(MAP));
                    self.lengths.push(0);
                    self.opened = true;
                    self.open_array(&part[start + at + 1..]);
                }
                _ => {
                    self.open.pop();
                    if self.open.is_empty() {
                        return Some(start + at + 1);
                    }
                }
            }
        }
        None
    }

    /// Counts the first element of an array that was just opened, if it has one. `rest` is the text behind the bracket.
    fn open_array(&mut self, rest: &[u8]) {
        if let Some(first) = rest.iter().find(|byte| !matches!(byte, b' ' | b'\n' | b'\r' | b'\t')) {
            self.opened = false;
            if *first != b']' {
                self.count();
            }
        }
    }

    /// Counts an element of the innermost bracket, if it is an array.
    fn count(&mut self) {
        if let Some(array) = self.open.last()
            && let Some(length) = self.lengths.get_mut(*array as usize)
        {
            *length = length.saturating_add(1);
        }
    }
}

impl StringState {
    /// Processes a byte. Returns whether it is part of a string.
    pub(super) fn step(&mut self, byte: u8) -> bool {
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

/// The bytes that are scanned at the same time, one for each bit of a mask. The lowest bit is the first byte.
const BLOCK: usize = u64::BITS as usize;
type Block = [u8; BLOCK];

/// Which bytes of each block are in a string.
#[derive(Debug, Default)]
struct StringMask {
    /// All bits are set if the next block begins in a string.
    inside: u64,
    /// The lowest bit is set if the next byte follows a backslash that escapes it.
    escaped: u64,
}

impl StringMask {
    /// The bytes of the next block that are in a string, with its opening quotation mark and without the closing one. The block
    /// has `length` bytes, followed by spaces.
    fn next(&mut self, block: &Block, length: usize) -> u64 {
        // Most blocks have none, and one comparison of all bytes costs less than a mask.
        let any = block.iter().fold(false, |any, byte| any | (*byte == b'\\'));
        let backslashes = if any { bits(block, |byte| byte == b'\\') } else { 0 };
        let quotes = bits(block, |byte| byte == b'"') & !self.escape(backslashes, length);
        // Each bit becomes the parity of the quotation marks up to it.
        let mut strings = quotes;
        for distance in [1, 2, 4, 8, 16, 32] {
            strings ^= strings << distance;
        }
        strings ^= self.inside;
        self.inside = 0_u64.wrapping_sub(strings >> (BLOCK - 1));
        strings
    }

    /// The bytes that a backslash escapes: those behind an odd number of backslashes.
    fn escape(&mut self, backslashes: u64, length: usize) -> u64 {
        const ODD: u64 = 0xaaaa_aaaa_aaaa_aaaa;
        if backslashes == 0 {
            return std::mem::take(&mut self.escaped);
        }
        let backslashes = backslashes & !self.escaped;
        let behind = backslashes << 1 | self.escaped;
        // The addition carries through each run of backslashes that begins at an odd bit. So it inverts which bits behind it are escaped.
        let odd_starts = backslashes & ODD & !behind;
        let (carried, overflow) = odd_starts.overflowing_add(backslashes);
        let escaped = (!ODD ^ (carried << 1)) & behind;
        self.escaped = if length < BLOCK { escaped >> length & 1 } else { u64::from(overflow) };
        escaped
    }
}

/// A bit for each byte. The compiler turns the comparison into vector instructions.
fn bits(block: &Block, is: impl Fn(u8) -> bool) -> u64 {
    let flags = block.map(|byte| u8::from(is(byte)));
    let (words, _) = flags.as_chunks::<8>();
    let mut mask = 0;
    for (index, word) in words.iter().enumerate() {
        // The product moves the lowest bit of byte `i` to bit `56 + i`.
        let byte = u64::from_le_bytes(*word).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        mask |= byte << (8 * index);
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    #[test]
    fn the_elements_of_every_array_are_counted() {
        let json = br#"[{"a":[1,"],[",[ ],[[]]],"b":["\"]"]},[ {} , {"x":1,"y":2} ],3,[ "s" ]]"#;
        assert_eq!(lengths_of(json), [4, 4, 0, 1, 0, 1, 2, 1]);
        assert!(lengths_of(br#"{"a":"[","b":1}"#).is_empty());
        assert_eq!(arrays_in(std::str::from_utf8(json).unwrap()), 8);
        assert_eq!(arrays_in(r#"{"a":"[","b\\":"\"[","c":[]}"#), 1);
        assert_eq!((arrays_in("[]"), arrays_in("5"), arrays_in(r#""[""#)), (1, 0, 0));
    }

    #[test]
    fn a_value_in_several_parts_is_scanned_to_its_end() {
        let (first, second) = (br#"{"a":"}\"#, br#""}","b":[1,2]} tail"#);
        let mut scan = ValueScanner::default();
        assert_eq!(scan.end_of_value(first), None);
        assert_eq!(scan.end_of_value(second), Some(14));
        assert_eq!(scan.lengths(), [2]);
        scan.clear();
        assert_eq!(scan.end_of_value(b"[]"), Some(2));
        assert_eq!(scan.lengths(), [0]);
    }

    proptest::proptest! {
        #[test]
        fn the_lengths_are_those_of_the_value_wherever_its_text_is_cut(value in values(), pretty: bool, cuts: [u16; 3]) {
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
            let text = text.unwrap();
            let mut expected = Vec::new();
            count_arrays(&value, &mut expected);
            proptest::prop_assert_eq!(lengths_of(text.as_bytes()), expected.clone());
            let mut cuts = cuts.map(|cut| usize::from(cut) % text.len());
            cuts.sort_unstable();
            let mut scan = ValueScanner::default();
            for (start, end) in [(0, cuts[0]), (cuts[0], cuts[1]), (cuts[1], cuts[2])] {
                proptest::prop_assert_eq!(scan.end_of_value(&text.as_bytes()[start..end]), None);
            }
            let rest = format!("{},\"", &text[cuts[2]..]);
            proptest::prop_assert_eq!(scan.end_of_value(rest.as_bytes()), Some(text.len() - cuts[2]));
            proptest::prop_assert_eq!(scan.lengths(), expected);
        }
    }

    /// Maps whose texts are full of what matters outside of strings.
    fn values() -> impl Strategy<Value = Value> {
        let text = r#"[\[\]{},"\\ a]{0,80}"#;
        let leaf =
            prop_oneof![Just(Value::Null), any::<i64>().prop_map(Value::from), text.prop_map(Value::from)];
        let value = leaf.prop_recursive(5, 60, 6, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(text, inner, 0..6).prop_map(|map| map.into_iter().collect()),
            ]
        });
        value.prop_map(|value| Value::from_iter([("value", value)]))
    }

    fn count_arrays(value: &Value, lengths: &mut Vec<u32>) {
        match value {
            Value::Array(items) => {
                lengths.push(items.len().try_into().unwrap());
                items.iter().for_each(|item| count_arrays(item, lengths));
            }
            Value::Object(map) => map.values().for_each(|value| count_arrays(value, lengths)),
            _ => {}
        }
    }
}
