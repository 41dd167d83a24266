//! Decodes the records of kubeconfigs and exec plugins: tables say what each record contains, and one visitor decodes all of them.
//!
//! A derived `Deserialize` is compiled for each type, together with the part of the parser that it calls, and unknown keys that are kept
//! (`flatten`) need a buffer of their own. Here the parser sees one visitor. Only the step from decoded values to a record, which has no
//! type parameters, is written for each record.
//!
//! - `data_type`: what a table says of a record, its fields and their values
//! - `decode`: from a deserializer to values, with all errors
//! - `fields`: from values to a record

#[cfg(test)]
mod check;
mod data_type;
mod decode;
mod fields;

#[cfg(test)]
pub(crate) use check::check_record;
pub(crate) use data_type::{DataType, Field, RecordType, UnknownKeys};
pub(crate) use decode::deserialize;
pub(crate) use fields::{Fields, FromValue, Record, deserialize_by_table};
