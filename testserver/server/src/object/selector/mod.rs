//! Label and field selectors, with the error messages of the genuine server.

mod field;
mod label;
mod lexer;

pub(crate) use field::{FieldSelector, FieldSource};
pub(crate) use label::LabelSelector;
