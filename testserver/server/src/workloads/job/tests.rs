//! Tests of the plans for Jobs.

use super::*;
use crate::workloads::{
    TRACKING,
    pod::{MAX_PODS, read},
};

fn plan_job(job: &Value, pods: &[Value], now: &str) -> JobPlan {
    super::plan_job(job, &read(pods), now)
}

fn pod(number: usize, phase: &str) -> Value {
    json!({"metadata": {"uid": format!("u{number}"), "name": format!("p{number}"), "finalizers": [TRACKING]},
        "spec": {"nodeName": "n"}, "status": {"phase": phase}})
}

fn pods(phases: &[&str]) -> Vec<Value> {
    phases.iter().enumerate().map(|(at, phase)| pod(at, phase)).collect()
}

/// Pods of these indexes.
fn indexed(pods: &[(usize, &str)]) -> Vec<Value> {
    let indexed = pods.iter().enumerate().map(|(at, (index, phase))| {
        let mut pod = pod(at, phase);
        pod["metadata"]["annotations"] =
            json!({"batch.kubernetes.io/job-completion-index": index.to_string()});
        pod
    });
    indexed.collect()
}

fn condition_of(plan: &JobPlan, kind: &str) -> Option<String> {
    let mut conditions = plan.status["conditions"].as_array()?.iter();
    let condition = conditions.find(|c| c["type"] == kind && c["status"] == "True")?;
    condition["reason"].as_str().map(Into::into)
}

fn new(plan: &JobPlan) -> Vec<usize> {
    plan.create.iter().filter_map(|new| new.index).collect()
}

/// Plans until nothing changes, releasing pods in between. Returns the last plan.
fn settled(job: &Value, pods: &[Value], now: &str) -> JobPlan {
    let (mut job, mut pods) = (job.clone(), pods.to_vec());
    loop {
        let plan = plan_job(&job, &pods, now);
        if plan.status == job["status"] && plan.release.is_empty() {
            return plan;
        }
        job["status"] = plan.status;
        for at in plan.release {
            pods[at]["metadata"]["finalizers"] = Value::Null;
        }
    }
}

#[test]
fn pods_run_in_parallel_until_enough_have_succeeded() {
    let job = json!({"spec": {"completions": 5, "parallelism": 2}});
    assert_eq!(plan_job(&job, &[], "t").create.len(), 2);
    assert_eq!(plan_job(&job, &pods(&["Succeeded", "Running"]), "t").create.len(), 1);
    let many = json!({"spec": {"parallelism": i32::MAX, "completions": i32::MAX}});
    assert_eq!(plan_job(&many, &[], "t").create.len(), MAX_PODS);
    assert_eq!(plan_job(&many, &pods(&["Running"; MAX_PODS]), "t").create.len(), 0);
    let ended = plan_job(&many, &pods(&["Succeeded"; MAX_PODS]), "t");
    assert_eq!(ended.create.len(), MAX_PODS, "pods that are over take no room");
    assert_eq!(
        plan_job(&job, &pods(&["Succeeded"; 4]), "t").create.len(),
        1,
        "no more than are still needed"
    );
    let done = settled(&job, &pods(&["Succeeded"; 5]), "t");
    assert_eq!(condition_of(&done, "Complete").as_deref(), Some("CompletionsReached"));
    assert_eq!((&done.status["succeeded"], &done.status["completionTime"]), (&json!(5), &json!("t")));
    let fewer = json!({"spec": {"completions": 5, "parallelism": 1}});
    assert_eq!(plan_job(&fewer, &pods(&["Running", "Running"]), "t").delete, [0]);
}

#[test]
fn each_pod_is_counted_once() {
    let mut job = json!({"spec": {"completions": 3, "parallelism": 1}});
    let mut all = pods(&["Succeeded", "Failed", "Running"]);
    let first = plan_job(&job, &all, "t");
    assert_eq!(first.status["uncountedTerminatedPods"], json!({"succeeded": ["u0"], "failed": ["u1"]}));
    assert_eq!((&first.release, &first.status["succeeded"]), (&vec![0, 1], &Value::Null));
    job["status"] = first.status;
    // Repeated before the finalizers are gone, the plan is the same.
    assert_eq!(plan_job(&job, &all, "t").status, job["status"]);
    all.truncate(1);
    all[0]["metadata"]["finalizers"] = Value::Null;
    let second = plan_job(&job, &all, "t");
    assert_eq!((&second.status["succeeded"], &second.status["failed"]), (&json!(1), &json!(1)));
    assert_eq!(second.status["uncountedTerminatedPods"], json!({}));
    job["status"] = second.status;
    assert_eq!(plan_job(&job, &[], "t").status["succeeded"], 1, "also after its deletion");
}

#[test]
fn without_a_number_the_first_success_ends_the_work() {
    let job = json!({"spec": {"parallelism": 3}});
    assert_eq!(plan_job(&job, &[], "t").create.len(), 3);
    let waiting = settled(&job, &pods(&["Succeeded", "Running"]), "t");
    assert_eq!((waiting.create.len(), condition_of(&waiting, "Complete")), (0, None));
    assert!(condition_of(&settled(&job, &pods(&["Succeeded", "Failed"]), "t"), "Complete").is_some());
}

#[test]
fn failures_are_retried_up_to_the_backoff_limit() {
    let job = json!({"spec": {"backoffLimit": 1, "completions": 2, "parallelism": 2}});
    assert_eq!(plan_job(&job, &pods(&["Failed"]), "t").create.len(), 2);
    let failed = settled(&job, &pods(&["Failed", "Failed", "Running"]), "t");
    assert_eq!((failed.create.len(), failed.delete, &failed.status["failed"]), (0, vec![2], &json!(3)));
    assert_eq!(failed.status["conditions"][1]["reason"], "BackoffLimitExceeded");
    let over = json!({"spec": job["spec"], "status": failed.status});
    assert_eq!(plan_job(&over, &[], "later").status, over["status"], "for ever");
    let mut restarted = pod(0, "Running");
    restarted["status"]["containerStatuses"] = json!([{"restartCount": 1}]);
    let in_place = json!({"spec": {"backoffLimit": 0, "template": {"spec": {"restartPolicy": "OnFailure"}}}});
    assert!(condition_of(&plan_job(&in_place, &[restarted], "t"), "Failed").is_some());
}

#[test]
fn deadline_and_ttl_end_a_job() {
    let at = |second: u32| format!("2026-01-01T00:00:{second:02}Z");
    let mut job = json!({"spec": {"activeDeadlineSeconds": 5, "ttlSecondsAfterFinished": 10}});
    let started = plan_job(&job, &[], &at(0));
    assert_eq!((started.requeue_after, started.create.len()), (Some(5), 1));
    job["status"] = started.status;
    let running = plan_job(&job, &pods(&["Running"]), &at(3));
    assert_eq!((running.requeue_after, running.delete.len()), (Some(2), 0));
    let late = plan_job(&job, &pods(&["Running"]), &at(5));
    assert_eq!((&late.delete, late.create.len(), late.requeue_after), (&vec![0], 0, Some(10)));
    assert_eq!(
        (condition_of(&late, "Failed").as_deref(), &late.status["failed"]),
        (Some("DeadlineExceeded"), &json!(1))
    );
    job["status"] = late.status;
    assert!(!plan_job(&job, &[], &at(14)).expired && plan_job(&job, &[], &at(15)).expired);
}

#[test]
fn a_suspended_job_has_no_pods_and_starts_anew() {
    let mut job = json!({"spec": {"suspend": true}, "status": {"startTime": "s", "active": 1}});
    let plan = plan_job(&job, &pods(&["Running"]), "t");
    assert_eq!((plan.create.len(), plan.delete), (0, vec![0]));
    assert_eq!(plan.status["conditions"][0]["reason"], "JobSuspended");
    assert_eq!((&plan.status["startTime"], &plan.status["active"]), (&Value::Null, &Value::Null));
    job["status"] = plan.status;
    job["spec"]["suspend"] = false.into();
    let resumed = plan_job(&job, &[], "t2");
    assert_eq!((resumed.create.len(), &resumed.status["startTime"]), (1, &json!("t2")));
    let condition = &resumed.status["conditions"][0];
    assert_eq!((&condition["status"], &condition["reason"]), (&json!("False"), &json!("JobResumed")));
}

#[test]
fn an_indexed_job_completes_every_index() {
    let job = json!({"spec": {"completionMode": "Indexed", "completions": 4, "parallelism": 2}});
    assert_eq!(new(&plan_job(&job, &[], "t")), [0, 1]);
    let half = settled(&job, &indexed(&[(0, "Succeeded"), (1, "Running"), (2, "Failed")]), "t");
    assert_eq!((new(&half), &half.status["completedIndexes"]), (vec![2], &json!("0")));
    let all: Vec<(usize, &str)> = (0..4).map(|index| (index, "Succeeded")).collect();
    let done = settled(&job, &indexed(&all), "t");
    assert_eq!((&done.status["completedIndexes"], &done.status["succeeded"]), (&json!("0-3"), &json!(4)));
    assert!(condition_of(&done, "Complete").is_some());
}

#[test]
fn indexes_fail_one_by_one() {
    let spec = json!({"completionMode": "Indexed", "completions": 3, "parallelism": 3, "backoffLimitPerIndex": 1, "maxFailedIndexes": 1});
    let job = json!({"spec": spec});
    assert_eq!(plan_job(&job, &[], "t").status["failedIndexes"], "");
    let mut pods = indexed(&[(0, "Running"), (1, "Failed"), (2, "Running")]);
    let again = plan_job(&job, &pods, "t");
    assert_eq!(again.create, [NewPod { index: Some(1), failures: Some(1) }]);
    pods[1]["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"] = "1".into();
    let failed = plan_job(&job, &pods, "t");
    assert_eq!((new(&failed), &failed.status["failedIndexes"]), (vec![], &json!("1")));
    for at in [0, 2] {
        pods[at]["status"]["phase"] = "Succeeded".into();
    }
    let over = settled(&job, &pods, "t");
    assert_eq!(
        (condition_of(&over, "Failed").as_deref(), &over.status["completedIndexes"]),
        (Some("FailedIndexes"), &json!("0,2"))
    );
    let mut two = indexed(&[(0, "Failed"), (1, "Failed"), (2, "Running")]);
    for pod in &mut two[..2] {
        pod["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"] = "1".into();
    }
    assert_eq!(
        condition_of(&plan_job(&job, &two, "t"), "Failed").as_deref(),
        Some("MaxFailedIndexesExceeded")
    );
}

#[test]
fn policies_end_a_job_early() {
    let rules = json!([{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}, {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [7]}}]);
    let job = json!({"spec": {"backoffLimit": 0, "podFailurePolicy": {"rules": rules}}});
    let failed = |code: i64| {
        let mut pod = pod(0, "Failed");
        pod["status"]["containerStatuses"] =
            json!([{"name": "c", "state": {"terminated": {"exitCode": code}}}]);
        settled(&job, &[pod], "t")
    };
    assert_eq!(condition_of(&failed(42), "Failed").as_deref(), Some("PodFailurePolicy"));
    assert_eq!(condition_of(&failed(1), "Failed").as_deref(), Some("BackoffLimitExceeded"));
    let ignored = failed(7);
    assert_eq!(
        (condition_of(&ignored, "Failed"), &ignored.status["failed"], ignored.create.len()),
        (None, &Value::Null, 1)
    );
    let policy = json!({"rules": [{"succeededIndexes": "0-1", "succeededCount": 1}]});
    let job = json!({"spec": {"completionMode": "Indexed", "completions": 4, "parallelism": 4, "successPolicy": policy}});
    let met = plan_job(&job, &indexed(&[(0, "Succeeded"), (1, "Running")]), "t");
    assert_eq!((condition_of(&met, "Complete").as_deref(), met.delete), (Some("SuccessPolicy"), vec![1]));
}

/// A pod that a client made may have any index.
#[test]
fn pods_beyond_the_completions_do_not_count() {
    let job = json!({"spec": {"completionMode": "Indexed", "completions": 2, "parallelism": 2}});
    let mut all = indexed(&[(0, "Succeeded"), (2, "Succeeded"), (usize::MAX, "Succeeded"), (7, "Failed")]);
    assert_eq!(plan_job(&job, &all, "t").release, [0, 1, 2, 3]);
    let plan = settled(&job, &all, "t");
    assert_eq!((&plan.status["completedIndexes"], &plan.status["succeeded"]), (&json!("0"), &json!(1)));
    assert_eq!((&plan.status["failed"], new(&plan)), (&Value::Null, vec![1]));
    all[2]["status"]["phase"] = "Running".into();
    let plan = plan_job(&job, &all, "t");
    assert_eq!((new(&plan), plan.delete), (vec![1], vec![2]), "it takes no place");
}

/// All indexes of the largest Job in a set would fill the memory.
#[test]
fn the_largest_job_is_planned_by_ranges() {
    let policy = json!({"rules": [{"succeededIndexes": "0-2147483646"}]});
    let spec = json!({"completionMode": "Indexed", "completions": i32::MAX, "parallelism": 2,
        "backoffLimitPerIndex": 1, "successPolicy": policy});
    let job = json!({"spec": spec, "status": {"completedIndexes": "0-1073741823,1073741825-2147483644",
        "failedIndexes": "2147483645"}});
    let plan = plan_job(&job, &[], "t");
    assert_eq!(new(&plan), [1_073_741_824, 2_147_483_646]);
    assert_eq!(plan.status["succeeded"], 2_147_483_644);
    let all = json!({"spec": job["spec"], "status": {"completedIndexes": "0-2147483646"}});
    assert_eq!(condition_of(&plan_job(&all, &[], "t"), "Complete").as_deref(), Some("SuccessPolicy"));
}

/// Otherwise a Job whose pods end at once would run for ever within one request.
#[test]
fn many_failures_in_a_short_time_are_followed_by_a_pause() {
    let job = json!({"spec": {"completions": 1, "parallelism": 1, "backoffLimit": i32::MAX}});
    let failed = |number: usize| {
        let mut failed = pods(&vec!["Failed"; number]);
        for pod in &mut failed {
            pod["status"]["containerStatuses"] =
                json!([{"state": {"terminated": {"exitCode": 1, "finishedAt": "2026-01-01T00:00:00Z"}}}]);
        }
        failed
    };
    let plan = |number: usize, now: &str| {
        let plan = plan_job(&job, &failed(number), now);
        (plan.create.len(), plan.requeue_after)
    };
    assert_eq!(plan(99, "2026-01-01T00:00:00Z"), (1, None));
    assert_eq!(plan(100, "2026-01-01T00:00:00Z"), (0, Some(1)));
    assert_eq!(plan(100, "2026-01-01T00:01:00Z"), (1, None), "it goes on");
    let limited = json!({"spec": {"backoffLimit": 100}});
    let over = settled(&limited, &failed(101), "2026-01-01T00:00:00Z");
    assert_eq!(condition_of(&over, "Failed").as_deref(), Some("BackoffLimitExceeded"));
}

#[test]
fn the_pods_of_indexes_that_are_no_longer_wanted_go_first() {
    let job = json!({"spec": {"completionMode": "Indexed", "completions": 2, "parallelism": 2}});
    let running = |indexes: &[usize]| {
        let all: Vec<(usize, &str)> = indexes.iter().map(|index| (*index, "Running")).collect();
        plan_job(&job, &indexed(&all), "t")
    };
    let smaller = running(&[0, 1, 2, 3]);
    assert_eq!((smaller.delete.clone(), new(&smaller)), (vec![2, 3], vec![]));
    let twice = running(&[0, 0]);
    assert_eq!((twice.delete.len(), new(&twice)), (1, vec![1]), "of two pods of an index one stays");
    let mixed = running(&[0, 0, 3]);
    assert_eq!((mixed.delete.len(), mixed.delete.contains(&2), new(&mixed)), (2, true, vec![1]));
}
