//! What the server asks.

use k8s_openapi::{api::authentication::v1::UserInfo, apimachinery::pkg::runtime::RawExtension};
use serde::{Deserialize, Serialize};

use crate::{
    gvk::{GroupVersionKind, GroupVersionResource},
    resource::Resource,
    type_meta::TypeMeta,
};

/// The operation that waits for admission.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Operation {
    /// An object is created.
    Create,
    /// An object is changed.
    Update,
    /// An object is deleted.
    Delete,
    /// A connection is opened, such as that of exec.
    Connect,
}

/// An operation that waits for admission.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "T: Deserialize<'de>"))]
pub struct AdmissionRequest<T: Resource> {
    /// `apiVersion` and `kind` of the review that held the request.
    #[serde(skip)]
    pub types: TypeMeta,
    /// Names the request; the answer carries it as well.
    pub uid: String,
    /// The kind of [`object`](Self::object), as the webhook's rules match it.
    pub kind: GroupVersionKind,
    /// The resource of the operation, as the webhook's rules match it.
    pub resource: GroupVersionResource,
    /// The subresource of the operation, such as `status`.
    #[serde(default)]
    pub sub_resource: Option<String>,
    /// The kind of the original request, where the server converted it for the webhook.
    #[serde(default)]
    pub request_kind: Option<GroupVersionKind>,
    /// The resource of the original request.
    #[serde(default)]
    pub request_resource: Option<GroupVersionResource>,
    /// The subresource of the original request.
    #[serde(default)]
    pub request_sub_resource: Option<String>,
    /// The name of the object; empty where the server is still to make one.
    #[serde(default)]
    pub name: String,
    /// The namespace of the object, absent for cluster-wide ones.
    #[serde(default)]
    pub namespace: Option<String>,
    /// What is done.
    pub operation: Operation,
    /// Who does it.
    pub user_info: UserInfo,
    /// The object as it will be; absent when it is deleted.
    pub object: Option<T>,
    /// The object as it is; absent when it is created.
    pub old_object: Option<T>,
    /// Whether nothing will be stored: the webhook must then have no side effects.
    #[serde(default)]
    pub dry_run: bool,
    /// The options of the operation, such as `DeleteOptions`.
    #[serde(default)]
    pub options: Option<RawExtension>,
}
