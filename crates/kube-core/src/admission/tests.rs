//! Admission reviews as servers send them, and the responses to them.

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use serde_json::{Value, json};

use super::{AdmissionRequest, AdmissionResponse, AdmissionReview, Operation, PatchType};
use crate::{DynamicObject, ResourceExt, metadata::TypeMeta};

/// A review with everything in it, as the API documentation shows it.
fn review() -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5", "operation": "UPDATE", "name": "settings", "namespace": "web", "dryRun": true,
            "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
            "resource": {"group": "", "version": "v1", "resource": "configmaps"}, "subResource": "status",
            "requestKind": {"group": "", "version": "v1", "kind": "ConfigMap"},
            "requestResource": {"group": "", "version": "v1", "resource": "configmaps"}, "requestSubResource": "status",
            "userInfo": {"username": "admin", "groups": ["system:masters"], "extra": {"k": ["v"]}},
            "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "new"}},
            "oldObject": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "old"}},
            "options": {"apiVersion": "meta.k8s.io/v1", "kind": "UpdateOptions"}
        }
    })
}

fn request() -> AdmissionRequest<ConfigMap> {
    let review: AdmissionReview<ConfigMap> = serde_json::from_value(review()).expect("valid");
    review.try_into().expect("holds a request")
}

fn response(response: AdmissionResponse) -> Value {
    let json = serde_json::to_value(response.into_review()).expect("valid");
    assert_eq!(
        (&json["apiVersion"], &json["kind"]),
        (&json!("admission.k8s.io/v1"), &json!("AdmissionReview"))
    );
    assert!(json.get("request").is_none());
    json["response"].clone()
}

#[test]
fn every_field_of_a_request_is_read() {
    let request = request();
    assert_eq!(
        (request.uid.as_str(), request.operation.clone(), request.dry_run),
        ("705ab4f5", Operation::Update, true)
    );
    assert_eq!((request.name.as_str(), request.namespace.as_deref()), ("settings", Some("web")));
    assert_eq!((request.kind.kind.as_str(), request.resource.resource.as_str()), ("ConfigMap", "configmaps"));
    assert_eq!(
        (request.sub_resource.as_deref(), request.request_sub_resource.as_deref()),
        (Some("status"), Some("status"))
    );
    assert_eq!(request.request_kind.as_ref().map(|gvk| gvk.kind.as_str()), Some("ConfigMap"));
    assert_eq!(request.request_resource.as_ref().map(|gvr| gvr.resource.as_str()), Some("configmaps"));
    assert_eq!(request.user_info.username.as_deref(), Some("admin"));
    let value = |object: &Option<ConfigMap>| {
        object.as_ref().and_then(|map| map.data.clone()).expect("has data")["a"].clone()
    };
    assert_eq!((value(&request.object), value(&request.old_object)), ("new".into(), "old".into()));
    assert_eq!(request.options.as_ref().map(|options| &options.0["kind"]), Some(&json!("UpdateOptions")));
    assert_eq!(request.types.kind, "AdmissionReview");
}

#[test]
fn a_deletion_decodes_without_an_object() {
    let review: AdmissionReview<DynamicObject> = serde_json::from_value(json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": null,
        "request": {
            "uid": "1", "operation": "DELETE", "userInfo": {}, "object": null, "options": null,
            "kind": {"group": "x.io", "version": "v1", "kind": "Foo"},
            "resource": {"group": "x.io", "version": "v1", "resource": "foos"},
            "oldObject": {"apiVersion": "x.io/v1", "kind": "Foo", "metadata": {"name": "a"}, "spec": {"b": 1}}
        }
    }))
    .expect("valid");
    let request: AdmissionRequest<DynamicObject> = review.try_into().expect("holds a request");
    assert!(
        request.object.is_none()
            && request.namespace.is_none()
            && request.name.is_empty()
            && !request.dry_run
    );
    let old = request.old_object.expect("is deleted");
    assert_eq!((old.name_any().as_str(), &old.data["spec"]["b"]), ("a", &json!(1)));
}

#[test]
fn a_review_without_a_request_is_an_error() {
    let json = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"});
    let review: AdmissionReview<Pod> = serde_json::from_value(json).expect("valid");
    let error = TryInto::<AdmissionRequest<Pod>>::try_into(review).expect_err("none");
    assert_eq!(error.to_string(), "the AdmissionReview holds no request");
    for missing in [json!({}), json!({"kind": "AdmissionReview"})] {
        assert!(serde_json::from_value::<AdmissionReview<Pod>>(missing).is_err());
    }
}

#[test]
fn reviews_round_trip() {
    let review_of_map: AdmissionReview<ConfigMap> = serde_json::from_value(review()).expect("valid");
    assert_eq!(serde_json::to_value(review_of_map).expect("valid"), review());
}

#[test]
fn allowed_denied_and_invalid_responses_have_their_wire_form() {
    let request = request();
    assert_eq!(response((&request).into()), json!({"uid": "705ab4f5", "allowed": true, "status": {}}));
    assert_eq!(
        response(AdmissionResponse::from(&request).deny("not today")),
        json!({"uid": "705ab4f5", "allowed": false,
               "status": {"status": "Failure", "code": 403, "reason": "Forbidden", "message": "not today"}})
    );
    assert_eq!(
        response(AdmissionResponse::invalid("no review")),
        json!({"uid": "", "allowed": false,
               "status": {"status": "Failure", "code": 400, "reason": "BadRequest", "message": "no review"}})
    );
    assert!(!AdmissionResponse::from(&request).allowed(false).allowed);
}

#[test]
fn patches_are_base64_of_json() {
    let operations = json!([{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]);
    let patch: json_patch::Patch = serde_json::from_value(operations.clone()).expect("valid");
    let mut response_with_patch =
        AdmissionResponse::from(&request()).with_patch(patch).expect("has a JSON form");
    response_with_patch.warnings = Some(vec!["careful".into()]);
    response_with_patch.audit_annotations.insert("k".into(), "v".into());
    assert_eq!(response_with_patch.patch_type, Some(PatchType::JsonPatch));
    let json = response(response_with_patch.clone());
    assert_eq!(json["patchType"], "JSONPatch");
    assert_eq!((&json["warnings"], &json["auditAnnotations"]), (&json!(["careful"]), &json!({"k": "v"})));
    let k8s_openapi::ByteString(bytes) = serde_json::from_value(json["patch"].clone()).expect("base64");
    assert_eq!(serde_json::from_slice::<Value>(&bytes).expect("JSON"), operations);

    let back: AdmissionResponse = serde_json::from_value(json.clone()).expect("valid");
    assert_eq!(back.patch, response_with_patch.patch);
    let mut numbers = json;
    numbers["patch"] = json!(bytes);
    assert_eq!(
        serde_json::from_value::<AdmissionResponse>(numbers).expect("valid").patch,
        response_with_patch.patch
    );
}

#[test]
fn a_review_without_a_type_is_written_as_version_one() {
    let response_with_patch =
        AdmissionReview::<ConfigMap> { types: TypeMeta::default(), request: None, response: None };
    assert_eq!(
        serde_json::to_value(response_with_patch).expect("valid"),
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"})
    );
}
