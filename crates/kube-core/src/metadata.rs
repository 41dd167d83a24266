//! Object metadata, and objects reduced to it.

use std::{borrow::Cow, fmt, marker::PhantomData};

pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ListMeta, ObjectMeta};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{IgnoredAny, MapAccess, Visitor},
};

pub use crate::type_meta::*;
use crate::{dynamic::DynamicObject, resource::Resource};

/// An object of kind `K`, reduced to its metadata.
///
/// Servers send it instead of whole objects on request, which saves bandwidth and memory. It is a [`Resource`] of the same
/// kind as `K`. If a server sends the whole object, decoding skips the other fields without allocating; absent metadata
/// decodes as empty.
///
/// ```
/// use k8s_openapi::api::core::v1::Secret;
/// use kube_core::{PartialObjectMeta, Resource, ResourceExt};
///
/// let secret: PartialObjectMeta<Secret> =
///     serde_json::from_str(r#"{"metadata": {"name": "password"}, "data": "skipped"}"#)?;
/// assert_eq!(secret.name_any(), "password");
/// assert_eq!(PartialObjectMeta::<Secret>::plural(&()), "secrets");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, Serialize)]
pub struct PartialObjectMeta<K = DynamicObject> {
    /// `apiVersion` and `kind`: in responses those of `PartialObjectMetadata`, in requests those of `K`.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub types: Option<TypeMeta>,
    /// The object metadata.
    pub metadata: ObjectMeta,
    /// Marks the kind; not on the wire.
    #[serde(skip)]
    pub _phantom: PhantomData<K>,
}

/// Converts [`ObjectMeta`] into [`PartialObjectMeta`]. Sealed: other types cannot implement it.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_core::{ObjectMeta, PartialObjectMetaExt};
///
/// let labels = ObjectMeta { labels: Some([("a".into(), "b".into())].into()), ..Default::default() };
/// let patch = labels.clone().into_request_partial::<Pod>();
/// assert_eq!(patch.types.expect("set").kind, "Pod");
/// let response = labels.into_response_partial::<Pod>();
/// assert_eq!(response.types.expect("set").kind, "PartialObjectMetadata");
/// ```
pub trait PartialObjectMetaExt: private::Sealed {
    /// For request bodies, usually apply patches: with `apiVersion` and `kind` of `K`.
    fn into_request_partial<K: Resource<DynamicType = ()>>(self) -> PartialObjectMeta<K>;

    /// As in a server's response: with the type `meta.k8s.io/v1 PartialObjectMetadata`.
    fn into_response_partial<K>(self) -> PartialObjectMeta<K>;
}

mod private {
    /// Keeps [`PartialObjectMetaExt`](super::PartialObjectMetaExt) to this crate's implementations.
    pub trait Sealed {}

    impl Sealed for super::ObjectMeta {}
}

impl PartialObjectMetaExt for ObjectMeta {
    fn into_request_partial<K: Resource<DynamicType = ()>>(self) -> PartialObjectMeta<K> {
        PartialObjectMeta { types: Some(TypeMeta::resource::<K>()), metadata: self, _phantom: PhantomData }
    }

    fn into_response_partial<K>(self) -> PartialObjectMeta<K> {
        let types = TypeMeta { api_version: "meta.k8s.io/v1".into(), kind: "PartialObjectMetadata".into() };
        PartialObjectMeta { types: Some(types), metadata: self, _phantom: PhantomData }
    }
}

impl<K: Resource> Resource for PartialObjectMeta<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::kind(dt)
    }

    fn group(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::group(dt)
    }

    fn version(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::version(dt)
    }

    fn api_version(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::api_version(dt)
    }

    fn plural(dt: &Self::DynamicType) -> Cow<'_, str> {
        K::plural(dt)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }

    fn metadata_api() -> bool {
        true
    }
}

impl<'de, K> Deserialize<'de> for PartialObjectMeta<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PartialVisitor(PhantomData))
    }
}

/// Decodes type and metadata in one pass and skips all other fields.
struct PartialVisitor<K>(PhantomData<K>);

impl<'de, K> Visitor<'de> for PartialVisitor<K> {
    type Value = PartialObjectMeta<K>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a Kubernetes object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut api_version, mut kind, mut metadata) = (None, None, None);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "apiVersion" => api_version = Some(map.next_value()?),
                "kind" => kind = Some(map.next_value()?),
                "metadata" => metadata = map.next_value::<Option<ObjectMeta>>()?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let types = TypeMeta::from_parts(api_version, kind);
        Ok(PartialObjectMeta { types, metadata: metadata.unwrap_or_default(), _phantom: PhantomData })
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{api::apps::v1::Deployment, apimachinery::pkg::apis::meta::v1::ObjectMeta};
    use serde_json::json;

    use super::{PartialObjectMeta, PartialObjectMetaExt};
    use crate::{Resource, ResourceExt};

    #[test]
    fn has_the_kind_of_its_object_and_requests_metadata_only() {
        type Partial = PartialObjectMeta<Deployment>;
        assert_eq!(Partial::url_path(&(), None), "/apis/apps/v1/deployments");
        assert_eq!(
            (Partial::kind(&()), Partial::group(&()), Partial::plural(&())),
            ("Deployment".into(), "apps".into(), "deployments".into())
        );
        assert!(Partial::metadata_api() && !Deployment::metadata_api());
    }

    #[test]
    fn serializes_its_type_and_decodes_whole_objects() {
        let meta = ObjectMeta { name: Some("a".into()), ..ObjectMeta::default() };
        let request = meta.clone().into_request_partial::<Deployment>();
        assert_eq!(
            serde_json::to_value(request).expect("valid"),
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}})
        );
        let response = json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": {"name": "a"}});
        assert_eq!(
            serde_json::to_value(meta.into_response_partial::<Deployment>()).expect("valid"),
            response
        );
        let read: PartialObjectMeta<Deployment> = serde_json::from_value(response).expect("valid");
        assert_eq!(read.types.as_ref().expect("set").kind, "PartialObjectMetadata");
        // Servers that do not support the partial form send the whole object.
        let whole = json!({"kind": "Deployment", "spec": {"replicas": "odd"}, "metadata": {"name": "b"}});
        let read: PartialObjectMeta<Deployment> = serde_json::from_value(whole).expect("valid");
        assert_eq!((read.name_any().as_str(), &read.types), ("b", &None));
        assert_eq!(serde_json::to_value(read).expect("valid"), json!({"metadata": {"name": "b"}}));
    }
}
