//! The age at which earlier states can no longer be listed.

use std::time::Duration;

/// How often kube-apiserver compacts etcd.
const INTERVAL: Duration = Duration::from_secs(5 * 60);

/// Compacts every five minutes to the revision of five minutes ago. Only lists notice: genuine servers serve watches from a cache, which has an age of its own.
#[derive(Debug, Default)]
pub(super) struct Compactor {
    /// The number of compactions so far.
    ticks: u128,
    /// The revision at the last one.
    seen: u64,
    oldest: u64,
}

impl Compactor {
    /// Catches up with the time since the server started. No change was made since the last request, which called this too.
    pub(super) fn run(&mut self, elapsed: Duration, revision: u64) {
        let ticks = elapsed.as_millis() / INTERVAL.as_millis();
        match ticks.saturating_sub(self.ticks) {
            0 => return,
            1 => self.oldest = self.seen,
            _ => self.oldest = revision,
        }
        (self.ticks, self.seen) = (ticks, revision);
    }

    /// The earliest revision that can be listed.
    pub(super) fn oldest(&self) -> u64 {
        self.oldest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_can_be_listed_for_five_to_ten_minutes() {
        let (mut compactor, second) = (Compactor::default(), Duration::from_secs);
        let mut at = |seconds, revision| {
            compactor.run(second(seconds), revision);
            compactor.oldest()
        };
        assert_eq!([at(10, 7), at(299, 8)], [0, 0]);
        assert_eq!([at(300, 9), at(301, 9), at(599, 12)], [0, 0, 0]);
        assert_eq!([at(605, 13), at(899, 20)], [9, 9]);
        // Between these requests the server was idle.
        assert_eq!(at(3600, 20), 20);
        assert_eq!([at(3900, 30), at(4200, 40)], [20, 30]);
    }
}
