//! The journal of a data directory: one file of records, each a line with its checksum.
//!
//! The file starts with the whole state, and every change is appended. It is rewritten at each start and when the changes outgrow the state; the new file replaces the old one by a rename, so there is a complete file at any time.

mod file;
mod record;

pub use file::DataError;

pub(crate) use file::Journal;
pub(crate) use record::{JournalLine, Record};
