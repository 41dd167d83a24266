//! Keeps one undecodable object from failing a whole list.

use std::{borrow::Cow, fmt};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;

use crate::resource::Resource;

/// Decodes `K`, and keeps the metadata and the error where that fails: in a list, a watch or a store, one object
/// of an unexpected shape then is one error instead of the end of everything.
///
/// The cost: each object is built twice, as a JSON value and from that as `K`, and its metadata without the managed
/// fields is copied before that may fail. In a list that is one object at a time. The error is in words, as the place in the text is lost. It cannot be written back: take the object
/// out first.
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

/// An object that could not be decoded.
///
/// Display names the object and says what was wrong.
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
    /// What was wrong, in words: the first mismatch, with what was found and what was expected.
    pub error: String,
    /// Its metadata without the managed fields: enough to find or repair it.
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
    /// Only where there is no JSON, or where the metadata itself cannot be read.
    fn deserialize<D>(deserializer: D) -> Result<Self, D::Error>
    where
        D: Deserializer<'de>,
    {
        let value = Value::deserialize(deserializer)?;
        // Kept aside, as decoding consumes the value: objects that fail are rare, but come without warning.
        let metadata = value.get("metadata").map(without_managed_fields);
        K::deserialize(value).map(|object| Self(Ok(object))).or_else(|error| {
            let metadata = metadata.map(ObjectMeta::deserialize).transpose().map_err(D::Error::custom)?;
            Ok(Self(Err(InvalidObject { error: error.to_string(), metadata: metadata.unwrap_or_default() })))
        })
    }
}

/// A copy without the part that is by far the largest and says nothing of the object.
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
    fn a_good_object_is_itself() {
        let json =
            json!({"metadata": {"name": "a", "managedFields": [{"manager": "me"}]}, "data": {"k": "v"}});
        let mut guard: DeserializeGuard<ConfigMap> = serde_json::from_value(json).expect("valid");
        assert_eq!(guard.managed_fields().len(), 1);
        guard.meta_mut().name = Some("b".into());
        assert_eq!(guard.0.expect("decoded").name_any(), "b");
    }

    #[test]
    fn a_bad_object_keeps_its_error_and_metadata() {
        let json = json!({"metadata": {"name": "a", "labels": {"x": "y"}, "managedFields": [{"manager": "me"}]}, "data": 5});
        let mut guard: DeserializeGuard<ConfigMap> = serde_json::from_value(json).expect("guarded");
        assert_eq!((guard.labels()["x"].as_str(), guard.managed_fields().len()), ("y", 0));
        guard.meta_mut().name = Some("b".into());
        let error = guard.0.expect_err("data is no map").to_string();
        assert_eq!(error, "cannot decode object b: invalid type: integer `5`, expected a map");
    }

    #[test]
    fn what_no_guard_can_name_is_an_error() {
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
    fn is_of_the_kind_that_it_guards() {
        type Guard = DeserializeGuard<Pod>;
        assert_eq!(Guard::url_path(&(), Some("web")), "/api/v1/namespaces/web/pods");
        assert_eq!((Guard::kind(&()), Guard::api_version(&())), ("Pod".into(), "v1".into()));
        assert!(!Guard::metadata_api());
    }
}
