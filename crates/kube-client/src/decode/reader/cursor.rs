//! A place in a text, and the steps that grammar asks for.

use std::slice;

use serde::de;

use crate::decode::lengths::Lengths;
use crate::decode::prune::Prune;

/// Reads one JSON value. What it refuses may still be JSON; what it accepts is.
#[derive(Debug)]
pub(in crate::decode) struct Reader<'de, 'a> {
    pub(super) text: &'de str,
    pub(super) at: usize,
    /// Brackets that are open.
    pub(super) depth: usize,
    /// How long the arrays are that are still to come.
    lengths: slice::Iter<'a, u32>,
    /// For texts with escapes.
    pub(super) scratch: String,
    prune: Prune,
    /// The value to come is an object's metadata, of which a part is left out.
    pub(super) at_metadata: bool,
}

/// It is not for this reader.
#[derive(Debug)]
pub(in crate::decode) struct Refused;

/// As deep as serde_json goes.
const MAX_DEPTH: usize = 127;

impl<'de, 'a> Reader<'de, 'a> {
    pub(in crate::decode) fn new(text: &'de str, lengths: &'a Lengths, prune: Prune) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
            lengths: lengths.iter(),
            scratch: String::new(),
            prune,
            at_metadata: false,
        }
    }

    /// Whether only whitespace follows.
    pub(in crate::decode) fn is_at_end(&mut self) -> bool {
        self.peek().is_none()
    }

    /// The next byte that is not whitespace.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return other.copied(),
            }
        }
    }

    /// Passes `expected`, or refuses.
    #[inline]
    pub(super) fn expect(&mut self, expected: u8) -> Result<(), Refused> {
        if self.peek() == Some(expected) {
            self.at += 1;
            return Ok(());
        }
        Err(Refused)
    }

    /// Passes a word such as `null`.
    #[inline]
    pub(super) fn word(&mut self, word: &str) -> Result<(), Refused> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(());
        }
        Err(Refused)
    }

    /// Passes an opening bracket that was peeked at.
    #[inline]
    pub(super) fn open(&mut self) -> Result<(), Refused> {
        self.at += 1;
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(Refused) } else { Ok(()) }
    }

    /// The length of the array that opens here, if it is known.
    #[inline]
    pub(super) fn next_length(&mut self) -> Option<usize> {
        self.lengths.next().and_then(|length| usize::try_from(*length).ok())
    }

    /// Whether the map that is open is that of an object of which a part is left out.
    #[inline]
    pub(super) fn within_pruned(&self) -> bool {
        self.prune.is_object_at(self.depth)
    }

    /// What was passed since `begin`.
    pub(super) fn since(&self, begin: usize) -> &str {
        self.text.get(begin..self.at).unwrap_or_default()
    }

    /// Passes any value, and all arrays in it.
    pub(super) fn skip(&mut self) -> Result<(), Refused> {
        match self.peek().ok_or(Refused)? {
            b'"' => {
                self.at += 1;
                self.text().map(drop)
            }
            b'{' => self.skip_all(b'}'),
            b'[' => {
                self.next_length();
                self.skip_all(b']')
            }
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            _ => self.number().map(drop),
        }
    }

    fn skip_all(&mut self, end: u8) -> Result<(), Refused> {
        self.open()?;
        if self.peek() == Some(end) {
            self.at += 1;
            self.depth -= 1;
            return Ok(());
        }
        loop {
            if end == b'}' {
                self.expect(b'"')?;
                self.text()?;
                self.expect(b':')?;
            }
            self.skip()?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(byte) if byte == end => break,
                _ => return Err(Refused),
            }
        }
        self.at += 1;
        self.depth -= 1;
        Ok(())
    }
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("not for this reader")
    }
}

impl std::error::Error for Refused {}

impl de::Error for Refused {
    fn custom<T: std::fmt::Display>(_: T) -> Self {
        Self
    }
}
