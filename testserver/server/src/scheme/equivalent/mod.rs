//! Storage equivalents: built-in kinds whose objects are stored as another kind, in a second group or version.

pub(crate) mod autoscaler;
mod kinds;
mod member_names;
mod wrapped;

pub(crate) use kinds::StorageEquivalent;
pub(super) use kinds::of;
