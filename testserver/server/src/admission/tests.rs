//! Tests of webhook responses and configurations, compared with what a genuine server said.

use serde_json::{Value, json};

use super::{AdmissionResponse, validate_config};

fn read(review: Value, mutating: bool) -> Result<AdmissionResponse, String> {
    AdmissionResponse::read(&review, &json!("u"), mutating)
}

fn response(response: Value) -> Value {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}

/// What `core` answered to each.
#[test]
fn invalid_responses_are_reported() {
    for (review, mutating, why) in [
        (json!({"foo": 1}), false, "webhook response was absent"),
        (response(json!({"uid": "zz", "allowed": true})), false, "expected response.uid=\"u\", got \"zz\""),
        (
            response(json!({"uid": "u", "patch": "W10=", "patchType": "JSONPatch"})),
            false,
            "validating webhook may not return response.patch",
        ),
        (
            response(json!({"uid": "u", "patch": "W10="})),
            true,
            "webhook returned response.patch but not response.patchType",
        ),
        (
            response(json!({"uid": "u", "patchType": "JSONPatch"})),
            true,
            "webhook returned response.patchType but not response.patch",
        ),
    ] {
        assert_eq!(read(review, mutating).unwrap_err(), why);
    }
    let other = json!({"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview", "response": {"uid": "u"}});
    assert!(read(other, false).unwrap_err().contains("admission.k8s.io/v1"));
}

/// What `core` answered to each.
#[test]
fn refusals_are_the_webhooks_own() {
    let refusal = |status: Value| {
        let read = read(response(json!({"uid": "u", "allowed": false, "status": status})), false).unwrap();
        read.refusal("h")
    };
    let plain = refusal(json!({}));
    assert_eq!((plain.code.as_u16(), plain.reason.as_ref()), (400, ""));
    assert_eq!(plain.message, "admission webhook \"h\" denied the request without explanation");
    assert!(plain.details.is_none());
    let full = refusal(json!({"message": "no", "code": 418, "reason": "Teapot",
        "details": {"causes": [{"field": "x", "message": "m", "reason": "r"}]}}));
    assert_eq!((full.code.as_u16(), full.reason.as_ref()), (418, "Teapot"));
    assert_eq!(full.message, "admission webhook \"h\" denied the request: no");
    assert_eq!(full.details.unwrap().causes[0].field, "x");
    // A refusal with the code of a success is still one.
    assert_eq!(refusal(json!({"code": 200})).code, 400);
}

fn errors(change: Value) -> Vec<String> {
    let mut hook = json!({"name": "t.schema.dev", "admissionReviewVersions": ["v1"], "sideEffects": "None",
        "clientConfig": {"url": "https://127.0.0.1/x"}, "failurePolicy": "Fail", "matchPolicy": "Exact",
        "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["*"], "resources": ["pods"], "scope": "*"}]});
    for (field, value) in change.as_object().unwrap() {
        hook[field] = value.clone();
    }
    validate_config(&json!({"webhooks": [hook]})).iter().map(ToString::to_string).collect()
}

/// What `core` answered to each; conditions are younger than it.
#[test]
fn configurations_are_checked_field_by_field() {
    assert_eq!(errors(json!({})), Vec::<String>::new());
    let rule = |change: Value| {
        let mut rule =
            json!({"operations": ["*"], "apiGroups": [""], "apiVersions": ["*"], "resources": ["pods"]});
        for (field, value) in change.as_object().unwrap() {
            rule[field] = value.clone();
        }
        json!({"rules": [rule]})
    };
    for (change, want) in [
        (json!({"sideEffects": null}), "sideEffects: Required value: must specify one of None, NoneOnDryRun"),
        (
            json!({"sideEffects": "Some"}),
            "sideEffects: Unsupported value: \"Some\": supported values: \"None\", \"NoneOnDryRun\"",
        ),
        (
            json!({"admissionReviewVersions": []}),
            "admissionReviewVersions: Required value: must specify one of v1, v1beta1",
        ),
        (
            json!({"admissionReviewVersions": ["v9"]}),
            "admissionReviewVersions: Invalid value: [\"v9\"]: must include at least one of v1, v1beta1",
        ),
        (
            json!({"clientConfig": {"url": "http://x/y"}}),
            "clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
        ),
        (
            json!({"clientConfig": {}}),
            "clientConfig: Required value: exactly one of url or service is required",
        ),
        (
            json!({"name": "x"}),
            "name: Invalid value: \"x\": should be a domain with at least three segments separated by dots",
        ),
        (
            json!({"timeoutSeconds": 40}),
            "timeoutSeconds: Invalid value: 40: the timeout value must be between 1 and 30 seconds",
        ),
        (
            json!({"failurePolicy": "Nope"}),
            "failurePolicy: Unsupported value: \"Nope\": supported values: \"Fail\", \"Ignore\"",
        ),
        (
            rule(json!({"operations": ["X"]})),
            "rules[0].operations[0]: Unsupported value: \"X\": supported values: \"*\", \"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\"",
        ),
        (rule(json!({"resources": []})), "rules[0].resources: Required value"),
        (
            rule(json!({"scope": "X"})),
            "rules[0].scope: Unsupported value: \"X\": supported values: \"*\", \"Cluster\", \"Namespaced\"",
        ),
        (
            json!({"objectSelector": {"matchExpressions": [{"key": "a", "operator": "Nope"}]}}),
            "objectSelector.matchExpressions[0].operator: Invalid value: \"Nope\": not a valid selector operator",
        ),
    ] {
        assert_eq!(errors(change), [format!("webhooks[0].{want}")]);
    }
    let conditions = json!({"matchConditions": [{"name": "a", "expression": "object."}, {"name": "a", "expression": " "}]});
    let found = errors(conditions);
    let why = if cfg!(feature = "cel") { "compilation failed" } else { "this server was built without" };
    let wanted = format!("webhooks[0].matchConditions[0].expression: Invalid value: \"object.\": {why}");
    assert!(found[0].starts_with(&wanted), "{}", found[0]);
    assert_eq!(found[1], "webhooks[0].matchConditions[1].name: Duplicate value: \"a\"");
    assert_eq!(found[2], "webhooks[0].matchConditions[1].expression: Required value");
}
