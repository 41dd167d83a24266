//! Aggregated discovery: all kinds of a server in two documents.
//!
//! `/api` and `/apis` return an [`APIGroupDiscoveryList`] for requests that accept
//! [`ACCEPT_AGGREGATED_DISCOVERY_V2`], from Kubernetes 1.30 on.
//!
//! ```
//! use kube_core::discovery::v2::APIGroupDiscoveryList;
//!
//! let list: APIGroupDiscoveryList = serde_json::from_str(r#"{
//!     "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {},
//!     "items": [{"metadata": {"name": "apps"}, "versions": [{"version": "v1", "freshness": "Current",
//!         "resources": [{"resource": "deployments", "scope": "Namespaced", "verbs": ["get"],
//!                        "responseKind": {"group": "apps", "version": "v1", "kind": "Deployment"}}]}]}]}"#)?;
//! let deployments = &list.items[0].versions[0].resources[0];
//! assert_eq!(deployments.resource.as_deref(), Some("deployments"));
//! # Ok::<(), serde_json::Error>(())
//! ```

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ListMeta, ObjectMeta};
use serde::{Deserialize, Serialize};

use crate::util::null_as_empty;

/// The `Accept` header that requests the aggregated form from `/api` and `/apis`.
///
/// Servers before Kubernetes 1.30 respond to it alone with 406. With `,application/json` appended they respond in the
/// older form.
///
/// ```
/// use kube_core::discovery::v2::ACCEPT_AGGREGATED_DISCOVERY_V2;
///
/// let accept = format!("{ACCEPT_AGGREGATED_DISCOVERY_V2},application/json");
/// let request = http::Request::get("/apis").header("accept", accept).body(()).expect("valid");
/// assert_eq!(request.headers().len(), 1);
/// ```
pub const ACCEPT_AGGREGATED_DISCOVERY_V2: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// The API groups of a server: the response of `/apis`, and of `/api` for the core group.
///
/// Every field may be absent or null, which decodes as `None` or empty. The example uses all levels.
///
/// ```
/// use kube_core::discovery::v2::APIGroupDiscoveryList;
///
/// let list: APIGroupDiscoveryList = serde_json::from_str(r#"{"items": [
///     {"metadata": {"name": "apps"}, "versions": [
///         {"version": "v1", "freshness": "Current", "resources": [
///             {"resource": "deployments", "singularResource": "deployment", "shortNames": ["deploy"],
///              "scope": "Namespaced", "verbs": ["get", "list"], "categories": ["all"],
///              "responseKind": {"group": "apps", "version": "v1", "kind": "Deployment"},
///              "subresources": [{"subresource": "scale", "verbs": ["get"],
///                  "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"}}]}]}]},
///     {"metadata": {"name": "metrics.k8s.io"}, "versions": [{"version": "v1beta1", "freshness": "Stale"}]}]}"#)?;
///
/// let mut served = Vec::new();
/// for group in &list.items {
///     let name = group.metadata.as_ref().and_then(|meta| meta.name.as_deref()).unwrap_or_default();
///     for version in group.versions.iter().filter(|version| version.freshness.as_deref() != Some("Stale")) {
///         for resource in &version.resources {
///             let resource_name = resource.resource.as_deref().unwrap_or_default();
///             served.push(format!("{resource_name}.{name}"));
///             for sub in &resource.subresources {
///                 let kind = sub.response_kind.as_ref().and_then(|kind| kind.kind.as_deref());
///                 served.push(format!("{resource_name}/{}: {kind:?}", sub.subresource.as_deref().unwrap_or_default()));
///             }
///         }
///     }
/// }
/// assert_eq!(served, ["deployments.apps", r#"deployments/scale: Some("Scale")"#]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct APIGroupDiscoveryList {
    /// List metadata; servers send an empty one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<ListMeta>,
    /// The groups, in order of priority.
    #[serde(default, deserialize_with = "null_as_empty")]
    pub items: Vec<APIGroupDiscovery>,
}

/// One API group with all its versions; an item of an [`APIGroupDiscoveryList`].
///
/// ```
/// use kube_core::discovery::v2::APIGroupDiscovery;
///
/// let core: APIGroupDiscovery =
///     serde_json::from_str(r#"{"metadata": {"name": ""}, "versions": [{"version": "v1"}]}"#)?;
/// let preferred = core.versions.first().and_then(|version| version.version.as_deref());
/// assert_eq!(preferred, Some("v1"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct APIGroupDiscovery {
    /// `metadata.name` is the name of the group, empty for the core group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<ObjectMeta>,
    /// The versions of the group, the preferred one first.
    #[serde(default, deserialize_with = "null_as_empty")]
    pub versions: Vec<APIVersionDiscovery>,
}

/// One version of an API group with its resources.
///
/// ```
/// use kube_core::discovery::v2::APIVersionDiscovery;
///
/// let broken: APIVersionDiscovery =
///     serde_json::from_str(r#"{"version": "v1beta1", "freshness": "Stale", "resources": null}"#)?;
/// assert!(broken.freshness.as_deref() == Some("Stale") && broken.resources.is_empty());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct APIVersionDiscovery {
    /// The version, such as `v1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The resources of the version.
    #[serde(default, deserialize_with = "null_as_empty")]
    pub resources: Vec<APIResourceDiscovery>,
    /// `Current`, or `Stale` if the server behind an aggregated API did not respond: `resources` are then those last known,
    /// or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freshness: Option<String>,
}

/// One resource: its name in URLs and the kind of its objects.
///
/// ```
/// use kube_core::discovery::{v2::APIResourceDiscovery, verbs};
///
/// let pods: APIResourceDiscovery = serde_json::from_str(
///     r#"{"resource": "pods", "scope": "Namespaced", "shortNames": ["po"], "verbs": ["get", "list", "watch"],
///         "responseKind": {"group": "", "version": "", "kind": "Pod"}}"#,
/// )?;
/// assert!(pods.verbs.iter().any(|verb| verb == verbs::WATCH) && pods.short_names == ["po"]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct APIResourceDiscovery {
    /// The plural name, as in URLs, such as `pods`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The kind of its objects. For resources without objects of their own, such as `bindings`, the kind that they accept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_kind: Option<GroupVersionKind>,
    /// `Namespaced` or `Cluster`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The singular name, such as `pod`, which kubectl accepts in place of the plural.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub singular_resource: Option<String>,
    /// The supported verbs, as in [`verbs`](super::verbs).
    #[serde(default, deserialize_with = "null_as_empty")]
    pub verbs: Vec<String>,
    /// Short names that kubectl accepts, such as `po`.
    #[serde(default, deserialize_with = "null_as_empty")]
    pub short_names: Vec<String>,
    /// Categories that it belongs to, such as the `all` of `kubectl get all`.
    #[serde(default, deserialize_with = "null_as_empty")]
    pub categories: Vec<String>,
    /// Its subresources, such as `status` and `scale`.
    #[serde(default, deserialize_with = "null_as_empty")]
    pub subresources: Vec<APISubresourceDiscovery>,
}

/// One subresource of an [`APIResourceDiscovery`].
///
/// ```
/// use kube_core::discovery::v2::APISubresourceDiscovery;
///
/// let eviction: APISubresourceDiscovery = serde_json::from_str(
///     r#"{"subresource": "eviction", "verbs": ["create"],
///         "responseKind": {"group": "policy", "version": "v1", "kind": "Eviction"}}"#,
/// )?;
/// assert_eq!((eviction.subresource.as_deref(), eviction.accepted_types.len()), (Some("eviction"), 0));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct APISubresourceDiscovery {
    /// The name after the slash, such as `status`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subresource: Option<String>,
    /// The kind that it returns or accepts, such as `Scale`, `Eviction` or `PodExecOptions`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_kind: Option<GroupVersionKind>,
    /// The kinds that it accepts, if they differ from the one that it returns; otherwise empty.
    #[serde(default, deserialize_with = "null_as_empty")]
    pub accepted_types: Vec<GroupVersionKind>,
    /// The supported verbs, as in [`verbs`](super::verbs).
    #[serde(default, deserialize_with = "null_as_empty")]
    pub verbs: Vec<String>,
}

/// A kind in a discovery document; an absent or empty group or version is that of the enclosing group and version.
///
/// ```
/// use kube_core::discovery::v2::GroupVersionKind;
///
/// let here: GroupVersionKind = serde_json::from_str(r#"{"kind": "Pod"}"#)?;
/// let in_v1 = kube_core::GroupVersionKind::gvk(
///     here.group.as_deref().unwrap_or(""),
///     here.version.as_deref().unwrap_or("v1"),
///     here.kind.as_deref().unwrap_or_default(),
/// );
/// assert_eq!(in_v1.api_version(), "v1");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GroupVersionKind {
    /// API group, empty for the core group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Version inside the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Kind in singular and camel case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
}
