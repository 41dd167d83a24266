//! Answers to values: straight from the received bytes, with errors that say what they are about.

mod events;
mod json;
mod lines;
mod status;

pub(crate) use events::EventStream;
pub(crate) use json::{from_body, object_or_status};
pub(crate) use status::expect_success;
