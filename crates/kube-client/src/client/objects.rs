//! Objects of any kind by one client, without an `Api` for each kind: by name and scope, or by a reference.

use std::fmt::Debug;

use k8s_openapi::api::core::v1::{LocalObjectReference, Namespace as NamespaceObject, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube_core::object::ObjectList;
use kube_core::params::{GetParams, ListParams};
use kube_core::{
    ApiResource, ClusterResourceScope, DynamicObject, DynamicResourceScope, GroupVersionKind, NamespaceScope,
    Request, Resource,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Client, with_verb};
use crate::Result;
use crate::error::Error;

impl Client {
    /// The object `name` of kind `K` in a scope: [`Cluster`] or [`Namespace`].
    ///
    /// # Errors
    /// As [`Api::get`](crate::Api::get).
    pub async fn get<K>(&self, name: &str, scope: &impl ObjectUrl<K>) -> Result<K>
    where
        K: Resource + Serialize + DeserializeOwned + Clone + Debug,
        K::DynamicType: Default,
    {
        self.get_at(scope.url_path(), name).await
    }

    /// The objects of kind `K` in a scope that `lp` selects.
    ///
    /// # Errors
    /// As [`Api::list`](crate::Api::list).
    pub async fn list<K>(&self, lp: &ListParams, scope: &impl CollectionUrl<K>) -> Result<ObjectList<K>>
    where
        K: Resource + Serialize + DeserializeOwned + Clone + Debug,
        K::DynamicType: Default,
    {
        let request = Request::new(scope.url_path());
        let request = if K::metadata_api() { request.list_metadata(lp) } else { request.list(lp) };
        self.request_list(with_verb("list", request)?).await
    }

    /// The object that a reference refers to.
    ///
    /// # Errors
    /// [`Error::RefResolve`] if a field of the reference is missing, others as [`Api::get`](crate::Api::get).
    pub async fn fetch<K>(&self, reference: &impl ObjectRef<K>) -> Result<K>
    where
        K: Resource + Serialize + DeserializeOwned + Clone + Debug,
    {
        let (path, name) = reference.locate()?;
        self.get_at(path, &name).await
    }

    async fn get_at<K: Resource + DeserializeOwned>(&self, path: String, name: &str) -> Result<K> {
        let (request, gp) = (Request::new(path), GetParams::default());
        let request =
            if K::metadata_api() { request.get_metadata(name, &gp) } else { request.get(name, &gp) };
        self.request(with_verb("get", request)?).await
    }
}

/// The whole cluster: objects without a namespace, and lists across all namespaces.
#[derive(Clone, Debug)]
pub struct Cluster;

/// One namespace.
#[derive(Clone, Debug)]
pub struct Namespace(String);

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

/// References that have no namespace, or may have none: [`NamespacedRef::within`] adds it.
///
/// A reference that has a kind is resolved by that kind; the plural in the path is then derived by English rules.
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
    /// The reference with this namespace.
    fn within(&self, namespace: impl Into<Option<String>>) -> impl ObjectRef<K>;
}

impl<K> NamespacedRef<K> for ObjectReference
where
    K: Resource,
    K::Scope: NamespaceScope,
{
    /// `None` keeps the namespace of the reference.
    fn within(&self, namespace: impl Into<Option<String>>) -> impl ObjectRef<K> {
        TypedRef {
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
    /// `None` is for a cluster-scoped owner.
    fn within(&self, namespace: impl Into<Option<String>>) -> impl ObjectRef<K> {
        TypedRef { namespace: namespace.into(), ..TypedRef::of_owner(self) }
    }
}

impl<K> NamespacedRef<K> for LocalObjectReference
where
    K: Resource,
    K::DynamicType: Default,
    K::Scope: NamespaceScope,
{
    /// `namespace` is required: this reference has none.
    fn within(&self, namespace: impl Into<Option<String>>) -> impl ObjectRef<K> {
        LocalRef { namespace: namespace.into(), name: self.name.clone() }
    }
}

/// Why an object of kind `Namespace` cannot be used as a scope.
#[derive(Debug, thiserror::Error)]
pub enum NamespaceError {
    /// It has no name.
    #[error("the namespace has no name")]
    MissingName,
}

/// Scopes in which an object of kind `K` can be read by name.
pub trait ObjectUrl<K> {
    /// Path of the objects.
    fn url_path(&self) -> String;
}

/// Scopes in which objects of kind `K` can be listed.
pub trait CollectionUrl<K> {
    /// Path of the objects.
    fn url_path(&self) -> String;
}

/// References to an object of kind `K`.
pub trait ObjectRef<K> {
    /// Path of the collection that has the object, and the object's name.
    ///
    /// # Errors
    /// [`Error::RefResolve`] if a field of the reference is missing.
    fn locate(&self) -> Result<(String, String)>;
}

/// Scopes of kinds that are cluster-scoped, or may be.
pub trait ClusterScope {}
impl ClusterScope for ClusterResourceScope {}
impl ClusterScope for DynamicResourceScope {}

impl<K: Resource> ObjectUrl<K> for Cluster
where
    K::DynamicType: Default,
    K::Scope: ClusterScope,
{
    fn url_path(&self) -> String {
        K::url_path(&K::DynamicType::default(), None)
    }
}

impl<K: Resource> ObjectUrl<K> for Namespace
where
    K::DynamicType: Default,
    K::Scope: NamespaceScope,
{
    fn url_path(&self) -> String {
        K::url_path(&K::DynamicType::default(), Some(&self.0))
    }
}

impl<K: Resource> CollectionUrl<K> for Cluster
where
    K::DynamicType: Default,
{
    fn url_path(&self) -> String {
        K::url_path(&K::DynamicType::default(), None)
    }
}

impl<K: Resource> CollectionUrl<K> for Namespace
where
    K::DynamicType: Default,
    K::Scope: NamespaceScope,
{
    fn url_path(&self) -> String {
        K::url_path(&K::DynamicType::default(), Some(&self.0))
    }
}

/// A reference that has a kind.
#[derive(Clone, Debug)]
struct TypedRef {
    api_version: Option<String>,
    kind: Option<String>,
    namespace: Option<String>,
    name: Option<String>,
}

impl TypedRef {
    fn of_owner(owner: &OwnerReference) -> Self {
        Self {
            api_version: Some(owner.api_version.clone()),
            kind: Some(owner.kind.clone()),
            namespace: None,
            name: Some(owner.name.clone()),
        }
    }
}

impl<K: Resource> ObjectRef<K> for TypedRef {
    fn locate(&self) -> Result<(String, String)> {
        let kind = required("kind", self.kind.as_deref())?;
        let api_version = required("apiVersion", self.api_version.as_deref())?;
        let name = required("name", self.name.as_deref())?;
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        Ok((DynamicObject::url_path(&resource, self.namespace.as_deref()), name.to_owned()))
    }
}

/// A reference whose kind follows from the field that has it.
#[derive(Clone, Debug)]
struct LocalRef {
    namespace: Option<String>,
    name: String,
}

impl<K: Resource> ObjectRef<K> for LocalRef
where
    K::DynamicType: Default,
{
    fn locate(&self) -> Result<(String, String)> {
        let name = required("name", Some(&self.name))?;
        let namespace = required("namespace", self.namespace.as_deref())?;
        Ok((K::url_path(&K::DynamicType::default(), Some(namespace)), name.to_owned()))
    }
}

impl<K: Resource> ObjectRef<K> for ObjectReference {
    fn locate(&self) -> Result<(String, String)> {
        let typed = TypedRef {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        };
        ObjectRef::<K>::locate(&typed)
    }
}

impl<K: Resource> ObjectRef<K> for OwnerReference
where
    K::Scope: ClusterScope,
{
    fn locate(&self) -> Result<(String, String)> {
        ObjectRef::<K>::locate(&TypedRef::of_owner(self))
    }
}

fn required<'a>(field: &str, value: Option<&'a str>) -> Result<&'a str> {
    value.filter(|value| !value.is_empty()).ok_or_else(|| Error::RefResolve(format!("it has no {field}")))
}
