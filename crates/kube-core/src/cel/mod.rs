//! CEL validation rules and merge strategies of a custom resource's schema.
//!
//! A [`Rule`] becomes an entry of `x-kubernetes-validations`, which an API server evaluates on every write.
//! A [`MergeStrategy`] sets how server-side apply merges a list, a map or a struct. Both are usually written as attributes of
//! `#[derive(KubeSchema)]`: `#[x_kube(validation = …)]` and `#[x_kube(merge_strategy = …)]`. The functions here do the same
//! to an existing schema.

#[cfg(feature = "cel")]
mod check;
mod merge;
mod rule;
#[cfg(feature = "schema")]
mod schema;

pub use crate::property_name::{escape_property, is_reserved};
pub use merge::{ListMerge, MapMerge, MergeStrategy, StructMerge};
pub use rule::*;
// The explicit export wins over `kube_cel`'s own `Rule` in the glob below.
pub use rule::Rule;
#[cfg(feature = "schema")]
pub use schema::{merge_properties, merge_strategy, merge_strategy_property, validate, validate_property};

#[cfg(feature = "cel")]
pub use check::*;
#[cfg(feature = "cel")]
pub use kube_cel::*;
