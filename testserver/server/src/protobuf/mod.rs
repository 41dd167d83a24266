//! Kubernetes' protobuf encoding: from and to the JSON of the same object, as Go has both.
//!
//! - `table`: the messages, and their fields in JSON.
//! - `wire`: numbers and lengths.
//! - `decode`, `encode`: a message of the table. `custom`: the messages that Go reads and writes with code of its own.
//! - `envelope`: a whole body, with the type of its object.
//! - `openapi`: the document of OpenAPI v2.

mod custom;
mod decode;
mod encode;
mod envelope;
mod openapi;
mod table;
mod wire;

#[cfg(test)]
mod tests;

pub(crate) use envelope::{Undecoded, decode, encode, is_encodable, watch_frame};
pub(crate) use openapi::document as openapi_document;
