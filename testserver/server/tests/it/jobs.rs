//! Jobs: counted pods, indexes and policies, as on Kubernetes 1.37.

use std::time::Duration;

use kube_testserver::{ApiServer, BuiltInController, ContainerState};
use serde_json::{Value, json};

use crate::client::{MERGE, TestClient};

const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// A server whose pods end with the exit code that `code` gives to their index, if it gives one.
fn client(code: impl Fn(usize) -> Option<i32> + Send + Sync + 'static) -> TestClient {
    let builder = ApiServer::builder().with(BuiltInController::Kubelet).with(BuiltInController::Workloads);
    let client = TestClient { api: builder.service().unwrap() };
    client.api.kubelet().on_start(move |_, pod| {
        let index = pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"].as_str();
        let index = index.and_then(|index| index.parse().ok()).unwrap_or(0);
        code(index).map_or(ContainerState::Running, ContainerState::Terminated)
    });
    client
}

async fn run(client: &TestClient, spec: Value) -> Value {
    let mut job = json!({"metadata": {"name": "j"}, "spec": spec});
    job["spec"]["template"] =
        json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
    client.post(JOBS, job).await.ok();
    status(client).await
}

async fn status(client: &TestClient) -> Value {
    client.get(&format!("{JOBS}/j")).await.ok()["status"].take()
}

async fn pods(client: &TestClient) -> Vec<Value> {
    client.get(PODS).await.ok()["items"].as_array().unwrap().clone()
}

fn reason(status: &Value, kind: &str) -> String {
    let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.iter().find(|c| c["type"] == kind && c["status"] == "True");
    found.map(|found| found["reason"].as_str().unwrap().to_owned()).unwrap_or_default()
}

#[tokio::test]
async fn indexes_complete() {
    let client = client(|_| Some(0));
    let done = run(&client, json!({"completionMode": "Indexed", "completions": 4, "parallelism": 2})).await;
    assert_eq!((&done["completedIndexes"], &done["succeeded"]), (&json!("0-3"), &json!(4)));
    assert_eq!(
        (reason(&done, "Complete"), &done["uncountedTerminatedPods"]),
        ("CompletionsReached".into(), &json!({}))
    );
    let pods = pods(&client).await;
    let pod = pods.iter().find(|pod| pod["spec"]["hostname"] == "j-3").unwrap();
    assert!(pod["metadata"]["name"].as_str().unwrap().starts_with("j-3-"));
    assert_eq!(pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"], "3");
    assert_eq!(pod["metadata"]["finalizers"], Value::Null, "it is counted");
    let variable = &pod["spec"]["containers"][0]["env"][0];
    assert_eq!(
        variable["valueFrom"]["fieldRef"]["fieldPath"],
        "metadata.labels['batch.kubernetes.io/job-completion-index']"
    );
}

#[tokio::test]
async fn indexes_fail_after_their_own_limit() {
    let client = client(|index| Some(i32::from(index % 2 == 1)));
    let spec =
        json!({"completionMode": "Indexed", "completions": 4, "parallelism": 1, "backoffLimitPerIndex": 1});
    let done = run(&client, spec).await;
    assert_eq!(client.get(&format!("{JOBS}/j")).await.ok()["spec"]["backoffLimit"], i32::MAX);
    assert_eq!(
        (&done["completedIndexes"], &done["failedIndexes"], &done["failed"]),
        (&json!("0,2"), &json!("1,3"), &json!(4))
    );
    assert_eq!(reason(&done, "Failed"), "FailedIndexes");
}

#[tokio::test]
async fn policies_decide() {
    let client = client(|index| (index == 0).then_some(42));
    let rules = json!([{"action": "FailJob", "onExitCodes": {"containerName": "c", "operator": "In", "values": [42]}}]);
    let failed = run(&client, json!({"podFailurePolicy": {"rules": rules}})).await;
    let name = pods(&client).await[0]["metadata"]["name"].as_str().unwrap().to_owned();
    let message = format!(
        "Container c for pod default/{name} failed with exit code 42 matching FailJob rule at index 0"
    );
    assert_eq!(
        (reason(&failed, "Failed"), &failed["conditions"][0]["message"]),
        ("PodFailurePolicy".into(), &json!(message))
    );

    let client = self::client(|index| (index == 1).then_some(0));
    let policy = json!({"rules": [{"succeededIndexes": "1,3", "succeededCount": 1}]});
    let met = run(
        &client,
        json!({"completionMode": "Indexed", "completions": 4, "parallelism": 4, "successPolicy": policy}),
    )
    .await;
    assert_eq!(
        (reason(&met, "SuccessCriteriaMet"), reason(&met, "Complete")),
        ("SuccessPolicy".into(), "SuccessPolicy".into())
    );
    assert_eq!((&met["succeeded"], &met["failed"], pods(&client).await.len()), (&json!(1), &Value::Null, 1));
}

/// A pod has a finalizer until it is counted, so that a deletion loses no result.
#[tokio::test]
async fn deleted_pods_stay_counted() {
    let client = client(|_| None);
    run(&client, json!({"completions": 2, "parallelism": 1})).await;
    let pod = pods(&client).await.remove(0);
    assert_eq!(pod["metadata"]["finalizers"], json!(["batch.kubernetes.io/job-tracking"]));
    client
        .patch(
            MERGE,
            &format!("{PODS}/{}/status", pod["metadata"]["name"].as_str().unwrap()),
            json!({"status": {"phase": "Succeeded"}}),
        )
        .await
        .ok();
    client.delete(&format!("{PODS}/{}", pod["metadata"]["name"].as_str().unwrap())).await.ok();
    let second = pods(&client).await.remove(0);
    assert_eq!((&status(&client).await["succeeded"], pods(&client).await.len()), (&json!(1), 1));
    client.delete(&format!("{PODS}/{}", second["metadata"]["name"].as_str().unwrap())).await.ok();
    let status = status(&client).await;
    assert_eq!((&status["failed"], &status["active"], pods(&client).await.len()), (&json!(1), &json!(1), 1));
    for policy in ["Background", "Foreground"] {
        client.delete(&format!("{JOBS}/j?propagationPolicy={policy}")).await;
    }
    assert_eq!(pods(&client).await.len(), 0, "nothing holds the pods of a Job that is gone");
}

#[tokio::test]
async fn orphaned_pods_are_not_held() {
    let client = client(|_| None);
    run(&client, json!({})).await;
    client.delete(&format!("{JOBS}/j?propagationPolicy=Orphan")).await.ok();
    let pod = pods(&client).await.remove(0);
    assert_eq!(
        (&pod["metadata"]["ownerReferences"], &pod["metadata"]["finalizers"]),
        (&Value::Null, &Value::Null)
    );
}

#[tokio::test]
async fn released_pods_are_not_held() {
    let client = client(|_| None);
    run(&client, json!({})).await;
    let first = format!("{PODS}/{}", pods(&client).await[0]["metadata"]["name"].as_str().unwrap());
    client.patch(MERGE, &first, json!({"metadata": {"labels": null}})).await.ok();
    let released = client.get(&first).await.ok();
    let metadata = &released["metadata"];
    assert_eq!((&metadata["ownerReferences"], &metadata["finalizers"]), (&Value::Null, &Value::Null));
    client.delete(&first).await.ok();
    client.get(&first).await.refused(404, "NotFound");
    assert_eq!(
        (&status(&client).await["active"], &status(&client).await["failed"]),
        (&json!(1), &Value::Null)
    );
}

#[tokio::test]
async fn a_namespace_with_running_jobs_ends() {
    let client = client(|_| None);
    client.post("/api/v1/namespaces", json!({"metadata": {"name": "n"}})).await.ok();
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
    let job = json!({"metadata": {"name": "j"}, "spec": {"template": template}});
    client.post("/apis/batch/v1/namespaces/n/jobs", job).await.ok();
    client.delete("/api/v1/namespaces/n").await.ok();
    client.get("/api/v1/namespaces/n").await.refused(404, "NotFound");
}

#[tokio::test]
async fn a_suspended_job_has_no_pods() {
    let client = client(|_| None);
    let waiting = run(&client, json!({"suspend": true})).await;
    assert_eq!((reason(&waiting, "Suspended"), &waiting["startTime"]), ("JobSuspended".into(), &Value::Null));
    let suspend = |suspend: bool| json!({"spec": {"suspend": suspend}});
    client.patch(MERGE, &format!("{JOBS}/j"), suspend(false)).await.ok();
    let running = status(&client).await;
    assert_eq!((&running["active"], &running["conditions"][0]["reason"]), (&json!(1), &json!("JobResumed")));
    client.patch(MERGE, &format!("{JOBS}/j"), suspend(true)).await.ok();
    let again = status(&client).await;
    assert_eq!(
        (&again["active"], &again["failed"], pods(&client).await.len()),
        (&Value::Null, &Value::Null, 0)
    );
}

/// The runtime lets a task that has done much wait; the command of a container must not seem to.
#[cfg(feature = "shell")]
#[tokio::test]
async fn many_pods_may_fail_within_one_request() {
    let builder = ApiServer::builder().with(BuiltInController::Kubelet).with(BuiltInController::Workloads);
    let client = TestClient { api: builder.service().unwrap() };
    let container = json!({"name": "c", "image": "i", "command": ["sh", "-c", "echo no luck; exit 3"]});
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [container]}});
    let spec = json!({"backoffLimit": 50, "template": template});
    client.post(JOBS, json!({"metadata": {"name": "j"}, "spec": spec})).await.ok();
    let status = status(&client).await;
    assert_eq!((&status["failed"], reason(&status, "Failed")), (&json!(51), "BackoffLimitExceeded".into()));
}

/// Pods that are over take no room, and a Job whose pods always fail comes to its end in time.
#[tokio::test(start_paused = true)]
async fn many_pods_may_end() {
    let client = client(|_| Some(0));
    let done = run(&client, json!({"completions": 1200, "parallelism": 600})).await;
    assert_eq!((&done["succeeded"], reason(&done, "Complete")), (&json!(1200), "CompletionsReached".into()));

    let client = self::client(|_| Some(1));
    let waiting = run(&client, json!({"backoffLimit": 150})).await;
    assert_eq!((&waiting["failed"], reason(&waiting, "Failed")), (&json!(100), String::new()));
    client.api.advance(Duration::from_secs(20));
    let failed = status(&client).await;
    assert_eq!((&failed["failed"], reason(&failed, "Failed")), (&json!(151), "BackoffLimitExceeded".into()));
}

/// Genuine `v1.37` keeps the indexes that are still wanted.
#[tokio::test]
async fn an_elastic_job_loses_its_last_indexes() {
    let client = client(|_| None);
    run(&client, json!({"completionMode": "Indexed", "completions": 4, "parallelism": 4})).await;
    let smaller = json!({"spec": {"completions": 2, "parallelism": 2}});
    client.patch(MERGE, &format!("{JOBS}/j"), smaller).await.ok();
    let pods = pods(&client).await;
    let mut left: Vec<&Value> = pods.iter().map(|pod| &pod["spec"]["hostname"]).collect();
    left.sort_by_key(|name| name.as_str());
    assert_eq!(left, ["j-0", "j-1"]);
    assert_eq!(status(&client).await["active"], 2);
}

#[tokio::test]
async fn a_job_with_a_selector_of_its_own_labels_no_pods() {
    let client = client(|_| None);
    let template = json!({"metadata": {"labels": {"mine": "yes"}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
    let spec =
        json!({"manualSelector": true, "selector": {"matchLabels": {"mine": "yes"}}, "template": template});
    client.post(JOBS, json!({"metadata": {"name": "j"}, "spec": spec})).await.ok();
    assert_eq!(pods(&client).await[0]["metadata"]["labels"], json!({"mine": "yes"}));

    let client = self::client(|_| None);
    let created = run(&client, json!({})).await;
    assert_eq!(created["active"], 1);
    let labels = pods(&client).await[0]["metadata"]["labels"].take();
    assert_eq!((&labels["job-name"], &labels["batch.kubernetes.io/job-name"]), (&json!("j"), &json!("j")));
}
