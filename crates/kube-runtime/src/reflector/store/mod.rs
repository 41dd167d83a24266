//! The cache: one [`Writer`] fills it, any number of [`Store`]s read it.
//!
//! - `writer`, `namespace`: apply events, of one collection or of one for each namespace.
//! - `writer_indexes`: calls index functions for the writer.
//! - `watch`: fills the store from a watch. `known`: the objects that a list need not decode once more.
//! - `shared`: the state that writer and readers share.
//! - `watermarks`: which versions are known, and waits for them. `awaited`: what such a wait waits for.
//! - `reader`: reads objects. `error`: why it cannot.
//! - `wait`: waits until a write is visible. `progress`: how far a watch without a store is.
//! - `deleted`: the deleted objects that a store keeps for a while; `kept_deleted`: how they are kept and read.
//! - `events`: streams changes and deletions.
//! - `subscription`: streams changes to subscribers. `kept_subscriptions`: what does not end with the writer.

mod awaited;
mod deleted;
mod error;
pub(super) mod events;
mod kept_deleted;
mod kept_subscriptions;
mod known;
mod namespace;
mod progress;
mod reader;
mod shared;
pub(super) mod subscription;
mod wait;
mod watch;
mod watermarks;
mod writer;
mod writer_indexes;

#[cfg(test)]
mod index_tests;
#[cfg(test)]
mod reader_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wait_tests;

pub use error::{Undecodable, WriterDropped};
pub use reader::*;
pub use wait::WaitForError;
pub use writer::{Writer, store, store_shared};

pub(crate) use super::index::IndexPanic;
pub(crate) use awaited::Awaited;
pub(super) use known::is_same_write;
pub(crate) use progress::WatchProgress;
pub(super) use shared::Shared;
pub(crate) use wait::StoreWait;
pub(super) use watch::{StartWatch, without_object};
pub(super) use {namespace::NamespaceList, watermarks::ListVersion};
