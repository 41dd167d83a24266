//! Configurations of handlers, and what is refused.

use std::time::Duration;

use k8s_openapi::api::{
    autoscaling::{v1, v2},
    core::v1::ConfigMap,
};
use kube_core::{
    DynamicObject, Resource,
    admission::{AdmissionRequest, Operation},
};
use serde_json::{Value, json};

use super::WebhookService;
use crate::webhook::{FailurePolicy, Registration, Webhooks, WebhooksError, validate_path};

async fn check<K: Resource>(_: AdmissionRequest<K>) -> Result<(), String> {
    Ok(())
}

async fn change<K: Resource>(object: K, _: AdmissionRequest<K>) -> Result<K, String> {
    Ok(object)
}

fn service() -> WebhookService {
    WebhookService { namespace: "tools".into(), name: "hooks".into(), port: 8443 }
}

/// The configurations as JSON: mutating, validating.
fn configured(webhooks: Webhooks) -> Result<(Value, Value), WebhooksError> {
    let configurations = webhooks.configurations("hooks", &service())?;
    let _served = webhooks.router().expect("what is configured is served");
    let json = |value: Value| value["webhooks"].clone();
    Ok((
        json(serde_json::to_value(configurations.mutating).unwrap()),
        json(serde_json::to_value(configurations.validating).unwrap()),
    ))
}

#[test]
fn a_handler_is_an_entry_with_its_kind_and_path() {
    let (mutating, validating) = configured(
        Webhooks::new().mutate(change::<ConfigMap>).validate(check::<v2::HorizontalPodAutoscaler>),
    )
    .unwrap();
    let path = "/validate-autoscaling-v2-horizontalpodautoscaler";
    let service = json!({ "namespace": "tools", "name": "hooks", "port": 8443, "path": path });
    let rule = json!({
        "apiGroups": ["autoscaling"], "apiVersions": ["v2"], "operations": ["CREATE", "UPDATE"],
        "resources": ["horizontalpodautoscalers"],
    });
    let expected = json!([{
        "name": "validate.v2.horizontalpodautoscalers.autoscaling", "admissionReviewVersions": ["v1"],
        "clientConfig": { "service": service }, "failurePolicy": "Fail", "matchPolicy": "Equivalent",
        "rules": [rule], "sideEffects": "None", "timeoutSeconds": 10,
    }]);
    assert_eq!(validating, expected);
    assert_eq!(mutating[0]["name"], "mutate.v1.configmaps.core");
    assert_eq!(mutating[0]["reinvocationPolicy"], "Never");
    assert_eq!(mutating[0]["clientConfig"]["service"]["path"], "/mutate--v1-configmap");
    assert_eq!(configured(Webhooks::new()).unwrap(), (Value::Null, Value::Null));
}

#[test]
fn with_a_handler_for_each_version_a_request_is_reviewed_once() {
    let both = Webhooks::new()
        .validate(check::<v2::HorizontalPodAutoscaler>)
        .validate(check::<v1::HorizontalPodAutoscaler>)
        .mutate(change::<v2::HorizontalPodAutoscaler>);
    let (mutating, validating) = configured(both).unwrap();
    let policies: Vec<_> =
        validating.as_array().unwrap().iter().map(|it| (&it["name"], &it["matchPolicy"])).collect();
    let name = |version: &str| json!(format!("validate.{version}.horizontalpodautoscalers.autoscaling"));
    assert_eq!(policies, [(&name("v1"), &json!("Exact")), (&name("v2"), &json!("Exact"))], "sorted by name");
    assert_eq!(mutating[0]["matchPolicy"], "Equivalent", "it is alone");
}

#[test]
fn a_registration_says_the_rest() {
    let selector = serde_json::from_value(json!({ "matchLabels": { "a": "b" } })).unwrap();
    let registration = Registration::new()
        .operations([Operation::Delete, Operation::Connect])
        .failure_policy(FailurePolicy::Ignore)
        .exact_match(true)
        .side_effects_except_on_dry_run()
        .reinvoked()
        .timeout(Duration::from_secs(30))
        .match_condition("first", "true")
        .namespaces(selector)
        .resources("apps", ["v1"], ["deployments", "deployments/scale"]);
    // Before the handler, too.
    let webhooks = Webhooks::new()
        .registration("/any", registration)
        .mutate_at("/any", change::<DynamicObject>)
        .validate_at("/Maps/2", check::<ConfigMap>);
    let (mutating, validating) = configured(webhooks).unwrap();
    let entry = &mutating[0];
    assert_eq!(entry["name"], "any.mutate.hooks");
    let rule = json!({
        "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["DELETE", "CONNECT"],
        "resources": ["deployments", "deployments/scale"],
    });
    assert_eq!(entry["rules"], json!([rule]));
    assert_eq!(entry["failurePolicy"], "Ignore");
    assert_eq!(entry["matchPolicy"], "Exact");
    assert_eq!(entry["sideEffects"], "NoneOnDryRun");
    assert_eq!(entry["reinvocationPolicy"], "IfNeeded");
    assert_eq!(entry["timeoutSeconds"], 30);
    assert_eq!(entry["matchConditions"], json!([{ "name": "first", "expression": "true" }]));
    assert_eq!(entry["namespaceSelector"], json!({ "matchLabels": { "a": "b" } }));
    assert_eq!(validating[0]["name"], "maps-2.validate.hooks", "it differs from the one at the default path");
}

#[test]
fn what_the_operator_needs_to_start_is_not_reviewed_in_its_namespace() {
    let selector = |registration: Registration| {
        let webhooks =
            Webhooks::new().validate_at("/any", check::<DynamicObject>).registration("/any", registration);
        configured(webhooks).map(|(_, validating)| validating[0]["namespaceSelector"].clone())
    };
    let of = |group: &str, resource: &str| Registration::new().resources(group, ["v1"], [resource]);
    let own = json!({ "key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["tools"] });
    for (group, resource) in [
        ("", "secrets"),
        ("", "configmaps"),
        ("", "namespaces"),
        ("cert-manager.io", "certificaterequests"),
        ("", "pods"),
        ("", "pods/eviction"),
        ("", "*"),
        ("", "*/*"),
        ("*", "*"),
        ("apps", "deployments/scale"),
        ("apps", "*/scale"),
        ("coordination.k8s.io", "leases"),
    ] {
        let expected = json!({ "matchExpressions": [own] });
        assert_eq!(selector(of(group, resource)).unwrap(), expected, "{group} {resource}");
        let ignored = of(group, resource).failure_policy(FailurePolicy::Ignore);
        assert_eq!(selector(ignored).unwrap(), Value::Null, "it does not block");
    }
    for (group, resource) in [("", "events"), ("apps", "secrets"), ("example.com", "*"), ("", "podtemplates")]
    {
        assert_eq!(selector(of(group, resource)).unwrap(), Value::Null, "{group} {resource}");
    }
    let given = |selector: Value| of("", "pods").namespaces(serde_json::from_value(selector).unwrap());
    let shop = json!({ "matchLabels": { "shop": "yes" }, "matchExpressions": [{ "key": "a", "operator": "Exists" }] });
    let mut expected = shop.clone();
    expected["matchExpressions"].as_array_mut().unwrap().push(own);
    assert_eq!(selector(given(shop)).unwrap(), expected);
    for own in [
        json!({ "matchLabels": { "kubernetes.io/metadata.name": "tools" } }),
        json!({ "matchExpressions": [{ "key": "kubernetes.io/metadata.name", "operator": "In", "values": ["tools"] }] }),
    ] {
        let error = selector(given(own)).unwrap_err().to_string();
        let expected = "the webhook /any reviews pods in tools, the namespace of the operator, which needs them in order to start: \
                        expected another namespace, or FailurePolicy::Ignore";
        assert_eq!(error, expected);
    }
}

#[test]
fn what_a_server_would_refuse_is_an_error() {
    let error = |webhooks: Webhooks| webhooks.configurations("hooks", &service()).unwrap_err().to_string();
    let any = Webhooks::new().validate_at("/any", check::<DynamicObject>);
    assert_eq!(
        error(any),
        "the webhook /any is for any kind, so its objects are unknown: expected Registration::resources"
    );
    let slip = || Webhooks::new().validate(check::<ConfigMap>).registration("/valid", Registration::new());
    let expected = "the registration of /valid is for no webhook: expected one of /validate--v1-configmap";
    assert_eq!(error(slip()), expected);
    assert_eq!(slip().router().unwrap_err().to_string(), expected);
    for timeout in [0, 500, 10_500, 31_000, u64::MAX].map(Duration::from_millis) {
        let registration = Registration::new().timeout(timeout);
        let webhooks = Webhooks::new().validate(check::<ConfigMap>);
        let text = error(webhooks.registration(validate_path::<ConfigMap>(), registration));
        assert!(text.ends_with(": expected whole seconds from 1 to 30"), "{text}");
    }
}
