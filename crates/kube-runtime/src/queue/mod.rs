//! A keyed work queue without I/O, runtime or clock, in the manner of client-go's `workqueue`.
//!
//! - `key_backoff`: the delays of keys that fail repeatedly.
//! - `machine`: deduplicates keys, delays them, and never hands a key out twice at once. `model_tests` compare it with a naive one.
//! - `waiting`: keys in order, of which some may have left their place.
//! - `ready`: the keys that are due, in one line or in the lanes of `fair`; `lanes`: by priority.

mod fair;
mod key_backoff;
mod lanes;
mod machine;
#[cfg(test)]
mod model_tests;
mod ready;
#[cfg(test)]
mod tests;
mod waiting;

pub(crate) use fair::LaneNumbers;
pub(crate) use key_backoff::{BackoffRange, KeyBackoff};
pub(crate) use lanes::Priority;
pub(crate) use machine::{Queue, QueueNumbers};
