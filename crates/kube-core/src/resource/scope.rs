//! Whether a kind lives in namespaces, in the cluster, below another object, or is known only at run time.

pub use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope, ResourceScope, SubResourceScope};

/// The scope of kinds that are known only at run time.
///
/// Types with this scope may be used both with and without a namespace; the server has the last word.
///
/// ```
/// use kube_core::{DynamicObject, DynamicResourceScope, Resource};
///
/// fn is_dynamic<K: Resource<Scope = DynamicResourceScope>>() {}
/// is_dynamic::<DynamicObject>();
/// ```
pub struct DynamicResourceScope {}

impl ResourceScope for DynamicResourceScope {}

/// Scopes whose objects can live in a namespace: [`NamespaceResourceScope`] and [`DynamicResourceScope`].
///
/// As a bound it rules out kinds that are known to be cluster-wide.
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
