//! Properties of objects to filter by, for [`predicate_filter`](crate::WatchStreamExt::predicate_filter).

use ahash::RandomState;
use kube_core::{Resource, ResourceExt};
use std::{hash::Hash, sync::LazyLock};

/// One way of hashing for all filters of the process, so that hashes of different properties can be combined.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// `metadata.generation`, which changes with the spec but not with the status. `None` for kinds that have none.
///
/// Finalizers do not change it either: combine with [`finalizers`] where they matter.
pub fn generation<K: Resource>(obj: &K) -> Option<u64> {
    obj.meta().generation.map(hash)
}

/// `metadata.resourceVersion`, which changes with everything.
pub fn resource_version<K: Resource>(obj: &K) -> Option<u64> {
    obj.meta().resource_version.as_ref().map(hash)
}

/// The labels. No labels are a value too.
pub fn labels<K: Resource>(obj: &K) -> Option<u64> {
    Some(hash(obj.labels()))
}

/// The annotations. No annotations are a value too.
pub fn annotations<K: Resource>(obj: &K) -> Option<u64> {
    Some(hash(obj.annotations()))
}

/// The finalizers. No finalizers are a value too.
pub fn finalizers<K: Resource>(obj: &K) -> Option<u64> {
    Some(hash(obj.finalizers()))
}

/// Equal for equal values, within this process.
pub(super) fn hash(value: impl Hash) -> u64 {
    HASHER.hash_one(value)
}
