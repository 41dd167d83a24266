//! The Go types of built-in kinds: how a genuine server reads their JSON, and what it prints of it.
//!
//! `table` has the types. `decode` reads a value as Go does: values of a wrong type are refused, scalars get their canonical form, and
//! what is zero is left out; defaults are set then. `encode` adds what Go prints of zero values.

mod decode;
mod encode;
mod scalars;
mod table;

#[cfg(test)]
mod tests;

pub(crate) use decode::{decode, undecodable_metadata};
pub(crate) use encode::{blank, encode};
pub(crate) use table::{GoField, GoStruct, GoType, Presence, Scalar, by_name, of_kind};
