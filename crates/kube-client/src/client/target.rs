//! From scopes and references to paths on the server.

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube_core::{
    ApiResource, ClusterResourceScope, DynamicObject, DynamicResourceScope, GroupVersionKind, NamespaceScope,
    Resource,
};
use thiserror::Error;

use super::scope::{Cluster, Namespace};
use crate::error::Error as CallError;

/// Why an object of kind `Namespace` is no scope.
#[derive(Debug, Error)]
pub enum NamespaceError {
    /// It has no name.
    #[error("the namespace has no name")]
    MissingName,
}

/// Scopes in which one object of kind `K` can be named.
pub trait ObjectUrl<K> {
    /// Path of the objects.
    fn url_path(&self) -> String;
}

/// Scopes whose objects of kind `K` can be listed.
pub trait CollectionUrl<K> {
    /// Path of the objects.
    fn url_path(&self) -> String;
}

/// What leads to one object of kind `K`.
pub trait ObjectRef<K> {
    /// Path of the objects among which it is, and its name.
    ///
    /// # Errors
    /// [`Error::RefResolve`](CallError::RefResolve) if the reference lacks something.
    fn locate(&self) -> Result<(String, String), CallError>;
}

/// Kinds without namespaces, or of which that is not known.
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

/// A reference that names its kind.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) api_version: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
}

impl Target {
    pub(super) fn of_owner(owner: &OwnerReference) -> Self {
        Self {
            api_version: Some(owner.api_version.clone()),
            kind: Some(owner.kind.clone()),
            namespace: None,
            name: Some(owner.name.clone()),
        }
    }
}

impl<K: Resource> ObjectRef<K> for Target {
    fn locate(&self) -> Result<(String, String), CallError> {
        let kind = present("kind", self.kind.as_deref())?;
        let api_version = present("apiVersion", self.api_version.as_deref())?;
        let name = present("name", self.name.as_deref())?;
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        Ok((DynamicObject::url_path(&resource, self.namespace.as_deref()), name.to_owned()))
    }
}

/// A reference whose kind is known from the place where it stands.
#[derive(Clone, Debug)]
pub(super) struct LocalTarget {
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

impl<K: Resource> ObjectRef<K> for LocalTarget
where
    K::DynamicType: Default,
{
    fn locate(&self) -> Result<(String, String), CallError> {
        let name = present("name", Some(&self.name))?;
        let namespace = present("namespace", self.namespace.as_deref())?;
        Ok((K::url_path(&K::DynamicType::default(), Some(namespace)), name.to_owned()))
    }
}

impl<K: Resource> ObjectRef<K> for ObjectReference {
    fn locate(&self) -> Result<(String, String), CallError> {
        let target = Target {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        };
        ObjectRef::<K>::locate(&target)
    }
}

impl<K: Resource> ObjectRef<K> for OwnerReference
where
    K::Scope: ClusterScope,
{
    fn locate(&self) -> Result<(String, String), CallError> {
        ObjectRef::<K>::locate(&Target::of_owner(self))
    }
}

fn present<'a>(field: &str, value: Option<&'a str>) -> Result<&'a str, CallError> {
    value.filter(|value| !value.is_empty()).ok_or_else(|| CallError::RefResolve(format!("it has no {field}")))
}
