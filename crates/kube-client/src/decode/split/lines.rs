//! Splits chunks into lines, without I/O.

use bytes::Bytes;
use memchr::memchr;

/// Splits chunks into lines. A line within one chunk shares its bytes; only a line that spans several is copied.
#[derive(Debug)]
pub(in crate::decode) struct LineSplitter {
    /// The beginning of an incomplete line.
    partial: Vec<u8>,
    /// The unread part of the last chunk.
    chunk: Bytes,
    /// The longest line, in bytes.
    limit: usize,
}

/// A line is longer than the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::decode) struct LineTooLong;

impl LineSplitter {
    pub(in crate::decode) fn new(limit: usize) -> Self {
        Self { partial: Vec::new(), chunk: Bytes::new(), limit }
    }

    /// Adds a chunk. All lines of the previous chunk must have been read.
    pub(in crate::decode) fn push(&mut self, chunk: Bytes) {
        debug_assert!(self.chunk.is_empty(), "the previous chunk still has lines");
        self.chunk = chunk;
    }

    /// The next complete line without its line feed, or `None` if another chunk is needed. Skips empty lines.
    pub(in crate::decode) fn next_line(&mut self) -> Result<Option<Bytes>, LineTooLong> {
        while let Some(end) = memchr(b'\n', &self.chunk) {
            let piece = self.chunk.split_to(end + 1).slice(..end);
            let line = if self.partial.is_empty() { piece } else { self.complete(&piece) };
            let line = trim(line);
            if !line.is_empty() {
                return Ok(Some(line));
            }
        }
        let rest = std::mem::take(&mut self.chunk);
        if rest.len() > self.limit.saturating_sub(self.partial.len()) {
            self.partial = Vec::new();
            return Err(LineTooLong);
        }
        self.partial.extend_from_slice(&rest);
        Ok(None)
    }

    /// The text after the last line feed, at the end of the body.
    pub(in crate::decode) fn finish(&mut self) -> Option<Bytes> {
        let line = trim(Bytes::from(std::mem::take(&mut self.partial)));
        (!line.is_empty()).then_some(line)
    }

    fn complete(&mut self, end: &Bytes) -> Bytes {
        let mut line = std::mem::take(&mut self.partial);
        line.extend_from_slice(end);
        Bytes::from(line)
    }
}

fn trim(line: Bytes) -> Bytes {
    match line.last() {
        Some(b'\r') => line.slice(..line.len() - 1),
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 1 << 20;

    fn split(chunks: &[&[u8]]) -> Vec<Bytes> {
        let mut splitter = LineSplitter::new(LIMIT);
        let mut lines = Vec::new();
        for chunk in chunks {
            splitter.push(Bytes::copy_from_slice(chunk));
            while let Some(line) = splitter.next_line().unwrap() {
                lines.push(line);
            }
        }
        lines.extend(splitter.finish());
        lines
    }

    #[test]
    fn chunk_boundaries_do_not_change_the_lines() {
        let text = b"one\ntwo two\r\n\n\nthree\nlast";
        let whole = split(&[text]);
        assert_eq!(whole, ["one", "two two", "three", "last"]);
        for first in 0..text.len() {
            for second in first..text.len() {
                assert_eq!(split(&[&text[..first], &text[first..second], &text[second..]]), whole);
            }
        }
    }

    #[test]
    fn a_line_within_a_chunk_is_not_copied() {
        let chunk = Bytes::from_static(b"one\ntwo\n");
        let mut splitter = LineSplitter::new(LIMIT);
        splitter.push(chunk.clone());
        splitter.next_line().unwrap();
        let line = splitter.next_line().unwrap().unwrap();
        assert_eq!(line.as_ptr(), chunk[4..].as_ptr());
    }

    #[test]
    fn an_endless_line_is_an_error_and_its_memory_is_released() {
        let mut splitter = LineSplitter::new(LIMIT);
        let chunk = Bytes::from(vec![b'x'; LIMIT / 2]);
        splitter.push(chunk.clone());
        assert_eq!(splitter.next_line(), Ok(None));
        splitter.push(chunk.clone());
        assert_eq!(splitter.next_line(), Ok(None));
        splitter.push(chunk);
        assert_eq!(splitter.next_line(), Err(LineTooLong));
        assert_eq!(splitter.partial.capacity(), 0);
    }
}
