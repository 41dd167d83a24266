//! What is asked of a scheduler.

use tokio::time::Instant;

/// Asks a [`Scheduler`](super::Scheduler) to give `message` back at `run_at`.
#[derive(Debug)]
pub struct ScheduleRequest<T> {
    /// What to give back. Equal messages are the same message.
    pub message: T,
    /// When; a time in the past means at once.
    pub run_at: Instant,
}
