//! What users may do to the fields of a custom resource, by its structural schema.
//!
//! `rule` reads what a schema says of one value, `other` finds another value that it lets pass, and `extreme` the values at its ends;
//! `walk` goes through all fields of an object. `merge` makes the patch of an edit.

mod extreme;
mod merge;
mod other;
mod rule;
mod walk;

pub(crate) use merge::merge_patch;
pub(crate) use other::other;
pub(crate) use walk::{FieldEdits, field_edits};
