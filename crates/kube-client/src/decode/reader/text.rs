//! Strings.

use super::cursor::{Reader, Refused};

/// A string without its escapes.
pub(super) enum Text<'de, 'b> {
    /// As it stands in the input.
    Plain(&'de str),
    Unescaped(&'b str),
}

impl Text<'_, '_> {
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::Plain(text) => text,
            Self::Unescaped(text) => text,
        }
    }
}

impl<'de> Reader<'de, '_> {
    /// The string whose opening quotation mark has been passed, up to and with the closing one.
    #[inline]
    pub(super) fn text(&mut self) -> Result<Text<'de, '_>, Refused> {
        let (start, end) = (self.at, special(self.text.as_bytes(), self.at));
        if self.text.as_bytes().get(end) == Some(&b'"') {
            self.at = end + 1;
            return self.text.get(start..end).map(Text::Plain).ok_or(Refused);
        }
        self.unescape(end)
    }

    /// The string that began at `self.at`, and has its first escape or an error at `end`.
    fn unescape(&mut self, mut end: usize) -> Result<Text<'de, '_>, Refused> {
        self.scratch.clear();
        loop {
            self.scratch.push_str(self.text.get(self.at..end).ok_or(Refused)?);
            self.at = end + 1;
            match self.text.as_bytes().get(end) {
                Some(b'"') => return Ok(Text::Unescaped(&self.scratch)),
                Some(b'\\') => {
                    let unescaped = self.escape()?;
                    self.scratch.push(unescaped);
                }
                _ => return Err(Refused),
            }
            end = special(self.text.as_bytes(), self.at);
        }
    }

    /// What the escape means whose backslash has been passed.
    fn escape(&mut self) -> Result<char, Refused> {
        let letter = self.text.as_bytes().get(self.at).ok_or(Refused)?;
        self.at += 1;
        Ok(match letter {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return Err(Refused),
        })
    }

    fn unicode(&mut self) -> Result<char, Refused> {
        let first = self.four_digits()?;
        if !(0xD800..0xDC00).contains(&first) {
            return char::from_u32(first).ok_or(Refused);
        }
        self.word("\\u")?;
        let second = self.four_digits()?;
        if !(0xDC00..0xE000).contains(&second) {
            return Err(Refused);
        }
        char::from_u32(0x1_0000 + ((first - 0xD800) << 10) + (second - 0xDC00)).ok_or(Refused)
    }

    fn four_digits(&mut self) -> Result<u32, Refused> {
        let digits = self.text.get(self.at..self.at + 4).ok_or(Refused)?;
        self.at += 4;
        // A sign would be a digit to the parser.
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(Refused);
        }
        u32::from_str_radix(digits, 16).map_err(|_| Refused)
    }
}

/// Where, from `at` on, a string ends or needs more than to be copied: a quotation mark, a backslash or a control character. The end
/// of the bytes if there is none.
#[inline]
fn special(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = u64::MAX / 0xFF;
    const HIGHS: u64 = ONES * 0x80;
    // Eight bytes at a time; the lowest mark is exact, and only that one is asked for.
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk);
        let (quote, backslash) = (word ^ (ONES * 0x22), word ^ (ONES * 0x5C));
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let quote = quote.wrapping_sub(ONES) & !quote;
        let backslash = backslash.wrapping_sub(ONES) & !backslash;
        let marks = (control | quote | backslash) & HIGHS;
        if marks != 0 {
            return at + marks.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| matches!(byte, 0..0x20 | b'"' | b'\\')).unwrap_or(rest.len())
}
