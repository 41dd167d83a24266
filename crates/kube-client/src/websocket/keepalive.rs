//! Whether a silent websocket is dead, without I/O.

use bytes::Bytes;

/// Counts pings and pongs.
///
/// A live server may leave pings unanswered: input that its process does not read blocks everything behind it, pings as well. So after
/// input, silence does not mean a dead server until a later ping has been answered.
#[derive(Debug, Default)]
pub(super) struct Keepalive {
    /// The number of the last ping.
    sent: u32,
    /// The number of the last answered ping.
    answered: u32,
    /// The first ping after the last input.
    after_input: u32,
}

impl Keepalive {
    /// Call before input is sent.
    pub(super) fn input(&mut self) {
        self.after_input = self.sent + 1;
    }

    /// The payload of the next ping.
    pub(super) fn ping(&mut self) -> Bytes {
        self.sent += 1;
        Bytes::copy_from_slice(&self.sent.to_be_bytes())
    }

    /// Call when a pong is received.
    pub(super) fn pong(&mut self, payload: &[u8]) {
        // Other payloads are not answers to our pings.
        if let Ok(number) = payload.try_into().map(u32::from_be_bytes)
            && number <= self.sent
        {
            self.answered = self.answered.max(number);
        }
    }

    /// Whether the server has read all input, so that it must answer the next ping.
    pub(super) fn must_answer(&self) -> bool {
        self.answered >= self.after_input
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_must_answer_until_input_is_sent() {
        let mut keepalive = Keepalive::default();
        assert!(keepalive.must_answer());
        keepalive.ping();
        assert!(keepalive.must_answer());
        keepalive.input();
        assert!(!keepalive.must_answer());
    }

    #[test]
    fn only_the_pong_of_a_later_ping_shows_that_input_was_read() {
        let mut keepalive = Keepalive::default();
        let before = keepalive.ping();
        keepalive.input();
        keepalive.pong(&before);
        assert!(!keepalive.must_answer());
        let later = keepalive.ping();
        keepalive.pong(b"mine");
        keepalive.pong(b"");
        keepalive.pong(&9_u32.to_be_bytes());
        assert!(!keepalive.must_answer());
        keepalive.pong(&later);
        assert!(keepalive.must_answer());
    }
}
