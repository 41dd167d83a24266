//! Mutating admission policies. No genuine server of the project serves them: the expectations are those of the documentation and of
//! KEP-3962.

use serde_json::{Value, json};

use super::policies::rules;
use crate::client::TestClient;

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const PODS: &str = "/api/v1/namespaces/default/pods";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn add(client: &TestClient, name: &str, spec: Value) {
    let mut policy = json!({"metadata": {"name": name}, "spec": {"matchConstraints": rules("", "*"), "reinvocationPolicy": "Never"}});
    for (field, value) in spec.as_object().unwrap() {
        policy["spec"][field] = value.clone();
    }
    client.post(&format!("{GROUP}/mutatingadmissionpolicies"), policy).await.ok();
    let binding = json!({"metadata": {"name": name}, "spec": {"policyName": name}});
    client.post(&format!("{GROUP}/mutatingadmissionpolicybindings"), binding).await.ok();
}

fn apply(expression: &str) -> Value {
    json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}})
}

fn patch(expression: &str) -> Value {
    json!({"patchType": "JSONPatch", "jsonPatch": {"expression": expression}})
}

async fn with(mutations: Value) -> TestClient {
    let client = TestClient::new();
    add(&client, "p", json!({"mutations": mutations})).await;
    client
}

fn map(data: Value) -> Value {
    json!({"metadata": {"name": "a"}, "data": data})
}

#[tokio::test]
async fn an_apply_configuration_is_merged() {
    let sidecar = r#"Object{spec: Object.spec{initContainers: [Object.spec.initContainers{name: "mesh", image: "mesh:1",
        restartPolicy: "Always"}], containers: object.spec.containers.map(c, Object.spec.containers{name: c.name,
        env: [Object.spec.containers.env{name: "MESH", value: "on"}]})}}"#;
    let client = with(json!([apply(sidecar)])).await;
    let containers = json!([{"name": "c", "image": "i", "env": [{"name": "OWN", "value": "1"}]}, {"name": "d", "image": "i"}]);
    let pod =
        client.post(PODS, json!({"metadata": {"name": "p"}, "spec": {"containers": containers}})).await.ok();
    let spec = &pod["spec"];
    assert_eq!(
        spec["containers"][0]["env"],
        json!([{"name": "OWN", "value": "1"}, {"name": "MESH", "value": "on"}])
    );
    assert_eq!(spec["containers"][1]["env"], json!([{"name": "MESH", "value": "on"}]));
    assert_eq!(spec["containers"][0]["image"], "i");
    let mesh = &spec["initContainers"][0];
    assert_eq!(
        (&mesh["name"], &mesh["imagePullPolicy"]),
        (&json!("mesh"), &json!("IfNotPresent")),
        "defaults are set"
    );
}

#[tokio::test]
async fn a_json_patch_is_applied() {
    let expression = r#"[
        JSONPatch{op: "test", path: "/data/a", value: "1"},
        JSONPatch{op: "add", path: "/metadata/labels", value: {"by": "policy"}},
        JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("example.com/x"), value: string(size(object.data))},
        JSONPatch{op: "remove", path: "/data/b"}
    ]"#;
    let client = with(json!([patch(expression)])).await;
    let made = client.post(MAPS, map(json!({"a": "1", "b": "2"}))).await.ok();
    assert_eq!(made["metadata"]["labels"], json!({"by": "policy", "example.com/x": "2"}));
    assert_eq!(made["data"], json!({"a": "1"}));
}

#[tokio::test]
async fn mutations_follow_each_other_and_can_do_nothing() {
    let client = with(json!([
        apply(r#"Object{data: {"first": "1"}}"#),
        apply(r#"Object{data: {"second": object.data.first + "2"}}"#),
        patch("has(object.data.third) ? [JSONPatch{op: 'remove', path: '/data/third'}] : []"),
    ]))
    .await;
    let made = client.post(MAPS, map(json!({}))).await.ok();
    assert_eq!(made["data"], json!({"first": "1", "second": "12"}));
}

#[tokio::test]
async fn a_policy_that_fails_refuses_the_write_unless_it_is_ignored() {
    let client = with(json!([patch(r#"[JSONPatch{op: "test", path: "/data/a", value: "1"}]"#)])).await;
    let why = client.post(MAPS, map(json!({"a": "2"}))).await.refused(403, "Invalid");
    assert!(why.starts_with("policy 'p' with binding 'p' denied request: JSON Patch: "), "{why}");
    let client = TestClient::new();
    let mutation = apply("Object{spec: Object.spec{nothing: object.data.missing}}");
    add(&client, "p", json!({"mutations": [mutation], "failurePolicy": "Ignore"})).await;
    client.post(MAPS, map(json!({"a": "2"}))).await.ok();
}

#[tokio::test]
async fn a_configuration_of_another_type_is_refused() {
    let client = with(json!([apply("Object{data: 5}")])).await;
    client.post(MAPS, map(json!({}))).await.refused(403, "Invalid");
}

#[tokio::test]
async fn a_policy_is_evaluated_again_after_a_later_one() {
    for (reinvocation, expected) in
        [("Never", json!({"late": "1"})), ("IfNeeded", json!({"late": "1", "seen": "1"}))]
    {
        let client = TestClient::new();
        let early = patch(
            "has(object.data) && 'late' in object.data ? [JSONPatch{op: 'add', path: '/data/seen', value: '1'}] : []",
        );
        add(&client, "a", json!({"mutations": [early], "reinvocationPolicy": reinvocation})).await;
        add(&client, "b", json!({"mutations": [apply("Object{data: {'late': '1'}}")]})).await;
        let made = client.post(MAPS, json!({"metadata": {"name": "a"}})).await.ok();
        assert_eq!(made["data"], expected, "{reinvocation}");
    }
}

#[tokio::test]
async fn validating_policies_see_what_mutating_ones_made() {
    let client = with(json!([apply("Object{data: {'a': '1'}}")])).await;
    let validations = json!([{"expression": "object.data.a == '1'"}]);
    let policy = json!({"metadata": {"name": "v"}, "spec": {"matchConstraints": rules("", "configmaps"), "validations": validations}});
    client.post(&format!("{GROUP}/validatingadmissionpolicies"), policy).await.ok();
    let binding =
        json!({"metadata": {"name": "v"}, "spec": {"policyName": "v", "validationActions": ["Deny"]}});
    client.post(&format!("{GROUP}/validatingadmissionpolicybindings"), binding).await.ok();
    client.post(MAPS, map(json!({"a": "2"}))).await.ok();
}

#[tokio::test]
async fn mutations_are_checked_when_they_are_written() {
    for (mutations, field, message) in [
        (json!([]), "spec.mutations", "Required value: mutations must contain at least one item"),
        (
            json!([{"patchType": "Other"}]),
            "spec.mutations[0].patchType",
            "Unsupported value: \"Other\": supported values: \"ApplyConfiguration\", \"JSONPatch\"",
        ),
        (
            json!([apply("")]),
            "spec.mutations[0].applyConfiguration.expression",
            "Required value: expression is not specified",
        ),
        (
            json!([apply("Other{a: 1}")]),
            "spec.mutations[0].applyConfiguration.expression",
            "Invalid value: \"Other{a: 1}\": compilation failed: ERROR: <input>:1:6: undeclared reference to 'Other' (in container '')\n | Other{a: 1}\n | .....^",
        ),
    ] {
        let spec = json!({"matchConstraints": rules("", "*"), "reinvocationPolicy": "Never", "mutations": mutations});
        let refused = TestClient::new()
            .post(
                &format!("{GROUP}/mutatingadmissionpolicies"),
                json!({"metadata": {"name": "p"}, "spec": spec}),
            )
            .await;
        let cause = &refused.body["details"]["causes"][0];
        assert_eq!((&cause["field"], &cause["message"]), (&json!(field), &json!(message)));
        refused.refused(422, "Invalid");
    }
}
