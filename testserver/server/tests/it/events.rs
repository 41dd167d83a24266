//! Events of the scheduler, the kubelet and the workload controllers, as on Kubernetes 1.37.

use kube_testserver::{ApiServer, BuiltInController};
use serde_json::{Value, json};

use crate::client::{MERGE, TestClient};

const EVENTS: &str = "/api/v1/namespaces/default/events";

fn client() -> TestClient {
    let builder = ApiServer::builder().with(BuiltInController::Kubelet).with(BuiltInController::Workloads);
    TestClient { api: builder.with(BuiltInController::Events).service().unwrap() }
}

/// Kind, reason, component and message of each, without the random part of names.
async fn events(client: &TestClient) -> Vec<String> {
    let list = client.get(EVENTS).await.ok();
    let line = |event: &Value| {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (object, source) = (&event["involvedObject"], &event["source"]["component"]);
        format!(
            "{} {} {} {}",
            text(&object["kind"]),
            text(&event["reason"]),
            text(source),
            text(&event["message"])
        )
    };
    let mut lines: Vec<String> = list["items"].as_array().unwrap().iter().map(line).collect();
    lines.sort();
    lines
}

#[tokio::test]
async fn a_pod_tells_how_it_started() {
    let client = client();
    let pod = json!({"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}});
    client.post("/api/v1/namespaces/default/pods", pod).await.ok();
    client.delete("/api/v1/namespaces/default/pods/web").await.ok();
    assert_eq!(
        events(&client).await,
        [
            "Pod Created kubelet Container created",
            "Pod Killing kubelet Stopping container c",
            "Pod Pulled kubelet Container image \"nginx\" already present on machine and can be accessed by the pod",
            "Pod Scheduled default-scheduler Successfully assigned default/web to testserver",
            "Pod Started kubelet Container started",
        ]
    );
    let list = client.get(EVENTS).await.ok();
    let reasons: Vec<_> =
        list["items"].as_array().unwrap().iter().map(|event| event["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, ["Scheduled", "Pulled", "Created", "Started", "Killing"], "in their order");
    let list = client.get(&format!("{EVENTS}?fieldSelector=reason=Started")).await.ok();
    let event = &list["items"][0];
    assert_eq!(
        (&event["involvedObject"]["fieldPath"], &event["count"], &event["type"]),
        (&json!("spec.containers{c}"), &json!(1), &json!("Normal"))
    );
    let same = client
        .get("/apis/events.k8s.io/v1/namespaces/default/events?fieldSelector=reason=Started")
        .await
        .ok();
    assert_eq!(same["items"][0]["regarding"]["name"], "web");
}

#[tokio::test]
async fn controllers_tell_what_they_do() {
    let client = client();
    let template =
        json!({"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"replicas": 1, "selector": {"matchLabels": {"app": "db"}}, "template": template});
    client
        .post(
            "/apis/apps/v1/namespaces/default/statefulsets",
            json!({"metadata": {"name": "db"}, "spec": spec}),
        )
        .await
        .ok();
    client
        .patch(MERGE, "/apis/apps/v1/namespaces/default/statefulsets/db", json!({"spec": {"replicas": 0}}))
        .await
        .ok();
    let of_controllers =
        |all: Vec<String>| all.into_iter().filter(|line| !line.starts_with("Pod ")).collect::<Vec<_>>();
    assert_eq!(
        of_controllers(events(&client).await),
        [
            "StatefulSet SuccessfulCreate statefulset-controller Create Pod db-0 in StatefulSet db successful",
            "StatefulSet SuccessfulDelete statefulset-controller Delete Pod db-0 in StatefulSet db successful",
        ]
    );
    // The same again is counted.
    for replicas in [1, 0] {
        let scale = json!({"spec": {"replicas": replicas}});
        client.patch(MERGE, "/apis/apps/v1/namespaces/default/statefulsets/db", scale).await.ok();
    }
    let list = client.get(&format!("{EVENTS}?fieldSelector=reason=SuccessfulDelete")).await.ok();
    assert_eq!((list["items"].as_array().unwrap().len(), &list["items"][0]["count"]), (1, &json!(2)));
    client.delete(EVENTS).await.ok();
    let mut spec = json!({"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template});
    spec["template"]["metadata"]["labels"]["app"] = "web".into();
    client
        .post(
            "/apis/apps/v1/namespaces/default/deployments",
            json!({"metadata": {"name": "web"}, "spec": spec}),
        )
        .await
        .ok();
    let all = of_controllers(events(&client).await);
    assert!(
        all[0].starts_with("Deployment ScalingReplicaSet deployment-controller Scaled up replica set web-")
            && all[0].ends_with(" from 0 to 2"),
        "{all:?}"
    );
    assert!(
        all[1].starts_with("ReplicaSet SuccessfulCreate replicaset-controller Created pod: web-")
            && all.len() == 3,
        "{all:?}"
    );
}

#[tokio::test]
async fn without_the_controller_nothing_is_recorded() {
    let builder = ApiServer::builder().with(BuiltInController::Kubelet).with(BuiltInController::Workloads);
    let client = TestClient { api: builder.service().unwrap() };
    let pod = json!({"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}});
    client.post("/api/v1/namespaces/default/pods", pod).await.ok();
    assert_eq!(client.get(EVENTS).await.ok()["items"], json!([]));
}
