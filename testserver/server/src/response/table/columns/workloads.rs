//! Columns of workloads, autoscalers and disruption budgets.

use serde_json::Value;

use super::{
    column::{AGE, NAME, TableColumn, boolean, integer, text, timed, wide},
    values::{
        NONE, UNSET, condition, count, each, items, joined, labels, number, or_none, provided, ratio,
        selector, since, switch,
    },
};
use crate::response::table::age;

pub(super) fn columns(group: &str, plural: &str) -> Option<&'static [TableColumn]> {
    Some(match (group, plural) {
        ("apps", "deployments") => DEPLOYMENTS,
        ("apps", "replicasets") => {
            const { &[NAME, DESIRED, CURRENT, READY, AGE, CONTAINERS, IMAGES, SELECTOR] }
        }
        ("", "replicationcontrollers") => {
            const {
                let selector = wide(text("Selector", |o| labels(&o["spec"]["selector"])));
                &[NAME, DESIRED, CURRENT, READY, AGE, CONTAINERS, IMAGES, selector]
            }
        }
        ("apps", "statefulsets") => {
            const {
                let ready = text("Ready", |o| ratio(&o["status"]["readyReplicas"], &o["spec"]["replicas"]));
                &[NAME, ready, AGE, CONTAINERS, IMAGES]
            }
        }
        ("apps", "daemonsets") => DAEMON_SETS,
        ("apps", "controllerrevisions") => REVISIONS,
        ("batch", "jobs") => JOBS,
        ("batch", "cronjobs") => CRON_JOBS,
        ("autoscaling", "horizontalpodautoscalers") => AUTOSCALERS,
        ("policy", "poddisruptionbudgets") => BUDGETS,
        _ => return None,
    })
}

const DEPLOYMENTS: &[TableColumn] = &[
    NAME,
    text("Ready", |o| ratio(&o["status"]["readyReplicas"], &o["spec"]["replicas"])),
    text("Up-to-date", |o| number(&o["status"]["updatedReplicas"]).into()),
    text("Available", |o| number(&o["status"]["availableReplicas"]).into()),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

const DAEMON_SETS: &[TableColumn] = &[
    NAME,
    integer("Desired", |o| number(&o["status"]["desiredNumberScheduled"]).into()),
    integer("Current", |o| number(&o["status"]["currentNumberScheduled"]).into()),
    integer("Ready", |o| number(&o["status"]["numberReady"]).into()),
    integer("Up-to-date", |o| number(&o["status"]["updatedNumberScheduled"]).into()),
    integer("Available", |o| number(&o["status"]["numberAvailable"]).into()),
    text("Node Selector", |o| labels(&o["spec"]["template"]["spec"]["nodeSelector"])),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

const REVISIONS: &[TableColumn] =
    &[NAME, text("Controller", controller), text("Revision", |o| number(&o["revision"]).into()), AGE];

const JOBS: &[TableColumn] = &[
    NAME,
    text("Status", job_status),
    text("Completions", completions),
    timed("Duration", duration),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

const CRON_JOBS: &[TableColumn] = &[
    NAME,
    text("Schedule", |o| o["spec"]["schedule"].clone()),
    text("Timezone", |o| or_none(&o["spec"]["timeZone"])),
    boolean("Suspend", |o| switch(&o["spec"]["suspend"])),
    integer("Active", |o| count(&o["status"]["active"]).into()),
    timed("Last Schedule", |o, now| since(&o["status"]["lastScheduleTime"], now, NONE)),
    AGE,
    wide(text("Containers", |o| containers(&o["spec"]["jobTemplate"], "name"))),
    wide(text("Images", |o| containers(&o["spec"]["jobTemplate"], "image"))),
    wide(text("Selector", |o| selector(&o["spec"]["jobTemplate"]["spec"]["selector"]))),
];

const AUTOSCALERS: &[TableColumn] = &[
    NAME,
    text("Reference", |o| {
        let part = |field: &str| o["spec"]["scaleTargetRef"][field].as_str().unwrap_or_default();
        format!("{}/{}", part("kind"), part("name")).into()
    }),
    text("Targets", targets),
    text("MinPods", |o| provided(&o["spec"]["minReplicas"], UNSET)),
    text("MaxPods", |o| number(&o["spec"]["maxReplicas"]).into()),
    text("Replicas", |o| number(&o["status"]["currentReplicas"]).into()),
    AGE,
];

const BUDGETS: &[TableColumn] = &[
    NAME,
    text("Min Available", |o| provided(&o["spec"]["minAvailable"], "N/A")),
    text("Max Unavailable", |o| provided(&o["spec"]["maxUnavailable"], "N/A")),
    integer("Allowed Disruptions", |o| number(&o["status"]["disruptionsAllowed"]).into()),
    AGE,
];

const DESIRED: TableColumn = integer("Desired", |o| number(&o["spec"]["replicas"]).into());
const CURRENT: TableColumn = integer("Current", |o| number(&o["status"]["replicas"]).into());
const READY: TableColumn = integer("Ready", |o| number(&o["status"]["readyReplicas"]).into());
const CONTAINERS: TableColumn = wide(text("Containers", |o| containers(o, "name")));
const IMAGES: TableColumn = wide(text("Images", |o| containers(o, "image")));
const SELECTOR: TableColumn = wide(text("Selector", |o| selector(&o["spec"]["selector"])));

fn containers(object: &Value, field: &str) -> Value {
    each(&object["spec"]["template"]["spec"]["containers"], field).collect::<Vec<_>>().join(",").into()
}

/// The controller of a revision, as `kind.group/name`.
fn controller(revision: &Value) -> Value {
    let owner = items(&revision["metadata"]["ownerReferences"]).find(|owner| owner["controller"] == true);
    let Some(owner) = owner else { return NONE.into() };
    let part = |field: &str| owner[field].as_str().unwrap_or_default();
    let group = part("apiVersion").rsplit_once('/').map_or(String::new(), |(group, _)| format!(".{group}"));
    format!("{}{group}/{}", part("kind").to_lowercase(), part("name")).into()
}

fn job_status(job: &Value) -> Value {
    let is = |kind: &&str| condition(job, kind) == "True";
    let status = ["Complete", "Failed"].into_iter().find(is);
    let status = status.or_else(|| job["metadata"]["deletionTimestamp"].is_string().then_some("Terminating"));
    let status = status.or_else(|| ["Suspended", "FailureTarget", "SuccessCriteriaMet"].into_iter().find(is));
    status.unwrap_or("Running").into()
}

fn completions(job: &Value) -> Value {
    let (spec, done) = (&job["spec"], number(&job["status"]["succeeded"]));
    match (spec["completions"].as_i64(), number(&spec["parallelism"])) {
        (Some(all), _) => format!("{done}/{all}").into(),
        (None, parallel) if parallel > 1 => format!("{done}/1 of {parallel}").into(),
        (None, _) => format!("{done}/1").into(),
    }
}

/// The time from start to completion, or until now.
fn duration(job: &Value, now: &str) -> Value {
    let status = &job["status"];
    match (status["startTime"].as_str(), status["completionTime"].as_str()) {
        (None, _) => "".into(),
        (Some(start), end) => age::since(start, end.unwrap_or(now)).into(),
    }
}

/// The metrics of an autoscaler, as `current/target`.
fn targets(autoscaler: &Value) -> Value {
    let (spec, status) = (&autoscaler["spec"], &autoscaler["status"]);
    if let Some(target_utilization) = spec["targetCPUUtilizationPercentage"].as_i64() {
        let present = status["currentCPUUtilizationPercentage"].as_i64();
        return format!("cpu: {}/{target_utilization}%", percent(present)).into();
    }
    let mut all: Vec<String> = items(&spec["metrics"])
        .enumerate()
        .map(|(i, metric)| target(metric, &status["currentMetrics"][i]))
        .collect();
    let more = all.len().saturating_sub(2);
    all.truncate(2);
    match more {
        0 => joined(all, ", "),
        more => format!("{} + {more} more...", all.join(", ")).into(),
    }
}

fn target(metric: &Value, present: &Value) -> String {
    let kind = metric["type"].as_str().unwrap_or_default();
    let mut letters = kind.chars();
    let field: String = letters.next().into_iter().flat_map(char::to_lowercase).chain(letters).collect();
    let (target, present) = (&metric[&field]["target"], &present[&field]["current"]);
    let name = match metric[&field]["name"].as_str() {
        Some(name) if matches!(kind, "Resource" | "ContainerResource") => format!("{name}: "),
        _ => String::new(),
    };
    if let Some(utilization) = target["averageUtilization"].as_i64() {
        return format!("{name}{}/{utilization}%", percent(present["averageUtilization"].as_i64()));
    }
    let average = !target["averageValue"].is_null();
    let value = if average { "averageValue" } else { "value" };
    let quantity = |of: &Value| of[value].as_str().unwrap_or("<unknown>").to_owned();
    let mark = if average && matches!(kind, "External" | "Object") { " (avg)" } else { "" };
    format!("{name}{}/{}{mark}", quantity(present), quantity(target))
}

fn percent(present: Option<i64>) -> String {
    present.map_or_else(|| "<unknown>".into(), |present| format!("{present}%"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn autoscalers_show_their_metrics() {
        let old = json!({"spec": {"targetCPUUtilizationPercentage": 70}});
        assert_eq!(targets(&old), "cpu: <unknown>/70%");
        let cpu =
            json!({"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 60}}});
        let now =
            json!({"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 9}}});
        let pods = json!({"type": "Pods", "pods": {"target": {"averageValue": "5"}}});
        let all = json!({"spec": {"metrics": [cpu, pods, pods]}, "status": {"currentMetrics": [now]}});
        assert_eq!(targets(&all), "cpu: 9%/60%, <unknown>/5 + 1 more...");
        assert_eq!(targets(&json!({"spec": {"metrics": [{"type": "Ünknown"}]}})), "<unknown>/<unknown>");
    }

    #[test]
    fn jobs_show_their_duration() {
        let (start, end) = ("2026-01-01T00:00:00Z", "2026-01-01T00:01:30Z");
        let mut job = json!({"spec": {"parallelism": 3}, "status": {"startTime": start}});
        assert_eq!((duration(&job, end), completions(&job)), ("90s".into(), "0/1 of 3".into()));
        job["status"]["completionTime"] = end.into();
        assert_eq!(duration(&job, "2027-01-01T00:00:00Z"), "90s");
        assert_eq!(duration(&json!({}), end), "");
    }

    #[test]
    fn a_revision_names_its_controller() {
        let owner = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "a", "controller": true});
        let revision = json!({"metadata": {"ownerReferences": [owner]}});
        assert_eq!(
            (controller(&revision), controller(&json!({}))),
            ("statefulset.apps/a".into(), NONE.into())
        );
    }
}
