//! Validation rules (CEL) and merge strategies of a custom resource's schema.
//!
//! A [`Rule`] becomes an entry of `x-kubernetes-validations`, which an API server evaluates whenever an object is written.
//! A [`MergeStrategy`] tells it how two appliers share a list, a map or a struct. Both are usually given to
//! `#[derive(KubeSchema)]`, as `#[x_kube(validation = …)]` and `#[x_kube(merge_strategy = …)]`; the functions here
//! do the same to a schema in hand.

#[cfg(feature = "cel")]
mod check;
mod merge;
mod rule;
#[cfg(feature = "schema")]
mod schema;

pub use merge::{ListMerge, MapMerge, MergeStrategy, StructMerge};
pub use rule::*;
// Named, because `kube_cel` has a `Rule` of its own.
pub use rule::Rule;
#[cfg(feature = "schema")]
pub use schema::{merge_properties, merge_strategy, merge_strategy_property, validate, validate_property};

#[cfg(feature = "cel")]
pub use check::*;
#[cfg(feature = "cel")]
pub use kube_cel::*;
