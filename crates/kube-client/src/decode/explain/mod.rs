//! What an error says: the object that does not decode and its invalid field, or the `Status` of an error response.
//!
//! Errors are rare, so an error may take several passes over the text. The names are read even where the rest is no valid object.

mod event;
mod field;
mod invalid;
mod path;
mod status;

pub(super) use event::{explain_event, invalid_event};
pub(super) use field::text_field;
pub(super) use invalid::invalid_object;
pub(crate) use status::expect_success;
