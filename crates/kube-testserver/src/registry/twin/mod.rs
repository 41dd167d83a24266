//! Kinds whose objects are those of another: a second group, or a second version.

pub(crate) mod autoscaler;
mod names;
mod pair;
mod wrapped;

pub(crate) use pair::Twin;
pub(super) use pair::of;
