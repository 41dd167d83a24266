//! What a cache has to know of an object.

use super::ObjectRef;
use kube_core::Resource;
use std::borrow::Cow;

/// The parts of an object that a [`Store`](super::Store) and an [`ObjectRef`] need.
///
/// Every [`Resource`] has them. Implement it for a type of your own to cache something smaller than the object that
/// was watched.
pub trait Lookup {
    /// What has to be known at run time to tell the kind: `()` for most types.
    type DynamicType;

    /// The kind, such as `Pod`.
    fn kind(dyntype: &Self::DynamicType) -> Cow<'_, str>;

    /// The API group; empty for the core group.
    fn group(dyntype: &Self::DynamicType) -> Cow<'_, str>;

    /// The version within the group, such as `v1`.
    fn version(dyntype: &Self::DynamicType) -> Cow<'_, str>;

    /// The name of the collection in URLs, such as `pods`.
    fn plural(dyntype: &Self::DynamicType) -> Cow<'_, str>;

    /// Group and version as they stand in an object's `apiVersion`.
    fn api_version(dyntype: &Self::DynamicType) -> Cow<'_, str> {
        let (group, version) = (Self::group(dyntype), Self::version(dyntype));
        if group.is_empty() { version } else { Cow::Owned(format!("{group}/{version}")) }
    }

    /// The name; `None` only for objects that the server has not seen.
    fn name(&self) -> Option<Cow<'_, str>>;

    /// The namespace; `None` for objects of the whole cluster.
    fn namespace(&self) -> Option<Cow<'_, str>>;

    /// The state of the object, as the server counts.
    fn resource_version(&self) -> Option<Cow<'_, str>>;

    /// What tells the object from a later one of the same name.
    fn uid(&self) -> Option<Cow<'_, str>>;

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
}
