//! The near ends of streams in memory.

use std::pin::Pin;
use std::task::{Context, Waker};

use tokio::io::{AsyncWrite, AsyncWriteExt, SimplexStream, WriteHalf};

/// Feeds a reader. When this is dropped, for whatever reason, the reader comes to an end: by itself a `SimplexStream` would let it
/// wait for ever.
#[derive(Debug)]
pub(super) struct Feed(WriteHalf<SimplexStream>);

impl Feed {
    pub(super) fn new(writer: WriteHalf<SimplexStream>) -> Self {
        Self(writer)
    }

    /// Waits until there is room. That nobody reads any more is no failure.
    pub(super) async fn send(&mut self, data: &[u8]) {
        let _ = self.0.write_all(data).await;
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        // It is in memory, so this never has to wait.
        let _ = Pin::new(&mut self.0).poll_shutdown(&mut Context::from_waker(Waker::noop()));
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_reader_ends_with_the_feed() {
        let (mut reader, writer) = tokio::io::simplex(8);
        let mut feed = Feed::new(writer);
        feed.send(b"abc").await;
        drop(feed);
        let mut text = String::new();
        let reading = reader.read_to_string(&mut text);
        tokio::time::timeout(std::time::Duration::from_secs(1), reading).await.unwrap().unwrap();
        assert_eq!(text, "abc");
    }

    /// Why [`AttachedProcess`](crate::api::AttachedProcess) cannot react to a dropped reader. If this fails, tokio has learned to report it.
    #[test]
    fn tokio_does_not_report_that_a_reader_is_gone() {
        let (reader, writer) = tokio::io::simplex(8);
        let mut feed = tokio_test::task::spawn(async move { Feed::new(writer).send(&[0; 9]).await });
        assert!(feed.poll().is_pending());
        drop(reader);
        assert!(!feed.is_woken() && feed.poll().is_pending());
    }
}
