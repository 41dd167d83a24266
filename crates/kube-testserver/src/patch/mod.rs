//! The three patch formats that a server merges by itself (the fourth, apply, has a room of its own).
//!
//! All are pure: they change the target in place, and leave it unspecified (discard it) when they fail.

pub(crate) mod error;
pub(crate) mod json;
pub(crate) mod merge;
pub(crate) mod strategic;

pub(crate) use error::PatchError;
