//! What the server asks.

use k8s_openapi::{api::authentication::v1::UserInfo, apimachinery::pkg::runtime::RawExtension};
use serde::{Deserialize, Serialize};

use crate::{
    gvk::{GroupVersionKind, GroupVersionResource},
    resource::Resource,
    type_meta::TypeMeta,
};

/// What is done to an object, in capitals on the wire, such as `CREATE`.
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
    /// An object is replaced or patched; both objects are there.
    Update,
    /// An object is deleted; only `old_object` is there. A collection is asked for object by object.
    Delete,
    /// A connection is opened, such as that of exec; `object` is its options, such as `PodExecOptions`.
    Connect,
}

/// An operation that waits for admission, on objects of type `T`.
///
/// `T` is the kind itself, or [`DynamicObject`](crate::DynamicObject) in webhooks for many. Fields that are absent on the
/// wire read as `None`, empty or false.
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
    /// `apiVersion` and `kind` of the review that held the request, so that the answer is of the same. Not on the wire
    /// here.
    #[serde(skip)]
    pub types: TypeMeta,
    /// Names the request; the answer carries it as well.
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
    /// The name of the object; empty where the server is still to make one.
    #[serde(default)]
    pub name: String,
    /// The namespace of the object, absent for cluster-wide ones.
    #[serde(default)]
    pub namespace: Option<String>,
    /// What is done to the object.
    pub operation: Operation,
    /// Who does it: name, groups and uid as the server authenticated them.
    pub user_info: UserInfo,
    /// The object as it will be, or the options of a connection; absent when it is deleted.
    pub object: Option<T>,
    /// The object as it is; absent when it is created and for connections.
    pub old_object: Option<T>,
    /// Whether nothing will be stored: the webhook must then have no side effects.
    #[serde(default)]
    pub dry_run: bool,
    /// The options of the operation: `CreateOptions`, `UpdateOptions`, `PatchOptions` or `DeleteOptions`, with type.
    #[serde(default)]
    pub options: Option<RawExtension>,
}
