//! Lines out of chunks that break anywhere: a pure machine.

use bytes::Bytes;
use memchr::memchr;

/// Cuts chunks into lines. A line that lies within a chunk shares its bytes; only one that spans several is copied.
#[derive(Debug, Default)]
pub(super) struct LineSplitter {
    /// The beginning of a line whose end has not come.
    partial: Vec<u8>,
    /// What has not been looked at.
    chunk: Bytes,
}

/// A line is longer than any object can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineTooLong;

/// etcd takes objects of up to 1.5 MiB by default; a server that sends more than this in one line has lost its way.
const MAX_LINE: usize = 64 << 20;

impl LineSplitter {
    /// Takes the next chunk. All lines of the one before have to be taken out first.
    pub(super) fn push(&mut self, chunk: Bytes) {
        debug_assert!(self.chunk.is_empty(), "the chunk before still has lines");
        self.chunk = chunk;
    }

    /// The next whole line without its end, or `None` if another chunk is needed. Empty lines are passed over.
    pub(super) fn next_line(&mut self) -> Result<Option<Bytes>, LineTooLong> {
        while let Some(end) = memchr(b'\n', &self.chunk) {
            let piece = self.chunk.split_to(end + 1).slice(..end);
            let line = if self.partial.is_empty() { piece } else { self.complete(&piece) };
            let line = trim(line);
            if !line.is_empty() {
                return Ok(Some(line));
            }
        }
        let rest = std::mem::take(&mut self.chunk);
        if self.partial.len() + rest.len() > MAX_LINE {
            self.partial = Vec::new();
            return Err(LineTooLong);
        }
        self.partial.extend_from_slice(&rest);
        Ok(None)
    }

    /// What stands behind the last line end when nothing more comes.
    pub(super) fn finish(&mut self) -> Option<Bytes> {
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

    fn split(chunks: &[&[u8]]) -> Vec<Bytes> {
        let mut splitter = LineSplitter::default();
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
    fn any_cut_gives_the_same_lines() {
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
        let mut splitter = LineSplitter::default();
        splitter.push(chunk.clone());
        splitter.next_line().unwrap();
        let line = splitter.next_line().unwrap().unwrap();
        assert_eq!(line.as_ptr(), chunk[4..].as_ptr());
    }

    #[test]
    fn a_line_without_end_is_an_error_and_not_kept() {
        let mut splitter = LineSplitter::default();
        let chunk = Bytes::from(vec![b'x'; MAX_LINE / 2]);
        splitter.push(chunk.clone());
        assert_eq!(splitter.next_line(), Ok(None));
        splitter.push(chunk.clone());
        assert_eq!(splitter.next_line(), Ok(None));
        splitter.push(chunk);
        assert_eq!(splitter.next_line(), Err(LineTooLong));
        assert_eq!(splitter.partial.capacity(), 0);
    }
}
