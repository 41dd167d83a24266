//! From the bytes of a response to objects.
//!
//! ```text
//!          +--> split: lines of a watch --+
//!          |                              +--> OrderedMap --> KnownObjects ---yes--> object
//!  body ---+--> split: items of a list ---+                        | no                ^
//!          |                                                       v                   |
//!          +--> json: one value ------------------------------->  read -------ok-------+
//!                                                                  | error
//!                                                                  v
//!                                                               explain ----------> error of one object
//! ```
//!
//! [`OrderedMap`](ordered_map::OrderedMap) decodes batches of texts in order, on tasks; streams that decode one object after the other do
//! without it. [`KnownObjects`] asks a cache whether it has this version of the object.
//!
//! Texts of objects share the received bytes, and objects are decoded from them in one pass. An object that does not decode is one error,
//! which names the object and the field; the objects behind it are not affected.
//!
//! - `split`: finds lines and items while the body arrives, without I/O. `event_lines` are those of a watch.
//! - `read`: decodes one value, with hints.
//! - `explain`: what an error says about an undecodable object or an error response.
//! - `events` and `list` decode one object after the other, `parallel_events` and `list_items` several at a time, by `ordered_map` and
//!   `item`; `received_items` are those of a list as a task gets them. `known` asks the cache. `object_too_large` is an error of lists.
//! - `json`: bodies of one value. `protobuf`: metadata that the server sends in protobuf, as the JSON of the same, before all of this.

mod event_lines;
mod events;
mod explain;
mod item;
mod json;
mod known;
mod list;
mod list_items;
mod object_too_large;
mod ordered_map;
mod parallel_events;
mod protobuf;
mod read;
mod received_items;
mod split;

pub(crate) use events::{EventStream, guarded_events};
pub(crate) use explain::expect_success;
pub use item::decode_object;
pub(crate) use json::{from_body, object_or_status};
pub use known::KnownObjects;
pub(crate) use list::ListBody;
pub use list_items::{ListItems, ListPart};
pub use ordered_map::DecodeBy;
pub(crate) use parallel_events::ParallelEvents;
pub(crate) use protobuf::{Form, MEDIA_TYPE as PROTOBUF, as_json};
pub use read::Prune;
pub use received_items::ReceivedItems;
pub use split::ObjectVersion;
