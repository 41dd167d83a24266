//! Copies files and directories to and from containers, through `tar` in the container.
//!
//! `params` says how to copy. `to` packs local files (`pack`) into the container; `from` unpacks what comes (`unpack`), at a `path` that is
//! allowed, into a `local_file` that gets its name when it is complete. `scan` follows the entries of an archive, and `resume` decides how
//! one that was interrupted goes on. `bridge` joins task and thread, `progress` tells how far it is, `error` why it failed.

// What is copied, and what became of it.
mod error;
mod params;
mod progress;
// Archives, on threads that may block.
mod bridge;
mod local_file;
mod pack;
mod path;
mod unpack;
// Whether an archive is whole, and how its copy goes on after an interruption.
mod resume;
mod scan;
// The two directions.
mod from;
mod to;

pub use error::{CopyError, CopyErrorKind};
pub use params::CopyParams;
pub use progress::{Copied, CopyProgress, Skipped};

pub(crate) use from::copy_from;
pub(crate) use to::copy_to;
