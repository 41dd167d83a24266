//! The data directory: the journal of the state, and the keys of the server.
//!
//! The journal is one file of records, each a line with its checksum. It starts with the whole state; every change is appended before
//! anybody sees it. It is rewritten when the changes outgrow the state; the new file replaces the old one by a rename, so there is a
//! complete file at any time. A change that the disk refuses is refused to the client.

mod file;
mod keys;
mod record;

pub use file::{DataError, replace_private};

pub(crate) use file::{Journal, WriteError};
pub(crate) use keys::{CertificateAuthority, IssuedCredential, KeyFiles};
pub(crate) use record::{JournalLine, Record};
