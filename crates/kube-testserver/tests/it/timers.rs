//! What time does by itself, on the server's clock: by `advance`, and by paused time for whoever watches.

use std::time::Duration;

use kube_testserver::{ApiServer, BuiltInController, ContainerState};
use serde_json::{Value, json};

use crate::rig::{Rig, WIDGETS, with_widgets};

const EVENTS: &str = "/api/v1/namespaces/default/events";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Pods run on, and never become ready where the image is `stuck`.
fn workloads() -> Rig {
    let builder = ApiServer::builder().with(BuiltInController::Kubelet).with(BuiltInController::Workloads);
    Rig { api: builder.service().unwrap() }
}

fn condition(object: &Value, kind: &str) -> Value {
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.into_iter().find(|condition| condition["type"] == kind).unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn an_event_is_forgotten_an_hour_after_its_last_write() {
    let rig = Rig::new();
    for name in ["a", "b"] {
        let event =
            json!({"metadata": {"name": name}, "involvedObject": {"namespace": "default"}, "reason": "R"});
        rig.post(EVENTS, event).await.ok();
    }
    rig.api.advance(seconds(1800));
    rig.patch(crate::rig::MERGE, &format!("{EVENTS}/b"), json!({"reason": "S"})).await.ok();
    let path = format!("{EVENTS}?watch=1&timeoutSeconds=9000&resourceVersion={}", rig.api.resource_version());
    let mut watch = rig.watch(&path).await;
    rig.api.advance(seconds(1800));
    assert_eq!(watch.event().await, ("DELETED".into(), "a".into()));
    rig.get(&format!("{EVENTS}/a")).await.refused(404, "NotFound");
    rig.get(&format!("{EVENTS}/b")).await.ok();
    // Nobody asks and nobody advances: the watch itself wakes up in time.
    let began = tokio::time::Instant::now();
    assert_eq!(watch.event().await, ("DELETED".into(), "b".into()));
    assert_eq!(began.elapsed().as_secs(), 1800);
}

#[tokio::test(start_paused = true)]
async fn an_event_that_goes_earlier_is_not_waited_for() {
    let rig = Rig::new();
    let event = || json!({"metadata": {"name": "a"}, "involvedObject": {"namespace": "default"}});
    rig.post(EVENTS, event()).await.ok();
    rig.api.advance(seconds(3000));
    rig.delete(&format!("{EVENTS}/a")).await.ok();
    rig.post(EVENTS, event()).await.ok();
    rig.api.advance(seconds(3000));
    rig.get(&format!("{EVENTS}/a")).await.ok();
}

#[tokio::test(start_paused = true)]
async fn a_job_fails_at_its_deadline_and_goes_when_it_is_no_longer_kept() {
    let rig = workloads();
    let spec = json!({"activeDeadlineSeconds": 30, "ttlSecondsAfterFinished": 60, "template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "c", "image": "i", "command": ["sleep", "infinity"]}]}}});
    rig.api.kubelet().on_start(|_, _| ContainerState::Running);
    rig.post(JOBS, json!({"metadata": {"name": "slow"}, "spec": spec})).await.ok();
    let path = format!("{JOBS}/slow");
    rig.api.advance(seconds(29));
    assert_eq!(rig.get(&path).await.ok()["status"]["active"], 1);
    rig.api.advance(seconds(1));
    let job = rig.get(&path).await.ok();
    let failed = condition(&job, "Failed");
    assert_eq!((&failed["status"], &failed["reason"]), (&json!("True"), &json!("DeadlineExceeded")), "{job}");
    let pods = rig.get("/api/v1/namespaces/default/pods").await.ok();
    assert_eq!(pods["items"], json!([]), "its pods are ended");
    rig.api.advance(seconds(59));
    rig.get(&path).await.ok();
    rig.api.advance(seconds(1));
    rig.get(&path).await.refused(404, "NotFound");
}

#[tokio::test(start_paused = true)]
async fn a_deadline_outlives_the_server_that_noted_it() {
    let rig = workloads();
    let spec = json!({"activeDeadlineSeconds": 30, "template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "c", "image": "i", "command": ["sleep", "infinity"]}]}}});
    rig.api.kubelet().on_start(|_, _| ContainerState::Running);
    rig.post(JOBS, json!({"metadata": {"name": "slow"}, "spec": spec})).await.ok();
    let next = workloads();
    next.api.restore(rig.api.snapshot()).unwrap();
    next.api.advance(seconds(25));
    assert_eq!(next.get(&format!("{JOBS}/slow")).await.ok()["status"]["active"], 1);
    next.api.advance(seconds(10));
    let job = next.get(&format!("{JOBS}/slow")).await.ok();
    assert_eq!(condition(&job, "Failed")["reason"], "DeadlineExceeded", "{job}");
}

#[tokio::test(start_paused = true)]
async fn a_rollout_that_does_not_move_times_out() {
    let rig = workloads();
    rig.api.kubelet().on_start(|_, _| ContainerState::Waiting("ImagePullBackOff".into()));
    let template =
        json!({"metadata": {"labels": {"app": "w"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"progressDeadlineSeconds": 20, "selector": {"matchLabels": {"app": "w"}}, "template": template});
    rig.post(DEPLOYMENTS, json!({"metadata": {"name": "w"}, "spec": spec})).await.ok();
    let path = format!("{DEPLOYMENTS}/w");
    rig.api.advance(seconds(19));
    assert_eq!(condition(&rig.get(&path).await.ok(), "Progressing")["status"], "True");
    rig.api.advance(seconds(1));
    let late = condition(&rig.get(&path).await.ok(), "Progressing");
    assert_eq!((&late["status"], &late["reason"]), (&json!("False"), &json!("ProgressDeadlineExceeded")));
    assert!(late["message"].as_str().unwrap().ends_with("has timed out progressing."), "{late}");
}

#[tokio::test(start_paused = true)]
async fn a_watch_lasts_as_long_as_it_was_asked_to_on_the_servers_clock() {
    let rig = with_widgets().await;
    let mut watch = rig.watch(&format!("{WIDGETS}?watch=1&timeoutSeconds=600&resourceVersion=0")).await;
    rig.api.advance(seconds(599));
    assert!(tokio::time::timeout(Duration::from_millis(500), watch.next()).await.is_err());
    rig.api.advance(seconds(1));
    assert!(watch.next().await.is_none());
}
