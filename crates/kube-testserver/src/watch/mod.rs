//! Watches: what a change means to one watcher, and the stream of lines that it gets.
//!
//! A watcher holds a position in the history and nothing else: it is woken when its resource changes and reads on
//! from there. One that is too slow finds its position gone, and is cut.

mod filter;
mod stream;

pub(crate) use filter::Filter;
pub(crate) use stream::{Start, Watch};
