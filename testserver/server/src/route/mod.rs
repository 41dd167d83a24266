//! Parsing of request paths, queries and options.

mod options;
mod path;
mod query;
mod request_info;

pub(crate) use options::{
    DeleteOptions, FieldValidation, ListOptions, Propagation, ResourceVersionMatch, WriteOptions,
};
pub(crate) use path::{ResourcePath, Route};
pub(crate) use query::{Query, decode};
pub(crate) use request_info::RequestInfo;
