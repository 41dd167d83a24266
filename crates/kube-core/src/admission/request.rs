//! The request that a server sends to an admission webhook.

use k8s_openapi::{api::authentication::v1::UserInfo, apimachinery::pkg::runtime::RawExtension};
use serde::{Deserialize, Serialize};

use crate::{
    gvk::{GroupVersionKind, GroupVersionResource},
    resource::Resource,
    type_meta::TypeMeta,
};

/// The operation on an object, in capitals on the wire, such as `CREATE`.
///
/// ```
/// use kube_core::admission::Operation;
///
/// let operations = [Operation::Create, Operation::Update, Operation::Delete, Operation::Connect];
/// assert_eq!(serde_json::to_string(&operations)?, r#"["CREATE","UPDATE","DELETE","CONNECT"]"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Operation {
    /// An object is created; `old_object` is absent.
    Create,
    /// An object is replaced or patched; both `object` and `old_object` are present.
    Update,
    /// An object is deleted; only `old_object` is present. Deleting a collection sends one request per object.
    Delete,
    /// A connection is opened, for example by exec; `object` holds its options, such as `PodExecOptions`.
    Connect,
}

/// An operation on an object of type `T` that the webhook is to allow or deny.
///
/// `T` is the kind, or [`DynamicObject`](crate::DynamicObject) in a webhook for several kinds. Fields absent on the wire
/// decode as `None`, empty or false.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_core::{ResourceExt, admission::{AdmissionRequest, Operation}};
///
/// let request: AdmissionRequest<ConfigMap> = serde_json::from_str(r#"{
///     "uid": "705ab4f5", "operation": "UPDATE", "dryRun": true, "name": "settings", "namespace": "web",
///     "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
///     "resource": {"group": "", "version": "v1", "resource": "configmaps"},
///     "userInfo": {"username": "system:serviceaccount:web:robot"},
///     "object": {"metadata": {"name": "settings"}, "data": {"colour": "red"}},
///     "oldObject": {"metadata": {"name": "settings"}, "data": {"colour": "blue"}}}"#)?;
///
/// let changed = match (&request.operation, &request.object, &request.old_object) {
///     (Operation::Update, Some(new), Some(old)) => new.data != old.data,
///     _ => false,
/// };
/// assert!(changed && request.dry_run);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "T: Deserialize<'de>"))]
pub struct AdmissionRequest<T: Resource> {
    /// `apiVersion` and `kind` of the review that held the request; the response uses the same. Not on the wire here.
    #[serde(skip)]
    pub types: TypeMeta,
    /// Identifies the request; the response must carry the same uid.
    pub uid: String,
    /// The kind of [`object`](Self::object), as the webhook's rules match it.
    pub kind: GroupVersionKind,
    /// The resource of the operation, as the webhook's rules match it.
    pub resource: GroupVersionResource,
    /// The subresource of the operation, such as `status`; `None` for the object itself.
    #[serde(default)]
    pub sub_resource: Option<String>,
    /// The kind of the original request. It differs from [`kind`](Self::kind) where the server converted the object for
    /// the webhook (`matchPolicy: Equivalent`).
    #[serde(default)]
    pub request_kind: Option<GroupVersionKind>,
    /// The resource of the original request, before conversion.
    #[serde(default)]
    pub request_resource: Option<GroupVersionResource>,
    /// The subresource of the original request, before conversion.
    #[serde(default)]
    pub request_sub_resource: Option<String>,
    /// The name of the object; empty if the server has yet to generate it.
    #[serde(default)]
    pub name: String,
    /// The namespace of the object, absent for cluster-wide ones.
    #[serde(default)]
    pub namespace: Option<String>,
    /// The operation on the object.
    pub operation: Operation,
    /// The authenticated user: name, groups and uid.
    pub user_info: UserInfo,
    /// The new object, or the options of a connection; absent for deletions.
    pub object: Option<T>,
    /// The existing object; absent for creations and connections.
    pub old_object: Option<T>,
    /// Whether the request is a dry run: nothing is stored, and the webhook must have no side effects.
    #[serde(default)]
    pub dry_run: bool,
    /// The options of the operation: `CreateOptions`, `UpdateOptions`, `PatchOptions` or `DeleteOptions`, with `apiVersion` and
    /// `kind`.
    #[serde(default)]
    pub options: Option<RawExtension>,
}
