//! Validation of built-in kinds as data: rules for the fields of Go types, wherever a type occurs.
//!
//! `walk` goes through an object and its type, `table` has the rules of the type's fields, from two files: the declarative tags in the
//! Go sources (`data/tags.txt`, generated) and what genuine servers check besides (`data/checks.txt`). A line is a `check`: a `rule` and
//! the values that it is for. Most rules are for the `content` of a value, whose texts have `formats`; others for one of several `members`.
//! `structs` has the rules that compare several fields of a type.

mod check;
mod content;
mod formats;
mod members;
mod rule;
mod structs;
mod table;
mod walk;

pub(super) use formats::{config_key, variable_name};
pub(super) use walk::validate;
