//! From the request line to what it asks for: paths, queries, options.

mod asked;
mod options;
mod path;
mod query;

pub(crate) use asked::Asked;
pub(crate) use options::{DeleteOptions, FieldValidation, ListOptions, Match, WriteOptions};
pub(crate) use path::{ResourcePath, Route};
pub(crate) use query::{Query, decode};
