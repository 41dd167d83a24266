//! Whether a quiet websocket is a dead one, as a pure machine.

use bytes::Bytes;

/// Counts pings and their answers.
///
/// A server that reads answers a ping. One that does not read need not be dead: input that its process does not take holds up
/// everything behind it, pings too. So silence means nothing from the time input was sent until a later ping has been answered.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    /// The number of the last ping.
    sent: u32,
    /// The number of the last ping that was answered.
    answered: u32,
    /// The first ping behind all input.
    behind_input: u32,
}

impl Pulse {
    /// Input is about to be sent.
    pub(super) fn input(&mut self) {
        self.behind_input = self.sent + 1;
    }

    /// The payload of the next ping.
    pub(super) fn ping(&mut self) -> Bytes {
        self.sent += 1;
        Bytes::copy_from_slice(&self.sent.to_be_bytes())
    }

    /// A ping has been answered.
    pub(super) fn pong(&mut self, payload: &[u8]) {
        // Anything else is no answer to a ping of ours.
        if let Ok(number) = payload.try_into().map(u32::from_be_bytes)
            && number <= self.sent
        {
            self.answered = self.answered.max(number);
        }
    }

    /// Whether the server has taken in all that was sent to it, so that it has to answer the next ping.
    pub(super) fn has_to_answer(&self) -> bool {
        self.answered >= self.behind_input
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_to_answer_until_there_is_input_for_it() {
        let mut pulse = Pulse::default();
        assert!(pulse.has_to_answer());
        pulse.ping();
        assert!(pulse.has_to_answer());
        pulse.input();
        assert!(!pulse.has_to_answer());
    }

    #[test]
    fn only_a_ping_behind_the_input_shows_that_it_was_taken_in() {
        let mut pulse = Pulse::default();
        let before = pulse.ping();
        pulse.input();
        pulse.pong(&before);
        assert!(!pulse.has_to_answer());
        let behind = pulse.ping();
        pulse.pong(b"mine");
        pulse.pong(b"");
        pulse.pong(&9_u32.to_be_bytes());
        assert!(!pulse.has_to_answer());
        pulse.pong(&behind);
        assert!(pulse.has_to_answer());
    }
}
