//! A keyed work queue without I/O, runtime or clock, in the manner of client-go's `workqueue`.
//!
//! - `machine`: deduplicates keys, delays them, and never hands a key out twice at once.
//! - `lanes`: the order of keys that are due.
//! - `waiting`: keys in order, of which some may have left their place.
//! - `key_backoff`: the delays of keys that fail repeatedly.

mod key_backoff;
mod lanes;
mod machine;
#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod tests;
mod waiting;

pub(crate) use key_backoff::{BackoffRange, KeyBackoff};
pub(crate) use lanes::Priority;
pub(crate) use machine::{Queue, QueueNumbers};
