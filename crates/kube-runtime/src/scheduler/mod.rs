//! A stream of messages that come back at the time asked for, each once.
//!
//! The public form of the queue that a [`Controller`](crate::Controller) works from.

mod hold;
mod request;
mod stream;
#[cfg(test)]
mod tests;

pub use hold::{Hold, HoldUnless};
pub use request::ScheduleRequest;
pub use stream::{Scheduler, debounced_scheduler, scheduler};
