//! The revisioned map that everything lives in.
//!
//! Objects are kept as the bytes of their watch line, serialised once: reads, lists and every watcher share them.
//! One counter numbers all changes of all resources; each resource keeps its recent changes, and the sum of them is
//! bounded, the oldest being dropped first.

mod key;
mod list;
mod stored;
mod table;

#[cfg(test)]
mod tests;

pub(crate) use key::Key;
pub(crate) use list::{Page, PageRequest};
pub(crate) use stored::{EventType, Stored};
pub(crate) use table::{Change, Store, TableId, TooOld};
