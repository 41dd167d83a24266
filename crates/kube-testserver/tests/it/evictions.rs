//! Evictions and the budgets that hold them up.

use kube_testserver::{ApiServer, BuiltInController};
use serde_json::{Value, json};

use crate::rig::Rig;

const PODS: &str = "/api/v1/namespaces/default/pods";
const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

async fn with_pods(names: &[&str]) -> Rig {
    let builder = ApiServer::builder().with(BuiltInController::Kubelet).with(BuiltInController::Workloads);
    let rig = Rig { api: builder.service().unwrap() };
    for name in names {
        let spec = json!({"containers": [{"name": "c", "image": "i"}]});
        rig.post(PODS, json!({"metadata": {"name": name, "labels": {"app": "x"}}, "spec": spec})).await.ok();
    }
    rig
}

fn budget(name: &str, least: u32) -> Value {
    json!({"metadata": {"name": name}, "spec": {"minAvailable": least, "selector": {"matchLabels": {"app": "x"}}}})
}

fn eviction(name: &str) -> Value {
    json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "default"}})
}

#[tokio::test]
async fn a_budget_lets_as_many_go_as_it_can_spare() {
    let rig = with_pods(&["a", "b"]).await;
    rig.post(BUDGETS, budget("keep", 1)).await.ok();
    let keep = format!("{BUDGETS}/keep");
    assert_eq!(rig.get(&keep).await.ok()["status"]["disruptionsAllowed"], 1);
    let evicted = rig.post(&format!("{PODS}/a/eviction"), eviction("a")).await.ok();
    assert_eq!(
        (&evicted["kind"], &evicted["status"], &evicted["code"]),
        (&json!("Status"), &json!("Success"), &json!(201))
    );
    rig.get(&format!("{PODS}/a")).await.refused(404, "NotFound");
    let status = &rig.get(&keep).await.ok()["status"];
    assert_eq!((&status["currentHealthy"], &status["disruptionsAllowed"]), (&json!(1), &json!(0)));

    let refused = rig.post(&format!("{PODS}/b/eviction"), eviction("b")).await;
    let cause = json!([{"reason": "DisruptionBudget", "message": "The disruption budget keep needs 1 healthy pods and has 1 currently"}]);
    assert_eq!(refused.body["details"]["causes"], cause);
    let why = refused.refused(429, "TooManyRequests");
    assert_eq!(why, "Cannot evict pod as it would violate the pod's disruption budget.");
    rig.get(&format!("{PODS}/b")).await.ok();
}

#[tokio::test]
async fn without_a_budget_an_eviction_is_a_deletion() {
    let rig = with_pods(&["a"]).await;
    let dry = rig.post(&format!("{PODS}/a/eviction?dryRun=All"), eviction("a")).await;
    assert_eq!(dry.ok()["status"], "Success");
    rig.get(&format!("{PODS}/a")).await.ok();
    let mut strict = eviction("a");
    strict["deleteOptions"] = json!({"preconditions": {"uid": "another"}});
    rig.post(&format!("{PODS}/a/eviction"), strict).await.refused(409, "Conflict");
    rig.post(&format!("{PODS}/a/eviction"), eviction("a")).await.ok();
    rig.post(&format!("{PODS}/a/eviction"), eviction("a")).await.refused(404, "NotFound");
}

#[tokio::test]
async fn what_cannot_be_decided_is_refused() {
    let rig = with_pods(&["a"]).await;
    let why = rig.post(&format!("{PODS}/a/eviction"), eviction("b")).await.refused(400, "BadRequest");
    assert_eq!(why, "name in URL does not match name in Eviction object");
    for name in ["one", "two"] {
        rig.post(BUDGETS, budget(name, 0)).await.ok();
    }
    let why = rig.post(&format!("{PODS}/a/eviction"), eviction("a")).await.refused(500, "InternalError");
    assert!(why.contains("more than one PodDisruptionBudget"), "{why}");
}
