//! A kind as data, and the verbs and subresources that a server supports on it.

use serde::{Deserialize, Serialize};

use crate::{gvk::GroupVersionKind, resource::Resource};

/// A kind as data: group, version, kind and resource name, for objects whose type is not known at compile time.
///
/// It is the [`DynamicType`](Resource::DynamicType) of [`DynamicObject`](crate::DynamicObject) and
/// [`Object`](crate::Object). The five fields are not checked against each other.
///
/// ```
/// use k8s_openapi::api::networking::v1::NetworkPolicy;
/// use kube_core::{ApiResource, DynamicObject, GroupVersionKind, Resource};
///
/// let gvk = GroupVersionKind::gvk("networking.k8s.io", "v1", "NetworkPolicy");
/// assert_eq!(ApiResource::from_gvk(&gvk).plural, "networkpolicies");
/// assert_eq!(ApiResource::from_gvk(&gvk), ApiResource::erase::<NetworkPolicy>(&()));
/// let odd = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("x.io", "v1", "Foot"), "feet");
/// assert_eq!((odd.api_version.as_str(), odd.plural.as_str()), ("x.io/v1", "feet"));
/// assert_eq!(DynamicObject::url_path(&odd, Some("web")), "/apis/x.io/v1/namespaces/web/feet");
/// ```
#[derive(Clone, Debug, Eq, PartialEq, Hash, Serialize, Deserialize)]
pub struct ApiResource {
    /// API group, empty for the core group.
    pub group: String,
    /// Version inside the group.
    pub version: String,
    /// `group/version`, or the version alone in the core group.
    pub api_version: String,
    /// Kind in singular and camel case, such as `NetworkPolicy`.
    pub kind: String,
    /// Resource name as in URLs: lower case and plural, such as `networkpolicies`.
    pub plural: String,
}

impl ApiResource {
    /// The kind of a Rust type. The plural is exact, not guessed as by [`from_gvk`](Self::from_gvk).
    pub fn erase<K: Resource>(dt: &K::DynamicType) -> Self {
        Self {
            group: K::group(dt).into_owned(),
            version: K::version(dt).into_owned(),
            api_version: K::api_version(dt).into_owned(),
            kind: K::kind(dt).into_owned(),
            plural: K::plural(dt).into_owned(),
        }
    }

    /// From a kind and its resource name (lower case and plural), which is not checked.
    pub fn from_gvk_with_plural(gvk: &GroupVersionKind, plural: &str) -> Self {
        Self {
            group: gvk.group.clone(),
            version: gvk.version.clone(),
            api_version: gvk.api_version(),
            kind: gvk.kind.clone(),
            plural: plural.into(),
        }
    }

    /// From a kind alone; the resource name is guessed by English plural rules.
    ///
    /// The guess is right for all built-in kinds. A custom resource may have any plural: use discovery or
    /// [`from_gvk_with_plural`](Self::from_gvk_with_plural).
    pub fn from_gvk(gvk: &GroupVersionKind) -> Self {
        Self::from_gvk_with_plural(gvk, &guess_plural(&gvk.kind))
    }
}

/// Whether a kind is namespaced. It determines the URL paths of its objects and where their names are unique.
///
/// ```
/// use kube_core::discovery::{Scope, v2::APIResourceDiscovery};
///
/// let nodes: APIResourceDiscovery = serde_json::from_str(r#"{"resource": "nodes", "scope": "Cluster"}"#)?;
/// let scope = if nodes.scope.as_deref() == Some("Namespaced") { Scope::Namespaced } else { Scope::Cluster };
/// assert_eq!(scope, Scope::Cluster);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq, Hash)]
pub enum Scope {
    /// Cluster-scoped: objects have no namespace, and a name is unique in the cluster.
    Cluster,
    /// Namespaced: each object belongs to a namespace, and a name is unique within it.
    Namespaced,
}

/// What the server supports on a resource, according to discovery. RBAC may still forbid it to the caller.
///
/// ```
/// use kube_core::discovery::{ApiCapabilities, Scope, verbs};
///
/// let read_only = ApiCapabilities {
///     scope: Scope::Cluster,
///     subresources: Vec::new(),
///     operations: vec![verbs::GET.into(), verbs::LIST.into()],
/// };
/// assert!(read_only.supports_operation(verbs::LIST) && !read_only.supports_operation(verbs::WATCH));
/// ```
#[derive(Clone, Debug)]
pub struct ApiCapabilities {
    /// Whether the resource is namespaced.
    pub scope: Scope,
    /// Subresources such as `status` and `scale` (their `plural` is the part after the slash), each with its own
    /// capabilities.
    pub subresources: Vec<(ApiResource, ApiCapabilities)>,
    /// The supported verbs, as in [`verbs`](super::verbs).
    pub operations: Vec<String>,
}

impl ApiCapabilities {
    /// Whether the verb, such as [`verbs::WATCH`](super::verbs::WATCH), is among [`operations`](Self::operations).
    /// Case-sensitive.
    pub fn supports_operation(&self, operation: &str) -> bool {
        self.operations.iter().any(|op| op == operation)
    }
}

/// `#[derive(CustomResource)]` has the same rule, but cannot depend on this crate: a test of `kube-derive` compares the
/// two.
fn guess_plural(kind: &str) -> String {
    let lower = kind.to_ascii_lowercase();
    if lower == "endpoints" {
        return lower;
    }
    if ["s", "x", "z", "ch", "sh"].iter().any(|end| lower.ends_with(end)) {
        return lower + "es";
    }
    match lower.strip_suffix('y') {
        Some(stem) if !stem.is_empty() && !stem.ends_with(['a', 'e', 'i', 'o', 'u']) => format!("{stem}ies"),
        _ => lower + "s",
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{
        api::{
            admissionregistration::v1 as admission, apps::v1 as apps, core::v1 as core,
            discovery::v1 as discovery, networking::v1 as networking, rbac::v1 as rbac,
            storage::v1 as storage,
        },
        apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    };

    use super::{ApiCapabilities, ApiResource, Scope};
    use crate::{Resource, discovery::verbs, gvk::GroupVersionKind};

    fn assert_guess<K: Resource<DynamicType = ()>>() {
        let erased = ApiResource::erase::<K>(&());
        let gvk = GroupVersionKind::gvk(&erased.group, &erased.version, &erased.kind);
        assert_eq!(ApiResource::from_gvk(&gvk), erased);
    }

    #[test]
    fn the_guessed_plural_is_right_for_built_in_kinds() {
        assert_guess::<core::Pod>();
        assert_guess::<core::Endpoints>();
        assert_guess::<apps::DaemonSet>();
        assert_guess::<discovery::EndpointSlice>();
        assert_guess::<networking::Ingress>();
        assert_guess::<networking::IngressClass>();
        assert_guess::<networking::NetworkPolicy>();
        assert_guess::<networking::IPAddress>();
        assert_guess::<rbac::ClusterRoleBinding>();
        assert_guess::<storage::CSIStorageCapacity>();
        assert_guess::<admission::ValidatingAdmissionPolicy>();
        assert_guess::<CustomResourceDefinition>();
    }

    #[test]
    fn the_guessed_plural_follows_english_spelling() {
        let plural = |kind| ApiResource::from_gvk(&GroupVersionKind::gvk("g", "v1", kind)).plural;
        assert_eq!(plural("Gateway"), "gateways");
        assert_eq!(plural("Proxy"), "proxies");
        assert_eq!(plural("Box"), "boxes");
        assert_eq!(plural("Watch"), "watches");
        assert_eq!(plural("Mesh"), "meshes");
        assert_eq!(plural("Y"), "ys");
    }

    #[test]
    fn capabilities_report_supported_verbs() {
        let capabilities = ApiCapabilities {
            scope: Scope::Namespaced,
            subresources: Vec::new(),
            operations: vec![verbs::GET.into(), verbs::DELETE_COLLECTION.into()],
        };
        assert!(
            capabilities.supports_operation("get") && capabilities.supports_operation("deletecollection")
        );
        assert!(!capabilities.supports_operation(verbs::DELETE));
    }
}
