//! What has to be worked on, and when: a keyed queue without I/O, runtime or clock.

mod alarm;
mod lines;
mod machine;
#[cfg(test)]
mod model_tests;
mod retries;
#[cfg(test)]
mod tests;

pub(crate) use alarm::Alarm;
pub(crate) use lines::Urgency;
pub(crate) use machine::Queue;
pub(crate) use retries::{Retries, RetryLimits};
