//! What the server stores: objects with their history, the resources they belong to, and the journal on disk.
//!
//! In the order in which data passes:
//!
//! - `resources`: [`Storage`], the store with the resources that are served. `persistence`, `journal`: every change is appended to the
//!   journal before anybody sees it.
//! - `key`: the place of an object in the map of its resource. `stored`: the object as the bytes of its watch line, serialised once; reads,
//!   lists and watchers share them.
//! - `store`: the objects and their changes. One revision counter numbers the changes of all resources. Each resource keeps its recent
//!   changes; their total is bounded, and the oldest are dropped first.
//! - `list`: reads pages, at earlier revisions too.

mod journal;
mod key;
mod list;
mod persistence;
mod resources;
mod store;
mod stored;

#[cfg(test)]
mod tests;

pub use journal::{DataError, replace_private};

pub(crate) use journal::{
    CertificateAuthority, IssuedCredential, Journal, JournalLine, KeyFiles, WriteError,
};
pub(crate) use key::Key;
pub(crate) use list::{Page, PageRequest};
pub(crate) use resources::{StateEntry, Storage};
pub(crate) use store::{Change, Store, TooOld};
pub(crate) use stored::{EventType, Stored};
