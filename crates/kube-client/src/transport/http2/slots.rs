//! The stream slots of one connection: how many requests it carries, and whether it accepts more. No I/O.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use super::read_ahead::ReadAhead;

/// The most concurrent requests of a connection. API servers allow 100; we use fewer, because a stream ends here before it ends there.
pub(in crate::transport) const MAX_STREAMS: u32 = 90;

/// The stream slots of one connection.
///
/// The atomics guard no other data, so relaxed ordering suffices.
#[derive(Debug)]
pub(in crate::transport) struct StreamSlots {
    /// The number of acquired slots, and the flags below.
    state: AtomicU32,
    max: AtomicU32,
    /// The requests whose response has not begun. Without open watches, unlike `state`.
    unanswered: AtomicU32,
    /// A slot was acquired since the last idle check.
    used: AtomicBool,
    /// A request was sent since the last [`StreamSlots::take_concurrent_send`].
    sent: AtomicBool,
    /// Why the connection failed.
    failure: OnceLock<Arc<h2::Error>>,
    read_ahead: ReadAhead,
}

/// No more slots are handed out.
const CLOSED: u32 = 1 << 31;
/// Closed because the peer did not acknowledge a ping.
const UNRESPONSIVE: u32 = 1 << 30;

impl StreamSlots {
    /// `max` holds until the server's SETTINGS arrive.
    pub(in crate::transport) fn new(max: u32) -> Self {
        Self {
            state: AtomicU32::new(0),
            max: AtomicU32::new(max),
            unanswered: AtomicU32::new(0),
            used: AtomicBool::new(false),
            sent: AtomicBool::new(false),
            failure: OnceLock::new(),
            read_ahead: ReadAhead::default(),
        }
    }

    /// The number of slots, free or not.
    pub(in crate::transport) fn max(&self) -> u32 {
        self.max.load(Ordering::Relaxed)
    }

    /// A slot, unless all are in use or the connection is closed.
    pub(in crate::transport) fn try_acquire(self: &Arc<Self>) -> Option<Slot> {
        let max = self.max();
        // A state with a flag set is larger than any `max`.
        let acquired = self
            .state
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |state| (state < max).then_some(state + 1));
        acquired.ok()?;
        self.used.store(true, Ordering::Relaxed);
        self.unanswered.fetch_add(1, Ordering::Relaxed);
        Some(Slot { slots: Arc::clone(self), unanswered: true })
    }

    /// The number of requests whose response has not begun.
    pub(in crate::transport) fn unanswered(&self) -> u32 {
        self.unanswered.load(Ordering::Relaxed)
    }

    /// Sets the server's MAX_CONCURRENT_STREAMS. At least one slot remains, or requests would wait for ever.
    pub(super) fn set_max(&self, max: usize) {
        let max = u32::try_from(max).unwrap_or(MAX_STREAMS).clamp(1, MAX_STREAMS);
        self.max.store(max, Ordering::Relaxed);
    }

    /// Hands out no more slots. Acquired ones stay valid.
    pub(super) fn close(&self) {
        self.state.fetch_or(CLOSED, Ordering::Relaxed);
    }

    /// [`close`](Self::close) with the reason. The first reason is kept: later ones follow from it.
    pub(super) fn fail(&self, err: h2::Error) {
        let _ = self.failure.set(Arc::new(err));
        self.close();
    }

    pub(super) fn close_unresponsive(&self) {
        self.state.fetch_or(CLOSED | UNRESPONSIVE, Ordering::Relaxed);
    }

    /// Closes if no slot is in use and none was acquired since the last call.
    pub(super) fn close_if_idle(&self) -> bool {
        let used = self.used.swap(false, Ordering::Relaxed);
        !used && self.state.compare_exchange(0, CLOSED, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    pub(super) fn read_ahead(&self) -> &ReadAhead {
        &self.read_ahead
    }

    pub(super) fn mark_sent(&self) {
        self.sent.store(true, Ordering::Relaxed);
    }

    /// Whether a request was sent since the last call while another one is in flight.
    pub(super) fn take_concurrent_send(&self) -> bool {
        let concurrent = self.state.load(Ordering::Relaxed) & !(CLOSED | UNRESPONSIVE) > 1;
        self.sent.swap(false, Ordering::Relaxed) && concurrent
    }

    pub(in crate::transport) fn is_closed(&self) -> bool {
        self.state.load(Ordering::Relaxed) & CLOSED != 0
    }

    pub(super) fn is_unresponsive(&self) -> bool {
        self.state.load(Ordering::Relaxed) & UNRESPONSIVE != 0
    }
}

/// The stream slot of one request, released when its response has been read or dropped.
#[derive(Debug)]
pub(in crate::transport) struct Slot {
    slots: Arc<StreamSlots>,
    unanswered: bool,
}

impl Slot {
    pub(super) fn connection(&self) -> &StreamSlots {
        &self.slots
    }

    /// The response has begun.
    pub(super) fn answered(&mut self) {
        if std::mem::take(&mut self.unanswered) {
            self.slots.unanswered.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether the connection accepts no more requests.
    pub(in crate::transport) fn is_closed(&self) -> bool {
        self.slots.is_closed()
    }

    /// Why the connection failed, if it did.
    pub(in crate::transport) fn failure(&self) -> Option<Arc<h2::Error>> {
        self.slots.failure.get().cloned()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.answered();
        self.slots.state.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acquire_all(slots: &Arc<StreamSlots>) -> Vec<Slot> {
        std::iter::from_fn(|| slots.try_acquire()).collect()
    }

    #[test]
    fn the_server_limits_the_slots_and_released_ones_are_reused() {
        let slots = Arc::new(StreamSlots::new(MAX_STREAMS));
        for (max, expected) in [(usize::MAX, 90), (100, 90), (50, 50), (0, 1)] {
            slots.set_max(max);
            let held = acquire_all(&slots);
            assert_eq!(held.len(), expected, "{max}");
            drop(held);
            assert!(slots.try_acquire().is_some());
        }
    }

    #[test]
    fn a_closed_connection_hands_out_no_slot_and_keeps_acquired_ones() {
        let slots = Arc::new(StreamSlots::new(MAX_STREAMS));
        let held = slots.try_acquire().unwrap();
        slots.close();
        assert!(slots.try_acquire().is_none() && slots.is_closed() && !slots.is_unresponsive());
        drop(held);
        slots.close_unresponsive();
        assert!(slots.try_acquire().is_none() && slots.is_closed() && slots.is_unresponsive());
    }

    #[test]
    fn a_concurrent_send_is_reported_once_and_only_while_others_are_in_flight() {
        let slots = Arc::new(StreamSlots::new(MAX_STREAMS));
        let held = slots.try_acquire().unwrap();
        slots.mark_sent();
        assert!(!slots.take_concurrent_send());
        let other = slots.try_acquire();
        assert!(!slots.take_concurrent_send(), "nothing was sent since");
        slots.mark_sent();
        assert!(slots.take_concurrent_send());
        assert!(!slots.take_concurrent_send());
        drop(other);
        slots.close();
        slots.mark_sent();
        assert!(!slots.take_concurrent_send());
        drop(held);
    }

    #[test]
    fn a_request_is_unanswered_until_its_response_begins_or_it_is_dropped() {
        let slots = Arc::new(StreamSlots::new(MAX_STREAMS));
        let [mut watch, call] = [(); 2].map(|()| slots.try_acquire().unwrap());
        assert_eq!(slots.unanswered(), 2);
        watch.answered();
        watch.answered();
        assert_eq!(slots.unanswered(), 1);
        drop(watch);
        assert_eq!(slots.unanswered(), 1);
        drop(call);
        assert_eq!(slots.unanswered(), 0);
    }

    #[test]
    fn only_an_idle_connection_is_closed() {
        let slots = Arc::new(StreamSlots::new(MAX_STREAMS));
        let held = slots.try_acquire().unwrap();
        assert!(!slots.close_if_idle());
        assert!(!slots.close_if_idle(), "a slot is in use");
        drop(held);
        drop(slots.try_acquire());
        assert!(!slots.close_if_idle(), "a slot was acquired since");
        assert!(slots.close_if_idle() && slots.try_acquire().is_none());
    }
}
