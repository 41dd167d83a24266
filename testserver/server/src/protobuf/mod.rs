//! Kubernetes' protobuf encoding: from and to the JSON of the same object, as Go has both. The messages are the structs of `gotypes`.
//!
//! - `envelope`: a whole body, with the type of its object.
//! - `decode`, `encode`: a message. `parts`: the fields of messages that Go reads and writes with code of its own.
//! - `wire`: numbers and lengths.
//! - `openapi`: the document of OpenAPI v2.

mod decode;
mod encode;
mod envelope;
mod openapi;
mod parts;
mod wire;

#[cfg(test)]
mod tests;

pub(crate) use envelope::{Undecoded, decode, encode, is_encodable, watch_frame};
pub(crate) use openapi::document as openapi_document;
