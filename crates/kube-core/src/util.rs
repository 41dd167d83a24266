//! Utilities: kinds that can be restarted, and decoding `null` collections.

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use serde::{Deserialize, Deserializer};

/// For `#[serde(deserialize_with = "...")]`: decodes `null` as an empty collection (the default of `T`).
///
/// Go encodes a nil slice as `null`. Fields that may also be absent need `default` too.
///
/// ```
/// #[derive(serde::Deserialize)]
/// struct Response {
///     #[serde(default, deserialize_with = "kube_core::util::null_as_empty")]
///     items: Vec<String>,
/// }
///
/// for json in [r#"{"items": []}"#, r#"{"items": null}"#, "{}"] {
///     assert!(serde_json::from_str::<Response>(json)?.items.is_empty());
/// }
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// # Errors
///
/// Those of `T`, if the value is not `null`.
pub fn null_as_empty<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// Kinds whose pods are restarted by a change of the pod template, see
/// [`Request::restart`](crate::Request::restart).
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use kube_core::{Request, Resource, util::Restart};
///
/// fn restart<K: Restart + Resource<DynamicType = ()>>(namespace: &str, name: &str) -> http::Request<Vec<u8>> {
///     Request::new(K::url_path(&(), Some(namespace))).restart(name).expect("a valid name")
/// }
/// assert_eq!(restart::<Deployment>("web", "front").method(), "PATCH");
/// ```
pub trait Restart {}

impl Restart for DaemonSet {}
impl Restart for Deployment {}
impl Restart for ReplicaSet {}
impl Restart for StatefulSet {}
