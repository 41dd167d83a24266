//! Responses: the body, its encoding and its headers.
//!
//! `accept` negotiates how objects are shown; `encode` writes them whole, as metadata only, or as rows of a `table`. `respond` makes the
//! response around a `body`, `format` turns it into another media type, `compress` compresses it.

mod accept;
mod body;
pub(crate) mod compress;
mod encode;
mod format;
pub(crate) mod respond;
#[cfg_attr(not(feature = "tables"), path = "table/disabled.rs")]
mod table;

pub use body::Body;

pub(crate) use accept::{
    Include, Media, OFFERED, Offer, View, discovery_form, document_media, openapi_v2_media, wants_document,
    wants_json,
};
pub(crate) use body::Lines;
pub(crate) use encode::Encoder;
pub(crate) use format::{OutputFormat, event};
