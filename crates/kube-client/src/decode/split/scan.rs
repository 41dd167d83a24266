//! Finds the end of a JSON value, and in the same scan the lengths of its arrays and the fields of its metadata.

use memchr::{memchr2, memrchr};

use super::mask::{BLOCK, Block, StringMask, StringState, bits};
use super::version::{ObjectVersion, VersionLocation};

/// The lengths of a value's arrays, in the order of their opening brackets. Empty if they are not known.
///
/// With them each array is allocated once with its exact size: a list of Pods then needs a sixth less memory. Counting needs a pass over
/// the text, so it is done only where such a pass is needed anyway.
pub(in crate::decode) type ArrayLengths = [u32];

/// The lengths of a complete value.
#[cfg(test)]
pub(in crate::decode) fn lengths_of(json: &[u8]) -> Vec<u32> {
    let mut scan = ValueScanner::default();
    scan.end_of_value(&[], json);
    scan.lengths
}

/// The number of arrays in a value, including the value itself.
pub(in crate::decode) fn arrays_in(json: &str) -> usize {
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
#[derive(Clone, Debug, Default)]
pub(in crate::decode) struct ValueScanner {
    strings: StringMask,
    /// The open brackets: the index in `lengths` for an array, [`MAP`] for a map.
    open: Vec<u32>,
    /// The last bracket opens an array, and its next byte is not known yet.
    opened: bool,
    lengths: Vec<u32>,
    metadata: Metadata,
    /// The offsets around the fields of the metadata: those of its brackets, and of the commas between them.
    fields: Vec<usize>,
}

/// Whether the scan is in the field `metadata` of the value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Metadata {
    #[default]
    Before,
    Within,
    Behind,
}

const MAP: u32 = u32::MAX;

impl ValueScanner {
    /// The lengths of the scanned part of the value.
    pub(in crate::decode) fn lengths(&self) -> &ArrayLengths {
        &self.lengths
    }

    /// Whether the metadata were scanned, so that the version is known.
    pub(in crate::decode) fn is_past_metadata(&self) -> bool {
        self.metadata == Metadata::Behind
    }

    /// The version of the object, once its metadata were scanned. `value` is the text so far.
    pub(in crate::decode) fn version<'a>(&self, value: &'a [u8]) -> Option<ObjectVersion<'a>> {
        self.version_location(value).of(value)
    }

    pub(super) fn version_location(&self, value: &[u8]) -> VersionLocation {
        VersionLocation::find(value, if self.is_past_metadata() { &self.fields } else { &[] })
    }

    /// Starts a new value.
    pub(in crate::decode) fn clear(&mut self) {
        self.strings = StringMask::default();
        self.open.clear();
        self.opened = false;
        self.lengths.clear();
        self.metadata = Metadata::Before;
        self.fields.clear();
    }

    /// Scans the next part of an array or map, which follows the parts in `before`. Returns the offset in it behind the end of the value,
    /// if the value ends there.
    pub(in crate::decode) fn end_of_value(&mut self, before: &[u8], part: &[u8]) -> Option<usize> {
        if self.opened {
            self.open_array(part);
        }
        let (blocks, rest) = part.as_chunks::<BLOCK>();
        for (index, block) in blocks.iter().enumerate() {
            if let Some(end) = self.scan(block, BLOCK, before, part, index * BLOCK) {
                return Some(end);
            }
        }
        if rest.is_empty() {
            return None;
        }
        let mut last = [b' '; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        self.scan(&last, rest.len(), before, part, blocks.len() * BLOCK)
    }

    /// Scans the first `length` bytes of a block, which are those of `part` from `start`.
    fn scan(
        &mut self,
        block: &Block,
        length: usize,
        before: &[u8],
        part: &[u8],
        start: usize,
    ) -> Option<usize> {
        let strings = self.strings.next(block, length);
        let mut marks = bits(block, |byte| matches!(byte | 0x20, b'{' | b'}') | (byte == b',')) & !strings;
        while marks != 0 {
            let in_block = marks.trailing_zeros() as usize;
            marks &= marks - 1;
            let at = start + in_block;
            match block[in_block] {
                b',' => {
                    self.count();
                    self.end_metadata_field(before.len() + at);
                }
                b'{' => {
                    self.open_map(before, &part[..at]);
                    self.open.push(MAP);
                }
                b'[' => {
                    self.open.push(u32::try_from(self.lengths.len()).unwrap_or(MAP));
                    self.lengths.push(0);
                    self.opened = true;
                    self.open_array(&part[at + 1..]);
                }
                _ => {
                    if self.end_metadata_field(before.len() + at) {
                        self.metadata = Metadata::Behind;
                    }
                    self.open.pop();
                    if self.open.is_empty() {
                        return Some(at + 1);
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

    /// A map opens behind these two texts: perhaps the metadata.
    fn open_map(&mut self, before: &[u8], part: &[u8]) {
        if self.open.len() == 1
            && self.metadata == Metadata::Before
            && ends_with_key(before, part, b"\"metadata\"")
        {
            self.metadata = Metadata::Within;
            self.fields.push(before.len() + part.len());
        }
    }

    /// Notes the offset behind a field of the metadata. Returns false elsewhere.
    fn end_metadata_field(&mut self, offset: usize) -> bool {
        let ends = self.metadata == Metadata::Within && self.open.len() == 2;
        if ends {
            self.fields.push(offset);
        }
        ends
    }
}

/// Whether these two texts end with this key, whose quotes are part of it, and the colon.
pub(super) fn ends_with_key(before: &[u8], part: &[u8], key: &[u8]) -> bool {
    let mut back = part.iter().rev().chain(before.iter().rev()).filter(|byte| !byte.is_ascii_whitespace());
    back.next() == Some(&b':')
        && key.iter().rev().all(|byte| back.next() == Some(byte))
        // Not the end of a longer key with an escaped quotation mark.
        && back.next() != Some(&b'\\')
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
        assert_eq!(scan.end_of_value(&[], first), None);
        assert_eq!(scan.end_of_value(first, second), Some(14));
        assert_eq!(scan.lengths(), [2]);
        scan.clear();
        assert_eq!(scan.end_of_value(&[], b"[]"), Some(2));
        assert_eq!(scan.lengths(), [0]);
    }

    #[test]
    fn the_version_is_read_from_the_metadata_wherever_the_text_is_cut() {
        let built_in = r#"{"kind":"A","data":{"name":"x"},"metadata":{"name":"a","namespace":"ns","uid":"u",
            "resourceVersion":"5","labels":{"name":"b","metadata":"c"}},"spec":{"metadata":{"uid":"other"}},"metadata":{"name":"d"}}"#;
        let custom = r#"{"apiVersion":"a/v1","kind":"A","a\"metadata":{"name":"x"},"metadata" : {"managedFields":[{"f:name":{},"name":"m"}],
            "name" : "a" , "namespace":"ns","resourceVersion":"5","uid":"u"}}"#;
        let no_uid = r#"{"metadata":{"resourceVersion":"5","uid": null ,"name":"a","generation":1}}"#;
        for (json, namespace, uid) in
            [(built_in, Some("ns"), Some("u")), (custom, Some("ns"), Some("u")), (no_uid, None, None)]
        {
            for cut in 0..json.len() {
                let (first, second) = json.as_bytes().split_at(cut);
                let mut scan = ValueScanner::default();
                scan.end_of_value(&[], first);
                assert_eq!(scan.end_of_value(first, second), Some(second.len()), "{json}");
                let expected = ObjectVersion { namespace, name: "a", uid, resource_version: "5" };
                assert_eq!(scan.version(json.as_bytes()), Some(expected), "{cut} {json}");
            }
        }
    }

    #[test]
    fn an_object_without_a_readable_version_has_none() {
        for json in [
            "[]",
            "{}",
            r#"{"metadata":5}"#,
            r#"{"metadata":[{"name":"a","resourceVersion":"5"}]}"#,
            r#"{"metadata":{}}"#,
            r#"{"metadata":{,"a"}}"#,
            r#"{"metadata":{"name":}}"#,
            r#"{"metadata":{"name""a","resourceVersion":"5"}}"#,
            r#"{"metadata":{"name":"a"}}"#,
            r#"{"metadata":{"name":7,"resourceVersion":"5"}}"#,
            r#"{"metadata":{"name":"a" 5,"resourceVersion":"5"}}"#,
            r#"{"metadata":{"name":"a","uid":7,"resourceVersion":"5"}}"#,
            r#"{"metadata":{"name":"a","uid":"u","resourceVersion":""}}"#,
            r#"{"metadata":{"name":"escaped\n","resourceVersion":"5"}}"#,
            r#"{"metadata":{"resourceVersion":"5"}}"#,
            r#"{"spec":{"metadata":{"name":"a","resourceVersion":"5"}}}"#,
            r#"{"metadata":{"name":"a","resourceVersion":"5""#,
        ] {
            let mut scan = ValueScanner::default();
            scan.end_of_value(&[], json.as_bytes());
            assert_eq!(scan.version(json.as_bytes()), None, "{json}");
        }
        let not_utf8 = b"{\"metadata\":{\"name\":\"\xFF\",\"resourceVersion\":\"5\"}}";
        let mut scan = ValueScanner::default();
        scan.end_of_value(&[], not_utf8);
        assert_eq!(scan.version(not_utf8), None);
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
                let (before, part) = (&text.as_bytes()[..start], &text.as_bytes()[start..end]);
                proptest::prop_assert_eq!(scan.end_of_value(before, part), None);
            }
            let rest = format!("{},\"", &text[cuts[2]..]);
            let end = scan.end_of_value(&text.as_bytes()[..cuts[2]], rest.as_bytes());
            proptest::prop_assert_eq!(end, Some(text.len() - cuts[2]));
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
