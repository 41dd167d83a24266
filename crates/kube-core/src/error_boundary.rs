//! Keeps one undecodable object from failing a whole list or watch.

use std::{borrow::Cow, fmt};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;

use crate::resource::Resource;

/// Decodes `K`, and on failure keeps the metadata and the error: in a list or a watch, one undecodable object becomes one
/// [`InvalidObject`] instead of failing everything.
///
/// The cost: each object is decoded twice, first into a JSON value and then into `K`, and its metadata without the managed
/// fields is copied. In a list that holds for one object at a time. The error has no line and column. The guard cannot be
/// serialized: extract the object first.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_core::{DeserializeGuard, ObjectList, ResourceExt};
///
/// let list: ObjectList<DeserializeGuard<ConfigMap>> = serde_json::from_str(
///     r#"{"metadata": {}, "items": [{"metadata": {"name": "good"}}, {"metadata": {"name": "bad"}, "data": 5}]}"#,
/// )?;
/// assert!(list.items[0].0.is_ok());
/// assert_eq!(list.items[1].name_any(), "bad");
/// let invalid = list.items[1].0.as_ref().expect_err("data is no map");
/// assert_eq!(invalid.to_string(), "cannot decode object bad: invalid type: integer `5`, expected a map");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct DeserializeGuard<K>(pub Result<K, InvalidObject>);

/// An object that could not be decoded. Display prints its name and the error.
///
/// ```
/// use k8s_openapi::api::core::v1::Service;
/// use kube_core::{DeserializeGuard, error_boundary::InvalidObject};
///
/// let json = r#"{"metadata": {"name": "front", "namespace": "web"}, "spec": "odd"}"#;
/// let DeserializeGuard::<Service>(read) = serde_json::from_str(json)?;
/// let invalid: InvalidObject = read.expect_err("no spec");
/// assert_eq!(invalid.metadata.namespace.as_deref(), Some("web"));
/// assert!(invalid.to_string().starts_with("cannot decode object web/front: invalid type"));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct InvalidObject {
    /// The error message: the first mismatch, with what was found and what was expected.
    pub error: String,
    /// The metadata without the managed fields, to find or repair the object.
    pub metadata: ObjectMeta,
}

impl fmt::Display for InvalidObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.metadata.name.as_deref().unwrap_or("without a name");
        f.write_str("cannot decode object ")?;
        if let Some(namespace) = &self.metadata.namespace {
            write!(f, "{namespace}/")?;
        }
        write!(f, "{name}: {}", self.error)
    }
}

impl std::error::Error for InvalidObject {}

impl<'de, K> Deserialize<'de> for DeserializeGuard<K>
where
    K: Deserialize<'de> + Resource,
{
    /// # Errors
    ///
    /// Only if the input is no JSON, or the metadata itself cannot be decoded.
    fn deserialize<D>(deserializer: D) -> Result<Self, D::Error>
    where
        D: Deserializer<'de>,
    {
        let value = Value::deserialize(deserializer)?;
        // Copied first, because decoding consumes the value and may fail.
        let metadata = value.get("metadata").map(without_managed_fields);
        K::deserialize(value).map(|object| Self(Ok(object))).or_else(|error| {
            let metadata = metadata.map(ObjectMeta::deserialize).transpose().map_err(D::Error::custom)?;
            Ok(Self(Err(InvalidObject { error: error.to_string(), metadata: metadata.unwrap_or_default() })))
        })
    }
}

/// A copy without the managed fields, usually the largest part of the metadata.
fn without_managed_fields(metadata: &Value) -> Value {
    match metadata.as_object() {
        Some(fields) => {
            let kept = fields.iter().filter(|(name, _)| *name != "managedFields");
            kept.map(|(name, value)| (name.clone(), value.clone())).collect()
        }
        None => metadata.clone(),
    }
}

impl<K: Resource> Resource for DeserializeGuard<K> {
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
        self.0.as_ref().map_or_else(|invalid| &invalid.metadata, K::meta)
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match &mut self.0 {
            Ok(object) => object.meta_mut(),
            Err(invalid) => &mut invalid.metadata,
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Pod};
    use serde_json::json;

    use super::DeserializeGuard;
    use crate::{Resource, ResourceExt};

    #[test]
    fn a_decodable_object_keeps_everything() {
        let json =
            json!({"metadata": {"name": "a", "managedFields": [{"manager": "me"}]}, "data": {"k": "v"}});
        let mut guard: DeserializeGuard<ConfigMap> = serde_json::from_value(json).expect("valid");
        assert_eq!(guard.managed_fields().len(), 1);
        guard.meta_mut().name = Some("b".into());
        assert_eq!(guard.0.expect("decoded").name_any(), "b");
    }

    #[test]
    fn an_undecodable_object_keeps_its_error_and_metadata() {
        let json = json!({"metadata": {"name": "a", "labels": {"x": "y"}, "managedFields": [{"manager": "me"}]}, "data": 5});
        let mut guard: DeserializeGuard<ConfigMap> = serde_json::from_value(json).expect("guarded");
        assert_eq!((guard.labels()["x"].as_str(), guard.managed_fields().len()), ("y", 0));
        guard.meta_mut().name = Some("b".into());
        let error = guard.0.expect_err("data is no map").to_string();
        assert_eq!(error, "cannot decode object b: invalid type: integer `5`, expected a map");
    }

    #[test]
    fn undecodable_metadata_is_an_error() {
        for json in [json!({"metadata": 5, "data": 5}), json!({"metadata": {"labels": 5}, "data": 5})] {
            assert!(serde_json::from_value::<DeserializeGuard<ConfigMap>>(json).is_err());
        }
        let nameless: DeserializeGuard<ConfigMap> = serde_json::from_value(json!([1])).expect("guarded");
        assert!(
            nameless
                .0
                .expect_err("no object")
                .to_string()
                .starts_with("cannot decode object without a name: ")
        );
    }

    #[test]
    fn a_guard_has_the_kind_of_its_object() {
        type Guard = DeserializeGuard<Pod>;
        assert_eq!(Guard::url_path(&(), Some("web")), "/api/v1/namespaces/web/pods");
        assert_eq!((Guard::kind(&()), Guard::api_version(&())), ("Pod".into(), "v1".into()));
        assert!(!Guard::metadata_api());
    }
}
