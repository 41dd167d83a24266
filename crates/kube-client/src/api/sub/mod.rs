//! Subresources: parts of an object with an address of their own.

mod any;
#[cfg(feature = "ws")]
mod ephemeral;
mod evict;
#[cfg(feature = "ws")]
mod exec;
mod logs;
mod marker;
mod node;
mod resize;
mod restart;
mod scale;
mod status;
mod token;

#[cfg(feature = "ws")]
pub use marker::{Attach, Ephemeral, Execute, Portforward};
pub use marker::{Evict, Log, Resize};
