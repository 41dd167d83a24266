//! Scopes: namespaced, cluster-scoped, subresource, or known only at run time.

pub use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope, ResourceScope, SubResourceScope};

/// The scope of types whose kind is known only at run time.
///
/// They can be used with and without a namespace; the server rejects the wrong choice.
///
/// ```
/// use kube_core::{DynamicObject, DynamicResourceScope, Resource};
///
/// fn is_dynamic<K: Resource<Scope = DynamicResourceScope>>() {}
/// is_dynamic::<DynamicObject>();
/// ```
pub struct DynamicResourceScope {}

impl ResourceScope for DynamicResourceScope {}

/// Scopes with a namespace: [`NamespaceResourceScope`] and [`DynamicResourceScope`].
///
/// As a bound it excludes types that are cluster-scoped.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_core::{NamespaceScope, Resource};
///
/// fn path_in<K: Resource>(dt: &K::DynamicType, namespace: &str) -> String
/// where
///     K::Scope: NamespaceScope,
/// {
///     K::url_path(dt, Some(namespace))
/// }
/// assert_eq!(path_in::<Pod>(&(), "web"), "/api/v1/namespaces/web/pods");
/// ```
pub trait NamespaceScope: ResourceScope {}

impl NamespaceScope for NamespaceResourceScope {}
impl NamespaceScope for DynamicResourceScope {}
