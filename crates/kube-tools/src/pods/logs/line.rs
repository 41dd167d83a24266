//! A line of a log, and the bytes that become one.

use std::fmt;
use std::io;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// A line of the log of a container. `{}` prints it as `kubectl logs --prefix` does: `[pod/NAME/CONTAINER] TEXT`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogLine {
    /// The namespace of the pod.
    pub namespace: Arc<str>,
    /// The pod.
    pub pod: Arc<str>,
    /// The container.
    pub container: Arc<str>,
    /// When it was printed, by the clock of the node. `None` for messages of the kubelet, and for the later parts of a long line.
    pub time: Option<Timestamp>,
    /// The text without its line feed, and with U+FFFD in place of what is not UTF-8.
    pub text: String,
    /// The line continues in the next one of the same container, because it has more than 1 MiB.
    pub partial: bool,
}

impl fmt::Display for LogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[pod/{}/{}] {}", self.pod, self.container, self.text)
    }
}

/// The most bytes of a line that are held.
const LINE_LIMIT: usize = 1 << 20;

/// A line, or a part of a line that is longer than the limit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Of its first part only.
    pub(super) time: Option<Timestamp>,
    pub(super) text: String,
    /// It begins a line.
    pub(super) first: bool,
    /// It ends a line.
    pub(super) end: bool,
}

/// Makes lines of bytes. Lines begin with a timestamp and a space.
#[derive(Debug)]
pub(super) struct LineReader<R> {
    reader: R,
    buffer: Vec<u8>,
    within: bool,
}

impl<R: AsyncBufRead + Unpin> LineReader<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, buffer: Vec::new(), within: false }
    }

    /// The next line; `None` at the end of the bytes. Cancel safe.
    pub(super) async fn next(&mut self) -> io::Result<Option<Part>> {
        loop {
            let bytes = self.reader.fill_buf().await?;
            if bytes.is_empty() {
                return Ok(None);
            }
            let room = LINE_LIMIT - self.buffer.len();
            let end = memchr::memchr(b'\n', &bytes[..bytes.len().min(room)]);
            let taken = end.unwrap_or(bytes.len().min(room));
            self.buffer.extend_from_slice(&bytes[..taken]);
            self.reader.consume(taken + usize::from(end.is_some()));
            if end.is_some() || self.buffer.len() == LINE_LIMIT {
                return Ok(Some(self.part(end.is_some())));
            }
        }
    }

    /// After the end of the bytes: the last line, if no line feed ends it.
    pub(super) fn rest(&mut self) -> Option<Part> {
        (!self.buffer.is_empty()).then(|| self.part(true))
    }

    fn part(&mut self, end: bool) -> Part {
        let first = !std::mem::replace(&mut self.within, !end);
        let (time, text) = if first { split_time(&self.buffer) } else { (None, &self.buffer[..]) };
        let part = Part { time, text: String::from_utf8_lossy(text).into_owned(), first, end };
        self.buffer.clear();
        // A long line is an exception: its memory is returned.
        self.buffer.shrink_to(8 << 10);
        part
    }
}

/// The timestamp of a line and its text. A line without a timestamp is a message of the kubelet.
fn split_time(line: &[u8]) -> (Option<Timestamp>, &[u8]) {
    // No timestamp is longer.
    let prefix = &line[..line.len().min(40)];
    let time = memchr::memchr(b' ', prefix)
        .and_then(|end| Some((std::str::from_utf8(&prefix[..end]).ok()?.parse().ok()?, end)));
    match time {
        Some((time, end)) => (Some(time), &line[end + 1..]),
        // The text of an empty line is cut off with its space by some runtimes.
        None => match std::str::from_utf8(prefix).ok().and_then(|text| text.parse().ok()) {
            Some(time) if prefix.len() == line.len() => (Some(time), &[]),
            _ => (None, line),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn parts(bytes: &[u8], piece: usize) -> Vec<Part> {
        let mut reader = LineReader::new(tokio::io::BufReader::with_capacity(piece, bytes));
        let mut parts = Vec::new();
        while let Some(part) = reader.next().await.unwrap() {
            parts.push(part);
        }
        parts.extend(reader.rest());
        parts
    }

    #[tokio::test]
    async fn lines_have_their_time_whatever_the_pieces_of_the_body() {
        let log =
            b"2026-01-02T03:04:05.000000006Z one\n2026-01-02T05:04:05+02:00 t\xff wo\nfailed to follow\n\
            2026-01-02T03:04:05Z \n2026-01-02T03:04:05Z\n\n2026-01-02T03:04:05Z rest";
        for piece in [1, 7, 1000] {
            let parts = parts(log, piece).await;
            let texts: Vec<&str> = parts.iter().map(|part| part.text.as_str()).collect();
            assert_eq!(texts, ["one", "t\u{fffd} wo", "failed to follow", "", "", "", "rest"]);
            let times: Vec<bool> = parts.iter().map(|part| part.time.is_some()).collect();
            assert_eq!(times, [true, true, false, true, true, false, true]);
            assert_eq!(parts[0].time.unwrap().subsec_nanosecond(), 6);
            assert!(parts.iter().all(|part| part.first && part.end));
        }
    }

    #[tokio::test]
    async fn a_long_line_comes_in_parts() {
        let mut log = b"2026-01-02T03:04:05Z ".to_vec();
        log.resize(LINE_LIMIT * 2 + 5, b'x');
        log.extend_from_slice(b"\nnext\n");
        let parts = parts(&log, 10_000).await;
        let shape: Vec<(usize, bool, bool, bool)> =
            parts.iter().map(|part| (part.text.len(), part.time.is_some(), part.first, part.end)).collect();
        let first = LINE_LIMIT - 21;
        assert_eq!(
            shape,
            [
                (first, true, true, false),
                (LINE_LIMIT, false, false, false),
                (5, false, false, true),
                (4, false, true, true)
            ]
        );
    }

    #[test]
    fn a_line_prints_as_kubectl_prefixes_it() {
        let line = LogLine {
            namespace: "ns".into(),
            pod: "web-0".into(),
            container: "main".into(),
            time: None,
            text: "hello".into(),
            partial: false,
        };
        assert_eq!(line.to_string(), "[pod/web-0/main] hello");
    }
}
