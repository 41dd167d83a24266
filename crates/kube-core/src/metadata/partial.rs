//! Objects reduced to their metadata.

use std::{borrow::Cow, fmt, marker::PhantomData};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{IgnoredAny, MapAccess, Visitor},
};

use super::private::Sealed;
use crate::{dynamic::DynamicObject, resource::Resource, type_meta::TypeMeta};

/// An object of kind `K` reduced to its metadata.
///
/// Servers send it instead of whole objects when they are asked to, which saves memory on both sides.
/// It is a [`Resource`] of the same kind as `K`. Reading skips all other fields without building them, should a server
/// send the whole object; absent metadata reads as empty.
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
    /// `apiVersion` and `kind`: in answers those of `PartialObjectMetadata`, in requests those of `K`.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub types: Option<TypeMeta>,
    /// Name, namespace, labels and all else that every kind has.
    pub metadata: ObjectMeta,
    /// Names the kind; holds nothing and is not on the wire.
    #[serde(skip)]
    pub _phantom: PhantomData<K>,
}

/// Makes [`PartialObjectMeta`] from [`ObjectMeta`], which it moves. No other type can be made to have it.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_core::{ObjectMeta, PartialObjectMetaExt};
///
/// let labels = ObjectMeta { labels: Some([("a".into(), "b".into())].into()), ..Default::default() };
/// let patch = labels.clone().into_request_partial::<Pod>();
/// assert_eq!(patch.types.expect("given").kind, "Pod");
/// let answer = labels.into_response_partial::<Pod>();
/// assert_eq!(answer.types.expect("given").kind, "PartialObjectMetadata");
/// ```
pub trait PartialObjectMetaExt: Sealed {
    /// As a body for requests (apply patches above all): it carries the type of `K`.
    fn into_request_partial<K: Resource<DynamicType = ()>>(self) -> PartialObjectMeta<K>;

    /// As a server would answer: it carries the type `meta.k8s.io/v1 PartialObjectMetadata`.
    fn into_response_partial<K>(self) -> PartialObjectMeta<K>;
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

/// Reads type and metadata in one pass and skips everything else, should the server have sent more.
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
        let types = TypeMeta::from_halves(api_version, kind);
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
    fn is_of_the_kind_that_it_reduces_and_asks_for_metadata() {
        type Partial = PartialObjectMeta<Deployment>;
        assert_eq!(Partial::url_path(&(), None), "/apis/apps/v1/deployments");
        assert_eq!(
            (Partial::kind(&()), Partial::group(&()), Partial::plural(&())),
            ("Deployment".into(), "apps".into(), "deployments".into())
        );
        assert!(Partial::metadata_api() && !Deployment::metadata_api());
    }

    #[test]
    fn the_wire_form() {
        let meta = ObjectMeta { name: Some("a".into()), ..ObjectMeta::default() };
        let request = meta.clone().into_request_partial::<Deployment>();
        assert_eq!(
            serde_json::to_value(request).expect("valid"),
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}})
        );
        let answer = json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": {"name": "a"}});
        assert_eq!(serde_json::to_value(meta.into_response_partial::<Deployment>()).expect("valid"), answer);
        let read: PartialObjectMeta<Deployment> = serde_json::from_value(answer).expect("valid");
        assert_eq!(read.types.as_ref().expect("given").kind, "PartialObjectMetadata");
        // A server that does not know the reduced form sends everything.
        let whole = json!({"kind": "Deployment", "spec": {"replicas": "odd"}, "metadata": {"name": "b"}});
        let read: PartialObjectMeta<Deployment> = serde_json::from_value(whole).expect("valid");
        assert_eq!((read.name_any().as_str(), &read.types), ("b", &None));
        assert_eq!(serde_json::to_value(read).expect("valid"), json!({"metadata": {"name": "b"}}));
    }
}
