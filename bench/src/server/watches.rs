//! The open watches: what is sent to them, and their end.

use parking_lot::Mutex;
use std::convert::Infallible;

use bytes::Bytes;
use futures::{Stream, stream};
use hyper::body::Frame;
use tokio::sync::{Notify, broadcast};

/// The lines that are kept for a slow watch: more than any measurement sends.
const BACKLOG: usize = 1 << 17;

const EXPIRED: &str = concat!(
    r#"{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","#,
    r#""message":"too old resource version: 1 (2)","reason":"Expired","code":410}}"#,
    "\n"
);

pub(super) struct Watches {
    /// Lines for all watches that were opened since the last expiry.
    lines: Mutex<broadcast::Sender<Bytes>>,
    opened: Notify,
}

impl Watches {
    pub(super) fn new() -> Self {
        Self { lines: Mutex::new(broadcast::Sender::new(BACKLOG)), opened: Notify::new() }
    }

    /// The lines that are sent from now on.
    pub(super) fn open(&self) -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> + Send + use<> {
        let lines = self.lines().subscribe();
        self.opened.notify_waiters();
        stream::unfold(lines, async |mut lines| {
            let line = lines.recv().await.ok()?; // the end after an expiry
            Some((Ok(Frame::data(line)), lines))
        })
    }

    /// Waits until a watch is open, then sends it a line.
    pub(super) async fn send(&self, line: Bytes) {
        self.wait_until_open().await;
        // An error means that the client has just ended.
        let _ = self.lines().send(line);
    }

    /// Waits until a watch is open, then ends all watches with 410.
    pub(super) async fn expire(&self) {
        self.wait_until_open().await;
        let ended = std::mem::replace(&mut *self.lines(), broadcast::Sender::new(BACKLOG));
        let _ = ended.send(Bytes::from_static(EXPIRED.as_bytes()));
    }

    pub(super) async fn wait_until_open(&self) {
        loop {
            let opened = self.opened.notified();
            if self.lines().receiver_count() > 0 {
                return;
            }
            opened.await;
        }
    }

    fn lines(&self) -> parking_lot::MutexGuard<'_, broadcast::Sender<Bytes>> {
        self.lines.lock()
    }
}
