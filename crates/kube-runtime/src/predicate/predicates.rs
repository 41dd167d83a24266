//! Properties of objects to filter by, for [`predicate_filter`](crate::WatchStreamExt::predicate_filter).

use ahash::RandomState;
use kube_core::{Resource, ResourceExt};
use std::{hash::Hash, sync::LazyLock};

/// One way of hashing for all filters of the process, so that hashes of different properties can be combined.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// `metadata.generation`, which changes with the spec but not with the status. `None` for kinds that have none.
///
/// Finalizers do not change it either: combine with [`finalizers`] where they matter.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_runtime::predicates;
/// # use serde_json::json;
/// # fn map(metadata: serde_json::Value) -> Result<ConfigMap, serde_json::Error> {
/// #     Ok(ConfigMap { metadata: serde_json::from_value(metadata)?, ..ConfigMap::default() })
/// # }
///
/// let before = map(json!({ "generation": 1, "resourceVersion": "7" }))?;
/// let status_written = map(json!({ "generation": 1, "resourceVersion": "8" }))?;
/// assert_eq!(predicates::generation(&before), predicates::generation(&status_written));
/// assert_eq!(predicates::generation(&ConfigMap::default()), None);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn generation<K: Resource>(obj: &K) -> Option<u64> {
    obj.meta().generation.map(hash)
}

/// `metadata.resourceVersion`, which changes with everything.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_runtime::predicates;
/// # use serde_json::json;
/// # fn map(metadata: serde_json::Value) -> Result<ConfigMap, serde_json::Error> {
/// #     Ok(ConfigMap { metadata: serde_json::from_value(metadata)?, ..ConfigMap::default() })
/// # }
///
/// let (before, after) = (map(json!({ "resourceVersion": "7" }))?, map(json!({ "resourceVersion": "8" }))?);
/// assert_ne!(predicates::resource_version(&before), predicates::resource_version(&after));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn resource_version<K: Resource>(obj: &K) -> Option<u64> {
    obj.meta().resource_version.as_ref().map(hash)
}

/// The labels. No labels are a value too.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_runtime::predicates;
/// # use serde_json::json;
/// # fn map(metadata: serde_json::Value) -> Result<ConfigMap, serde_json::Error> {
/// #     Ok(ConfigMap { metadata: serde_json::from_value(metadata)?, ..ConfigMap::default() })
/// # }
///
/// let (before, after) = (map(json!({}))?, map(json!({ "labels": { "tier": "web" } }))?);
/// assert_ne!(predicates::labels(&before), predicates::labels(&after));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn labels<K: Resource>(obj: &K) -> Option<u64> {
    Some(hash(obj.labels()))
}

/// The annotations. No annotations are a value too.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_runtime::predicates;
/// # use serde_json::json;
/// # fn map(metadata: serde_json::Value) -> Result<ConfigMap, serde_json::Error> {
/// #     Ok(ConfigMap { metadata: serde_json::from_value(metadata)?, ..ConfigMap::default() })
/// # }
///
/// let (before, after) = (map(json!({}))?, map(json!({ "annotations": { "note": "new" } }))?);
/// assert_ne!(predicates::annotations(&before), predicates::annotations(&after));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn annotations<K: Resource>(obj: &K) -> Option<u64> {
    Some(hash(obj.annotations()))
}

/// The finalizers. No finalizers are a value too.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_runtime::predicates;
/// # use serde_json::json;
/// # fn map(metadata: serde_json::Value) -> Result<ConfigMap, serde_json::Error> {
/// #     Ok(ConfigMap { metadata: serde_json::from_value(metadata)?, ..ConfigMap::default() })
/// # }
///
/// let (before, after) = (map(json!({}))?, map(json!({ "finalizers": ["example.com/backup"] }))?);
/// assert_ne!(predicates::finalizers(&before), predicates::finalizers(&after));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn finalizers<K: Resource>(obj: &K) -> Option<u64> {
    Some(hash(obj.finalizers()))
}

/// Equal for equal values, within this process.
pub(super) fn hash(value: impl Hash) -> u64 {
    HASHER.hash_one(value)
}
