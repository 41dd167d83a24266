//! The cache itself: one [`Writer`], any number of [`Store`]s to read it.

mod progress;
mod reader;
mod wait;
mod writer;

pub use reader::WriterDropped;
pub use wait::WaitForError;
pub use writer::{Writer, store, store_shared};

use super::Lookup;
use std::{hash::Hash, sync::Arc};
use tokio::sync::watch;

/// The objects of one kind as last seen, for reading. Clones show the same objects.
///
/// What a call returns is a snapshot: later events do not change it.
pub struct Store<K: 'static + Lookup>
where
    K::DynamicType: Hash + Eq,
{
    shared: Arc<reader::Shared<K>>,
    lists: watch::Receiver<reader::Lists>,
}

#[cfg(test)]
mod index_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wait_tests;
