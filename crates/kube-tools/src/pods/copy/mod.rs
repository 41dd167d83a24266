//! Copies files and directories to and from containers, through `tar` in the container.
//!
//! `params` says how to copy. `to` packs local files (`pack`) into the container; `from` unpacks what comes (`unpack`), at a `path` that is
//! allowed. `bridge` joins task and thread, `progress` tells how far it is, `error` why it failed.

// What is copied, and what became of it.
mod error;
mod params;
mod progress;
// Archives, on threads that may block.
mod bridge;
mod pack;
mod path;
mod unpack;
// The two directions.
mod from;
mod to;

pub use error::{CopyError, CopyErrorKind};
pub use params::CopyParams;
pub use progress::{Copied, CopyProgress, Skipped};

pub(crate) use from::copy_from;
pub(crate) use to::copy_to;
