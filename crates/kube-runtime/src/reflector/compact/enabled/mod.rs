//! The compact cache.
//!
//! - `object`: an object as it is kept: the metadata that select it, and its compressed JSON.
//! - `compression`: zstd. `dictionary`: compression with a dictionary of objects of the same collection.
//! - `recent`: the recently used objects, decoded. `decoder`: from a kept object to a decoded one.
//! - `shared`: the compression of the caches of several clusters. `cache`: reading. `writer`: from received objects to kept ones.

mod cache;
mod compression;
mod decoder;
mod dictionary;
mod object;
mod recent;
mod shared;
mod writer;

#[doc(hidden)]
pub use shared::{Contributor, Dictionaries};
pub use writer::{CompactWriter, compact_store};

pub(crate) use cache::CompactCache;
pub(crate) use object::CompactObject;
pub(in crate::reflector) use writer::compact_watch;
