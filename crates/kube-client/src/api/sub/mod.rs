//! Subresources: parts of an object with an address of their own.

mod any;
mod evict;
mod logs;
mod marker;
mod node;
mod resize;
mod restart;
mod scale;
mod status;
mod token;

pub use marker::{Evict, Log, Resize};
