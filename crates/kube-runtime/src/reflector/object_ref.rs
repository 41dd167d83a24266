//! References to objects, and the trait of the types that can be referred to.
//!
//! [`Lookup`] and [`ObjectRef`] are in one file because each needs the other.

use k8s_openapi::{
    api::core::v1::ObjectReference,
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use kube_core::{ApiResource, DynamicObject, Resource};
use std::{
    borrow::Cow,
    fmt,
    hash::{Hash, Hasher},
};

/// What a [`Store`](super::Store) and an [`ObjectRef`] need to know of an object.
///
/// Every [`Resource`] implements it. Implement it for your own type to cache something smaller than the watched object.
pub trait Lookup {
    /// Describes the kind at run time: `()` for types that know their kind statically.
    type DynamicType;

    /// The kind, such as `Pod`.
    fn kind(dyntype: &Self::DynamicType) -> Cow<'_, str>;

    /// The API group; empty for the core group.
    fn group(dyntype: &Self::DynamicType) -> Cow<'_, str>;

    /// The version within the group, such as `v1`.
    fn version(dyntype: &Self::DynamicType) -> Cow<'_, str>;

    /// The plural name in URLs, such as `pods`.
    fn plural(dyntype: &Self::DynamicType) -> Cow<'_, str>;

    /// Group and version as in an object's `apiVersion`.
    fn api_version(dyntype: &Self::DynamicType) -> Cow<'_, str> {
        let (group, version) = (Self::group(dyntype), Self::version(dyntype));
        if group.is_empty() { version } else { Cow::Owned(format!("{group}/{version}")) }
    }

    /// The name; `None` only for objects that were not created yet.
    fn name(&self) -> Option<Cow<'_, str>>;

    /// The namespace; `None` for cluster-scoped objects.
    fn namespace(&self) -> Option<Cow<'_, str>>;

    /// The `metadata.resourceVersion`, which identifies a state of the object.
    fn resource_version(&self) -> Option<Cow<'_, str>>;

    /// The `metadata.uid`, which distinguishes the object from later ones with its name.
    fn uid(&self) -> Option<Cow<'_, str>>;

    /// The metadata, with what servers note of each write, if the object has them.
    #[doc(hidden)]
    fn noted_metadata(&self) -> Option<&ObjectMeta> {
        None
    }

    /// A reference to this object.
    fn to_object_ref(&self, dyntype: Self::DynamicType) -> ObjectRef<Self> {
        ObjectRef::of(self, dyntype)
    }
}

impl<K: Resource> Lookup for K {
    type DynamicType = K::DynamicType;

    fn kind(dyntype: &Self::DynamicType) -> Cow<'_, str> {
        <K as Resource>::kind(dyntype)
    }

    fn group(dyntype: &Self::DynamicType) -> Cow<'_, str> {
        <K as Resource>::group(dyntype)
    }

    fn version(dyntype: &Self::DynamicType) -> Cow<'_, str> {
        <K as Resource>::version(dyntype)
    }

    fn plural(dyntype: &Self::DynamicType) -> Cow<'_, str> {
        <K as Resource>::plural(dyntype)
    }

    fn api_version(dyntype: &Self::DynamicType) -> Cow<'_, str> {
        <K as Resource>::api_version(dyntype)
    }

    fn name(&self) -> Option<Cow<'_, str>> {
        self.meta().name.as_deref().map(Cow::Borrowed)
    }

    fn namespace(&self) -> Option<Cow<'_, str>> {
        self.meta().namespace.as_deref().map(Cow::Borrowed)
    }

    fn resource_version(&self) -> Option<Cow<'_, str>> {
        self.meta().resource_version.as_deref().map(Cow::Borrowed)
    }

    fn uid(&self) -> Option<Cow<'_, str>> {
        self.meta().uid.as_deref().map(Cow::Borrowed)
    }

    fn noted_metadata(&self) -> Option<&ObjectMeta> {
        Some(self.meta())
    }
}

/// Refers to an object by kind, name and namespace.
///
/// Two references are equal if these three are equal; [`ObjectRef::extra`] is not compared. Displayed as
/// `Kind.version.group/name.namespace`.
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use kube_runtime::reflector::ObjectRef;
///
/// let web = ObjectRef::<Deployment>::new("web").within("shop");
/// assert_eq!(web.to_string(), "Deployment.v1.apps/web.shop");
/// assert_ne!(web, ObjectRef::new("web"));
/// ```
#[non_exhaustive]
pub struct ObjectRef<K: Lookup + ?Sized> {
    /// Describes the kind at run time if the type `K` does not.
    pub dyntype: K::DynamicType,
    /// The name.
    pub name: String,
    /// The namespace; `None` for cluster-scoped objects.
    pub namespace: Option<String>,
    /// Additional information, which is not compared.
    pub extra: ObjectRefExtra,
}

/// Additional information in an [`ObjectRef`]. Never compared.
#[non_exhaustive]
#[derive(Clone, Debug, Default)]
pub struct ObjectRefExtra {
    /// The `metadata.resourceVersion` of the object when the reference was made.
    pub resource_version: Option<String>,
    /// The `metadata.uid`, which distinguishes the object from later ones with its name.
    pub uid: Option<String>,
}

impl<K: Lookup> ObjectRef<K>
where
    K::DynamicType: Default,
{
    /// Refers to a cluster-scoped object. Add a namespace with [`within`](Self::within).
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Node;
    /// use kube_runtime::reflector::ObjectRef;
    ///
    /// assert_eq!(ObjectRef::<Node>::new("worker-1").to_string(), "Node.v1./worker-1");
    /// ```
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self::new_with(name, K::DynamicType::default())
    }

    /// Refers to this object.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_runtime::reflector::ObjectRef;
    ///
    /// let mut pod = Pod::default();
    /// pod.metadata.name = Some("web-0".into());
    /// pod.metadata.namespace = Some("shop".into());
    /// assert_eq!(ObjectRef::from_obj(&pod), ObjectRef::new("web-0").within("shop"));
    /// ```
    #[must_use]
    pub fn from_obj(obj: &K) -> Self {
        Self::of(obj, K::DynamicType::default())
    }
}

impl<K: Lookup> ObjectRef<K> {
    /// Like `new`, for a kind known only at run time.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_core::{ApiResource, DynamicObject};
    /// use kube_runtime::reflector::ObjectRef;
    ///
    /// let pods = ApiResource::erase::<Pod>(&());
    /// assert_eq!(ObjectRef::<DynamicObject>::new_with("web-0", pods).to_string(), "Pod.v1./web-0");
    /// ```
    #[must_use]
    pub fn new_with(name: &str, dyntype: K::DynamicType) -> Self {
        Self { dyntype, name: name.to_owned(), namespace: None, extra: ObjectRefExtra::default() }
    }

    /// The same reference in `namespace`.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_runtime::reflector::ObjectRef;
    ///
    /// assert_eq!(ObjectRef::<Pod>::new("web-0").within("shop").namespace.as_deref(), Some("shop"));
    /// ```
    #[must_use]
    pub fn within(self, namespace: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..self }
    }

    /// Like `from_obj`, for a kind known only at run time.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_core::{ApiResource, DynamicObject};
    /// use kube_runtime::reflector::ObjectRef;
    ///
    /// let pods = ApiResource::erase::<Pod>(&());
    /// let pod = DynamicObject::new("web-0", &pods).within("shop");
    /// assert_eq!(ObjectRef::from_obj_with(&pod, pods).to_string(), "Pod.v1./web-0.shop");
    /// ```
    #[must_use]
    pub fn from_obj_with(obj: &K, dyntype: K::DynamicType) -> Self
    where
        K: Lookup,
    {
        Self::of(obj, dyntype)
    }

    /// Refers to the owner in an owner reference, if it has this group and kind; the version is ignored.
    ///
    /// `namespace` is that of the owned object. A cluster-scoped owner has no namespace; a [`Store`](super::Store) finds it
    /// anyway.
    ///
    /// ```
    /// use k8s_openapi::{api::apps::v1::Deployment, apimachinery::pkg::apis::meta::v1::OwnerReference};
    /// use kube_runtime::reflector::ObjectRef;
    ///
    /// let owner = OwnerReference {
    ///     api_version: "apps/v1".into(),
    ///     kind: "Deployment".into(),
    ///     name: "web".into(),
    ///     ..OwnerReference::default()
    /// };
    /// let deployment = ObjectRef::<Deployment>::from_owner_ref(Some("shop"), &owner, ());
    /// assert_eq!(deployment, Some(ObjectRef::new("web").within("shop")));
    /// let other_kind = OwnerReference { kind: "StatefulSet".into(), ..owner };
    /// assert_eq!(ObjectRef::<Deployment>::from_owner_ref(Some("shop"), &other_kind, ()), None);
    /// ```
    #[must_use]
    pub fn from_owner_ref(
        namespace: Option<&str>,
        owner: &OwnerReference,
        dyntype: K::DynamicType,
    ) -> Option<Self> {
        let group = owner.api_version.rsplit_once('/').map_or("", |(group, _version)| group);
        let same_kind = K::kind(&dyntype) == owner.kind && K::group(&dyntype) == group;
        same_kind.then(|| Self {
            dyntype,
            name: owner.name.clone(),
            namespace: namespace.map(ToOwned::to_owned),
            extra: ObjectRefExtra { resource_version: None, uid: Some(owner.uid.clone()) },
        })
    }

    /// The same name and namespace with another kind. Whether such an object exists is not checked.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{Endpoints, Service};
    /// use kube_runtime::reflector::ObjectRef;
    ///
    /// let service = ObjectRef::<Service>::new("web").within("shop");
    /// let endpoints: ObjectRef<Endpoints> = service.into_kind_unchecked(());
    /// assert_eq!(endpoints.to_string(), "Endpoints.v1./web.shop");
    /// ```
    #[must_use]
    pub fn into_kind_unchecked<K2: Lookup>(self, dt2: K2::DynamicType) -> ObjectRef<K2> {
        let Self { name, namespace, extra, .. } = self;
        ObjectRef { dyntype: dt2, name, namespace, extra }
    }

    /// The same object with its kind as a value, so that a collection can hold references to several kinds.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    /// use kube_runtime::reflector::ObjectRef;
    ///
    /// let used = [ObjectRef::<ConfigMap>::new("a").erase(), ObjectRef::<Secret>::new("a").erase()];
    /// assert_ne!(used[0], used[1]);
    /// ```
    pub fn erase(self) -> ObjectRef<DynamicObject> {
        let dyntype = ApiResource {
            group: K::group(&self.dyntype).into_owned(),
            version: K::version(&self.dyntype).into_owned(),
            api_version: K::api_version(&self.dyntype).into_owned(),
            kind: K::kind(&self.dyntype).into_owned(),
            plural: K::plural(&self.dyntype).into_owned(),
        };
        self.into_kind_unchecked(dyntype)
    }
}

impl<K: Lookup + ?Sized> ObjectRef<K> {
    pub(super) fn of(object: &K, dyntype: K::DynamicType) -> Self {
        let owned = |part: Option<Cow<'_, str>>| part.map(Cow::into_owned);
        Self {
            dyntype,
            name: owned(object.name()).unwrap_or_default(),
            namespace: owned(object.namespace()),
            extra: ObjectRefExtra {
                resource_version: owned(object.resource_version()),
                uid: owned(object.uid()),
            },
        }
    }

    fn identity(&self) -> (&K::DynamicType, &str, Option<&str>) {
        (&self.dyntype, &self.name, self.namespace.as_deref())
    }
}

impl<K: Lookup> From<&K> for ObjectRef<K>
where
    K::DynamicType: Default,
{
    fn from(object: &K) -> Self {
        Self::from_obj(object)
    }
}

impl<K: Lookup> From<ObjectRef<K>> for ObjectReference {
    fn from(reference: ObjectRef<K>) -> Self {
        let ObjectRef { dyntype, name, namespace, extra } = reference;
        Self {
            api_version: Some(K::api_version(&dyntype).into_owned()),
            kind: Some(K::kind(&dyntype).into_owned()),
            field_path: None,
            name: Some(name),
            namespace,
            resource_version: extra.resource_version,
            uid: extra.uid,
        }
    }
}

impl<K: Lookup> fmt::Display for ObjectRef<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dyntype, name, namespace, .. } = self;
        write!(f, "{}.{}.{}/{name}", K::kind(dyntype), K::version(dyntype), K::group(dyntype))?;
        namespace.as_ref().map_or(Ok(()), |namespace| write!(f, ".{namespace}"))
    }
}

impl<K: Lookup + ?Sized> fmt::Debug for ObjectRef<K>
where
    K::DynamicType: fmt::Debug,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectRef")
            .field("dyntype", &self.dyntype)
            .field("name", &self.name)
            .field("namespace", &self.namespace)
            .field("extra", &self.extra)
            .finish()
    }
}

impl<K: Lookup + ?Sized> Clone for ObjectRef<K>
where
    K::DynamicType: Clone,
{
    fn clone(&self) -> Self {
        Self {
            dyntype: self.dyntype.clone(),
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            extra: self.extra.clone(),
        }
    }
}

impl<K: Lookup + ?Sized> PartialEq for ObjectRef<K>
where
    K::DynamicType: PartialEq,
{
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl<K: Lookup + ?Sized> Eq for ObjectRef<K> where K::DynamicType: Eq {}

impl<K: Lookup + ?Sized> Hash for ObjectRef<K>
where
    K::DynamicType: Hash,
{
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

#[cfg(test)]
#[path = "object_ref_tests.rs"]
mod tests;
