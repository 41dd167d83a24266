//! Tests of converting autoscalers.

use super::*;

/// Recorded from a genuine server.
#[test]
fn fields_missing_in_v1_are_in_annotations() {
    let stored = json!({"kind": "HorizontalPodAutoscaler", "metadata": {"name": "a", "annotations": {"x": "y"}}, "spec": {
    "maxReplicas": 5, "metrics": [
        {"type": "Resource", "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 60}}},
        {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "500m"}}},
        {"type": "Pods", "pods": {"metric": {"name": "rps", "selector": {"matchLabels": {"name": "n", "apiVersion": "v"}}},
            "target": {"type": "AverageValue", "averageValue": "1k"}}},
        {"type": "Object", "object": {"describedObject": {"kind": "Service", "name": "s", "apiVersion": "v1"},
            "metric": {"name": "hits"}, "target": {"type": "Value", "value": "10"}}},
        {"type": "External", "external": {"metric": {"name": "q"}, "target": {"type": "AverageValue", "averageValue": "30"}}},
        {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}],
    "behavior": {"scaleDown": {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}}},
    "status": {"currentReplicas": 2, "currentMetrics": [
        {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 33, "averageValue": "100m"}}},
        {"type": "Object", "object": {"metric": {"name": "o"}, "current": {"value": "7"}, "describedObject": {"kind": "S", "name": "s"}}}],
        "conditions": [{"type": "AbleToScale", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "t"}]}});
    let mut served = stored.clone();
    convert_from_storage(&mut served);
    let annotation = |name: &str| served["metadata"]["annotations"][name].as_str().unwrap_or_default();
    assert_eq!(
        annotation(METRICS),
        r#"[{"type":"Resource","resource":{"name":"memory","targetAverageUtilization":60}},{"type":"Resource","resource":{"name":"cpu","targetAverageValue":"500m"}},{"type":"Pods","pods":{"metricName":"rps","targetAverageValue":"1k","selector":{"matchLabels":{"apiVersion":"v","name":"n"}}}},{"type":"Object","object":{"target":{"kind":"Service","name":"s","apiVersion":"v1"},"metricName":"hits","targetValue":"10"}},{"type":"External","external":{"metricName":"q","targetAverageValue":"30"}}]"#
    );
    assert_eq!(
        annotation(BEHAVIOR),
        r#"{"ScaleDown":{"StabilizationWindowSeconds":null,"SelectPolicy":"Max","Policies":[{"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":null}}"#
    );
    assert_eq!(
        annotation(CURRENT_METRICS),
        r#"[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":33,"currentAverageValue":"100m"}},{"type":"Object","object":{"target":{"kind":"S","name":"s"},"metricName":"o","currentValue":"7"}}]"#
    );
    assert_eq!(
        annotation(CONDITIONS),
        r#"[{"type":"AbleToScale","status":"True","lastTransitionTime":"t","reason":"R","message":"m"}]"#
    );
    assert_eq!(served["spec"], json!({"maxReplicas": 5, "targetCPUUtilizationPercentage": 70}));
    assert_eq!(served["status"], json!({"currentReplicas": 2, "currentCPUUtilizationPercentage": 33}));
    convert_to_storage(&mut served);
    assert_eq!(served, stored);
}

#[test]
fn invalid_annotations_are_dropped() {
    let mut object = json!({"metadata": {"annotations": {METRICS: "nope", BEHAVIOR: "[]", CONDITIONS: "1", CURRENT_METRICS: "{"}},
        "spec": {"maxReplicas": 1}});
    convert_to_storage(&mut object);
    assert_eq!(object, json!({"metadata": {}, "spec": {"maxReplicas": 1}}));
}

#[test]
fn odd_input_does_not_panic() {
    for object in [
        json!({}),
        json!({"spec": 1, "status": [], "metadata": 3}),
        json!({"spec": {"metrics": [1, {"type": 1}], "behavior": 3}}),
    ] {
        convert_from_storage(&mut object.clone());
        convert_to_storage(&mut object.clone());
    }
    let mut object = json!({"metadata": {"annotations": {METRICS: "[1, {\"resource\": {\"name\": 3}}]"}}});
    convert_to_storage(&mut object);
    assert_eq!(object["spec"]["metrics"][1]["resource"]["name"], 3);
}
