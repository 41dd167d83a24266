//! Tests of webhook responses, compared with what a genuine server said.

use serde_json::{Value, json};

use super::AdmissionResponse;

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
