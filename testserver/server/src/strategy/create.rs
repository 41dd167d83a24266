//! Prepares a new object: what the server sets and clears before validation.

use serde_json::Value;

use super::{WritePart, allocate, built_in};
use crate::{object::meta, scheme::Endpoint};

/// Sets the fields of a new object that the server owns, and removes those that clients cannot set.
pub(crate) fn prepare(endpoint: &Endpoint, object: &mut Value, uid: &str, now: &str) {
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion"] {
        meta::set(object, field, Value::Null);
    }
    meta::set(object, "uid", uid);
    meta::set(object, "creationTimestamp", now);
    let generation = if built_in::has_generation(endpoint) { Value::from(1) } else { Value::Null };
    meta::set(object, "generation", generation);
    // A kubelet registers its node with its status.
    if endpoint.has_status()
        && !endpoint.is_core("nodes")
        && let Some(map) = object.as_object_mut()
    {
        map.remove("status");
        // Built-in kinds always have a status.
        if !endpoint.resource.custom {
            map.insert("status".into(), Value::Object(serde_json::Map::new()));
        }
    }
    built_in::prepare_create(endpoint, object);
    built_in::keep_annotations(endpoint, WritePart::Main, &Value::Null, object);
    allocate::create(endpoint, object);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::scheme::Scheme;

    fn prepared(group: &str, plural: &str, mut object: Value) -> Value {
        let scheme = Scheme::with_built_in();
        prepare(scheme.by_plural(group, plural).unwrap(), &mut object, "u", "2026-01-01T00:00:00Z");
        object
    }

    #[test]
    fn the_server_owns_its_fields() {
        let config_map = prepared(
            "",
            "configmaps",
            json!({"metadata": {
            "name": "a", "uid": "mine", "generation": 7, "deletionTimestamp": "x", "selfLink": "y"}}),
        );
        let metadata = &config_map["metadata"];
        assert_ne!(metadata["uid"], "mine");
        assert_eq!(metadata["creationTimestamp"], "2026-01-01T00:00:00Z");
        for gone in ["generation", "deletionTimestamp", "selfLink"] {
            assert!(metadata.get(gone).is_none(), "{gone}");
        }
    }

    #[test]
    fn status_belongs_to_the_server_where_it_is_a_subresource() {
        let deployment =
            prepared("apps", "deployments", json!({"metadata": {"name": "a"}, "status": {"replicas": 9}}));
        assert_eq!(deployment["status"], json!({}));
        assert_eq!(deployment["metadata"]["generation"], 1);
        let status = json!({"phase": "Running"});
        let node = prepared("", "nodes", json!({"metadata": {"name": "a"}, "status": status}));
        assert_eq!(node["status"], status);
        let pod = prepared("", "pods", json!({"metadata": {"name": "a"}, "status": {"phase": "Running"}}));
        assert_eq!(pod["status"]["phase"], "Pending");
    }
}
