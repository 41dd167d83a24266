//! Objects whose kind is known only at run time.

use std::{borrow::Cow, fmt};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
    ser::{Error as _, SerializeMap},
};
use serde_json::{Map, Value};

pub use crate::discovery::ApiResource;
use crate::{
    resource::{DynamicResourceScope, Resource},
    type_meta::TypeMeta,
};

/// A [`DynamicObject`] does not have the shape of the type it was to become; the source says where.
#[derive(Debug, thiserror::Error)]
#[error("the dynamic object does not have the shape of the requested type")]
pub struct ParseDynamicObjectError {
    #[from]
    source: serde_json::Error,
}

/// An object of any kind: typed metadata, everything else as JSON.
///
/// ```
/// use kube_core::{ApiResource, DynamicObject, GroupVersionKind};
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use serde_json::json;
///
/// let ar = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap"));
/// let obj = DynamicObject::new("settings", &ar).within("web").data(json!({"data": {"colour": "blue"}}));
/// assert_eq!(obj.data["data"]["colour"], "blue");
///
/// let cm: ConfigMap = obj.try_parse()?;
/// assert_eq!(cm.metadata.namespace.as_deref(), Some("web"));
/// # Ok::<(), kube_core::dynamic::ParseDynamicObjectError>(())
/// ```
///
/// On the wire it is one flat object: the entries of `data` stand beside `apiVersion`, `kind` and `metadata`.
#[derive(Clone, Debug, PartialEq)]
pub struct DynamicObject {
    /// `apiVersion` and `kind`. `None` only where the wire had none, as in the items of a list of a built-in
    /// kind; [`ObjectList`](crate::ObjectList) then fills it in from the kind of the list.
    pub types: Option<TypeMeta>,
    /// Object metadata.
    pub metadata: ObjectMeta,
    /// All other fields: an object, or null for none.
    pub data: Value,
}

impl DynamicObject {
    /// A new object with a name and no data.
    pub fn new(name: &str, resource: &ApiResource) -> Self {
        Self {
            types: Some(TypeMeta { api_version: resource.api_version.clone(), kind: resource.kind.clone() }),
            metadata: ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() },
            data: Value::Null,
        }
    }

    /// Replaces the data.
    #[must_use]
    pub fn data(mut self, data: Value) -> Self {
        self.data = data;
        self
    }

    /// Puts the object into a namespace.
    #[must_use]
    pub fn within(mut self, ns: &str) -> Self {
        self.metadata.namespace = Some(ns.into());
        self
    }

    /// Reads the object as a static type, consuming it so that its data moves instead of being copied.
    ///
    /// # Errors
    ///
    /// Where the object lacks a field the type requires, holds one of another type, or is of another kind.
    pub fn try_parse<K: Resource + for<'a> Deserialize<'a>>(self) -> Result<K, ParseDynamicObjectError> {
        let mut fields = match self.data {
            Value::Object(fields) => fields,
            Value::Null => Map::new(),
            other => return Err(<serde_json::Error as serde::de::Error>::custom(no_object(&other)).into()),
        };
        if let Some(TypeMeta { api_version, kind }) = self.types {
            fields.insert("apiVersion".into(), api_version.into());
            fields.insert("kind".into(), kind.into());
        }
        fields.insert("metadata".into(), serde_json::to_value(self.metadata)?);
        Ok(K::deserialize(Value::Object(fields))?)
    }
}

impl Resource for DynamicObject {
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

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl Serialize for DynamicObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(types) = &self.types {
            map.serialize_entry("apiVersion", &types.api_version)?;
            map.serialize_entry("kind", &types.kind)?;
        }
        map.serialize_entry("metadata", &self.metadata)?;
        let typed = self.types.is_some();
        match &self.data {
            Value::Object(fields) => fields
                .iter()
                // A field of the struct wins over an entry of the same name: no key is written twice.
                .filter(|(key, _)| {
                    *key != "metadata" && !(typed && matches!(key.as_str(), "apiVersion" | "kind"))
                })
                .try_for_each(|(key, value)| map.serialize_entry(key, value))?,
            Value::Null => {}
            other => return Err(S::Error::custom(no_object(other))),
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for DynamicObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor)
    }
}

/// Reads the flat wire form in one pass, without the buffer that flattened fields need.
struct ObjectVisitor;

impl<'de> Visitor<'de> for ObjectVisitor {
    type Value = DynamicObject;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a Kubernetes object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<DynamicObject, A::Error> {
        let (mut api_version, mut kind, mut metadata) = (None, None, None);
        let mut fields = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "apiVersion" => api_version = Some(map.next_value::<String>()?),
                "kind" => kind = Some(map.next_value::<String>()?),
                "metadata" => metadata = map.next_value::<Option<ObjectMeta>>()?,
                _ => {
                    let value = map.next_value()?;
                    fields.insert(key, value);
                }
            }
        }
        let types = match (api_version, kind) {
            (Some(api_version), Some(kind)) => Some(TypeMeta { api_version, kind }),
            // Half a type is none; what there is stays where the caller can see it.
            (api_version, kind) => {
                fields.extend(api_version.map(|v| ("apiVersion".into(), v.into())));
                fields.extend(kind.map(|v| ("kind".into(), v.into())));
                None
            }
        };
        Ok(DynamicObject { types, metadata: metadata.unwrap_or_default(), data: Value::Object(fields) })
    }
}

fn no_object(data: &Value) -> String {
    let found = match data {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    format!("`data` of a DynamicObject holds {found}, expected an object with the fields beside `metadata`")
}
