//! Runs the tasks that are due.

use std::time::Duration;

use tokio::sync::watch;

use super::ClusterState;
use crate::storage::WriteError;

impl ClusterState {
    /// Runs the tasks that are due. Requests, watches and clock changes call this.
    pub(crate) fn run_due_tasks(&mut self) {
        // A directory that refuses the write is reported by the journal, and the next request tries again.
        drop(self.compact_by_age());
        self.work.enqueue_due();
        // Also those that stayed enqueued when a write was refused.
        self.run_tasks();
    }

    fn compact_by_age(&mut self) -> Result<(), WriteError> {
        let due = self.compactor.due(self.clock.elapsed());
        self.storage.skip_revisions(due)?;
        self.compactor.run(due, self.storage.store.revision());
        Ok(())
    }

    /// When [`run_due_tasks`](Self::run_due_tasks) has something to do next.
    pub(crate) fn next_due(&self) -> watch::Receiver<Option<Duration>> {
        self.work.next_due()
    }
}
