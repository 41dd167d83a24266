//! Admission requests over HTTP: responses, limits, panics and metrics.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use http::{Request, StatusCode};
use k8s_openapi::{
    ByteString,
    api::core::v1::{ConfigMap, Pod},
};
use kube_core::{
    DynamicObject, ResourceExt,
    admission::{AdmissionRequest, Operation},
};
use serde_json::{Value, json};
use tower::ServiceExt;

use super::*;
use crate::webhook::{Allowed, Denial, Mutated};

pub(in crate::webhook) fn review(operation: &str, object: &Value, old: &Value) -> Value {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u-1", "operation": operation, "name": "settings", "namespace": "web", "dryRun": true,
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "userInfo": {"username": "me", "groups": ["g"]}, "object": object, "oldObject": old, "options": null}})
}

pub(in crate::webhook) fn map(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data})
}

async fn post_raw(
    webhooks: Webhooks,
    path: &str,
    content_type: &str,
    body: impl Into<Body>,
) -> (StatusCode, Vec<u8>) {
    let request = Request::post(path).header("content-type", content_type).body(body.into()).unwrap();
    let response = webhooks.router().unwrap().oneshot(request).await.unwrap();
    (response.status(), to_bytes(response.into_body(), 1 << 20).await.unwrap().to_vec())
}

/// The `response` of the review.
async fn post(webhooks: Webhooks, path: &str, review: &Value) -> Value {
    let (code, body) = post_raw(webhooks, path, "application/json", review.to_string()).await;
    assert_eq!(code, 200, "{}", String::from_utf8_lossy(&body));
    let review: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        (&review["apiVersion"], &review["kind"]),
        (&json!("admission.k8s.io/v1"), &json!("AdmissionReview"))
    );
    assert_eq!(review["response"]["uid"], "u-1");
    review["response"].clone()
}

async fn text_error(
    webhooks: Webhooks,
    path: &str,
    content_type: &str,
    body: impl Into<Body>,
) -> (u16, String) {
    let (code, body) = post_raw(webhooks, path, content_type, body).await;
    (code.as_u16(), String::from_utf8(body).unwrap())
}

pub(in crate::webhook) async fn not_red(request: AdmissionRequest<ConfigMap>) -> Result<Allowed, Denial> {
    assert!(request.dry_run && request.user_info.username.as_deref() == Some("me"));
    let colour = |map: &Option<ConfigMap>| map.as_ref()?.data.as_ref()?.get("colour").cloned();
    match (&request.operation, colour(&request.object), colour(&request.old_object)) {
        (Operation::Delete, None, Some(old)) => {
            Err(Denial::new(format!("{old} stays")).warning("no deletions"))
        }
        (_, Some(colour), _) if colour == "red" => Err(Denial::invalid("data.colour", "must not be red")),
        (_, new, old) if new != old => Ok(Allowed::default().warning("the colour changes")),
        _ => Ok(().into()),
    }
}

pub(in crate::webhook) const VALIDATE: &str = "/validate--v1-configmap";
const MUTATE: &str = "/mutate--v1-configmap";

#[tokio::test]
async fn a_validating_handler_sees_the_request_and_decides() {
    let ask = |review: Value| async move { post(Webhooks::new().validate(not_red), VALIDATE, &review).await };
    let blue = map(json!({"colour": "blue"}));
    let red = map(json!({"colour": "red"}));
    assert_eq!(
        ask(review("UPDATE", &blue, &blue)).await,
        json!({"uid": "u-1", "allowed": true, "status": {}})
    );
    let warned = ask(review("CREATE", &blue, &Value::Null)).await;
    assert_eq!((&warned["allowed"], &warned["warnings"]), (&json!(true), &json!(["the colour changes"])));
    let denied = ask(review("UPDATE", &red, &blue)).await;
    let expected = json!({"status": "Failure", "code": 422, "reason": "Invalid", "message": "ConfigMap \"settings\" is invalid: data.colour: must not be red",
        "details": {"name": "settings", "kind": "ConfigMap", "causes": [{"reason": "FieldValueInvalid", "field": "data.colour", "message": "must not be red"}]}});
    assert_eq!((&denied["allowed"], &denied["status"]), (&json!(false), &expected));
    let kept = ask(review("DELETE", &Value::Null, &blue)).await;
    assert_eq!((&kept["status"]["code"], &kept["warnings"]), (&json!(403), &json!(["no deletions"])));
}

async fn colour(mut map: ConfigMap, request: AdmissionRequest<ConfigMap>) -> Result<ConfigMap, String> {
    assert!(request.object.is_none(), "it was moved out");
    map.data.get_or_insert_default().entry("colour".into()).or_insert("blue".into());
    Ok(map)
}

#[tokio::test]
async fn a_mutating_handler_returns_the_object_and_the_patch_is_computed() {
    let ask = |review: Value| async move { post(Webhooks::new().mutate(colour), MUTATE, &review).await };
    let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "newField": {"a": 1}});
    let response = ask(review("CREATE", &object, &Value::Null)).await;
    assert_eq!(response["patchType"], "JSONPatch");
    let ByteString(patch) = serde_json::from_value(response["patch"].clone()).unwrap();
    assert_eq!(
        serde_json::from_slice::<Value>(&patch).unwrap(),
        json!([{"op": "add", "path": "/data", "value": {"colour": "blue"}}]),
        "the unknown field is not touched"
    );
    let patch: json_patch::Patch = serde_json::from_slice(&patch).unwrap();
    json_patch::patch(&mut object, &patch).unwrap();
    let unchanged = ask(review("UPDATE", &object, &object)).await;
    assert_eq!(unchanged, json!({"uid": "u-1", "allowed": true, "status": {}}), "no change, no patch");
    let deletion = ask(review("DELETE", &Value::Null, &object)).await;
    assert_eq!(deletion, json!({"uid": "u-1", "allowed": true, "status": {}}));
}

#[tokio::test]
async fn handlers_may_be_closures_with_state_and_of_any_kind() {
    let seen = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = seen.clone();
    let webhooks =
        Webhooks::new().mutate_at(
            "/any",
            move |object: DynamicObject, request: AdmissionRequest<DynamicObject>| {
                counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                async move {
                    Ok::<_, Denial>(Mutated::from(object).warning(format!("{} by me", request.kind.kind)))
                }
            },
        );
    let mut pod = review("CREATE", &json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}}), &Value::Null);
    pod["request"]["kind"]["kind"] = "Pod".into();
    pod["request"]["object"] = json!({"apiVersion": "v1", "kind": "PodExecOptions", "stdin": true}); // of a connection
    assert_eq!(post(webhooks, "/any", &pod).await["warnings"], json!(["Pod by me"]));
    assert_eq!(seen.load(std::sync::atomic::Ordering::Relaxed), 1);
}

#[tokio::test]
async fn an_object_that_does_not_decode_is_denied_by_name_and_field() {
    let bad = map(json!({"colour": 5}));
    for (webhooks, path) in
        [(Webhooks::new().validate(not_red), VALIDATE), (Webhooks::new().mutate(colour), MUTATE)]
    {
        let denied = post(webhooks, path, &review("CREATE", &bad, &Value::Null)).await;
        assert_eq!((&denied["allowed"], &denied["status"]["code"]), (&json!(false), &json!(400)));
        let message = denied["status"]["message"].as_str().unwrap();
        let expected =
            "ConfigMap \"web/settings\": cannot decode the object at data.colour: invalid type: integer `5`";
        assert!(message.starts_with(expected), "{message}");
    }
    let none =
        post(Webhooks::new().validate(not_red), VALIDATE, &review("CREATE", &Value::Null, &Value::Null))
            .await;
    assert_eq!(none["status"]["message"], "ConfigMap \"web/settings\": the request holds no object");
}

#[tokio::test]
async fn an_old_object_that_does_not_decode_can_be_repaired_and_deleted() {
    struct Strict;
    impl Validate<ConfigMap> for Strict {
        async fn validate(&self, _: AdmissionRequest<ConfigMap>) -> Result<Allowed, Denial> {
            Ok(().into())
        }

        async fn validate_undecodable(
            &self,
            request: AdmissionRequest<ConfigMap>,
            old: crate::webhook::UndecodableObject,
        ) -> Result<Allowed, Denial> {
            assert!(request.old_object.is_none());
            Err(format!("{} in {}", old.error, old.json["metadata"]["name"]).into())
        }
    }
    let (bad, good) = (map(json!({"colour": 5})), map(json!({"colour": "blue"})));
    for (operation, object) in [("UPDATE", &good), ("DELETE", &Value::Null)] {
        let request = review(operation, object, &bad);
        let allowed = post(Webhooks::new().validate(not_red), VALIDATE, &request).await;
        assert_eq!(allowed["allowed"], true, "{allowed}");
        let allowed = post(Webhooks::new().mutate(colour), MUTATE, &request).await;
        assert_eq!(allowed["allowed"], true, "{allowed}");
        let denied = post(Webhooks::new().validate(Strict), VALIDATE, &request).await;
        let message = denied["status"]["message"].as_str().unwrap();
        assert!(message.starts_with("data.colour: invalid type: integer `5`"), "{message}");
        assert!(message.ends_with("in \"settings\""), "{message}");
    }
    let denied = post(Webhooks::new().validate(not_red), VALIDATE, &review("UPDATE", &bad, &bad)).await;
    assert_eq!(denied["status"]["code"], 400, "the new object has to decode");
}

#[tokio::test]
async fn a_request_for_another_kind_is_denied() {
    let mut other = review("CREATE", &map(json!({})), &Value::Null);
    other["request"]["kind"] = json!({"group": "autoscaling", "version": "v1", "kind": "Scale"});
    let denied = post(Webhooks::new().validate(not_red), VALIDATE, &other).await;
    assert_eq!(
        denied["status"]["message"],
        "this webhook is for ConfigMap of v1, not for Scale of autoscaling/v1: check the rules of the webhook configuration"
    );
}

#[tokio::test]
async fn what_is_no_review_is_refused_with_its_reason() {
    let good = review("CREATE", &map(json!({})), &Value::Null);
    let changed = |path: &str, value: Value| {
        let mut review = good.clone();
        *review.pointer_mut(path).unwrap() = value;
        review.to_string()
    };
    let deep = "[".repeat(100_000);
    for (content_type, body, expected) in [
        ("text/plain", good.to_string(), "Content-Type: expected application/json, found \"text/plain\""),
        ("application/json", "{".into(), "the body is not JSON: EOF"),
        ("application/json", deep, "the body is not JSON: recursion limit exceeded"),
        (
            "application/json",
            "5".into(),
            "expected AdmissionReview of admission.k8s.io/v1, found \"\" of \"\"",
        ),
        (
            "application/json",
            changed("/apiVersion", json!("admission.k8s.io/v1beta1")),
            "expected AdmissionReview",
        ),
        ("application/json", changed("/request", Value::Null), "the AdmissionReview holds no request"),
        (
            "application/json",
            changed("/request/uid", Value::Null),
            "request.uid: expected the uid of the request",
        ),
    ] {
        let (code, message) =
            text_error(Webhooks::new().validate(not_red), VALIDATE, content_type, body).await;
        assert_eq!(code, 400);
        assert!(message.starts_with(expected), "{message}");
    }
    let unknown = changed("/request/operation", json!("EAT"));
    let denied =
        post(Webhooks::new().validate(not_red), VALIDATE, &serde_json::from_str(&unknown).unwrap()).await;
    let message = denied["status"]["message"].as_str().unwrap();
    assert!(message.starts_with("AdmissionReview: request.operation: unknown variant `EAT`"), "{message}");
    let late = text_error(
        Webhooks::new().validate(not_red),
        &format!("{VALIDATE}?timeout=x"),
        "application/json",
        "{}",
    )
    .await;
    assert!(late.0 == 400 && late.1.starts_with("timeout: "), "{late:?}");
}

#[tokio::test]
async fn a_body_above_the_limit_is_refused() {
    let body = review("CREATE", &map(json!({"text": "x".repeat(2000)})), &Value::Null).to_string();
    let limited = |limit| Webhooks::new().validate(not_red).admission_limit(limit);
    let (code, message) = text_error(limited(2000), VALIDATE, "application/json", body.clone()).await;
    assert_eq!((code, message.as_str()), (413, "the body is larger than 2000 bytes"));
    let exactly = body.len();
    assert_eq!(post_raw(limited(exactly), VALIDATE, "application/json", body).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn a_slow_handler_fails_below_the_servers_timeout() {
    async fn stuck(_: AdmissionRequest<ConfigMap>) -> Result<(), Denial> {
        std::future::pending().await
    }
    let body = review("CREATE", &map(json!({})), &Value::Null).to_string();
    for (query, limit, shown) in [("", 9_500, "9.5s"), ("?timeout=2s", 1_800, "1.8s")] {
        let begun = tokio::time::Instant::now();
        let path = format!("{VALIDATE}{query}");
        let late = text_error(Webhooks::new().validate(stuck), &path, "application/json", body.clone()).await;
        assert_eq!(late, (500, format!("the webhook did not finish within {shown}")));
        assert_eq!(begun.elapsed(), Duration::from_millis(limit), "{query}");
    }
}

#[tokio::test]
async fn a_panic_is_an_error_of_its_review() {
    async fn panics(_: AdmissionRequest<ConfigMap>) -> Result<(), Denial> {
        panic!("on purpose")
    }
    fn at_once(
        _: ConfigMap,
        _: AdmissionRequest<ConfigMap>,
    ) -> std::future::Ready<Result<ConfigMap, Denial>> {
        panic!("{}", "before the future")
    }
    let recorder = crate::metrics::builder().unwrap().build_recorder();
    let _guard = ::metrics::set_default_local_recorder(&recorder);
    for (webhooks, path) in
        [(Webhooks::new().validate(panics), VALIDATE), (Webhooks::new().mutate(at_once), MUTATE)]
    {
        let failed = post(webhooks, path, &review("CREATE", &map(json!({})), &Value::Null)).await;
        let expected = json!({"status": "Failure", "code": 500, "reason": "InternalError",
            "message": "ConfigMap \"web/settings\": the admission handler panicked"});
        assert_eq!((&failed["allowed"], &failed["status"]), (&json!(false), &expected));
    }
    let samples = crate::metrics::tests::parse(&recorder.handle().render());
    assert_eq!(samples["controller_runtime_webhook_panics_total"], 2.0);
}

#[tokio::test(start_paused = true)]
async fn requests_are_counted_as_in_controller_runtime() {
    let recorder = crate::metrics::builder().unwrap().build_recorder();
    let _guard = ::metrics::set_default_local_recorder(&recorder);
    async fn stuck(_: AdmissionRequest<ConfigMap>) -> Result<(), Denial> {
        std::future::pending().await
    }
    let router = Webhooks::new().validate(stuck).mutate(colour).router().unwrap();
    let sample = |name: &str, labels: &str| {
        let samples = crate::metrics::tests::parse(&recorder.handle().render());
        samples.get(&format!("controller_runtime_webhook_{name}{{{labels}}}")).copied()
    };
    let validating = format!("webhook=\"{VALIDATE}\"");
    let failed = format!("{validating},code=\"500\"");
    assert_eq!(sample("requests_total", &failed), Some(0.0), "rates start at zero");
    let request = |path: &str| {
        let body = review("CREATE", &map(json!({})), &Value::Null).to_string();
        Request::post(path).header("content-type", "application/json").body(Body::from(body)).unwrap()
    };
    router.clone().oneshot(request(MUTATE)).await.unwrap();
    assert_eq!(sample("requests_total", &format!("webhook=\"{MUTATE}\",code=\"200\"")), Some(1.0));
    {
        let mut abandoned = std::pin::pin!(router.clone().oneshot(request(VALIDATE)));
        assert!(futures::poll!(abandoned.as_mut()).is_pending());
        assert_eq!(sample("requests_in_flight", &validating), Some(1.0));
    }
    assert_eq!(sample("requests_in_flight", &validating), Some(0.0), "a dropped request has left");
    router.oneshot(request(VALIDATE)).await.unwrap();
    assert_eq!(sample("requests_total", &failed), Some(1.0));
    assert_eq!(sample("latency_seconds_count", &validating), Some(1.0));
}

#[test]
fn paths_that_clash_or_are_none_are_errors() {
    async fn check<K>(_: AdmissionRequest<K>) -> Result<(), Denial>
    where
        K: kube_core::Resource,
    {
        Ok(())
    }
    let both = || Webhooks::new().validate(check::<Pod>).validate(check::<ConfigMap>).mutate(colour);
    assert!(both().router().is_ok());
    let twice = both().mutate_at(VALIDATE, colour).router().unwrap_err();
    assert_eq!(twice, WebhooksError::DuplicatePath(VALIDATE.into()));
    for path in ["", "x", "/a?b", "/{x}", "/{*x}", "/a b", "/ü"] {
        let invalid = Webhooks::new().validate_at(path, check::<Pod>).router().unwrap_err();
        assert_eq!(invalid, WebhooksError::InvalidPath(path.into()));
    }
    assert!(Webhooks::new().router().is_ok());
    let versions = || crate::webhook::Versions::<ConfigMap>::new();
    let converting = || Webhooks::new().convert(versions()).validate_at("/convert", check::<Pod>);
    assert_eq!(converting().router().unwrap_err(), WebhooksError::DuplicatePath("/convert".into()));
    assert!(converting().conversion_path("/convert-pages").router().is_ok());
    let twice = Webhooks::new().convert(versions()).convert(versions()).router().unwrap_err();
    assert_eq!(twice, WebhooksError::DuplicateConversion("ConfigMap.".into()));
}

#[tokio::test]
async fn errors_of_the_client_become_internal_errors() {
    async fn looks_up(request: AdmissionRequest<ConfigMap>) -> Result<(), Denial> {
        let _ = request.object.map(|map| map.name_any());
        Err(kube_client::Error::LinesCodecMaxLineLengthExceeded)?
    }
    let failed =
        post(Webhooks::new().validate(looks_up), VALIDATE, &review("CREATE", &map(json!({})), &Value::Null))
            .await;
    assert_eq!(
        (&failed["status"]["code"], &failed["status"]["reason"]),
        (&json!(500), &json!("InternalError"))
    );
}
