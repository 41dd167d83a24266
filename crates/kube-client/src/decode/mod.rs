//! Answers to values: straight from the received bytes, with errors that say what they are about.

mod caught;
mod events;
mod invalid;
mod json;
mod lengths;
mod lines;
mod list;
mod prune;
mod reader;
mod split;
mod status;

pub(crate) use events::EventStream;
pub(crate) use json::{from_body, object_or_status};
pub(crate) use list::ListBody;
pub use prune::Prune;
pub(crate) use status::expect_success;
