//! The revisioned map that holds all objects.
//!
//! Objects are stored as the bytes of their watch line, serialised once: reads, lists and watchers share them. One revision counter numbers the changes of all resources. Each resource keeps its recent changes; their total is bounded, and the oldest are dropped first.

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
