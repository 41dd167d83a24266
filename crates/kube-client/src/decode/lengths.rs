//! Finds the end of a JSON value and counts the elements of its arrays on the way.

use memchr::{memchr2, memrchr};

/// How long the arrays of a value are, in the order in which they open.
///
/// Who knows that allocates each of them once, and no more than needed: a list of Pods then takes a sixth less memory. Finding
/// out costs a pass over the text, so it is done only where one is made anyway. Where nothing is known, nothing is here.
pub(super) type Lengths = [u32];

/// Of one whole value.
#[cfg(test)]
pub(super) fn lengths_of(json: &[u8]) -> Vec<u32> {
    let mut scan = Scan::default();
    scan.end_of_value(json);
    scan.lengths
}

/// How many arrays a value holds, itself among them.
pub(super) fn arrays_in(json: &str) -> usize {
    // Mostly there is none, or the value itself is the only one.
    let json = match memrchr(b'[', json.as_bytes()) {
        Some(last @ 1..) => &json.as_bytes()[..=last],
        found => return usize::from(found.is_some()),
    };
    let (mut text, mut at, mut arrays) = (Text::Outside, 0, 0);
    while let Some(&byte) = json.get(at) {
        arrays += usize::from(!text.step(byte) && byte == b'[');
        at += 1;
        if text == Text::Inside {
            at += memchr2(b'"', b'\\', &json[at..]).unwrap_or(json.len() - at);
        }
    }
    arrays
}

/// A value of which a part has been seen.
#[derive(Debug, Default)]
pub(super) struct Scan {
    text: Text,
    /// What is open: an array by its place in `lengths`, or a map.
    open: Vec<Option<u32>>,
    /// Nothing but an opening bracket was seen of the innermost array.
    empty: bool,
    lengths: Vec<u32>,
}

/// Whether a place is within a string, and there behind a backslash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Text {
    #[default]
    Outside,
    Inside,
    Escaped,
}

impl Scan {
    /// Of the value that has ended, or of what has been seen of it.
    pub(super) fn lengths(&self) -> &Lengths {
        &self.lengths
    }

    /// Begins with another value.
    pub(super) fn clear(&mut self) {
        self.text = Text::Outside;
        self.open.clear();
        self.lengths.clear();
    }

    /// Where in the next part of a value in brackets it ends, if it does.
    pub(super) fn end_of_value(&mut self, part: &[u8]) -> Option<usize> {
        let mut at = 0;
        while let Some(&byte) = part.get(at) {
            if self.text == Text::Inside {
                // Most of a list is text, and within it only two bytes count.
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

    /// Passes a byte outside of strings; whether the value ends with it.
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

    /// Counts an element that ends here.
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

impl Text {
    /// Passes one byte; whether it is part of a string.
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
    fn every_array_has_its_length() {
        let json = br#"[{"a":[1,"],[",[ ],[[]]],"b":["\"]"]},[ {} , {"x":1,"y":2} ],3,[ "s" ]]"#;
        assert_eq!(lengths_of(json), [4, 4, 0, 1, 0, 1, 2, 1]);
        assert!(lengths_of(br#"{"a":"[","b":1}"#).is_empty());
        assert_eq!(arrays_in(std::str::from_utf8(json).unwrap()), 8);
        assert_eq!(arrays_in(r#"{"a":"[","b\\":"\"[","c":[]}"#), 1);
        assert_eq!((arrays_in("[]"), arrays_in("5"), arrays_in(r#""[""#)), (1, 0, 0));
    }

    #[test]
    fn the_end_is_found_across_parts() {
        let (first, second) = (br#"{"a":"}\"#, br#""}","b":[1,2]} tail"#);
        let mut scan = Scan::default();
        assert_eq!(scan.end_of_value(first), None);
        assert_eq!(scan.end_of_value(second), Some(14));
        assert_eq!(scan.lengths(), [2]);
        scan.clear();
        assert_eq!(scan.end_of_value(b"[]"), Some(2));
        assert_eq!(scan.lengths(), [0]);
    }
}
