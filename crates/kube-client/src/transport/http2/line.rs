//! How many requests a connection has, whether it takes more, and why not: pure.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// How many requests a connection may have at a time. API servers take 100: a few less, as some end here before they do there.
pub(in crate::transport) const ROOM: u32 = 90;

/// The places of one connection.
///
/// Nothing else is guarded by these numbers, so they need no order among them.
#[derive(Debug)]
pub(in crate::transport) struct Line {
    /// Places taken, and the bits below.
    state: AtomicU32,
    room: AtomicU32,
    /// Whether a place was taken since somebody asked.
    used: AtomicBool,
    /// Whether a request was sent since somebody asked.
    sent: AtomicBool,
    /// Why the connection failed.
    failure: OnceLock<Arc<h2::Error>>,
}

/// No place is given any more.
const CLOSED: u32 = 1 << 31;
/// The reason for it: the other side fell silent.
const SILENT: u32 = 1 << 30;

impl Line {
    /// With room for so many requests until the server says how many it takes.
    pub(in crate::transport) fn new(room: u32) -> Self {
        let (used, sent) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { state: AtomicU32::new(0), room: AtomicU32::new(room), used, sent, failure: OnceLock::new() }
    }

    /// How many requests it has room for in all.
    pub(in crate::transport) fn room(&self) -> u32 {
        self.room.load(Ordering::Relaxed)
    }

    /// A place, if there is one.
    pub(in crate::transport) fn take(self: &Arc<Self>) -> Option<Place> {
        let room = self.room();
        // Where a bit is set, this is more than any room.
        let taken = self
            .state
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |state| (state < room).then_some(state + 1));
        taken.ok()?;
        self.used.store(true, Ordering::Relaxed);
        Some(Place(Arc::clone(self)))
    }

    /// Says how many requests the server takes at a time. At least one, or nobody would ever get on.
    pub(super) fn limit(&self, most: usize) {
        let room = u32::try_from(most).unwrap_or(ROOM).clamp(1, ROOM);
        self.room.store(room, Ordering::Relaxed);
    }

    /// Gives no more places. Those that are taken stay.
    pub(super) fn close(&self) {
        self.state.fetch_or(CLOSED, Ordering::Relaxed);
    }

    /// The same, and notes why, unless that is known.
    pub(super) fn fail(&self, err: h2::Error) {
        // What it failed of first is the reason for the rest.
        let _ = self.failure.set(Arc::new(err));
        self.close();
    }

    pub(super) fn fall_silent(&self) {
        self.state.fetch_or(CLOSED | SILENT, Ordering::Relaxed);
    }

    /// Closes if no place is taken, and none was since the last time.
    pub(super) fn close_if_unused(&self) -> bool {
        let used = self.used.swap(false, Ordering::Relaxed);
        !used && self.state.compare_exchange(0, CLOSED, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Notes that a request is sent.
    pub(super) fn note_request(&self) {
        self.sent.store(true, Ordering::Relaxed);
    }

    /// Whether a request was sent since the last time, and more than one place is taken.
    pub(super) fn take_request_in_company(&self) -> bool {
        let company = self.state.load(Ordering::Relaxed) & !(CLOSED | SILENT) > 1;
        self.sent.swap(false, Ordering::Relaxed) && company
    }

    pub(in crate::transport) fn is_closed(&self) -> bool {
        self.state.load(Ordering::Relaxed) & CLOSED != 0
    }

    pub(super) fn is_silent(&self) -> bool {
        self.state.load(Ordering::Relaxed) & SILENT != 0
    }
}

/// The place of one request, until its answer has been read or dropped.
#[derive(Debug)]
pub(in crate::transport) struct Place(Arc<Line>);

impl Place {
    pub(super) fn line(&self) -> &Line {
        &self.0
    }

    /// Whether its connection takes no more requests.
    pub(in crate::transport) fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    /// Why its connection failed, if it did.
    pub(in crate::transport) fn failure(&self) -> Option<Arc<h2::Error>> {
        self.0.failure.get().cloned()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.state.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(line: &Arc<Line>) -> Vec<Place> {
        std::iter::from_fn(|| line.take()).collect()
    }

    #[test]
    fn places_are_as_many_as_the_server_takes_and_come_back() {
        let line = Arc::new(Line::new(ROOM));
        for (most, expected) in [(usize::MAX, 90), (100, 90), (50, 50), (0, 1)] {
            line.limit(most);
            let held = places(&line);
            assert_eq!(held.len(), expected, "{most}");
            drop(held);
            assert!(line.take().is_some());
        }
    }

    #[test]
    fn a_closed_line_gives_no_place_and_keeps_those_that_are_taken() {
        let line = Arc::new(Line::new(ROOM));
        let held = line.take().unwrap();
        line.close();
        assert!(line.take().is_none() && line.is_closed() && !line.is_silent());
        drop(held);
        line.fall_silent();
        assert!(line.take().is_none() && line.is_closed() && line.is_silent());
    }

    #[test]
    fn a_request_is_in_company_once_and_only_where_others_are_under_way() {
        let line = Arc::new(Line::new(ROOM));
        let held = line.take().unwrap();
        line.note_request();
        assert!(!line.take_request_in_company());
        let other = line.take();
        assert!(!line.take_request_in_company(), "nothing was sent yet");
        line.note_request();
        assert!(line.take_request_in_company());
        assert!(!line.take_request_in_company());
        drop(other);
        line.close();
        line.note_request();
        assert!(!line.take_request_in_company());
        drop(held);
    }

    #[test]
    fn only_a_line_that_nobody_used_for_a_while_is_closed() {
        let line = Arc::new(Line::new(ROOM));
        let held = line.take().unwrap();
        assert!(!line.close_if_unused());
        assert!(!line.close_if_unused(), "a place is taken");
        drop(held);
        drop(line.take());
        assert!(!line.close_if_unused(), "one was taken since");
        assert!(line.close_if_unused() && line.take().is_none());
    }
}
