//! Encoding of objects: whole, as metadata only, or as rows of a table.

mod accept;
mod encode;
#[cfg_attr(not(feature = "tables"), path = "table/disabled.rs")]
mod table;

pub(crate) use accept::{Include, View, discovery_form, wants_json, wants_yaml};
pub(crate) use encode::Encoder;
