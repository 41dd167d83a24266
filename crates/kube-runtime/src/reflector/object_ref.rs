//! Naming an object without holding it.

use super::Lookup;
use k8s_openapi::{api::core::v1::ObjectReference, apimachinery::pkg::apis::meta::v1::OwnerReference};
use kube_core::{ApiResource, DynamicObject};
use std::{
    borrow::Cow,
    fmt,
    hash::{Hash, Hasher},
};

/// Names an object: kind, name and namespace.
///
/// Two references are equal if these three are; [`ObjectRef::extra`] does not count. Displayed as
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
    /// What tells the kind where the type `K` does not.
    pub dyntype: K::DynamicType,
    /// The name.
    pub name: String,
    /// The namespace; `None` for objects of the whole cluster.
    pub namespace: Option<String>,
    /// What else was known when the reference was made.
    pub extra: ObjectRefExtra,
}

/// What else an [`ObjectRef`] may carry. Never compared.
#[non_exhaustive]
#[derive(Clone, Debug, Default)]
pub struct ObjectRefExtra {
    /// The state of the object when the reference was made.
    pub resource_version: Option<String>,
    /// What tells the object from a later one of the same name.
    pub uid: Option<String>,
}

/// The part of a reference that tells objects of one kind apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ObjectKey {
    pub(crate) namespace: Option<Box<str>>,
    pub(crate) name: Box<str>,
}

impl ObjectKey {
    pub(crate) fn of<K: Lookup + ?Sized>(object: &K) -> Self {
        let namespace = object.namespace().map(|namespace| namespace.as_ref().into());
        Self { namespace, name: object.name().unwrap_or_default().as_ref().into() }
    }

    pub(crate) fn to_ref<K: Lookup>(&self, dyntype: K::DynamicType) -> ObjectRef<K> {
        let reference = ObjectRef::new_with(&self.name, dyntype);
        match &self.namespace {
            Some(namespace) => reference.within(namespace),
            None => reference,
        }
    }
}

impl<K: Lookup> From<&ObjectRef<K>> for ObjectKey {
    fn from(reference: &ObjectRef<K>) -> Self {
        Self {
            namespace: reference.namespace.as_deref().map(Into::into),
            name: reference.name.as_str().into(),
        }
    }
}

impl<K: Lookup> ObjectRef<K>
where
    K::DynamicType: Default,
{
    /// Names an object of the whole cluster, or the start of a reference that [`within`](Self::within) completes.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Node;
    /// use kube_runtime::reflector::ObjectRef;
    ///
    /// assert_eq!(ObjectRef::<Node>::new("worker-1").to_string(), "Node.v1/worker-1");
    /// ```
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self::new_with(name, K::DynamicType::default())
    }

    /// Names this object.
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
    /// Like `new`, for kinds known only at run time.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_core::{ApiResource, DynamicObject};
    /// use kube_runtime::reflector::ObjectRef;
    ///
    /// let pods = ApiResource::erase::<Pod>(&());
    /// assert_eq!(ObjectRef::<DynamicObject>::new_with("web-0", pods).to_string(), "Pod.v1/web-0");
    /// ```
    #[must_use]
    pub fn new_with(name: &str, dyntype: K::DynamicType) -> Self {
        Self { dyntype, name: name.to_owned(), namespace: None, extra: ObjectRefExtra::default() }
    }

    /// The object of this name in `namespace`.
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

    /// Like `from_obj`, for kinds known only at run time.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_core::{ApiResource, DynamicObject};
    /// use kube_runtime::reflector::ObjectRef;
    ///
    /// let pods = ApiResource::erase::<Pod>(&());
    /// let pod = DynamicObject::new("web-0", &pods).within("shop");
    /// assert_eq!(ObjectRef::from_obj_with(&pod, pods).to_string(), "Pod.v1/web-0.shop");
    /// ```
    #[must_use]
    pub fn from_obj_with(obj: &K, dyntype: K::DynamicType) -> Self
    where
        K: Lookup,
    {
        Self::of(obj, dyntype)
    }

    /// The owner that an owner reference names, if it is of this group and kind; its version does not matter.
    ///
    /// `namespace` is that of the owned object. An owner of the whole cluster has none: the cache finds it
    /// all the same.
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

    /// The same name and namespace, taken as another kind. Nothing checks that this makes sense.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{Endpoints, Service};
    /// use kube_runtime::reflector::ObjectRef;
    ///
    /// let service = ObjectRef::<Service>::new("web").within("shop");
    /// let endpoints: ObjectRef<Endpoints> = service.into_kind_unchecked(());
    /// assert_eq!(endpoints.to_string(), "Endpoints.v1/web.shop");
    /// ```
    #[must_use]
    pub fn into_kind_unchecked<K2: Lookup>(self, dt2: K2::DynamicType) -> ObjectRef<K2> {
        let Self { name, namespace, extra, .. } = self;
        ObjectRef { dyntype: dt2, name, namespace, extra }
    }

    /// The same object, with its kind as a value, so that references of several kinds fit in one collection.
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
        write!(f, "{}.{}", K::kind(&self.dyntype), K::version(&self.dyntype))?;
        let group = K::group(&self.dyntype);
        if !group.is_empty() {
            write!(f, ".{group}")?;
        }
        write!(f, "/{}", self.name)?;
        match &self.namespace {
            Some(namespace) => write!(f, ".{namespace}"),
            None => Ok(()),
        }
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
mod tests {
    use super::*;
    use k8s_openapi::api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Node},
    };

    #[test]
    fn references_are_equal_by_kind_name_and_namespace_only() {
        let mut one = ObjectRef::<ConfigMap>::new("a").within("x");
        one.extra.resource_version = Some("1".into());
        assert_eq!(one, ObjectRef::new("a").within("x"));
        assert_ne!(one, ObjectRef::new("a").within("y"));
        assert_ne!(one.erase(), ObjectRef::<Deployment>::new("a").within("x").erase());
    }

    #[test]
    fn is_displayed_for_people() {
        assert_eq!(ObjectRef::<ConfigMap>::new("a").within("x").to_string(), "ConfigMap.v1/a.x");
        assert_eq!(ObjectRef::<Node>::new("n").erase().to_string(), "Node.v1/n");
    }

    #[test]
    fn finds_an_owner_by_group_and_kind_whatever_its_version() {
        let owner = |api_version: &str, kind: &str| OwnerReference {
            api_version: api_version.into(),
            kind: kind.into(),
            name: "web".into(),
            uid: "u".into(),
            ..Default::default()
        };
        let find = |owner| ObjectRef::<Deployment>::from_owner_ref(Some("ns"), &owner, ());
        let web = find(owner("apps/v1beta2", "Deployment")).unwrap();
        assert_eq!(web, ObjectRef::new("web").within("ns"));
        assert_eq!(web.extra.uid.as_deref(), Some("u"));
        assert!(find(owner("apps/v1", "StatefulSet")).is_none());
        assert!(find(owner("extensions/v1", "Deployment")).is_none());
        assert!(find(owner("v1", "Deployment")).is_none());
    }
}
