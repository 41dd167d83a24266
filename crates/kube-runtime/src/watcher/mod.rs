//! A stream of the changes to a set of objects that recovers from errors.
//!
//! A bare watch request ends when its connection drops, does not report objects that existed before it, and fails for good
//! when its `resourceVersion` expires. [`watcher`](fn@watcher) lists, watches, resumes, relists when it has to, and returns
//! [`Event`]s. See [`Event`] for their order.
//!
//! # Errors
//!
//! Errors are items of the stream and do not end it. The watcher retries by itself. Between retries it waits 0.1 s to 5 s; up to
//! 30 s if the server does not know or allow the kind; 1 s to 2 s if nothing answers; and as long as the server's `Retry-After`
//! says. The waits are reset after a healthy watch: one that received a change or lasted 5 s. Put
//! [`WatchStreamExt::default_backoff`](crate::WatchStreamExt::default_backoff) behind it for the longer, jittered waits that a
//! cluster with many clients needs.
//!
//! An object that cannot be decoded is an error that names it; all other objects are delivered. All such objects of a list are
//! one [`Error::InitialListFailed`], before its [`Event::InitDone`]; one that changes is an [`Error::WatchFailed`]. The deletion
//! of such an object causes a relist, because no [`Event`] can tell which object was deleted.

// In the order in which data passes; `stream` and `machine` are the two to read first.
//
// - `config`: what programs set, and the parameters of requests that follow from it.
// - `stream`: the shell around the machine. It performs what the machine asks for, and returns its events as a stream.
// - `requests`, `lister_watcher`: sends lists and watches of one collection. `pager`: reads a list page by page.
// - `arc_object`, `raw_object`: an object as a store shares it, and as it was received. `delivered`: with which bytes, for relists.
// - `error`, `advice`: why a request failed, and what to check then.
// - `machine`: decides what follows each response. Its transitions are in `listing` and `watching`; `versions` tells whether the storage
//   went back, `retry` how long it waits. `selected`: which objects it can show. `machine_tests` show each decision.
// - `event`: what it emits. `projection`: the same for programs, and for one object. `undecodable`: objects that cannot be decoded.
// - What monitors and metrics see: `watch_status` and `undecodable_now` of one watch, `registry` of all watches of a controller;
//   `snapshot`, `monitor`: the same in the public API. `health`: what a backoff behind the stream sees.

mod advice;
mod arc_object;
mod config;
mod delivered;
mod error;
mod event;
mod health;
mod lister_watcher;
mod listing;
mod machine;
#[cfg(test)]
mod machine_tests;
mod monitor;
mod pager;
mod projection;
mod raw_object;
mod registry;
mod requests;
mod retry;
mod selected;
mod snapshot;
mod stream;
mod undecodable;
mod undecodable_now;
mod versions;
mod watch_status;
mod watching;

pub use crate::backoff::{DefaultBackoff, ExponentialBackoff};
pub use config::{Config, InitialListStrategy, ListSemantic};
pub use error::{Error, Result};
pub use event::Event;
pub use monitor::WatchMonitor;
pub use snapshot::WatchSnapshot;
#[allow(deprecated)]
pub use stream::metadata_watcher;
pub use stream::{watch_object, watcher};
pub use watch_status::WatchState;

pub(crate) use {
    error::{ErasedError, ErasedResult, kind_and_scope},
    event::CollectionEvent,
    health::WatchHealth,
    machine::ListChoice,
    projection::ObjectState,
    raw_object::{RawContent, RawObject},
    registry::{RegisteredWatch, WatchRegistry, WatchSettings},
    retry::RetryBackoff,
    selected::Selected,
    snapshot::{optional_seconds, seconds},
    stream::{
        cached_collection_events, collection_events, metadata_collection_events, object_states,
        raw_collection_events,
    },
    undecodable::UndecodableObject,
    undecodable_now::Undecodable,
};
