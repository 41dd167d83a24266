//! Metadata of objects in protobuf, as the JSON that the server would have sent: what reads lists and watches sees JSON in any case.
//!
//! - `wire`: the fields of a message.
//! - `messages`: the messages of metadata, and how they look in JSON.
//! - `object`: an object of a list or an event, valid or not.
//! - `split`: a list or the events of a watch while the body arrives, without I/O; `body`: the same as a body.
//!
//! `docs/design/metadata-in-protobuf.md` says why.

mod body;
mod messages;
mod object;
mod split;
mod wire;

#[cfg(test)]
mod tests;

pub(super) use body::is_protobuf;
pub(crate) use body::{Form, as_json};
pub(super) use object::status_json;
pub(crate) use split::MEDIA_TYPE;
