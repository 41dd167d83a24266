//! State on disk: one file of records, each a line with its checksum.
//!
//! The file begins with everything there was when it was begun, and every change is appended. A new one is begun at each
//! start and whenever the changes outgrow the state; it takes the place of the old one by a rename, so at any moment there
//! is one whole file.

mod file;
mod record;

pub use file::DataError;

pub(crate) use file::Journal;
pub(crate) use record::{JournalLine, Record};
