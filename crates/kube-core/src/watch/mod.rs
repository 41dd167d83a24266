//! The events of a watch.

mod bookmark;
mod event;
#[cfg(test)]
mod tests;

pub use bookmark::{Bookmark, BookmarkMeta};
pub use event::*;
