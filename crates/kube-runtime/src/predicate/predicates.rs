//! Built-in predicates for [`predicate_filter`](crate::WatchStreamExt::predicate_filter).

use hashbrown::DefaultHashBuilder;
use kube_core::{Resource, ResourceExt};
use std::{
    hash::{BuildHasher, Hash},
    sync::LazyLock,
};

/// One hasher for the whole process, so that the hashes of different properties can be combined.
static HASHER: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);

/// `metadata.generation`, which changes with the spec but not with the status. `None` for kinds without generations.
///
/// Changes of finalizers do not change it either: combine it with [`finalizers`] if they matter.
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

/// `metadata.resourceVersion`, which changes with every write.
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

/// The labels. An object without labels has the property too.
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

/// The annotations. An object without annotations has the property too.
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

/// The finalizers. An object without finalizers has the property too.
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

/// A hash that is stable within this process.
pub(crate) fn hash(value: impl Hash) -> u64 {
    HASHER.hash_one(value)
}
