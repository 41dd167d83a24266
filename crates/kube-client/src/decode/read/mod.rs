//! Decodes one JSON value: most of the client's CPU time.
//!
//! - `value`: any value. `event`: a line of a watch.
//! - `hints`: wraps serde_json's deserializer. It adds the length of each array, so that each is allocated once, and skips fields on
//!   request.
//! - `prune`: the fields to skip. `map_key`: the keys beside them.
//! - `catch_panic`, `heap`: panics of a `Deserialize`, and the heap while many objects are decoded.

mod catch_panic;
mod event;
mod heap;
mod hints;
mod map_key;
mod prune;
mod value;

pub(super) use catch_panic::catch_panic;
pub(super) use event::read_event;
pub(super) use heap::HeapReserve;
pub use prune::Prune;
pub(super) use value::{read, read_plain, utf8};
