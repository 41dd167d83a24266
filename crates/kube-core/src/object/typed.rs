//! Objects with a typed spec and status, whose kind is chosen at run time.

use std::{borrow::Cow, fmt, marker::PhantomData};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, Error, IgnoredAny, MapAccess, Visitor},
    forward_to_deserialize_any,
};

use crate::{
    discovery::ApiResource,
    resource::{DynamicResourceScope, Resource},
    type_meta::TypeMeta,
};

/// Objects with a spec: [`Object`], and the kinds of `#[derive(CustomResource)]`.
///
/// ```
/// use kube_core::{NotUsed, Object, object::{HasSpec, HasStatus}};
///
/// #[derive(Clone, serde::Deserialize)]
/// struct Size { replicas: i32 }
///
/// /// Works for every kind with this spec, with any status.
/// fn double(object: &mut impl HasSpec<Spec = Size>) -> i32 {
///     object.spec_mut().replicas *= 2;
///     object.spec().replicas
/// }
///
/// let json = r#"{"metadata": {"name": "corner"}, "spec": {"replicas": 2}}"#;
/// let mut shop: Object<Size, NotUsed> = serde_json::from_str(json)?;
/// assert_eq!(double(&mut shop), 4);
/// # Ok::<(), serde_json::Error>(())
/// ```
pub trait HasSpec {
    /// The desired state.
    type Spec;

    /// The spec, to read it.
    fn spec(&self) -> &Self::Spec;

    /// The spec, to change it.
    fn spec_mut(&mut self) -> &mut Self::Spec;
}

/// Objects with an optional status: [`Object`], and the kinds of `#[derive(CustomResource)]` with a status.
///
/// ```
/// use kube_core::{NotUsed, Object, object::HasStatus};
///
/// #[derive(Clone, Default, serde::Deserialize)]
/// struct Progress { done: i32 }
///
/// fn advance(object: &mut impl HasStatus<Status = Progress>) {
///     object.status_mut().get_or_insert_default().done += 1;
/// }
///
/// let mut shop: Object<NotUsed, Progress> = serde_json::from_str(r#"{"metadata": {"name": "corner"}}"#)?;
/// assert!(shop.status().is_none());
/// advance(&mut shop);
/// assert_eq!(shop.status().map(|progress| progress.done), Some(1));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub trait HasStatus {
    /// The observed state.
    type Status;

    /// The status; `None` before a controller has written one.
    fn status(&self) -> Option<&Self::Status>;

    /// The status, to set, change or clear it. For kinds with the subresource `status`, servers accept it only through that
    /// subresource.
    fn status_mut(&mut self) -> &mut Option<Self::Status>;
}

/// An object whose spec `P` and status `U` are typed and whose kind is chosen at run time.
///
/// For kinds that are defined elsewhere, if only some fields matter. Decoding takes one pass without an intermediate value.
/// Other top-level fields are skipped, and so lost if the object is written back.
///
/// ```
/// use kube_core::{ApiResource, GroupVersionKind, NotUsed, Object, object::HasSpec};
///
/// #[derive(Clone, serde::Serialize, serde::Deserialize)]
/// struct Size { replicas: i32 }
///
/// let ar = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Shop"));
/// let shop: Object<Size, NotUsed> = Object::new("corner", &ar, Size { replicas: 2 }).within("town");
/// assert_eq!(shop.spec().replicas, 2);
/// assert!(shop.status.is_none());
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct Object<P, U>
where
    P: Clone,
    U: Clone,
{
    /// `apiVersion` and `kind`, next to the other fields on the wire; `None` unless the wire had both.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub types: Option<TypeMeta>,
    /// The object metadata; decoding requires it.
    pub metadata: ObjectMeta,
    /// The desired state. It may be absent on the wire if `P` allows that, as `Option` and [`NotUsed`] do.
    pub spec: P,
    /// The observed state; omitted if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<U>,
}

impl<P, U> Object<P, U>
where
    P: Clone,
    U: Clone,
{
    /// A new object of the kind `ar`, with a name, a spec and no status. For namespaced kinds, also call
    /// [`within`](Self::within).
    pub fn new(name: &str, ar: &ApiResource, spec: P) -> Self {
        Self {
            types: Some(TypeMeta { api_version: ar.api_version.clone(), kind: ar.kind.clone() }),
            metadata: ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() },
            spec,
            status: None,
        }
    }

    /// Sets the namespace, replacing an earlier one.
    #[must_use]
    pub fn within(mut self, ns: &str) -> Self {
        self.metadata.namespace = Some(ns.into());
        self
    }
}

impl<P, U> Resource for Object<P, U>
where
    P: Clone,
    U: Clone,
{
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(dt: &ApiResource) -> Cow<'_, str> {
        dt.kind.as_str().into()
    }

    fn group(dt: &ApiResource) -> Cow<'_, str> {
        dt.group.as_str().into()
    }

    fn version(dt: &ApiResource) -> Cow<'_, str> {
        dt.version.as_str().into()
    }

    fn api_version(dt: &ApiResource) -> Cow<'_, str> {
        dt.api_version.as_str().into()
    }

    fn plural(dt: &ApiResource) -> Cow<'_, str> {
        dt.plural.as_str().into()
    }

    fn api_version_and_kind(&self) -> Option<(&str, &str)> {
        self.types.as_ref().map(|types| (types.api_version.as_str(), types.kind.as_str()))
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl<P, U> HasSpec for Object<P, U>
where
    P: Clone,
    U: Clone,
{
    type Spec = P;

    fn spec(&self) -> &Self::Spec {
        &self.spec
    }

    fn spec_mut(&mut self) -> &mut Self::Spec {
        &mut self.spec
    }
}

impl<P, U> HasStatus for Object<P, U>
where
    P: Clone,
    U: Clone,
{
    type Status = U;

    fn status(&self) -> Option<&Self::Status> {
        self.status.as_ref()
    }

    fn status_mut(&mut self) -> &mut Option<Self::Status> {
        &mut self.status
    }
}

/// A placeholder for a spec or status that is not needed: decodes from any value or an absent one, serializes as an empty
/// object.
///
/// ```
/// use kube_core::{NotUsed, Object, ResourceExt};
///
/// let json = r#"{"metadata": {"name": "front"}, "spec": {"replicas": 2}, "status": [5]}"#;
/// let any: Object<NotUsed, NotUsed> = serde_json::from_str(json)?;
/// assert_eq!(any.name_any(), "front");
/// assert_eq!(serde_json::to_string(&any.spec)?, "{}");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, Serialize)]
pub struct NotUsed {}

impl<'de> Deserialize<'de> for NotUsed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self {})
    }
}

impl<'de, P, U> Deserialize<'de> for Object<P, U>
where
    P: Clone + Deserialize<'de>,
    U: Clone + Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

/// Decodes the wire form in one pass: `#[serde(flatten)]` would buffer all fields.
struct ObjectVisitor<P, U>(PhantomData<(P, U)>);

impl<'de, P, U> Visitor<'de> for ObjectVisitor<P, U>
where
    P: Clone + Deserialize<'de>,
    U: Clone + Deserialize<'de>,
{
    type Value = Object<P, U>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a Kubernetes object with a spec")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object<P, U>, A::Error> {
        let (mut api_version, mut kind, mut metadata, mut spec, mut status) = (None, None, None, None, None);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "apiVersion" => api_version = Some(map.next_value()?),
                "kind" => kind = Some(map.next_value()?),
                "metadata" => metadata = Some(map.next_value()?),
                "spec" => spec = Some(map.next_value()?),
                "status" => status = map.next_value()?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Object {
            types: TypeMeta::from_parts(api_version, kind),
            metadata: metadata.ok_or_else(|| A::Error::missing_field("metadata"))?,
            spec: match spec {
                Some(spec) => spec,
                None => P::deserialize(Absent::new("spec"))?,
            },
            status,
        })
    }
}

/// Deserializes an absent field: `None` or unit for types that allow that, an error with the field's name for all others.
struct Absent<E> {
    field: &'static str,
    error: PhantomData<E>,
}

impl<E> Absent<E> {
    fn new(field: &'static str) -> Self {
        Self { field, error: PhantomData }
    }
}

impl<'de, E: de::Error> Deserializer<'de> for Absent<E> {
    type Error = E;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, E> {
        Err(E::missing_field(self.field))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_none()
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier
    }
}
