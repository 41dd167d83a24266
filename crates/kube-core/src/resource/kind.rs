//! The [`Resource`] trait, and its implementation for all `k8s-openapi` types with object metadata.

use std::borrow::Cow;

use k8s_openapi::{
    api::core::v1::ObjectReference,
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};

use crate::encode::path_segment;

/// A type of objects of the Kubernetes API.
///
/// Implemented for all `k8s-openapi` types with object metadata, for the types of `#[derive(CustomResource)]`, and for
/// [`DynamicObject`](crate::DynamicObject) and [`Object`](crate::Object), whose kind is known at run time.
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use kube_core::Resource;
///
/// assert_eq!(Deployment::kind(&()), "Deployment");
/// assert_eq!(Deployment::api_version(&()), "apps/v1");
/// assert_eq!(Deployment::url_path(&(), Some("web")), "/apis/apps/v1/namespaces/web/deployments");
/// assert_eq!(Deployment::url_path(&(), None), "/apis/apps/v1/deployments");
/// assert_eq!((Deployment::group(&()), Deployment::version(&())), ("apps".into(), "v1".into()));
/// assert_eq!(Deployment::plural(&()), "deployments");
/// assert!(!Deployment::metadata_api());
///
/// let mut front = Deployment::default();
/// front.meta_mut().name = Some("front".into());
/// assert_eq!(front.object_ref(&()).name, front.meta().name);
/// assert!(front.owner_ref(&()).is_none(), "not stored yet");
/// front.meta_mut().uid = Some("f3a1".into());
/// let owner = front.controller_owner_ref(&()).expect("has name and uid");
/// assert_eq!((owner.kind.as_str(), owner.controller), ("Deployment", Some(true)));
/// assert_eq!(front.owner_ref(&()).expect("has name and uid").controller, None);
/// ```
pub trait Resource {
    /// The data that identifies the kind at run time: `()` if the type determines it, [`ApiResource`](crate::ApiResource) if
    /// not.
    type DynamicType: Send + Sync + 'static;

    /// The scope of the kind: one of the scope types of this crate, such as
    /// [`NamespaceResourceScope`](crate::NamespaceResourceScope).
    type Scope;

    /// The kind in singular and camel case, such as `ConfigMap`.
    fn kind(dt: &Self::DynamicType) -> Cow<'_, str>;

    /// The API group, empty for the core group.
    fn group(dt: &Self::DynamicType) -> Cow<'_, str>;

    /// The version inside the group, such as `v1` or `v1beta1`.
    fn version(dt: &Self::DynamicType) -> Cow<'_, str>;

    /// The resource name as in URLs: lower case and plural, such as `configmaps`.
    fn plural(dt: &Self::DynamicType) -> Cow<'_, str>;

    /// The object's metadata, to read it; [`ResourceExt`](crate::ResourceExt) has accessors of its fields.
    fn meta(&self) -> &ObjectMeta;

    /// The object's metadata, to change it.
    fn meta_mut(&mut self) -> &mut ObjectMeta;

    /// The `apiVersion` of objects of this kind: `group/version`, or the version alone in the core group.
    fn api_version(dt: &Self::DynamicType) -> Cow<'_, str> {
        api_version_from_group_version(Self::group(dt), Self::version(dt))
    }

    /// The URL path of the collection: in one namespace, or in the whole cluster for `None`.
    ///
    /// Characters that are not allowed in a path segment are percent-encoded. Every method of [`Request`](crate::Request)
    /// rejects a namespace that is unsafe even if encoded (empty, `..`, one with a slash).
    fn url_path(dt: &Self::DynamicType, namespace: Option<&str>) -> String {
        let (group, version, plural) = (Self::group(dt), Self::version(dt), Self::plural(dt));
        let mut path = String::from(if group.is_empty() { "/api" } else { "/apis" });
        let namespaced = namespace.map(|ns| ["namespaces", ns]);
        let group = (!group.is_empty()).then_some(&*group);
        for segment in
            group.into_iter().chain([&*version]).chain(namespaced.into_iter().flatten()).chain([&*plural])
        {
            path.push('/');
            path_segment(segment, &mut path);
        }
        path
    }

    /// A reference to this object, as in events. Fields that the object lacks are absent.
    fn object_ref(&self, dt: &Self::DynamicType) -> ObjectReference {
        let meta = self.meta();
        ObjectReference {
            api_version: Some(Self::api_version(dt).into_owned()),
            kind: Some(Self::kind(dt).into_owned()),
            name: meta.name.clone(),
            namespace: meta.namespace.clone(),
            resource_version: meta.resource_version.clone(),
            uid: meta.uid.clone(),
            field_path: None,
        }
    }

    /// An owner reference that makes this object the controller of the object that holds it.
    ///
    /// An object has at most one controller. `None` if the object has no name or uid, that is before it is stored.
    fn controller_owner_ref(&self, dt: &Self::DynamicType) -> Option<OwnerReference> {
        self.owner_ref(dt).map(|owner| OwnerReference { controller: Some(true), ..owner })
    }

    /// An owner reference to this object: the object that holds it is garbage collected with this one.
    ///
    /// The owner must be in the same namespace or cluster-scoped: the garbage collector treats any other as absent and deletes
    /// the dependent.
    ///
    /// `None` if the object has no name or uid, that is before it is stored.
    fn owner_ref(&self, dt: &Self::DynamicType) -> Option<OwnerReference> {
        let meta = self.meta();
        Some(OwnerReference {
            api_version: Self::api_version(dt).into_owned(),
            kind: Self::kind(dt).into_owned(),
            name: meta.name.clone()?,
            uid: meta.uid.clone()?,
            ..OwnerReference::default()
        })
    }

    /// `apiVersion` and `kind` of an object whose type does not determine them. `None` for all others.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_core::{ApiResource, DynamicObject, Resource};
    ///
    /// let pod = DynamicObject::new("web-0", &ApiResource::erase::<Pod>(&()));
    /// assert_eq!(pod.api_version_and_kind(), Some(("v1", "Pod")));
    /// assert_eq!(Pod::default().api_version_and_kind(), None);
    /// ```
    fn api_version_and_kind(&self) -> Option<(&str, &str)> {
        None
    }

    /// Whether clients request metadata only for this type.
    ///
    /// True only for [`PartialObjectMeta`](crate::PartialObjectMeta).
    fn metadata_api() -> bool {
        false
    }
}

impl<K, S> Resource for K
where
    K: k8s_openapi::Metadata<Ty = ObjectMeta> + k8s_openapi::Resource<Scope = S>,
{
    type DynamicType = ();
    type Scope = S;

    fn kind(_: &()) -> Cow<'_, str> {
        K::KIND.into()
    }

    fn group(_: &()) -> Cow<'_, str> {
        K::GROUP.into()
    }

    fn version(_: &()) -> Cow<'_, str> {
        K::VERSION.into()
    }

    fn api_version(_: &()) -> Cow<'_, str> {
        K::API_VERSION.into()
    }

    fn plural(_: &()) -> Cow<'_, str> {
        K::URL_PATH_SEGMENT.into()
    }

    fn meta(&self) -> &ObjectMeta {
        self.metadata()
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.metadata_mut()
    }
}

/// Joins a group and a version into an `apiVersion`; for the core group (empty) that is the version.
///
/// ```
/// use kube_core::api_version_from_group_version as join;
/// assert_eq!(join("apps".into(), "v1".into()), "apps/v1");
/// assert_eq!(join("".into(), "v1".into()), "v1");
/// ```
pub fn api_version_from_group_version<'a>(group: Cow<'a, str>, version: Cow<'a, str>) -> Cow<'a, str> {
    if group.is_empty() {
        return version;
    }
    let mut joined = group.into_owned();
    joined.push('/');
    joined.push_str(&version);
    Cow::Owned(joined)
}
