//! Controllers that take their time.

use std::time::Duration;

use kube_testserver::{ApiServer, Builder, BuiltInController, StartError};
use serde_json::json;

use crate::client::*;

const DELAY: Duration = Duration::from_secs(5);

fn client(builder: Builder) -> TestClient {
    TestClient { api: builder.service().unwrap() }
}

fn count(client: &TestClient, group: &str, plural: &str) -> usize {
    client.api.objects(group, plural).unwrap().len()
}

fn orphan() -> serde_json::Value {
    let mut orphan = config_map("orphan");
    orphan["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "2d9ef9a1-5fbb-4b44-8e0e-1ec4a2ddb72c"}]);
    orphan
}

#[tokio::test(start_paused = true)]
async fn a_terminating_namespace_is_emptied_after_the_delay() {
    let client = client(ApiServer::builder().with_delay(BuiltInController::NamespaceDeletion, DELAY));
    client.post("/api/v1/namespaces", json!({"metadata": {"name": "shop"}})).await.ok();
    client.delete("/api/v1/namespaces/shop").await.ok();
    let namespace = client.get("/api/v1/namespaces/shop").await.ok();
    assert_eq!(namespace["status"]["phase"], "Terminating");
    client.api.advance(DELAY);
    // It is emptied, then finished: a delay each.
    client.api.advance(DELAY);
    client.get("/api/v1/namespaces/shop").await.refused(404, "NotFound");
}

#[tokio::test(start_paused = true)]
async fn a_later_change_is_looked_at_with_the_first() {
    let client = client(ApiServer::builder().with_delay(BuiltInController::GarbageCollection, DELAY));
    client.post(CONFIG_MAPS, orphan()).await.ok();
    client.api.advance(DELAY - Duration::from_millis(1));
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    client.patch(MERGE, &format!("{CONFIG_MAPS}/orphan"), label).await.ok();
    assert_eq!(count(&client, "", "configmaps"), 1);
    client.api.advance(Duration::from_millis(1));
    assert_eq!(count(&client, "", "configmaps"), 0);
}

#[tokio::test(start_paused = true)]
async fn pending_work_begins_anew_in_a_restored_state() {
    let client = client(ApiServer::builder().with_delay(BuiltInController::GarbageCollection, DELAY));
    client.post(CONFIG_MAPS, orphan()).await.ok();
    let pending = client.api.snapshot();
    client.api.advance(DELAY);
    assert_eq!(count(&client, "", "configmaps"), 0);
    client.api.restore(pending).unwrap();
    client.api.advance(DELAY / 2);
    assert_eq!(count(&client, "", "configmaps"), 1);
    client.api.advance(DELAY / 2);
    assert_eq!(count(&client, "", "configmaps"), 0);
}

#[cfg(feature = "workloads")]
#[tokio::test(start_paused = true)]
async fn a_deployment_is_rolled_out_after_the_delay() {
    let builder = ApiServer::builder().with(BuiltInController::Workloads);
    let client = client(builder.with_delay(BuiltInController::Workloads, DELAY));
    let template =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"selector": {"matchLabels": {"a": "b"}}, "template": template});
    client
        .post(
            "/apis/apps/v1/namespaces/default/deployments",
            json!({"metadata": {"name": "web"}, "spec": spec}),
        )
        .await
        .ok();
    assert_eq!(count(&client, "apps", "replicasets"), 0);
    client.api.advance(DELAY);
    assert_eq!(count(&client, "apps", "replicasets"), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_off_or_does_nothing_later_is_not_delayed() {
    for controller in [BuiltInController::Kubelet, BuiltInController::Events] {
        let refused = ApiServer::builder().with_delay(controller, DELAY).service().unwrap_err();
        assert!(matches!(refused, StartError::Delay { controller: of } if of == controller), "{refused}");
        ApiServer::builder().with_delay(controller, Duration::ZERO).service().unwrap();
    }
    let on = ApiServer::builder().with(BuiltInController::Events);
    on.with_delay(BuiltInController::Events, DELAY).service().unwrap_err();
    let at_once =
        client(ApiServer::builder().with_delay(BuiltInController::GarbageCollection, Duration::ZERO));
    at_once.post(CONFIG_MAPS, orphan()).await.ok();
    assert_eq!(count(&at_once, "", "configmaps"), 0);
}
