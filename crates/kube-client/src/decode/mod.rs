//! From response bodies to values, decoded directly from the received bytes, with errors that name the object and the field.

// Which kind of response it is.
mod ahead;
mod events;
mod json;
mod list;
mod list_items;
mod object;
mod received_items;
mod status;
// Splitting bodies while they arrive.
mod event_lines;
mod items;
mod lines;
// Decoding many values.
mod batches;
// Decoding one value.
mod array_lengths;
mod event;
mod heap_room;
mod item_decoder;
mod known;
mod prune;
mod reader;
// Objects that do not decode.
mod catch_panic;
mod field;
mod field_path;
mod invalid;

pub(crate) use ahead::AheadStream;
pub use batches::DecodeBy;
pub(crate) use events::EventStream;
pub(crate) use json::{from_body, object_or_status};
pub use known::KnownObjects;
pub(crate) use list::ListBody;
pub use list_items::{ListItems, ListPart};
pub use object::decode_object;
pub use prune::Prune;
pub use received_items::ReceivedItems;
pub(crate) use status::expect_success;
