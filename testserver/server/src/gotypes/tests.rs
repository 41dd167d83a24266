//! Objects that genuine servers read, and what they print of them or refuse.

use serde_json::{Value, json};

use super::{by_name, decode, encode, undecodable_metadata};

fn normal(name: &str, mut object: Value) -> Result<Value, String> {
    let root = by_name(name).unwrap();
    decode(root, &mut object)?;
    encode(root, &mut object);
    Ok(object)
}

#[test]
fn zero_values_are_printed_as_by_go() {
    let map = json!({"data": {"x": null, "y": "z"}, "binaryData": {}, "immutable": false});
    let expected = json!({"metadata": {}, "data": {"x": "", "y": "z"}, "immutable": false});
    assert_eq!(normal("api.core.v1.ConfigMap", map), Ok(expected), "a pointer keeps its false");
    let role = json!({"metadata": {"creationTimestamp": null, "labels": {}}, "rules": []});
    assert_eq!(normal("api.rbac.v1.Role", role), Ok(json!({"metadata": {}, "rules": null})));
    for (lifecycle, stays) in [(json!({"stopSignal": "SIGTERM"}), false), (json!({}), true)] {
        let container = normal("api.core.v1.Container", json!({"lifecycle": lifecycle})).unwrap();
        assert_eq!(container.get("lifecycle").is_some(), stays);
    }
    let selector = json!({"resource": "limits.cpu"});
    let expected = json!({"resource": "limits.cpu", "divisor": "0"});
    assert_eq!(normal("api.core.v1.ResourceFieldSelector", selector), Ok(expected));
    let port = json!({"port": 80, "nodePort": 0, "name": "", "targetPort": null});
    assert_eq!(normal("api.core.v1.ServicePort", port), Ok(json!({"port": 80, "targetPort": 0})));
    let condition = json!({"type": "a", "status": "True", "lastProbeTime": "2020-01-01T01:00:00.5+01:00"});
    let expected = json!({"type": "a", "status": "True", "lastProbeTime": "2020-01-01T00:00:00Z", "lastTransitionTime": null});
    assert_eq!(normal("api.core.v1.PodCondition", condition), Ok(expected));
}

/// What `v1.37` answered to each.
#[test]
#[expect(clippy::too_many_lines, reason = "a table: one row for each wrong value")]
fn wrong_types_are_refused_in_the_words_of_go() {
    for (replaced, why) in [
        (
            json!({"replicas": "x"}),
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            json!({"replicas": 1.5}),
            "json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            json!({"replicas": 3_000_000_000_u64}),
            "json: cannot unmarshal number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            json!({"replicas": []}),
            "json: cannot unmarshal array into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            json!({"strategy": "x"}),
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.strategy of type v1.DeploymentStrategy",
        ),
        (
            json!({"strategy": {"type": 5}}),
            "json: cannot unmarshal number into Go struct field DeploymentStrategy.spec.strategy.type of type v1.DeploymentStrategyType",
        ),
        (
            json!({"strategy": {"rollingUpdate": {"maxSurge": true}}}),
            "json: cannot unmarshal bool into Go struct field RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32",
        ),
        (
            json!({"template": {"metadata": {"labels": {"a": 1}}}}),
            "json: cannot unmarshal number into Go struct field ObjectMeta.spec.template.metadata.labels of type string",
        ),
        (
            json!({"template": {"metadata": {"labels": [1]}}}),
            "json: cannot unmarshal array into Go struct field ObjectMeta.spec.template.metadata.labels of type map[string]string",
        ),
        (
            json!({"template": {"spec": {"containers": {}}}}),
            "json: cannot unmarshal object into Go struct field PodSpec.spec.template.spec.containers of type []v1.Container",
        ),
        (
            json!({"template": {"spec": {"containers": ["x"]}}}),
            "json: cannot unmarshal string into Go struct field PodSpec.spec.template.spec.containers of type v1.Container",
        ),
        (
            json!({"template": {"metadata": {"creationTimestamp": "x"}}}),
            "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\"",
        ),
        (
            json!({"template": {"metadata": {"creationTimestamp": 5}}}),
            "json: cannot unmarshal number into Go struct field ObjectMeta.spec.template.metadata.creationTimestamp of type string",
        ),
        (
            json!({"template": {"metadata": {"deletionTimestamp": "2020-13-01T00:00:00Z"}}}),
            "parsing time \"2020-13-01T00:00:00Z\": month out of range",
        ),
        (
            json!({"template": {"spec": {"overhead": "x"}}}),
            "json: cannot unmarshal string into Go struct field PodSpec.spec.template.spec.overhead of type v1.ResourceList",
        ),
    ] {
        assert_eq!(normal("api.apps.v1.Deployment", json!({"spec": replaced})), Err(why.into()));
    }
    let schema = json!({"x-kubernetes-int-or-string": "x"});
    assert_eq!(
        normal("apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps", schema),
        Err("json: cannot unmarshal string into Go struct field JSONSchemaProps.x-kubernetes-int-or-string of type bool".into())
    );
    for (text, why) in [
        ("eA", 0),
        ("eA==eA==", 4),
        ("e", 0),
        ("e===", 1),
        ("eHh!", 3),
        ("eHh4e", 4),
        ("====", 0),
        ("e A==", 1),
        ("-_8=", 0),
        ("eHh4=", 4),
    ] {
        let refused = normal("api.core.v1.Secret", json!({"data": {"a": text}}));
        assert_eq!(refused, Err(format!("illegal base64 data at input byte {why}")), "{text}");
    }
    for (text, canonical) in [("eA==\n", "eA=="), ("eB==", "eA=="), ("eHh4\r\neHh4", "eHh4eHh4"), ("", "")] {
        let secret = normal("api.core.v1.Secret", json!({"data": {"a": text}})).unwrap();
        assert_eq!(secret["data"]["a"], canonical);
    }
}

/// Responses of 1.37.
#[test]
#[expect(clippy::too_many_lines, reason = "a table: one row for each wrong value")]
fn messages_are_those_of_go() {
    for (metadata, want) in [
        (
            json!({"labels": ""}),
            "cannot unmarshal string into Go struct field ObjectMeta.labels of type map[string]string",
        ),
        (
            json!({"labels": {"a": 1}}),
            "cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
        ),
        (json!({"name": 5}), "cannot unmarshal number into Go struct field ObjectMeta.name of type string"),
        (
            json!({"namespace": ["a"]}),
            "cannot unmarshal array into Go struct field ObjectMeta.namespace of type string",
        ),
        (
            json!({"annotations": {"a": {}}}),
            "cannot unmarshal object into Go struct field ObjectMeta.annotations of type string",
        ),
        (
            json!({"finalizers": "a"}),
            "cannot unmarshal string into Go struct field ObjectMeta.finalizers of type []string",
        ),
        (
            json!({"finalizers": [1]}),
            "cannot unmarshal number into Go struct field ObjectMeta.finalizers of type string",
        ),
        (
            json!({"ownerReferences": {}}),
            "cannot unmarshal object into Go struct field ObjectMeta.ownerReferences of type []v1.OwnerReference",
        ),
        (
            json!({"ownerReferences": ["x"]}),
            "cannot unmarshal string into Go struct field ObjectMeta.ownerReferences of type v1.OwnerReference",
        ),
        (
            json!({"ownerReferences": [{"controller": "x"}]}),
            "cannot unmarshal string into Go struct field OwnerReference.ownerReferences.controller of type bool",
        ),
        (
            json!({"generation": "x"}),
            "cannot unmarshal string into Go struct field ObjectMeta.generation of type int64",
        ),
        (
            json!({"creationTimestamp": 5}),
            "cannot unmarshal number into Go struct field ObjectMeta.creationTimestamp of type string",
        ),
        (
            json!({"managedFields": {}}),
            "cannot unmarshal object into Go struct field ObjectMeta.managedFields of type []v1.ManagedFieldsEntry",
        ),
        (json!({"uid": 5}), "cannot unmarshal number into Go struct field ObjectMeta.uid of type types.UID"),
        (json!(true), "cannot unmarshal bool into Go value of type v1.ObjectMeta"),
        (json!([]), "cannot unmarshal array into Go value of type v1.ObjectMeta"),
    ] {
        assert_eq!(undecodable_metadata(&metadata).unwrap(), format!("json: {want}"), "{metadata}");
    }
    assert_eq!(
        undecodable_metadata(&json!({"managedFields": [{"time": "x"}]})).unwrap(),
        r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#
    );
    let good =
        json!({"name": null, "labels": {"a": null}, "generation": 1, "other": 1, "creationTimestamp": null});
    assert_eq!((undecodable_metadata(&good), undecodable_metadata(&Value::Null)), (None, None));
}

/// What `v1.37` answered to each.
#[test]
fn a_schema_or_a_bool_is_nothing_else() {
    let name = "apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";
    let decoded = |value: Value| normal(name, json!({"additionalProperties": value}));
    assert!(decoded(json!(true)).is_ok() && decoded(json!({"type": "string"})).is_ok());
    for other in [json!(7), json!([])] {
        assert_eq!(decoded(other), Err("boolean or JSON schema expected".to_owned()));
    }
}
