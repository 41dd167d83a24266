//! Deployment: one ReplicaSet per pod template, and the rollout from one to the next.

use serde_json::{Map, Value, json};

use super::{
    pod::share,
    template::{controller_reference, hash},
};
use crate::{
    clock::{seconds_left, time},
    object::conditions,
};

/// The annotation with the number of a template, of Deployments and their ReplicaSets.
pub(crate) const REVISION: &str = "deployment.kubernetes.io/revision";
const LATE: &str = "ProgressDeadlineExceeded";
const AVAILABLE: &str = "NewReplicaSetAvailable";
const HASH: &str = "pod-template-hash";

/// The next actions for a Deployment.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Rollout {
    /// The ReplicaSet of the current template, if it does not exist.
    pub(crate) create: Option<Value>,
    /// New replica counts, by index in the list of ReplicaSets.
    pub(crate) scale: Vec<(usize, i64)>,
    /// Indexes of old ReplicaSets beyond `revisionHistoryLimit`.
    pub(crate) delete: Vec<usize>,
    /// The `minReadySeconds` of the current ReplicaSet, by its index, if they changed.
    pub(crate) min_ready: Option<(usize, Value)>,
    /// The revision of the current template, set on the Deployment and the ReplicaSet at this index.
    pub(crate) revision: Option<(usize, String)>,
    /// Annotations of scaled ReplicaSets: desired and maximum replicas.
    pub(crate) sizes: [(&'static str, String); 2],
    /// Seconds until the progress deadline.
    pub(crate) requeue_after: Option<u64>,
    pub(crate) status: Value,
}

/// The replica counts that bound a rollout.
#[derive(Clone, Copy, Debug)]
struct ReplicaBounds {
    replicas: i64,
    /// The largest number of pods during the rollout.
    max_pods: i64,
    /// The smallest number of available pods.
    min_available: i64,
}

/// Plans a Deployment; `sets` are all ReplicaSets that it owns.
pub(crate) fn plan_rollout(deployment: &Value, sets: &[Value], now: &str) -> Rollout {
    let template = &deployment["spec"]["template"];
    let current = sets.iter().position(|set| same_template(&set["spec"]["template"], template));
    let limits = limits(&deployment["spec"]);
    let (status, requeue_after) = status(deployment, sets, current, limits, now);
    let mut rollout = Rollout { status, requeue_after, sizes: sizes(limits), ..Rollout::default() };
    if deployment["metadata"]["deletionTimestamp"].is_string() {
        return rollout;
    }
    let paused = deployment["spec"]["paused"] == true;
    let Some(current) = current else {
        if !paused {
            rollout.create = Some(replica_set(deployment, next_revision(sets, None)));
        }
        return rollout;
    };
    rollout.scale = if paused { Vec::new() } else { scale(deployment, sets, current, limits) };
    let min_ready = &deployment["spec"]["minReadySeconds"];
    if sets[current]["spec"]["minReadySeconds"] != *min_ready {
        rollout.min_ready = Some((current, min_ready.clone()));
    }
    let revision = next_revision(sets, Some(current)).to_string();
    if deployment["metadata"]["annotations"][REVISION] != revision.as_str() {
        rollout.revision = Some((current, revision));
    }
    rollout.delete = surplus_sets(deployment, sets, current);
    rollout
}

/// The next step of the rollout; empty once it is complete.
fn scale(deployment: &Value, sets: &[Value], current: usize, limits: ReplicaBounds) -> Vec<(usize, i64)> {
    let total: i64 = sets.iter().map(desired).sum();
    let recreate = deployment["spec"]["strategy"]["type"] == "Recreate";
    let old = || (0..sets.len()).filter(|at| *at != current && desired(&sets[*at]) > 0);
    let new = desired(&sets[current]);
    let mut steps = Vec::new();
    if recreate {
        steps.extend(old().map(|at| (at, 0)));
        let gone = (0..sets.len()).all(|at| at == current || count(&sets[at], "replicas") == 0);
        if gone && steps.is_empty() && new != limits.replicas {
            steps.push((current, limits.replicas));
        }
        return steps;
    }
    let grown = if new > limits.replicas {
        limits.replicas
    } else {
        limits.replicas.min(new + (limits.max_pods - total).max(0))
    };
    if grown != new {
        steps.push((current, grown));
    }
    steps.extend(scale_down(sets, current, total, limits));
    steps
}

/// How much smaller the old ReplicaSets can be: pods that are not available go first, then those that are available beyond the minimum.
fn scale_down(sets: &[Value], current: usize, total: i64, limits: ReplicaBounds) -> Vec<(usize, i64)> {
    let available = |set: &Value| count(set, "availableReplicas").min(desired(set));
    let pending = desired(&sets[current]) - available(&sets[current]);
    let mut spare = total - limits.min_available - pending;
    let mut sizes: Vec<i64> = sets.iter().map(desired).collect();
    for at in (0..sets.len()).filter(|at| *at != current) {
        let less = (sizes[at] - available(&sets[at])).min(spare).max(0);
        sizes[at] -= less;
        spare -= less;
    }
    spare = spare.min(sets.iter().map(available).sum::<i64>() - limits.min_available);
    for at in (0..sets.len()).filter(|at| *at != current) {
        let less = sizes[at].min(spare).max(0);
        sizes[at] -= less;
        spare -= less;
    }
    let smaller = (0..sets.len()).filter(|at| *at != current && sizes[*at] < desired(&sets[*at]));
    smaller.map(|at| (at, sizes[at])).collect()
}

fn limits(spec: &Value) -> ReplicaBounds {
    let replicas = spec["replicas"].as_i64().unwrap_or(1);
    let rolling = &spec["strategy"]["rollingUpdate"];
    let part = |value: &Value, up: bool| match value {
        Value::Null => share(&"25%".into(), replicas, up),
        value => share(value, replicas, up),
    };
    let surge = part(&rolling["maxSurge"], true).unwrap_or(0);
    let mut unavailable = part(&rolling["maxUnavailable"], false).unwrap_or(0);
    if surge == 0 && unavailable == 0 {
        // With both at zero, a rollout could never proceed.
        unavailable = 1;
    }
    ReplicaBounds {
        replicas,
        max_pods: replicas + surge,
        min_available: replicas - unavailable.min(replicas),
    }
}

/// The status, and the seconds until the progress deadline.
fn status(
    deployment: &Value,
    sets: &[Value],
    current: Option<usize>,
    limits: ReplicaBounds,
    now: &str,
) -> (Value, Option<u64>) {
    let sum = |field: &str| sets.iter().map(|set| count(set, field)).sum::<i64>();
    let (replicas, ready, available) = (sum("replicas"), sum("readyReplicas"), sum("availableReplicas"));
    let updated = current.map_or(0, |at| count(&sets[at], "replicas"));
    let mut status =
        Map::from_iter([("observedGeneration".to_owned(), deployment["metadata"]["generation"].clone())]);
    // Counts desired pods of ReplicaSets that have not created them yet.
    let unavailable = (sets.iter().map(desired).sum::<i64>() - available).max(0);
    for (field, count) in [
        ("replicas", replicas),
        ("updatedReplicas", updated),
        ("readyReplicas", ready),
        ("availableReplicas", available),
        ("unavailableReplicas", unavailable),
    ] {
        if count > 0 {
            status.insert(field.into(), count.into());
        }
    }
    status.insert("terminatingReplicas".into(), sum("terminatingReplicas").into());
    if !deployment["status"]["collisionCount"].is_null() {
        status.insert("collisionCount".into(), deployment["status"]["collisionCount"].clone());
    }
    let mut all = deployment["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let mut requeue_after = None;
    let condition = |kind: &str, status: &str, reason: &str, message: &str| json!({"type": kind, "status": status, "reason": reason, "message": message, "lastUpdateTime": now});
    let enough = available >= limits.min_available;
    let (state, reason, message) = match enough {
        true => ("True", "MinimumReplicasAvailable", "Deployment has minimum availability."),
        false => ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability."),
    };
    conditions::set(&mut all, condition("Available", state, reason, message), now);
    if let Some(at) = current {
        let name = sets[at]["metadata"]["name"].as_str().unwrap_or_default();
        let done = updated == limits.replicas && replicas == updated && available == updated;
        // Scaling a completed rollout does not start a new one.
        let scaled = replicas == updated && all.iter().any(|condition| condition["reason"] == AVAILABLE);
        let (progressed, left) = progress(deployment, (updated, replicas, available), now);
        let late = !progressed && left == Some(0);
        let next = match (done, scaled, late) {
            (true, ..) => {
                Some(("True", AVAILABLE, format!("ReplicaSet {name:?} has successfully progressed.")))
            }
            (false, true, _) => None,
            (false, false, true) => {
                Some(("False", LATE, format!("ReplicaSet {name:?} has timed out progressing.")))
            }
            (false, false, false) => {
                Some(("True", "ReplicaSetUpdated", format!("ReplicaSet {name:?} is progressing.")))
            }
        };
        if let Some((state, reason, message)) = next {
            conditions::set(&mut all, condition("Progressing", state, reason, &message), now);
        }
        if progressed && let Some(progressing) = all.iter_mut().find(|c| c["type"] == "Progressing") {
            progressing["lastUpdateTime"] = now.into();
        }
        requeue_after =
            if progressed { deployment["spec"]["progressDeadlineSeconds"].as_u64() } else { left };
        requeue_after = requeue_after.filter(|left| !done && !scaled && *left > 0);
    }
    status.insert("conditions".into(), all.into());
    (status.into(), requeue_after)
}

/// Whether the rollout progressed since the last status, and the seconds until the progress deadline.
fn progress(
    deployment: &Value,
    (updated, replicas, available): (i64, i64, i64),
    now: &str,
) -> (bool, Option<u64>) {
    let before = |field: &str| deployment["status"][field].as_i64().unwrap_or(0);
    let progressed = updated > before("updatedReplicas")
        || available > before("availableReplicas")
        || replicas - updated < before("replicas") - before("updatedReplicas");
    let former = deployment["status"]["conditions"].as_array();
    let former = former.and_then(|all| all.iter().find(|c| c["type"] == "Progressing"));
    let limit = deployment["spec"]["progressDeadlineSeconds"].as_u64();
    let limit = limit.filter(|_| deployment["spec"]["paused"] != true);
    let left = limit.and_then(|limit| match former.map(|c| (c["reason"].as_str(), &c["lastUpdateTime"])) {
        // A timed out rollout stays timed out until it progresses.
        Some((Some(LATE), _)) => Some(0),
        Some((Some(AVAILABLE), _)) | None => Some(limit),
        Some((_, moved)) => seconds_left(limit, time(moved), now.parse().ok()),
    });
    (progressed, left)
}

/// The ReplicaSet of the current template.
fn replica_set(deployment: &Value, revision: u64) -> Value {
    let (metadata, spec) = (&deployment["metadata"], &deployment["spec"]);
    let hash = hash(&spec["template"], deployment["status"]["collisionCount"].as_u64().unwrap_or(0));
    let name = metadata["name"].as_str().unwrap_or_default();
    let mut template = spec["template"].clone();
    template["metadata"]["labels"][HASH] = hash.as_str().into();
    let mut selector = spec["selector"].clone();
    selector["matchLabels"][HASH] = hash.as_str().into();
    let limits = limits(spec);
    let mut annotations = metadata["annotations"].as_object().cloned().unwrap_or_default();
    annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    annotations.insert(REVISION.into(), revision.to_string().into());
    for (name, size) in sizes(limits) {
        annotations.insert(name.into(), size.into());
    }
    let mut set = json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": format!("{name}-{hash}"), "namespace": metadata["namespace"], "annotations": annotations,
            "labels": template["metadata"]["labels"], "ownerReferences": [controller_reference(deployment)],
        },
        "spec": {"replicas": 0, "selector": selector, "template": template},
    });
    if !spec["minReadySeconds"].is_null() {
        set["spec"]["minReadySeconds"] = spec["minReadySeconds"].clone();
    }
    set
}

fn sizes(limits: ReplicaBounds) -> [(&'static str, String); 2] {
    [
        ("deployment.kubernetes.io/desired-replicas", limits.replicas.to_string()),
        ("deployment.kubernetes.io/max-replicas", limits.max_pods.to_string()),
    ]
}

fn next_revision(sets: &[Value], current: Option<usize>) -> u64 {
    let revision = |set: &Value| -> u64 {
        set["metadata"]["annotations"][REVISION].as_str().and_then(|text| text.parse().ok()).unwrap_or(0)
    };
    let others =
        (0..sets.len()).filter(|at| Some(*at) != current).map(|at| revision(&sets[at])).max().unwrap_or(0);
    // The current ReplicaSet keeps its revision unless a newer one exists (a rollback).
    current.map_or(0, |at| revision(&sets[at])).max(others + 1)
}

fn surplus_sets(deployment: &Value, sets: &[Value], current: usize) -> Vec<usize> {
    let keep =
        usize::try_from(deployment["spec"]["revisionHistoryLimit"].as_i64().unwrap_or(10)).unwrap_or(0);
    let idle = |set: &Value| desired(set) == 0 && count(set, "replicas") == 0;
    let mut old: Vec<usize> = (0..sets.len()).filter(|at| *at != current && idle(&sets[*at])).collect();
    old.sort_by_key(|at| next_revision(&sets[*at..=*at], Some(0)));
    old.truncate(old.len().saturating_sub(keep));
    old
}

fn same_template(of_set: &Value, template: &Value) -> bool {
    let mut of_set = of_set.clone();
    if let Some(labels) = of_set["metadata"]["labels"].as_object_mut() {
        labels.remove(HASH);
    }
    of_set == *template
}

fn desired(set: &Value) -> i64 {
    set["spec"]["replicas"].as_i64().unwrap_or(0)
}

fn count(set: &Value, field: &str) -> i64 {
    set["status"][field].as_i64().unwrap_or(0)
}

#[cfg(test)]
#[path = "deployment_tests.rs"]
mod tests;
