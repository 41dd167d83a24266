//! Defaulting.

use serde_json::{Map, Value};

use super::model::{Field, Schema};

impl Schema {
    /// Sets the default of every field that is missing, or null and not nullable, recursively. Structs that Go holds by value become `{}`.
    pub(crate) fn default(&self, object: &mut Value) {
        fill(self.root(), object);
    }
}

fn fill(field: &Field, value: &mut Value) {
    let node = field.node();
    match value {
        Value::Object(map) => {
            for (name, inner) in &node.properties {
                if let Some(default) = missing(inner, map.get(name.as_ref())) {
                    map.insert(name.to_string(), default);
                }
            }
            for (name, value) in map.iter_mut() {
                let Some(inner) = node.properties.get(name.as_str()).or(node.additional.as_deref()) else {
                    continue;
                };
                if let Some(default) = missing(inner, Some(value)) {
                    *value = default;
                }
                fill(inner, value);
            }
        }
        Value::Array(list) => {
            let Some(inner) = &node.items else { return };
            for value in list {
                if let Some(default) = missing(inner, Some(value)) {
                    *value = default;
                }
                fill(inner, value);
            }
        }
        _ => {}
    }
}

/// The default of a field, unless it has a value.
fn missing(field: &Field, present: Option<&Value>) -> Option<Value> {
    match present {
        Some(Value::Null) if field.node().nullable => None,
        Some(Value::Null) | None => {
            field.default_value().cloned().or_else(|| field.by_value().then(|| Value::Object(Map::new())))
        }
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::types;
    use serde_json::json;

    fn schema() -> Schema {
        let doc = json!({"type": "object", "properties": {"spec": {"type": "object", "default": {}, "properties": {
            "replicas": {"type": "integer", "default": 3},
            "maybe": {"type": "string", "nullable": true, "default": "x"},
            "ports": {"type": "array", "items": {"type": "object", "properties": {"protocol": {"type": "string", "default": "TCP"}}}},
            "by": {"type": "object", "additionalProperties": {"type": "object", "properties": {"n": {"type": "integer", "default": 1}}}},
        }}}});
        Schema::from_openapi("spec.validation", &doc).unwrap()
    }

    #[test]
    fn missing_values_and_nulls_are_defaulted_at_every_depth() {
        for (provided, want) in [
            (json!({}), json!({"spec": {"replicas": 3, "maybe": "x"}})),
            (
                json!({"spec": {"replicas": null, "maybe": null}}),
                json!({"spec": {"replicas": 3, "maybe": null}}),
            ),
            (
                json!({"spec": {"replicas": 0, "maybe": "y", "ports": [{}, {"protocol": "UDP"}], "by": {"a": {}}}}),
                json!({"spec": {"replicas": 0, "maybe": "y", "ports": [{"protocol": "TCP"}, {"protocol": "UDP"}], "by": {"a": {"n": 1}}}}),
            ),
        ] {
            let mut got = provided.clone();
            schema().default(&mut got);
            assert_eq!(got, want, "{provided}");
        }
    }

    #[test]
    fn a_null_for_a_struct_that_go_holds_by_value_is_an_empty_struct() {
        let mut deployment =
            json!({"spec": {"template": {"spec": {"containers": [{"name": "c", "resources": null}]}}}});
        types::by_name("io.k8s.api.apps.v1.Deployment").unwrap().default(&mut deployment);
        assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["resources"], json!({}));
    }

    /// The response of `core` to the same Deployment, except for defaults that depend on other fields (pull policy).
    #[test]
    fn a_deployment_defaults_as_on_the_genuine_server() {
        let mut deployment = json!({"metadata": {"name": "x"}, "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "x"}},
            "template": {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}]}}}});
        types::by_name("io.k8s.api.apps.v1.Deployment").unwrap().default(&mut deployment);
        let spec = &deployment["spec"];
        assert_eq!(
            (&spec["progressDeadlineSeconds"], &spec["revisionHistoryLimit"]),
            (&json!(600), &json!(10))
        );
        assert_eq!(
            spec["strategy"],
            json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}})
        );
        assert_eq!(
            spec["template"]["spec"],
            json!({
            "containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "protocol": "TCP"}], "resources": {},
                "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}],
            "dnsPolicy": "ClusterFirst", "restartPolicy": "Always", "schedulerName": "default-scheduler",
            "securityContext": {}, "terminationGracePeriodSeconds": 30})
        );
        assert_eq!(deployment["status"], json!({}));
    }
}
