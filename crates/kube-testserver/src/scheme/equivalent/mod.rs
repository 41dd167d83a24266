//! Kinds whose objects are those of another: a second group, or a second version.

pub(crate) mod autoscaler;
mod kinds;
mod member_names;
mod wrapped;

pub(crate) use kinds::StorageEquivalent;
pub(super) use kinds::of;
