//! Tests of the plans for CronJobs.

use super::*;

fn cron(spec: Value) -> Value {
    let mut cron = json!({"apiVersion": "batch/v1", "kind": "CronJob", "spec": spec,
        "metadata": {"name": "c", "namespace": "n", "uid": "u", "creationTimestamp": "2026-01-01T00:00:30Z"}});
    for (field, value) in [
        ("schedule", json!("*/10 * * * *")),
        ("jobTemplate", json!({"spec": {"backoffLimit": 1}})),
        ("successfulJobsHistoryLimit", json!(1)),
        ("failedJobsHistoryLimit", json!(0)),
    ] {
        if cron["spec"][field].is_null() {
            cron["spec"][field] = value;
        }
    }
    cron
}

fn job(name: &str, end: Option<&str>) -> Value {
    let conditions: Vec<Value> = end.iter().map(|end| json!({"type": end, "status": "True"})).collect();
    json!({"metadata": {"name": name, "namespace": "n", "uid": name, "resourceVersion": "1"},
        "status": {"startTime": name, "completionTime": format!("end of {name}"), "conditions": conditions}})
}

fn plan(cron: &Value, jobs: &[Value], now: &str) -> CronPlan {
    plan_cron_job(cron, jobs, now.parse().unwrap())
}

fn reasons(plan: &CronPlan) -> Vec<&str> {
    plan.notes.iter().map(|note| note.reason).collect()
}

#[test]
fn a_job_starts_when_its_time_has_come() {
    let early = plan(&cron(json!({})), &[], "2026-01-01T00:09:58Z");
    assert_eq!((early.create, early.requeue_after), (None, Some(2)));
    let due = plan(&cron(json!({})), &[], "2026-01-01T00:10:00Z");
    let job = due.create.unwrap();
    assert_eq!(job["metadata"]["name"], "c-29453770");
    assert_eq!(job["metadata"]["annotations"], json!({SCHEDULED_AT: "2026-01-01T00:10:00Z"}));
    assert_eq!(
        (&job["metadata"]["ownerReferences"][0]["uid"], &job["spec"]),
        (&json!("u"), &json!({"backoffLimit": 1}))
    );
    assert_eq!(
        (&due.status["lastScheduleTime"], due.requeue_after),
        (&json!("2026-01-01T00:10:00Z"), Some(600))
    );
    let mut again = cron(json!({}));
    again["status"] = due.status;
    assert_eq!(plan(&again, &[], "2026-01-01T00:19:59Z").create, None);
    assert_eq!(plan(&cron(json!({"suspend": true})), &[], "2026-01-01T00:10:00Z").create, None);
}

#[test]
fn of_missed_times_only_the_last_counts() {
    let late = plan(&cron(json!({})), &[], "2026-01-01T05:05:00Z");
    assert_eq!((&late.status["lastScheduleTime"], reasons(&late).len()), (&json!("2026-01-01T05:00:00Z"), 0));
    let very_late = plan(&cron(json!({})), &[], "2026-01-03T05:05:00Z");
    assert_eq!(reasons(&very_late), ["TooManyMissedTimes"]);
    assert_eq!(
        plan(&cron(json!({"startingDeadlineSeconds": 200})), &[], "2026-01-01T05:05:00Z").create,
        None
    );
    for long in [400, i64::MAX] {
        let deadline = cron(json!({"startingDeadlineSeconds": long}));
        assert!(plan(&deadline, &[], "2026-01-01T05:05:00Z").create.is_some(), "{long}");
    }
}

#[test]
fn the_zone_decides() {
    let zoned = cron(json!({"schedule": "0 6 * * *", "timeZone": "America/New_York"}));
    let due = plan(&zoned, &[], "2026-01-01T11:00:00Z").create.unwrap();
    assert_eq!(due["metadata"]["annotations"][SCHEDULED_AT], "2026-01-01T06:00:00-05:00");
    assert_eq!(plan(&zoned, &[], "2026-01-01T10:59:59Z").create, None);
}

#[test]
fn the_policy_decides_about_a_job_that_still_runs() {
    let running = [job("a", None)];
    let with = |policy: &str| {
        let mut cron = cron(json!({"concurrencyPolicy": policy}));
        cron["status"]["active"] = json!([active_reference(&running[0])]);
        plan(&cron, &running, "2026-01-01T00:10:00Z")
    };
    let allowed = with("Allow");
    assert!(allowed.create.is_some() && allowed.status["active"].as_array().unwrap().len() == 1);
    let forbidden = with("Forbid");
    assert_eq!((forbidden.create.is_none(), reasons(&forbidden)), (true, vec!["JobAlreadyActive"]));
    let replaced = with("Replace");
    assert_eq!(
        (replaced.create.is_some(), &replaced.delete, &replaced.status["active"]),
        (true, &vec![0], &Value::Null)
    );
}

#[test]
fn finished_jobs_are_counted_and_deleted() {
    let jobs = [
        job("a", Some("Complete")),
        job("b", Some("Failed")),
        job("d", Some("Complete")),
        job("c", Some("Complete")),
    ];
    let mut cron = cron(json!({"suspend": true}));
    cron["status"]["active"] = json!([active_reference(&jobs[2]), active_reference(&job("gone", None))]);
    let plan = plan(&cron, &jobs, "2026-01-01T00:05:00Z");
    assert_eq!(plan.delete, [0, 3, 1]);
    assert_eq!(plan.status, json!({"lastSuccessfulTime": "end of d"}));
    assert_eq!(
        reasons(&plan),
        ["SawCompletedJob", "MissingJob", "SuccessfulDelete", "SuccessfulDelete", "SuccessfulDelete"]
    );
}

/// A write of the CronJob does not postpone the next time.
#[test]
fn intervals_count_from_the_last_time() {
    let mut cron = cron(json!({"schedule": "@every 15s"}));
    assert_eq!(plan(&cron, &[], "2026-01-01T00:00:40Z").requeue_after, Some(5));
    let due = plan(&cron, &[], "2026-01-01T00:00:47Z");
    assert_eq!(
        (&due.status["lastScheduleTime"], due.requeue_after),
        (&json!("2026-01-01T00:00:45Z"), Some(13))
    );
    cron["status"] = due.status;
    assert_eq!(plan(&cron, &[], "2026-01-01T00:00:59Z").requeue_after, Some(1));
    // A deadline only limits how late a Job may start.
    cron["spec"]["startingDeadlineSeconds"] = 10.into();
    let late = plan(&cron, &[], "2026-01-01T00:01:12Z");
    assert_eq!((late.create, late.requeue_after), (None, Some(3)));
    let in_time = plan(&cron, &[], "2026-01-01T00:01:09Z");
    assert_eq!(in_time.status["lastScheduleTime"], "2026-01-01T00:01:00Z");
}

#[test]
fn a_job_that_the_controller_did_not_start_is_unexpected() {
    let mut deleted = job("deleted", None);
    deleted["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    let jobs = [job("a", None), job("b", None), job("c", Some("Complete")), deleted];
    let mut cron = cron(json!({}));
    cron["status"]["active"] = json!([active_reference(&jobs[0])]);
    let plan = plan(&cron, &jobs, "2026-01-01T00:05:00Z");
    let why = "Saw a job that the controller did not create or forgot: b";
    assert_eq!(plan.notes, [Note::warning("UnexpectedJob", why)]);
    assert_eq!(plan.status["active"], cron["status"]["active"], "it stays out of the list");
}
