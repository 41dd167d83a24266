//! Splits a body into the texts of objects while it arrives, without I/O.
//!
//! - `lines`: the lines of a watch. `items`: the items of a list.
//! - `scan`: finds the end of a value, the lengths of its arrays and the fields of its metadata, in one scan,
//!   64 bytes at a time (`mask`).
//! - `version`: which object it is, and which of its versions.

mod items;
mod lines;
mod mask;
mod scan;
mod version;

pub(super) use items::{Item, ItemSplitter, NotAList, RawItem};
pub(super) use lines::LineSplitter;
#[cfg(test)]
pub(super) use scan::lengths_of;
pub(super) use scan::{ArrayLengths, ValueScanner, arrays_in};
pub use version::ObjectVersion;
