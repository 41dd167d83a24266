//! The events of a watch.

mod bookmark;
mod event;

pub use bookmark::{Bookmark, BookmarkMeta};
pub use event::*;
