//! Where an object is looked for, and what leads to one.

use k8s_openapi::api::core::v1::{LocalObjectReference, Namespace as NamespaceObject, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube_core::{NamespaceScope, Resource};

use super::target::{LocalTarget, NamespaceError, ObjectRef, Target};

/// The whole cluster: objects without a namespace, and lists across all namespaces.
#[derive(Clone, Debug)]
pub struct Cluster;

/// One namespace.
#[derive(Clone, Debug)]
pub struct Namespace(pub(super) String);

impl From<&str> for Namespace {
    fn from(ns: &str) -> Namespace {
        Self(ns.to_owned())
    }
}

impl From<String> for Namespace {
    fn from(ns: String) -> Namespace {
        Self(ns)
    }
}

impl TryFrom<&NamespaceObject> for Namespace {
    type Error = NamespaceError;

    fn try_from(ns: &NamespaceObject) -> Result<Namespace, Self::Error> {
        ns.metadata.name.clone().map(Self).ok_or(NamespaceError::MissingName)
    }
}

/// References that say nothing of a namespace, or need not: given one, they lead to an object.
///
/// A reference that names its kind is followed by that; the resource's plural is then formed by the rules of the English language.
///
/// ```no_run
/// # async fn run(client: kube_client::Client, pod: k8s_openapi::api::core::v1::Pod) -> kube_client::Result<()> {
/// use k8s_openapi::api::apps::v1::ReplicaSet;
/// use kube_client::{ResourceExt, client::scope::NamespacedRef};
///
/// for owner in pod.owner_references() {
///     let set: ReplicaSet = client.fetch(&owner.within(pod.namespace())).await?;
/// }
/// # Ok(())
/// # }
/// ```
pub trait NamespacedRef<K> {
    /// The object of this reference in this namespace.
    fn within(&self, namespace: impl Into<Option<String>>) -> impl ObjectRef<K>;
}

impl<K> NamespacedRef<K> for ObjectReference
where
    K: Resource,
    K::Scope: NamespaceScope,
{
    /// Without a namespace, that of the reference counts.
    fn within(&self, namespace: impl Into<Option<String>>) -> impl ObjectRef<K> {
        Target {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            namespace: namespace.into().or_else(|| self.namespace.clone()),
            name: self.name.clone(),
        }
    }
}

impl<K> NamespacedRef<K> for OwnerReference
where
    K: Resource,
    K::Scope: NamespaceScope,
{
    /// Without a namespace, the owner is one that has none.
    fn within(&self, namespace: impl Into<Option<String>>) -> impl ObjectRef<K> {
        Target { namespace: namespace.into(), ..Target::of_owner(self) }
    }
}

impl<K> NamespacedRef<K> for LocalObjectReference
where
    K: Resource,
    K::DynamicType: Default,
    K::Scope: NamespaceScope,
{
    /// Has to be given a namespace: such a reference knows none.
    fn within(&self, namespace: impl Into<Option<String>>) -> impl ObjectRef<K> {
        LocalTarget { namespace: namespace.into(), name: self.name.clone() }
    }
}
