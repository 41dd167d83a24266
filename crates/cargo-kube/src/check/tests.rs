//! What a new definition means for stored objects, on the embedded server.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_tools::yaml::Objects;
use serde_json::{Value, json};

use super::*;

fn version(name: &str, storage: bool, fields: Value) -> Value {
    let spec = json!({ "type": "object", "properties": fields });
    let status = json!({ "type": "object", "properties": { "ready": { "type": "boolean" } } });
    let schema = json!({ "type": "object", "properties": { "spec": spec, "status": status } });
    json!({
        "name": name, "served": true, "storage": storage, "schema": { "openAPIV3Schema": schema }, "subresources": { "status": {} },
    })
}

fn definition(versions: Value) -> CustomResourceDefinition {
    serde_json::from_value(json!({
        "metadata": { "name": "pages.example.com" },
        "spec": { "group": "example.com", "scope": "Namespaced", "names": { "plural": "pages", "kind": "Page" }, "versions": versions },
    }))
    .unwrap()
}

fn of_v1(fields: Value) -> CustomResourceDefinition {
    definition(json!([version("v1", true, fields)]))
}

fn page(spec: Value) -> Value {
    json!({ "apiVersion": "example.com/v1", "kind": "Page", "metadata": { "name": "a", "namespace": "shop" }, "spec": spec })
}

async fn outcome(new: &CustomResourceDefinition, object: Value) -> Outcome {
    let mut objects = Objects::default();
    objects.add(&object).unwrap();
    let mut verdicts = Checker::new(new, None).await.unwrap().check(objects).await.unwrap();
    assert_eq!(verdicts.len(), 1);
    verdicts.remove(0).outcome
}

fn text(outcome: Outcome) -> String {
    match outcome {
        Outcome::Refused(message) => format!("refused: {message}"),
        Outcome::Tolerated(message) => format!("tolerated: {message}"),
        Outcome::Lost(fields) => format!("lost: {}", fields.join(" ")),
        Outcome::Accepted => "accepted".to_owned(),
    }
}

#[tokio::test]
async fn an_invalid_value_is_tolerated_where_the_server_can_tell_that_it_is_unchanged() {
    let limited = json!({ "type": "integer", "maximum": 5 });
    let new = of_v1(
        json!({ "size": limited, "sizes": { "type": "array", "items": { "type": "object", "properties": { "size": limited } } } }),
    );
    assert_eq!(outcome(&new, page(json!({ "size": 5 }))).await, Outcome::Accepted);
    let tolerated = text(outcome(&new, page(json!({ "size": 20 }))).await);
    let expected = "tolerated: Page.example.com \"a\" is invalid: spec.size: Invalid value: 20: spec.size in body should be less than or equal to 5";
    assert_eq!(tolerated, expected);
}

#[tokio::test]
async fn an_object_that_is_tolerated_may_lose_fields_too() {
    let new = of_v1(json!({ "size": { "type": "integer", "maximum": 5 } }));
    let mut objects = Objects::default();
    objects.add(&page(json!({ "size": 20, "color": "red" }))).unwrap();
    let verdict = Checker::new(&new, None).await.unwrap().check(objects).await.unwrap().remove(0);
    assert!(matches!(verdict.outcome, Outcome::Tolerated(_)), "{verdict}");
    assert_eq!(verdict.lost, [".spec.color"]);
    assert!(verdict.to_string().contains(": loses .spec.color, tolerated until "), "{verdict}");
}

#[tokio::test]
async fn a_new_required_field_refuses_every_change_beside_it() {
    let mut new = serde_json::to_value(of_v1(
        json!({ "replicas": { "type": "integer" }, "color": { "type": "string" } }),
    ))
    .unwrap();
    new["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["required"] =
        json!(["color"]);
    let new = serde_json::from_value(new).unwrap();
    assert_eq!(outcome(&new, page(json!({ "replicas": 3, "color": "red" }))).await, Outcome::Accepted);
    let refused = text(outcome(&new, page(json!({ "replicas": 3 }))).await);
    assert_eq!(
        refused,
        "refused: every change below .spec, as of .spec.replicas: Page.example.com \"a\" is invalid: spec.color: Required value"
    );
}

#[tokio::test]
async fn beside_an_invalid_value_others_may_change() {
    let tags = json!({ "type": "array", "maxItems": 1, "items": { "type": "string" } });
    let names = json!({ "type": "array", "items": { "type": "string", "maxLength": 1 } });
    let new = of_v1(
        json!({ "size": { "type": "integer", "maximum": 5 }, "tags": tags, "names": names, "color": { "type": "string" } }),
    );
    for spec in [json!({ "size": 20, "color": "red" }), json!({ "tags": ["a", "b"], "color": "red" })] {
        let outcome = outcome(&new, page(spec.clone())).await;
        assert!(matches!(outcome, Outcome::Tolerated(_)), "{spec}: {outcome:?}");
    }
    // Which item is which cannot be told.
    let refused = text(outcome(&new, page(json!({ "names": ["long", "b"] }))).await);
    assert!(
        refused.starts_with("refused: every change below .spec.names, as of .spec.names[1]: "),
        "{refused}"
    );
}

#[tokio::test]
async fn a_rule_of_the_object_refuses_any_update_of_it() {
    // A rule of the root reads the metadata too, so every change of the object is one of its value.
    let mut new = serde_json::to_value(of_v1(json!({ "size": { "type": "integer" } }))).unwrap();
    new["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] =
        json!([{ "rule": "self.spec.size <= 5", "message": "too large" }]);
    let new = serde_json::from_value(new).unwrap();
    assert_eq!(outcome(&new, page(json!({ "size": 5 }))).await, Outcome::Accepted);
    let refused = text(outcome(&new, page(json!({ "size": 20 }))).await);
    assert!(refused.starts_with("refused: ") && refused.contains("too large"), "{refused}");
}

#[tokio::test]
async fn fields_that_the_definition_lacks_are_lost() {
    let new = of_v1(json!({ "size": { "type": "integer" } }));
    assert_eq!(text(outcome(&new, page(json!({ "size": 1, "color": "red" }))).await), "lost: .spec.color");
}

#[tokio::test]
async fn the_status_is_checked_as_well() {
    let new = of_v1(json!({}));
    let mut object = page(json!({}));
    object["status"] = json!({ "ready": true });
    assert_eq!(outcome(&new, object.clone()).await, Outcome::Accepted);
    object["status"] = json!({ "ready": "yes" });
    let tolerated = text(outcome(&new, object).await);
    assert!(tolerated.starts_with("tolerated: ") && tolerated.contains("status.ready"), "{tolerated}");
}

#[tokio::test]
async fn objects_of_a_removed_version_are_converted_by_name_or_not_at_all() {
    let fields = json!({ "size": { "type": "integer" } });
    let mut new = definition(json!([version("v2", true, fields)]));
    assert_eq!(outcome(&new, page(json!({ "size": 1 }))).await, Outcome::Accepted);
    let conversion = json!({ "strategy": "Webhook",
        "webhook": { "conversionReviewVersions": ["v1"], "clientConfig": { "url": "https://127.0.0.1:1/convert" } } });
    new.spec.conversion = serde_json::from_value(conversion).unwrap();
    assert_eq!(
        text(outcome(&new, page(json!({ "size": 1 }))).await),
        "refused: the definition does not serve v1, and its conversion webhook is not called here"
    );
    // Its own version is served: nothing is converted.
    let mut own = page(json!({ "size": 1 }));
    own["apiVersion"] = json!("example.com/v2");
    assert_eq!(outcome(&new, own).await, Outcome::Accepted);
}

#[tokio::test]
async fn a_definition_that_may_not_replace_the_old_one_is_an_error() {
    let (old, new) = (of_v1(json!({})), definition(json!([version("v2", true, json!({}))])));
    let error = Checker::new(&new, Some((&old, &["v1".to_owned()]))).await.unwrap_err().to_string();
    assert!(error.starts_with("pages.example.com: the server refuses the new definition: "), "{error}");
    assert!(error.contains("status.storedVersions[0]") && error.contains("v1"), "{error}");
    let both = definition(json!([version("v1", false, json!({})), version("v2", true, json!({}))]));
    Checker::new(&both, Some((&old, &["v1".to_owned()]))).await.unwrap();
    let invalid = of_v1(json!({ "size": { "type": "integer", "default": "x" } }));
    let error = Checker::new(&invalid, None).await.unwrap_err().to_string();
    assert!(error.contains("the server refuses the new definition") && error.contains("default"), "{error}");
}

#[tokio::test]
async fn objects_are_checked_as_they_come_out_of_a_cluster() {
    let new = of_v1(json!({}));
    let mut object = page(json!({}));
    object["metadata"] = json!({
        "name": "a", "resourceVersion": "12", "uid": "4c7ea6e0-0000-4000-8000-000000000001", "generation": 3,
        "creationTimestamp": "2026-01-01T00:00:00Z", "deletionTimestamp": "2026-01-02T00:00:00Z", "deletionGracePeriodSeconds": 0,
        "finalizers": ["example.com/wait"],
        "ownerReferences": [{ "apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "4c7ea6e0-0000-4000-8000-000000000002" }],
    });
    assert_eq!(outcome(&new, object).await, Outcome::Accepted);
    let checker = Checker::new(&new, None).await.unwrap();
    let mut objects = Objects::default();
    objects.add(&json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a" } })).unwrap();
    let error = checker.check(objects).await.unwrap_err().to_string();
    assert_eq!(error, "expected a Page of example.com, found Secret of v1");
}
