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

/// A [`DynamicObject`] does not have the shape of the requested type; the source says where.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_core::{ApiResource, DynamicObject};
/// use std::error::Error;
///
/// let ar = ApiResource::erase::<ConfigMap>(&());
/// let odd = DynamicObject::new("settings", &ar).data(serde_json::json!({"data": 5}));
/// let error = odd.try_parse::<ConfigMap>().expect_err("data is no map");
/// assert!(error.source().is_some_and(|source| source.to_string().contains("expected a map")));
/// ```
#[derive(Debug, thiserror::Error)]
#[error("failed to parse this DynamicObject into a Resource: {source}")]
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
/// On the wire it is one flat object: the entries of `data` are next to `apiVersion`, `kind` and `metadata`.
///
/// Decoding takes one pass, without an intermediate value for the whole object. In memory each field costs a map entry and a
/// string, usually more than in a static type: use [`PartialObjectMeta`](crate::PartialObjectMeta) if metadata is enough.
#[derive(Clone, Debug, PartialEq)]
pub struct DynamicObject {
    /// `apiVersion` and `kind`; `None` if the wire had neither, as for items in a list of a built-in kind, which
    /// [`ObjectList`](crate::ObjectList) fills in from the kind of the list.
    pub types: Option<TypeMeta>,
    /// The object metadata; absent or null decodes as empty.
    pub metadata: ObjectMeta,
    /// All other fields by their wire names, such as `spec` and `status`: an object, or null for none. Entries with the
    /// names of the fields above are not serialized.
    pub data: Value,
}

impl DynamicObject {
    /// A new object of the kind `resource`, with a name and no data.
    pub fn new(name: &str, resource: &ApiResource) -> Self {
        Self {
            types: Some(TypeMeta { api_version: resource.api_version.clone(), kind: resource.kind.clone() }),
            metadata: ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() },
            data: Value::Null,
        }
    }

    /// Replaces the data: the fields next to `metadata`. Serializing fails if it is neither an object nor null.
    #[must_use]
    pub fn data(mut self, data: Value) -> Self {
        self.data = data;
        self
    }

    /// Sets the namespace, replacing an earlier one.
    #[must_use]
    pub fn within(mut self, ns: &str) -> Self {
        self.metadata.namespace = Some(ns.into());
        self
    }

    /// Decodes the object as a static type. It consumes the object, so that the data is moved, not copied.
    ///
    /// # Errors
    ///
    /// If the object lacks a required field, has a field of another type, or is of another kind.
    pub fn try_parse<K: Resource + for<'a> Deserialize<'a>>(self) -> Result<K, ParseDynamicObjectError> {
        let mut fields = match self.data {
            Value::Object(fields) => fields,
            Value::Null => Map::new(),
            other => {
                return Err(<serde_json::Error as serde::de::Error>::custom(not_an_object(&other)).into());
            }
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
                // No key is written twice: a struct field has precedence over an entry of the same name.
                .filter(|(key, _)| {
                    *key != "metadata" && !(typed && matches!(key.as_str(), "apiVersion" | "kind"))
                })
                .try_for_each(|(key, value)| map.serialize_entry(key, value))?,
            Value::Null => {}
            other => return Err(S::Error::custom(not_an_object(other))),
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for DynamicObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor)
    }
}

/// Decodes the flat wire form in one pass: `#[serde(flatten)]` would buffer all fields.
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
            // `types` needs both. A single one stays in `data`, where the caller can see it.
            (api_version, kind) => {
                fields.extend(api_version.map(|v| ("apiVersion".into(), v.into())));
                fields.extend(kind.map(|v| ("kind".into(), v.into())));
                None
            }
        };
        Ok(DynamicObject { types, metadata: metadata.unwrap_or_default(), data: Value::Object(fields) })
    }
}

fn not_an_object(data: &Value) -> String {
    let found = match data {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    format!("`data` of a DynamicObject is {found}, expected an object with the fields next to `metadata`")
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Pod};
    use serde_json::{Value, json};

    use super::DynamicObject;
    use crate::{ApiResource, GroupVersionKind, Resource};

    fn settings() -> DynamicObject {
        let ar = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap"));
        DynamicObject::new("settings", &ar)
    }

    #[test]
    fn the_wire_form_is_flat() {
        let object = settings().within("web").data(json!({"data": {"a": "b"}, "immutable": true}));
        let json = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "web"},
                          "data": {"a": "b"}, "immutable": true});
        assert_eq!(serde_json::to_value(&object).expect("valid"), json);
        assert_eq!(serde_json::from_value::<DynamicObject>(json).expect("valid"), object);
    }

    #[test]
    fn null_data_is_omitted_and_other_than_objects_are_errors() {
        let bare = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}});
        assert_eq!(serde_json::to_value(settings()).expect("valid"), bare);
        let error = serde_json::to_value(settings().data(json!([1]))).expect_err("an array").to_string();
        assert!(error.contains("`data` of a DynamicObject is an array, expected an object"), "{error}");
        assert!(settings().data(json!("x")).try_parse::<ConfigMap>().is_err());
    }

    #[test]
    fn no_key_is_written_twice() {
        let text = |object: &DynamicObject| serde_json::to_string(object).expect("valid");
        let data = json!({"kind": "Other", "apiVersion": "o/v1", "metadata": {"name": "other"}, "x": 1});
        let typed = settings().data(data.clone());
        assert_eq!(
            text(&typed),
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"x":1}"#
        );
        let untyped = DynamicObject { types: None, ..settings().data(data) };
        let back: Value = serde_json::from_str(&text(&untyped)).expect("valid");
        assert_eq!((&back["kind"], &back["metadata"]["name"]), (&json!("Other"), &json!("settings")));
    }

    #[test]
    fn a_lone_kind_stays_in_the_data() {
        let json = json!({"kind": "ConfigMap", "metadata": {}, "x": 1});
        let object: DynamicObject = serde_json::from_value(json.clone()).expect("valid");
        assert_eq!((&object.types, &object.data["kind"]), (&None, &json!("ConfigMap")));
        assert_eq!(serde_json::to_value(&object).expect("valid"), json);
        let nothing: DynamicObject = serde_json::from_value(json!({"metadata": null})).expect("valid");
        assert_eq!(nothing.metadata, Default::default());
    }

    #[test]
    fn try_parse_accepts_only_the_kind_of_the_object() {
        let object = settings().data(json!({"data": {"a": "b"}}));
        let map: ConfigMap = object.clone().try_parse().expect("a config map");
        assert_eq!(map.data.expect("has data")["a"], "b");
        let error = object.try_parse::<Pod>().expect_err("no pod");
        let source = std::error::Error::source(&error).expect("says why").to_string();
        assert!(source.contains("ConfigMap"), "{source}");
        assert_eq!(
            error.to_string(),
            format!("failed to parse this DynamicObject into a Resource: {source}")
        );
    }

    #[test]
    fn has_the_kind_of_its_api_resource() {
        let ar = ApiResource::from_gvk(&GroupVersionKind::gvk("x.io", "v2", "Foo"));
        assert_eq!(DynamicObject::api_version(&ar), "x.io/v2");
        assert_eq!((DynamicObject::kind(&ar), DynamicObject::plural(&ar)), ("Foo".into(), "foos".into()));
        let mut object = settings();
        object.meta_mut().uid = Some("u".into());
        let owner = object.controller_owner_ref(&ar).expect("has name and uid");
        assert_eq!(
            (owner.api_version.as_str(), owner.kind.as_str(), owner.controller),
            ("x.io/v2", "Foo", Some(true))
        );
        assert_eq!(object.owner_ref(&ar).expect("has name and uid").controller, None);
        assert_eq!(object.object_ref(&ar).uid.as_deref(), Some("u"));
        assert!(settings().owner_ref(&ar).is_none(), "not stored yet");
    }
}
