//! Watches: the events of one watcher, and the stream of lines it gets.
//!
//! A watcher holds only a position in the history: it wakes when its resource changes and reads on from there. A watcher whose position was
//! dropped from the history is ended.

mod filter;
mod start;
mod stream;

pub(crate) use filter::Filter;
pub(crate) use start::{filter, start};
pub(crate) use stream::{Start, Watch};
