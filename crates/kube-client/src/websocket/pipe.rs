//! The writing end of an in-memory stream.

use std::pin::Pin;
use std::task::{Context, Waker};

use tokio::io::{AsyncWrite, AsyncWriteExt, SimplexStream, WriteHalf};

/// Writes to a reader, and ends the reader's stream when dropped. Without that the reader of a `SimplexStream` would wait for ever.
#[derive(Debug)]
pub(super) struct PipeWriter(WriteHalf<SimplexStream>);

impl PipeWriter {
    pub(super) fn new(writer: WriteHalf<SimplexStream>) -> Self {
        Self(writer)
    }

    /// Waits while the buffer is full. A dropped reader is not an error.
    pub(super) async fn send(&mut self, data: &[u8]) {
        let _ = self.0.write_all(data).await;
    }
}

impl Drop for PipeWriter {
    fn drop(&mut self) {
        // In memory, shutting down never waits.
        let _ = Pin::new(&mut self.0).poll_shutdown(&mut Context::from_waker(Waker::noop()));
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_stream_ends_when_the_writer_is_dropped() {
        let (mut reader, writer) = tokio::io::simplex(8);
        let mut writer = PipeWriter::new(writer);
        writer.send(b"abc").await;
        drop(writer);
        let mut text = String::new();
        let reading = reader.read_to_string(&mut text);
        tokio::time::timeout(std::time::Duration::from_secs(1), reading).await.unwrap().unwrap();
        assert_eq!(text, "abc");
    }

    /// Why [`AttachedProcess`](crate::api::AttachedProcess) cannot react to a dropped reader. If this fails, tokio now reports it.
    #[test]
    fn tokio_does_not_report_a_dropped_reader() {
        let (reader, writer) = tokio::io::simplex(8);
        let mut writer = tokio_test::task::spawn(async move { PipeWriter::new(writer).send(&[0; 9]).await });
        assert!(writer.poll().is_pending());
        drop(reader);
        assert!(!writer.is_woken() && writer.poll().is_pending());
    }
}
