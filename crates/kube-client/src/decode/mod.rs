//! From the bytes of a response to objects.
//!
//! ```text
//!              +-- split::lines --+                                     ,--> the Arc of the cache
//!              |   (a watch)      |                                    / yes
//!  body -------+                  +--> OrderedMap --> KnownObjects ---+
//!              |                  |    (batches of    (does a cache    \ no         ,--> object
//!              +-- split::items --+     texts, in      have this        `--> read -+
//!              |   (a list)             order, on      version?)            /       `--> explain --> error of
//!              |                        tasks)                             /                         one object
//!              +-- json (one value) --------------------------------------'
//! ```
//!
//! Texts of objects share the received bytes, and objects are decoded from them in one pass. An object that does not decode is one error,
//! which names the object and the field; the objects behind it are not affected.
//!
//! - `split`: finds lines and items while the body arrives, without I/O.
//! - `read`: decodes one value, with hints.
//! - `explain`: what an error says about an undecodable object or an error response.
//! - `events` and `list` decode one object after the other, `parallel_events` and `list_items` several at a time.

mod event_lines;
mod events;
mod explain;
mod item;
mod json;
mod known;
mod list;
mod list_items;
mod ordered_map;
mod parallel_events;
mod read;
mod received_items;
mod split;

pub(crate) use events::EventStream;
pub(crate) use explain::expect_success;
pub use item::decode_object;
pub(crate) use json::{from_body, object_or_status};
pub use known::KnownObjects;
pub(crate) use list::ListBody;
pub use list_items::{ListItems, ListPart};
pub use ordered_map::DecodeBy;
pub(crate) use parallel_events::ParallelEvents;
pub use read::Prune;
pub use received_items::ReceivedItems;
pub use split::ObjectVersion;
