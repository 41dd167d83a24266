//! In-memory streams whose halves do not report that the other one is dropped.

use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadHalf, SimplexStream, WriteHalf};

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

/// Forwards what is written to `reader`, until its writer shuts down or the reader of `pipe` is dropped. Then it reads on, so that the
/// writer does not wait for ever, which a `SimplexStream` makes it do: up to [`IDLE_LIMIT`] without a write, because a dropped writer is
/// not reported either.
pub(super) async fn forward(mut reader: ReadHalf<SimplexStream>, pipe: DuplexStream) {
    let mut buffer = vec![0; 8 << 10];
    let (mut ended, mut pipe) = tokio::io::split(pipe);
    loop {
        let read = tokio::select! {
            read = reader.read(&mut buffer) => read.unwrap_or(0),
            _ = ended.read_u8() => break,
        };
        if read == 0 {
            let _ = pipe.shutdown().await;
            return;
        }
        if pipe.write_all(&buffer[..read]).await.is_err() {
            break;
        }
    }
    while let Ok(Ok(1..)) = tokio::time::timeout(IDLE_LIMIT, reader.read(&mut buffer)).await {}
}

/// How long a writer may pause after the end of its process before it is taken for dropped.
const IDLE_LIMIT: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_writer_does_not_wait_after_the_end_of_its_reader() {
        let (reader, mut writer) = tokio::io::simplex(8);
        let (pipe, mut far) = tokio::io::duplex(8);
        let forwarding = tokio::spawn(forward(reader, pipe));
        writer.write_all(b"abc").await.unwrap();
        let mut text = [0; 3];
        far.read_exact(&mut text).await.unwrap();
        assert_eq!(&text, b"abc");
        // The writer waits when the reader is dropped.
        let writing = tokio::spawn(async move {
            writer.write_all(&[0; 100]).await.unwrap();
            tokio::time::sleep(IDLE_LIMIT / 2).await;
            writer.write_all(&[0; 100]).await.unwrap();
            writer
        });
        tokio::task::yield_now().await;
        drop(far);
        let writer = tokio::time::timeout(Duration::from_secs(50), writing).await.unwrap().unwrap();
        // A dropped writer is not reported, and nothing is left of it.
        drop(writer);
        tokio::time::timeout(Duration::from_secs(61), forwarding).await.unwrap().unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_shut_down_writer_ends_the_forwarding_and_a_full_pipe_does_not_hide_the_end() {
        let (reader, mut writer) = tokio::io::simplex(8);
        let (pipe, mut far) = tokio::io::duplex(8);
        let forwarding = tokio::spawn(forward(reader, pipe));
        writer.write_all(b"abc").await.unwrap();
        writer.shutdown().await.unwrap();
        let mut text = String::new();
        far.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "abc");
        forwarding.await.unwrap();
    }

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
