//! Caching the objects of a watcher.
//!
//! [`reflector`](fn@reflector) writes a stream of watcher events to a [`Store`] and passes it on. Clones of the store can be read
//! from anywhere. [`ObjectRef`] is the key of an object in it.
//!
//! - `reflect`: fills a store from one stream of events.
//! - `namespaces`, `namespace_set`: the same from one watch for each namespace. `watch_writer`: from one of such watches.
//! - `store`: the writer, its readers, and waits for a write.
//! - `indexed_table`, `object_table`, `index`: the objects, by key and by index.
//! - `compact`: stores whose objects are compressed. `configured`: a store of either kind, as a configuration asks for.
//! - `published`, `subscribers`, `inbox`: the lock around the objects, and the queues of the subscribers.
//! - `object_ref`, `object_key`: references to objects.

mod compact;
mod configured;
mod inbox;
mod index;
mod indexed_table;
mod namespace_set;
mod namespaces;
mod object_key;
mod object_ref;
mod object_table;
mod published;
mod reflect;
pub mod store;
mod subscribers;
mod watch_writer;

#[cfg(feature = "compact-cache")]
pub use compact::*;
#[doc(hidden)]
pub use compact::{Contributor, Dictionaries};
#[doc(hidden)]
pub use configured::configured_store;
pub use index::Index;
pub use namespaces::reflect_namespaces;
pub use object_ref::{Lookup, ObjectRef, ObjectRefExtra};
pub use reflect::reflector;
pub use store::{
    Store,
    events::{StoreEvent, StoreEvents},
    store, store_shared,
    subscription::ReflectHandle,
};

pub(crate) use namespaces::{StoreChange, follow_namespaces};
pub(crate) use object_key::ObjectKey;
pub(crate) use reflect::FillStore;
pub(crate) use watch_writer::WatchWriter;
