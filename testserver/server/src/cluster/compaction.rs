//! The age at which earlier states can no longer be listed.

use std::time::Duration;

/// How often kube-apiserver compacts etcd.
const INTERVAL: Duration = Duration::from_secs(5 * 60);

/// Compacts every five minutes to the revision of the compaction before. Only lists notice: genuine servers serve watches from a cache,
/// which has an age of its own.
#[derive(Debug, Default)]
pub(super) struct Compactor {
    done: u64,
    /// The revision of the last compaction.
    last: u64,
    oldest: u64,
}

impl Compactor {
    /// The number of compactions that were due since the last one. Each takes a revision, as kube-apiserver writes to etcd before it
    /// compacts.
    pub(super) fn due(&self, elapsed: Duration) -> u64 {
        let all = elapsed.as_secs() / INTERVAL.as_secs();
        all.saturating_sub(self.done)
    }

    /// Compacts `due` times, the last time at `revision`. Between these times no change was made: every request compacts first.
    pub(super) fn run(&mut self, due: u64, revision: u64) {
        match due {
            0 => return,
            1 => self.oldest = self.last,
            _ => self.oldest = revision - 1,
        }
        self.done += due;
        self.last = revision;
    }

    /// Forgets the revisions of the compactions so far: the state was replaced, perhaps by an earlier one.
    pub(super) fn forget(&mut self) {
        (self.last, self.oldest) = (0, 0);
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
            let due = compactor.due(second(seconds));
            compactor.run(due, revision + due);
            compactor.oldest()
        };
        assert_eq!([at(10, 7), at(299, 8)], [0, 0]);
        assert_eq!([at(300, 9), at(301, 10), at(599, 12)], [0, 0, 0]);
        assert_eq!([at(605, 13), at(899, 20)], [10, 10]);
        // Between these requests the server was idle for ten compactions.
        assert_eq!(at(3600, 20), 29);
        assert_eq!([at(3900, 30), at(4200, 40)], [30, 31]);
    }
}
