//! The streams of one connection: how many are open, and whether it accepts more. No I/O.

use std::sync::Arc;

use parking_lot::Mutex;

/// The most concurrent requests of a connection. API servers allow 100; we use fewer, because a stream ends here before it ends there.
pub(in crate::transport) const MAX_STREAMS: usize = 90;

/// The streams of one connection.
#[derive(Debug)]
pub(in crate::transport) struct Streams(Mutex<State>);

#[derive(Debug)]
struct State {
    open: usize,
    max: usize,
    /// A stream was opened since the last idle check.
    used: bool,
    closed: Option<Closed>,
}

/// Why a connection accepts no more requests.
#[derive(Clone, Debug)]
pub(in crate::transport) enum Closed {
    /// It was idle, or the server closed it.
    Ended,
    /// The server did not acknowledge a ping.
    Unresponsive,
    Failed(Arc<h2::Error>),
}

impl Streams {
    /// `max` holds until the server's SETTINGS arrive.
    pub(in crate::transport) fn new(max: usize) -> Self {
        Self(Mutex::new(State { open: 0, max, used: false, closed: None }))
    }

    /// How many may be open at the same time.
    pub(in crate::transport) fn max(&self) -> usize {
        self.0.lock().max
    }

    /// A stream, unless all are in use or the connection is closed.
    pub(in crate::transport) fn open(self: &Arc<Self>) -> Option<OpenStream> {
        let mut state = self.0.lock();
        if state.closed.is_some() || state.open >= state.max {
            return None;
        }
        state.open += 1;
        state.used = true;
        Some(OpenStream(Arc::clone(self)))
    }

    /// Sets the server's MAX_CONCURRENT_STREAMS. At least one stream remains, or requests would wait for ever.
    pub(super) fn set_max(&self, max: usize) {
        self.0.lock().max = max.clamp(1, MAX_STREAMS);
    }

    /// Opens no more streams. The first reason is kept, because later ones follow from it.
    pub(super) fn close(&self, reason: Closed) {
        self.0.lock().closed.get_or_insert(reason);
    }

    /// Closes if no stream is open and none was opened since the last call.
    pub(super) fn close_if_idle(&self) -> bool {
        let mut state = self.0.lock();
        let used = std::mem::take(&mut state.used);
        let idle = !used && state.open == 0;
        if idle {
            state.closed.get_or_insert(Closed::Ended);
        }
        idle
    }

    /// Why the connection accepts no more requests, if it does not.
    pub(in crate::transport) fn closed(&self) -> Option<Closed> {
        self.0.lock().closed.clone()
    }
}

/// The stream of one request, released when its response has been read or dropped.
#[derive(Debug)]
pub(in crate::transport) struct OpenStream(Arc<Streams>);

impl OpenStream {
    pub(in crate::transport) fn connection(&self) -> &Streams {
        &self.0
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.0.lock().open -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_all(streams: &Arc<Streams>) -> Vec<OpenStream> {
        std::iter::from_fn(|| streams.open()).collect()
    }

    #[test]
    fn the_server_limits_the_streams_and_released_ones_are_reused() {
        let streams = Arc::new(Streams::new(MAX_STREAMS));
        for (max, expected) in [(usize::MAX, 90), (100, 90), (50, 50), (0, 1)] {
            streams.set_max(max);
            let held = open_all(&streams);
            assert_eq!(held.len(), expected, "{max}");
            drop(held);
            assert!(streams.open().is_some());
        }
    }

    #[test]
    fn a_closed_connection_opens_no_stream_and_keeps_the_first_reason() {
        let streams = Arc::new(Streams::new(MAX_STREAMS));
        let held = streams.open().unwrap();
        assert!(streams.closed().is_none());
        streams.close(Closed::Unresponsive);
        assert!(streams.open().is_none());
        drop(held);
        streams.close(Closed::Ended);
        assert!(streams.open().is_none());
        assert!(matches!(streams.closed(), Some(Closed::Unresponsive)));
    }

    #[test]
    fn only_an_idle_connection_is_closed() {
        let streams = Arc::new(Streams::new(MAX_STREAMS));
        let held = streams.open().unwrap();
        assert!(!streams.close_if_idle());
        assert!(!streams.close_if_idle(), "a stream is open");
        drop(held);
        drop(streams.open());
        assert!(!streams.close_if_idle(), "a stream was opened since");
        assert!(streams.close_if_idle() && streams.open().is_none());
    }
}
