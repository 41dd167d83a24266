//! CronJobs on the server's clock, as on Kubernetes 1.37.

use std::time::Duration;

use kube_testserver::{ApiServer, BuiltInController, ContainerState};
use serde_json::{Value, json};

use crate::client::{MERGE, TestClient};

const CRON_JOBS: &str = "/apis/batch/v1/namespaces/default/cronjobs";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// A server whose clock starts at midnight. Pods end at once, unless their image is `serve`.
fn client() -> TestClient {
    let builder = ApiServer::builder().with(BuiltInController::Kubelet).with(BuiltInController::Workloads);
    let start = "2026-01-01T00:00:00Z".parse().unwrap();
    let client = TestClient { api: builder.start_time(start).service().unwrap() };
    client.api.kubelet().on_start(|_, pod| match pod["spec"]["containers"][0]["image"].as_str() {
        Some("serve") => ContainerState::Running,
        Some("fail") => ContainerState::Terminated(1),
        _ => ContainerState::Terminated(0),
    });
    client
}

fn cron(image: &str, spec: Value) -> Value {
    let mut cron = json!({"metadata": {"name": "c"}, "spec": spec});
    if cron["spec"]["schedule"].is_null() {
        cron["spec"]["schedule"] = "*/10 * * * *".into();
    }
    cron["spec"]["jobTemplate"] = json!({"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}},
        "spec": {"backoffLimit": 0, "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": image}]}}}});
    cron
}

impl TestClient {
    async fn job_names(&self) -> Vec<String> {
        let list = self.get(JOBS).await.ok();
        let jobs = list["items"].as_array().unwrap();
        jobs.iter().map(|job| job["metadata"]["name"].as_str().unwrap().into()).collect()
    }

    async fn cron_status(&self) -> Value {
        self.get(&format!("{CRON_JOBS}/c")).await.ok()["status"].take()
    }

    fn pass(&self, minutes: u64) {
        self.api.advance(Duration::from_secs(60 * minutes));
    }
}

#[tokio::test(start_paused = true)]
async fn jobs_start_at_their_times_and_old_ones_go() {
    let client = client();
    let created = client.post(CRON_JOBS, cron("i", json!({}))).await.ok();
    assert_eq!((&created["spec"]["concurrencyPolicy"], &created["status"]), (&json!("Allow"), &json!({})));
    client.pass(9);
    assert_eq!(client.job_names().await, [""; 0]);
    client.pass(1);
    assert_eq!(client.job_names().await, ["c-29453770"]);
    let job = client.get(&format!("{JOBS}/c-29453770")).await.ok();
    let annotations =
        json!({"batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-01-01T00:10:00Z", "c": "d"});
    assert_eq!(
        (&job["metadata"]["annotations"], &job["metadata"]["labels"]),
        (&annotations, &json!({"a": "b"}))
    );
    let owner = &job["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["uid"], &owner["controller"]),
        (&json!("CronJob"), &created["metadata"]["uid"], &json!(true))
    );
    let times =
        json!({"lastScheduleTime": "2026-01-01T00:10:00Z", "lastSuccessfulTime": "2026-01-01T00:10:00Z"});
    assert_eq!(client.cron_status().await, times);
    for _ in 0..4 {
        client.pass(10);
    }
    assert_eq!(client.job_names().await, ["c-29453790", "c-29453800", "c-29453810"], "three are kept");
    assert_eq!(client.get(PODS).await.ok()["items"].as_array().unwrap().len(), 3, "with their pods");
    client.pass(600);
    assert_eq!(
        client.cron_status().await["lastScheduleTime"],
        "2026-01-01T10:50:00Z",
        "of missed times the last counts"
    );
    client.delete(&format!("{CRON_JOBS}/c")).await.ok();
    assert_eq!(client.job_names().await, [""; 0]);
    client.pass(60);
    assert_eq!(client.job_names().await, [""; 0]);
}

/// Without a request and without `advance`, an open watch is enough.
#[tokio::test(start_paused = true)]
async fn a_watch_sees_the_next_job_when_its_time_comes() {
    let client = client();
    client.post(CRON_JOBS, cron("serve", json!({"schedule": "@hourly"}))).await.ok();
    let path =
        format!("{JOBS}?watch=1&timeoutSeconds=9000&resourceVersion={}", client.api.resource_version());
    let mut watch = client.watch(&path).await;
    let began = tokio::time::Instant::now();
    assert_eq!(watch.event().await, ("ADDED".into(), "c-29453820".into()));
    assert_eq!(began.elapsed().as_secs(), 3600);
}

#[tokio::test(start_paused = true)]
async fn the_policy_decides_about_jobs_that_still_run() {
    for (policy, jobs, active) in [("Allow", 2, 2), ("Forbid", 1, 1), ("Replace", 1, 1)] {
        let client = client();
        client.post(CRON_JOBS, cron("serve", json!({"concurrencyPolicy": policy}))).await.ok();
        client.pass(10);
        let first = client.cron_status().await["active"][0].clone();
        let job = client.get(&format!("{JOBS}/c-29453770")).await.ok();
        assert_eq!(
            (&first["uid"], &first["kind"], &first["namespace"]),
            (&job["metadata"]["uid"], &json!("Job"), &json!("default"))
        );
        client.pass(10);
        let status = client.cron_status().await;
        assert_eq!(
            (client.job_names().await.len(), status["active"].as_array().unwrap().len()),
            (jobs, active),
            "{policy}"
        );
        let replaced = status["active"][0]["uid"] != first["uid"];
        assert_eq!(replaced, policy == "Replace", "{policy}");
        let last = if policy == "Forbid" { "2026-01-01T00:10:00Z" } else { "2026-01-01T00:20:00Z" };
        assert_eq!(status["lastScheduleTime"], last, "{policy}");
    }
}

#[tokio::test(start_paused = true)]
async fn suspension_deadlines_and_zones_are_respected() {
    let client = client();
    client.post(CRON_JOBS, cron("i", json!({"suspend": true}))).await.ok();
    client.pass(35);
    assert_eq!(client.job_names().await, [""; 0]);
    let late = json!({"spec": {"suspend": false, "startingDeadlineSeconds": 200}});
    client.patch(MERGE, &format!("{CRON_JOBS}/c"), late).await.ok();
    assert_eq!(client.job_names().await, [""; 0], "five minutes are too late");
    client
        .patch(MERGE, &format!("{CRON_JOBS}/c"), json!({"spec": {"startingDeadlineSeconds": 400}}))
        .await
        .ok();
    assert_eq!(client.job_names().await, ["c-29453790"]);
    let zoned = json!({"spec": {"schedule": "0 6 * * *", "timeZone": "Asia/Tokyo"}});
    client.patch(MERGE, &format!("{CRON_JOBS}/c"), zoned).await.ok();
    client.pass(20 * 60 + 30);
    let job = client.get(&format!("{JOBS}/c-29455020")).await.ok();
    let at = &job["metadata"]["annotations"]["batch.kubernetes.io/cronjob-scheduled-timestamp"];
    assert_eq!(at, "2026-01-02T06:00:00+09:00");
}

#[tokio::test(start_paused = true)]
async fn failed_jobs_have_a_limit_of_their_own() {
    let client = client();
    client.post(CRON_JOBS, cron("fail", json!({"failedJobsHistoryLimit": 2}))).await.ok();
    for _ in 0..4 {
        client.pass(10);
    }
    assert_eq!(client.job_names().await, ["c-29453790", "c-29453800"]);
    assert_eq!(client.cron_status().await, json!({"lastScheduleTime": "2026-01-01T00:40:00Z"}));
}

#[tokio::test(start_paused = true)]
async fn schedules_survive_a_restart() {
    let (client, next) = (client(), client());
    client.post(CRON_JOBS, cron("i", json!({}))).await.ok();
    next.api.restore(client.api.snapshot()).unwrap();
    next.pass(10);
    assert_eq!(next.job_names().await, ["c-29453770"]);
}

#[tokio::test]
async fn wrong_schedules_are_refused_in_the_words_of_kubernetes() {
    let client = client();
    for (spec, why) in [
        (
            json!({"schedule": "* * * * 7"}),
            "spec.schedule: Invalid value: \"* * * * 7\": end of range (7) above maximum (6): 7",
        ),
        (
            json!({"schedule": "TZ=UTC * * * * *"}),
            "spec.schedule: Invalid value: \"TZ=UTC * * * * *\": cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
        ),
        (
            json!({"timeZone": "Mars/Base"}),
            "spec.timeZone: Invalid value: \"Mars/Base\": unknown time zone Mars/Base",
        ),
    ] {
        let message = client.post(CRON_JOBS, cron("i", spec)).await.refused(422, "Invalid");
        assert!(message.ends_with(why), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_does_not_postpone_an_interval() {
    let client = client();
    client.post(CRON_JOBS, cron("i", json!({"schedule": "@every 90s"}))).await.ok();
    client.api.advance(Duration::from_secs(89));
    client.patch(MERGE, &format!("{CRON_JOBS}/c"), json!({"metadata": {"labels": {"a": "b"}}})).await.ok();
    client.api.advance(Duration::from_secs(1));
    assert_eq!(client.job_names().await, ["c-29453761"]);
    assert_eq!(client.cron_status().await["lastScheduleTime"], "2026-01-01T00:01:30Z");
    client.pass(46);
    assert_eq!(client.cron_status().await["lastScheduleTime"], "2026-01-01T00:46:30Z", "in step");
}

/// The name of a run may be taken by a Job of somebody else, or by one that a finalizer holds.
#[tokio::test(start_paused = true)]
async fn a_run_waits_until_its_name_is_free() {
    let client = client();
    client.post(CRON_JOBS, cron("serve", json!({"concurrencyPolicy": "Replace"}))).await.ok();
    let mut foreign = cron("serve", json!({}))["spec"]["jobTemplate"].take();
    foreign["metadata"]["name"] = "c-29453770".into();
    client.post(JOBS, foreign).await.ok();
    client.pass(10);
    assert_eq!(client.cron_status().await, json!({}), "the run is still to come");
    client.delete(&format!("{JOBS}/c-29453770?propagationPolicy=Background")).await.ok();
    client.api.advance(Duration::from_secs(1));
    let status = client.cron_status().await;
    let active = |status: &Value| status["active"][0]["name"].clone();
    assert_eq!(
        (active(&status), &status["lastScheduleTime"]),
        ("c-29453770".into(), &json!("2026-01-01T00:10:00Z"))
    );

    let own = format!("{JOBS}/c-29453770");
    let finalizers = |finalizers: Value| json!({"metadata": {"finalizers": finalizers}});
    client.patch(MERGE, &own, finalizers(json!(["a/b"]))).await.ok();
    client.patch(MERGE, &format!("{CRON_JOBS}/c"), json!({"spec": {"schedule": "@every 15s"}})).await.ok();
    client.api.advance(Duration::from_secs(20));
    let waiting = client.cron_status().await;
    assert_eq!(waiting, json!({"lastScheduleTime": "2026-01-01T00:10:00Z"}), "the former Job is still there");
    client.patch(MERGE, &own, finalizers(Value::Null)).await.ok();
    client.api.advance(Duration::from_secs(1));
    let status = client.cron_status().await;
    assert_eq!(
        (active(&status), &status["lastScheduleTime"]),
        ("c-29453770".into(), &json!("2026-01-01T00:10:15Z"))
    );
}

#[tokio::test(start_paused = true)]
async fn a_job_that_somebody_else_made_is_unexpected() {
    let builder = ApiServer::builder().with(BuiltInController::Events).with(BuiltInController::Workloads);
    let start = "2026-01-01T00:00:00Z".parse().unwrap();
    let client = TestClient { api: builder.start_time(start).service().unwrap() };
    let created = client.post(CRON_JOBS, cron("serve", json!({}))).await.ok();
    let mut job = cron("serve", json!({}))["spec"]["jobTemplate"].take();
    job["metadata"]["name"] = "mine".into();
    job["metadata"]["ownerReferences"] = json!([{"apiVersion": "batch/v1", "kind": "CronJob", "name": "c",
        "uid": created["metadata"]["uid"], "controller": true}]);
    client.post(JOBS, job).await.ok();
    client.pass(10);
    assert_eq!(
        client.cron_status().await["active"].as_array().unwrap().len(),
        1,
        "only that of the schedule"
    );
    let list = client.get("/api/v1/namespaces/default/events").await.ok();
    let events = list["items"].as_array().unwrap();
    let events: Vec<&Value> = events.iter().filter(|event| event["reason"] == "UnexpectedJob").collect();
    let [event] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(
        (&event["type"], &event["message"]),
        (&json!("Warning"), &json!("Saw a job that the controller did not create or forgot: mine"))
    );
}
