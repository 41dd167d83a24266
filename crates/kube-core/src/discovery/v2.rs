//! Aggregated discovery: everything a server serves in two documents.
//!
//! `/api` and `/apis` answer with an [`APIGroupDiscoveryList`] where they are asked with
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
use serde::{Deserialize, Deserializer, Serialize};

/// The `Accept` header that asks for the aggregated form.
pub const ACCEPT_AGGREGATED_DISCOVERY_V2: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// The API groups of a server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct APIGroupDiscoveryList {
    /// List metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<ListMeta>,
    /// The groups, in the order of their priority.
    #[serde(default, deserialize_with = "null_as_empty")]
    pub items: Vec<APIGroupDiscovery>,
}

/// One API group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct APIGroupDiscovery {
    /// Its name is the name of the group, empty for the core group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<ObjectMeta>,
    /// The versions of the group, the preferred one first.
    #[serde(default, deserialize_with = "null_as_empty")]
    pub versions: Vec<APIVersionDiscovery>,
}

/// One version of an API group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct APIVersionDiscovery {
    /// The version, such as `v1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The resources of the version.
    #[serde(default, deserialize_with = "null_as_empty")]
    pub resources: Vec<APIResourceDiscovery>,
    /// `Current`, or `Stale` where the server behind an aggregated API could not be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freshness: Option<String>,
}

/// One resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct APIResourceDiscovery {
    /// The plural name, as in URLs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// The kind of its objects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_kind: Option<GroupVersionKind>,
    /// `Namespaced` or `Cluster`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The singular name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub singular_resource: Option<String>,
    /// Verbs, spelled as in [`verbs`](super::verbs).
    #[serde(default, deserialize_with = "null_as_empty")]
    pub verbs: Vec<String>,
    /// Short names that kubectl accepts.
    #[serde(default, deserialize_with = "null_as_empty")]
    pub short_names: Vec<String>,
    /// Groups of resources that it belongs to, such as `all`.
    #[serde(default, deserialize_with = "null_as_empty")]
    pub categories: Vec<String>,
    /// Its subresources.
    #[serde(default, deserialize_with = "null_as_empty")]
    pub subresources: Vec<APISubresourceDiscovery>,
}

/// One subresource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct APISubresourceDiscovery {
    /// The name after the slash, such as `status`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subresource: Option<String>,
    /// The kind of what it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_kind: Option<GroupVersionKind>,
    /// The kinds that it takes, where they differ from what it holds.
    #[serde(default, deserialize_with = "null_as_empty")]
    pub accepted_types: Vec<GroupVersionKind>,
    /// Verbs, spelled as in [`verbs`](super::verbs).
    #[serde(default, deserialize_with = "null_as_empty")]
    pub verbs: Vec<String>,
}

/// A kind, as discovery names it; an absent group or version is that of the surrounding document.
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

/// Servers in Go write empty lists as null where the list was never made.
fn null_as_empty<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
