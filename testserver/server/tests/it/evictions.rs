//! Evictions and PodDisruptionBudgets.

use kube_testserver::{ApiServer, BuiltInController};
use serde_json::{Value, json};

use crate::client::TestClient;

const PODS: &str = "/api/v1/namespaces/default/pods";
const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

async fn with_pods(names: &[&str]) -> TestClient {
    let builder = ApiServer::builder().with(BuiltInController::Kubelet).with(BuiltInController::Workloads);
    let client = TestClient { api: builder.service().unwrap() };
    for name in names {
        let spec = json!({"containers": [{"name": "c", "image": "i"}]});
        client
            .post(PODS, json!({"metadata": {"name": name, "labels": {"app": "x"}}, "spec": spec}))
            .await
            .ok();
    }
    client
}

fn budget(name: &str, least: u32) -> Value {
    json!({"metadata": {"name": name}, "spec": {"minAvailable": least, "selector": {"matchLabels": {"app": "x"}}}})
}

fn eviction(name: &str) -> Value {
    json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "default"}})
}

#[tokio::test]
async fn a_budget_permits_its_allowed_disruptions() {
    let client = with_pods(&["a", "b"]).await;
    client.post(BUDGETS, budget("keep", 1)).await.ok();
    let keep = format!("{BUDGETS}/keep");
    assert_eq!(client.get(&keep).await.ok()["status"]["disruptionsAllowed"], 1);
    let evicted = client.post(&format!("{PODS}/a/eviction"), eviction("a")).await.ok();
    assert_eq!(
        (&evicted["kind"], &evicted["status"], &evicted["code"]),
        (&json!("Status"), &json!("Success"), &json!(201))
    );
    client.get(&format!("{PODS}/a")).await.refused(404, "NotFound");
    let status = &client.get(&keep).await.ok()["status"];
    assert_eq!((&status["currentHealthy"], &status["disruptionsAllowed"]), (&json!(1), &json!(0)));

    let refused = client.post(&format!("{PODS}/b/eviction"), eviction("b")).await;
    let cause = json!([{"reason": "DisruptionBudget", "message": "The disruption budget keep needs 1 healthy pods and has 1 currently"}]);
    assert_eq!(refused.body["details"]["causes"], cause);
    let why = refused.refused(429, "TooManyRequests");
    assert_eq!(why, "Cannot evict pod as it would violate the pod's disruption budget.");
    client.get(&format!("{PODS}/b")).await.ok();
}

#[tokio::test]
async fn without_a_budget_an_eviction_is_a_deletion() {
    let client = with_pods(&["a"]).await;
    let dry = client.post(&format!("{PODS}/a/eviction?dryRun=All"), eviction("a")).await;
    assert_eq!(dry.ok()["status"], "Success");
    client.get(&format!("{PODS}/a")).await.ok();
    let mut strict = eviction("a");
    strict["deleteOptions"] = json!({"preconditions": {"uid": "another"}});
    client.post(&format!("{PODS}/a/eviction"), strict).await.refused(409, "Conflict");
    client.post(&format!("{PODS}/a/eviction"), eviction("a")).await.ok();
    client.post(&format!("{PODS}/a/eviction"), eviction("a")).await.refused(404, "NotFound");
}

#[tokio::test]
async fn undecidable_evictions_are_refused() {
    let client = with_pods(&["a"]).await;
    let why = client.post(&format!("{PODS}/a/eviction"), eviction("b")).await.refused(400, "BadRequest");
    assert_eq!(why, "name in URL does not match name in Eviction object");
    for name in ["one", "two"] {
        client.post(BUDGETS, budget(name, 0)).await.ok();
    }
    let why = client.post(&format!("{PODS}/a/eviction"), eviction("a")).await.refused(500, "InternalError");
    assert!(why.contains("more than one PodDisruptionBudget"), "{why}");
}
