//! Timers on the server's clock: run by `advance`, and by paused time while a watch is open.

use std::time::Duration;

use kube_testserver::{ApiServer, BuiltInController, ContainerState};
use serde_json::{Value, json};

use crate::client::{TestClient, WIDGETS, with_widgets};

const EVENTS: &str = "/api/v1/namespaces/default/events";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Pods run, but never become ready with the image `stuck`.
fn workloads() -> TestClient {
    let builder = ApiServer::builder().with(BuiltInController::Kubelet).with(BuiltInController::Workloads);
    TestClient { api: builder.service().unwrap() }
}

fn condition(object: &Value, kind: &str) -> Value {
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|condition| condition["type"] == kind).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn an_event_expires_an_hour_after_its_last_write() {
    let client = TestClient::new();
    for name in ["a", "b"] {
        let event =
            json!({"metadata": {"name": name}, "involvedObject": {"namespace": "default"}, "reason": "R"});
        client.post(EVENTS, event).await.ok();
    }
    client.api.advance(seconds(1800));
    client.patch(crate::client::MERGE, &format!("{EVENTS}/b"), json!({"reason": "S"})).await.ok();
    let path =
        format!("{EVENTS}?watch=1&timeoutSeconds=9000&resourceVersion={}", client.api.resource_version());
    let mut watch = client.watch(&path).await;
    client.api.advance(seconds(1800));
    assert_eq!(watch.event().await, ("DELETED".into(), "a".into()));
    client.get(&format!("{EVENTS}/a")).await.refused(404, "NotFound");
    client.get(&format!("{EVENTS}/b")).await.ok();
    // Without requests and `advance`, the watch runs the timer.
    let began = tokio::time::Instant::now();
    assert_eq!(watch.event().await, ("DELETED".into(), "b".into()));
    assert_eq!(began.elapsed().as_secs(), 1800);
}

#[tokio::test(start_paused = true)]
async fn the_time_to_live_of_an_event_goes_on_after_a_restart() {
    let client = TestClient::new();
    let event = json!({"metadata": {"name": "a"}, "involvedObject": {"namespace": "default"}});
    client.post(EVENTS, event).await.ok();
    let (next, late) = (TestClient::new(), TestClient::new());
    next.api.advance(seconds(3000));
    next.api.restore(client.api.snapshot()).unwrap();
    next.api.advance(seconds(590));
    next.get(&format!("{EVENTS}/a")).await.ok();
    next.api.advance(seconds(20));
    next.get(&format!("{EVENTS}/a")).await.refused(404, "NotFound");
    late.api.advance(seconds(4000));
    late.api.restore(client.api.snapshot()).unwrap();
    late.get(&format!("{EVENTS}/a")).await.refused(404, "NotFound");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_event_has_no_timer() {
    let client = TestClient::new();
    let event = || json!({"metadata": {"name": "a"}, "involvedObject": {"namespace": "default"}});
    client.post(EVENTS, event()).await.ok();
    client.api.advance(seconds(3000));
    client.delete(&format!("{EVENTS}/a")).await.ok();
    client.post(EVENTS, event()).await.ok();
    client.api.advance(seconds(3000));
    client.get(&format!("{EVENTS}/a")).await.ok();
}

#[tokio::test(start_paused = true)]
async fn a_job_fails_at_its_deadline_and_is_deleted_after_its_ttl() {
    let client = workloads();
    let spec = json!({"activeDeadlineSeconds": 30, "ttlSecondsAfterFinished": 60, "template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "c", "image": "i", "command": ["sleep", "infinity"]}]}}});
    client.api.kubelet().on_start(|_, _| ContainerState::Running);
    client.post(JOBS, json!({"metadata": {"name": "slow"}, "spec": spec})).await.ok();
    let path = format!("{JOBS}/slow");
    client.api.advance(seconds(29));
    assert_eq!(client.get(&path).await.ok()["status"]["active"], 1);
    client.api.advance(seconds(1));
    let job = client.get(&path).await.ok();
    let failed = condition(&job, "Failed");
    assert_eq!((&failed["status"], &failed["reason"]), (&json!("True"), &json!("DeadlineExceeded")), "{job}");
    let pods = client.get("/api/v1/namespaces/default/pods").await.ok();
    assert_eq!(pods["items"], json!([]), "its pods are ended");
    client.api.advance(seconds(59));
    client.get(&path).await.ok();
    client.api.advance(seconds(1));
    client.get(&path).await.refused(404, "NotFound");
}

#[tokio::test(start_paused = true)]
async fn a_deadline_survives_a_restart() {
    let client = workloads();
    let spec = json!({"activeDeadlineSeconds": 30, "template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "c", "image": "i", "command": ["sleep", "infinity"]}]}}});
    client.api.kubelet().on_start(|_, _| ContainerState::Running);
    client.post(JOBS, json!({"metadata": {"name": "slow"}, "spec": spec})).await.ok();
    let next = workloads();
    next.api.restore(client.api.snapshot()).unwrap();
    next.api.advance(seconds(25));
    assert_eq!(next.get(&format!("{JOBS}/slow")).await.ok()["status"]["active"], 1);
    next.api.advance(seconds(10));
    let job = next.get(&format!("{JOBS}/slow")).await.ok();
    assert_eq!(condition(&job, "Failed")["reason"], "DeadlineExceeded", "{job}");
}

#[tokio::test(start_paused = true)]
async fn a_rollout_without_progress_times_out() {
    let client = workloads();
    client.api.kubelet().on_start(|_, _| ContainerState::Waiting("ImagePullBackOff".into()));
    let template =
        json!({"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"progressDeadlineSeconds": 20, "selector": {"matchLabels": {"app": "w"}}, "template": template});
    client.post(DEPLOYMENTS, json!({"metadata": {"name": "w"}, "spec": spec})).await.ok();
    let path = format!("{DEPLOYMENTS}/w");
    client.api.advance(seconds(19));
    assert_eq!(condition(&client.get(&path).await.ok(), "Progressing")["status"], "True");
    client.api.advance(seconds(1));
    let late = condition(&client.get(&path).await.ok(), "Progressing");
    assert_eq!((&late["status"], &late["reason"]), (&json!("False"), &json!("ProgressDeadlineExceeded")));
    assert!(late["message"].as_str().unwrap().ends_with("has timed out progressing."), "{late}");
}

#[tokio::test(start_paused = true)]
async fn a_watch_timeout_follows_the_servers_clock() {
    let client = with_widgets().await;
    let mut watch = client.watch(&format!("{WIDGETS}?watch=1&timeoutSeconds=600&resourceVersion=0")).await;
    client.api.advance(seconds(599));
    assert!(tokio::time::timeout(Duration::from_millis(500), watch.next()).await.is_err());
    client.api.advance(seconds(1));
    assert!(watch.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_pod_ends_at_its_deadline() {
    const PODS: &str = "/api/v1/namespaces/default/pods";
    let client = workloads();
    let spec = json!({"containers": [{"name": "c", "image": "i"}], "activeDeadlineSeconds": 60});
    client.post(PODS, json!({"metadata": {"name": "p"}, "spec": spec})).await.ok();
    client.api.advance(seconds(10));
    let path = format!("{PODS}/p");
    let shorter = json!({"spec": {"activeDeadlineSeconds": 20}});
    client.patch(crate::client::MERGE, &path, shorter).await.ok();
    client.api.advance(seconds(9));
    let pod = client.get(&path).await.ok();
    assert_eq!(
        (&pod["status"]["phase"], &pod["status"]["observedGeneration"]),
        (&json!("Running"), &json!(2))
    );
    assert_eq!(condition(&pod, "Ready")["observedGeneration"], 2);
    client.api.advance(seconds(1));
    let pod = client.get(&path).await.ok();
    assert_eq!(
        (&pod["status"]["phase"], &pod["status"]["reason"]),
        (&json!("Failed"), &json!("DeadlineExceeded"))
    );
    assert_eq!(condition(&pod, "Ready")["reason"], "PodFailed");
    let before = client.api.resource_version();
    client.api.advance(seconds(100));
    assert_eq!(client.api.resource_version(), before, "it is over");
}

#[tokio::test(start_paused = true)]
async fn a_refused_creation_is_tried_again_ever_later() {
    let builder = ApiServer::builder().with(BuiltInController::Workloads).with(BuiltInController::Events);
    let client = TestClient { api: builder.service().unwrap() };
    let quotas = "/api/v1/namespaces/default/resourcequotas";
    let quota = |pods: &str| json!({"metadata": {"name": "q"}, "spec": {"hard": {"pods": pods}}});
    client.post(quotas, quota("0")).await.ok();
    let template =
        json!({"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"replicas": 1, "selector": {"matchLabels": {"app": "w"}}, "template": template});
    let sets = "/apis/apps/v1/namespaces/default/replicasets";
    client.post(sets, json!({"metadata": {"name": "w"}, "spec": spec})).await.ok();
    let refusals = async || {
        let events = client.get(&format!("{EVENTS}?fieldSelector=reason=FailedCreate")).await.ok();
        events["items"].as_array().unwrap().iter().filter_map(|event| event["count"].as_u64()).sum::<u64>()
    };
    let mut last = refusals().await;
    // After 1 s, 2 s, 4 s and so on; not before.
    for wait in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1000] {
        client.api.advance(seconds(wait - 1));
        assert_eq!(refusals().await, last, "before {wait} s");
        client.api.advance(seconds(1));
        last += 1;
        assert_eq!(refusals().await, last, "after {wait} s");
    }
    // A success resets the wait.
    client.patch(crate::client::MERGE, &format!("{quotas}/q"), quota("1")).await.ok();
    client.api.advance(seconds(1000));
    let status = async || client.get(&format!("{sets}/w")).await.ok()["status"].take();
    assert_eq!(status().await["replicas"], 1);
    client.patch(crate::client::MERGE, &format!("{sets}/w"), json!({"spec": {"replicas": 2}})).await.ok();
    client.patch(crate::client::MERGE, &format!("{quotas}/q"), quota("2")).await.ok();
    assert_eq!(status().await["replicas"], 1);
    client.api.advance(seconds(1));
    assert_eq!(status().await["replicas"], 2);
}
