//! [`Configuration`]: what can be applied.

use serde::Serialize;
use serde_json::{Map, Value};

use super::Sparse;
use crate::{Resource, request::Error};

/// The fields that one field manager wants of an object: the body of a server-side apply.
///
/// Implemented for [`Sparse`], which has exactly the fields that were written, and for every object that serializes, such as a
/// `ConfigMap` or a [`DynamicObject`](crate::DynamicObject). Mind that a whole object claims every field that it serializes, also the
/// empty ones that its type does not skip.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_core::apply::Configuration;
/// use serde_json::json;
///
/// fn name(configuration: &impl Configuration) -> Option<String> {
///     Some(configuration.to_json().ok()?["metadata"]["name"].as_str()?.to_owned())
/// }
///
/// let mut settings = ConfigMap::default();
/// settings.metadata.name = Some("settings".into());
/// assert_eq!(name(&settings).as_deref(), Some("settings"));
/// ```
pub trait Configuration {
    /// The type of the object.
    type Resource;

    /// The configuration as it is sent: an object with the fields that the manager wants, and those that identify the object:
    /// `apiVersion`, `kind`, `metadata.name`, and of namespaced kinds `metadata.namespace`, which may be left out where the request has
    /// it. Nothing is checked here: `ApiExt::apply` (crate `kube-tools`) says what is missing. O(size).
    ///
    /// # Errors
    ///
    /// [`Error::SerializeBody`] if the object has no JSON form, [`Error::Validation`] if that is no JSON object, or for an invalid
    /// [`Sparse`].
    fn to_json(&self) -> Result<Map<String, Value>, Error>;
}

impl<K: Resource> Configuration for Sparse<K> {
    type Resource = K;

    fn to_json(&self) -> Result<Map<String, Value>, Error> {
        object(self.json().map_err(|error| Error::Validation(error.to_string()))?)
    }
}

impl<K: Resource + Serialize> Configuration for K {
    type Resource = K;

    fn to_json(&self) -> Result<Map<String, Value>, Error> {
        object(serde_json::to_value(self).map_err(Error::SerializeBody)?)
    }
}

fn object(json: Value) -> Result<Map<String, Value>, Error> {
    match json {
        Value::Object(fields) => Ok(fields),
        _ => Err(Error::invalid("an apply configuration must serialize as a JSON object")),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::ObjectMeta};
    use serde_json::json;

    use super::*;
    use crate::{ApiResource, DynamicObject, apply::SparseError};

    fn json<C: Configuration>(configuration: &C) -> Result<Value, String> {
        configuration.to_json().map(Value::Object).map_err(|error| error.to_string())
    }

    #[test]
    fn objects_of_every_kind_are_configurations() {
        let expected = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a" } });
        let metadata = ObjectMeta { name: Some("a".into()), ..ObjectMeta::default() };
        assert_eq!(json(&ConfigMap { metadata, ..ConfigMap::default() }), Ok(expected.clone()));
        let dynamic = DynamicObject::new("a", &ApiResource::erase::<ConfigMap>(&()));
        assert_eq!(json(&dynamic), Ok(expected.clone()));
        let Value::Object(fields) = expected.clone() else { unreachable!() };
        assert_eq!(json(&Sparse::<ConfigMap>::from_fields(fields)), Ok(expected));
    }

    #[test]
    fn what_cannot_be_sent_is_an_error() {
        let odd = DynamicObject::new("a", &ApiResource::erase::<ConfigMap>(&())).data(json!([1]));
        assert!(json(&odd).unwrap_err().contains("`data` of a DynamicObject is an array"));
        let invalid = Sparse::<ConfigMap>::invalid(SparseError::new("ConfigMap: no name for `odd`"));
        assert_eq!(json(&invalid).unwrap_err(), "failed to validate request: ConfigMap: no name for `odd`");
        assert_eq!(json(&Sparse::<ConfigMap>::from_fields(Map::new())), Ok(json!({})));
    }
}
