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

/// Scans a value that arrives in parts.
#[derive(Debug, Default)]
pub(super) struct ValueScanner {
    text: StringState,
    /// The open brackets: the index in `lengths` for an array, `None` for a map.
    open: Vec<Option<u32>>,
    /// The innermost array has no element yet.
    empty: bool,
    lengths: Vec<u32>,
}

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
        self.text = StringState::Outside;
        self.open.clear();
        self.lengths.clear();
    }

    /// Scans the next part of an array or map. Returns the offset behind its end, if the value ends in this part.
    pub(super) fn end_of_value(&mut self, part: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(&byte) = part.get(at) {
            if self.text == StringState::Inside {
                // Most of a list is text: skip to the next relevant byte.
                at += memchr2(b'"', b'\\', &part[at..])?;
                self.text.step(part[at]);
            } else if self.text.step(byte) {
                self.empty = false;
            } else if self.step(byte) {
                return Some(at + 1);
            }
            at += 1;
        }
        None
    }

    /// Processes a byte outside of strings. Returns whether the value ends with it.
    #[inline]
    fn step(&mut self, byte: u8) -> bool {
        match byte {
            b'{' => self.open.push(None),
            b'[' => {
                self.open.push(u32::try_from(self.lengths.len()).ok());
                self.lengths.push(0);
                self.empty = true;
                return false;
            }
            b',' => self.count(),
            b']' if self.empty => return self.close(),
            b']' => {
                self.count();
                return self.close();
            }
            b'}' => return self.close(),
            b' ' | b'\n' | b'\r' | b'\t' => return false,
            _ => {}
        }
        self.empty = false;
        false
    }

    /// Counts an element of the innermost array.
    fn count(&mut self) {
        if let Some(Some(array)) = self.open.last()
            && let Some(length) = self.lengths.get_mut(*array as usize)
        {
            *length = length.saturating_add(1);
        }
    }

    fn close(&mut self) -> bool {
        self.empty = false;
        self.open.pop();
        self.open.is_empty()
    }
}

impl StringState {
    /// Processes a byte. Returns whether it is part of a string.
    #[inline]
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
