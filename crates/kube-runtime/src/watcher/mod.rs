//! A stream of everything that happens to a set of objects, which survives faults.
//!
//! A bare watch request ends when its connection drops, knows nothing of the objects that were there before it, and
//! fails for good once its `resourceVersion` has expired. [`watcher`](fn@watcher) lists, watches, resumes and lists
//! again where it must, and gives [`Event`]s. See [`Event`] for their order.
//!
//! # Errors
//!
//! Every error is an item of the stream and the stream goes on: the watcher tries again by itself, waits between its
//! tries (from 0.1 s to 5 s, longer where the server asks for it by `Retry-After` or does not know or allow the kind)
//! and never spins. The waits start over after a watch that lived: one that brought a change, or lasted for 5 s. Put
//! [`WatchStreamExt::default_backoff`](crate::WatchStreamExt::default_backoff) behind it for the longer, jittered waits a cluster with
//! many clients needs.
//!
//! An object that cannot be decoded is an error that names it, and the others flow on. All of a list are one
//! [`Error::InitialListFailed`], ahead of its [`Event::InitDone`]; one that changes is an [`Error::WatchFailed`]. Where such an object is
//! deleted, everything is listed again, as no event can tell which object it was.

mod collection;
mod config;
mod error;
mod event;
mod fault;
mod listing;
mod machine;
#[cfg(test)]
mod machine_tests;
mod pages;
mod projection;
mod retry;
mod source;
mod state;
mod stream;
mod undecodable;
mod versions;
mod watching;

pub use crate::backoff::{DefaultBackoff, ExponentialBackoff};
pub use config::{Config, InitialListStrategy, ListSemantic};
pub use error::{Error, Result};
pub use event::Event;
#[allow(deprecated)]
pub use stream::metadata_watcher;
pub use stream::{watch_object, watcher};

pub(crate) use {
    event::CollectionEvent,
    projection::ObjectState,
    retry::RetryBackoff,
    stream::{collection_events, metadata_collection_events, object_states},
    undecodable::UndecodableObject,
};
