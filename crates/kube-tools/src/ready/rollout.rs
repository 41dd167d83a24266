//! Rules for workloads, as `kubectl rollout status` has them, with its texts.

use serde_json::Value;

use super::readiness::{Readiness, failed, in_progress, ready};
use super::view::View;

pub(super) fn deployment(object: View<'_>) -> Readiness {
    let name = object.name();
    if !is_seen(object) {
        return in_progress(unobserved(object.group, object.kind));
    }
    if object.condition("Progressing").is_some_and(|it| it.text("reason") == "ProgressDeadlineExceeded") {
        return failed(format!("deployment {name:?} exceeded its progress deadline"));
    }
    let [replicas, updated, available] =
        ["replicas", "updatedReplicas", "availableReplicas"].map(|it| object.count(it));
    let waiting =
        |what: String| in_progress(format!("Waiting for deployment {name:?} rollout to finish: {what}..."));
    match object.number("/spec/replicas").unwrap_or(1) {
        desired if updated < desired => {
            waiting(format!("{updated} out of {desired} new replicas have been updated"))
        }
        _ if replicas > updated => {
            waiting(format!("{} old replicas are pending termination", replicas.saturating_sub(updated)))
        }
        _ if available < updated => {
            waiting(format!("{available} of {updated} updated replicas are available"))
        }
        _ => ready(format!("deployment {name:?} successfully rolled out")),
    }
}

pub(super) fn stateful_set(object: View<'_>) -> Readiness {
    if !is_seen(object) {
        return in_progress(unobserved(object.group, object.kind));
    }
    let [ready_replicas, updated] = ["readyReplicas", "updatedReplicas"].map(|it| object.count(it));
    let desired = object.number("/spec/replicas").unwrap_or(1);
    if ready_replicas < desired {
        return in_progress(format!(
            "Waiting for {} pods to be ready...",
            desired.saturating_sub(ready_replicas)
        ));
    }
    if is_on_delete(object) {
        return ready(format!(
            "{ready_replicas} pods are ready; new ones are made when old ones are deleted"
        ));
    }
    if let Some(partition) = object.number("/spec/updateStrategy/rollingUpdate/partition") {
        let new_pods = desired.saturating_sub(partition);
        return match updated < new_pods {
            true => in_progress(format!(
                "Waiting for partitioned roll out to finish: {updated} out of {new_pods} new pods have been updated..."
            )),
            false => ready(format!("partitioned roll out complete: {updated} new pods have been updated...")),
        };
    }
    let [new, current] =
        ["/status/updateRevision", "/status/currentRevision"].map(|it| object.text(it).unwrap_or_default());
    match new == current {
        true => ready(format!(
            "statefulset rolling update complete {} pods at revision {current}...",
            object.count("currentReplicas")
        )),
        false => in_progress(format!(
            "waiting for statefulset rolling update to complete {updated} pods at revision {new}..."
        )),
    }
}

pub(super) fn daemon_set(object: View<'_>) -> Readiness {
    let name = object.name();
    if !is_seen(object) {
        return in_progress(unobserved(object.group, object.kind));
    }
    let [desired, updated, available] =
        ["desiredNumberScheduled", "updatedNumberScheduled", "numberAvailable"].map(|it| object.count(it));
    let waiting =
        |what: String| in_progress(format!("Waiting for daemon set {name:?} rollout to finish: {what}..."));
    if updated < desired && !is_on_delete(object) {
        return waiting(format!("{updated} out of {desired} new pods have been updated"));
    }
    if available < desired {
        return waiting(format!("{available} of {desired} updated pods are available"));
    }
    ready(format!("daemon set {name:?} successfully rolled out"))
}

pub(super) fn replica_set(object: View<'_>) -> Readiness {
    if !is_seen(object) {
        return in_progress(unobserved(object.group, object.kind));
    }
    let desired = object.number("/spec/replicas").unwrap_or(1);
    let [replicas, available] = ["replicas", "availableReplicas"].map(|it| object.count(it));
    match (available < desired, replicas > desired) {
        (true, _) => {
            let refused = object.condition("ReplicaFailure").filter(|it| it.is("True"));
            let why = refused.map(|it| format!(": {}", it.explanation())).unwrap_or_default();
            in_progress(format!("{available} of {desired} replicas are available{why}"))
        }
        (false, true) => {
            in_progress(format!("{} replicas are pending termination", replicas.saturating_sub(desired)))
        }
        (false, false) => ready(format!("{available} replicas are available")),
    }
}

/// The message for an object whose current spec no controller has seen.
pub(super) fn unobserved(group: &str, kind: &str) -> &'static str {
    match (group, kind) {
        ("apps", "Deployment") => "Waiting for deployment spec update to be observed...",
        ("apps", "StatefulSet") => "Waiting for statefulset spec update to be observed...",
        ("apps", "DaemonSet") => "Waiting for daemon set spec update to be observed...",
        _ => "the current spec has not been observed",
    }
}

/// Why a change of the template replaces no pod by itself.
pub(super) fn no_restart(object: View<'_>) -> Option<&'static str> {
    if object.get("/spec/paused") == Some(&Value::Bool(true)) {
        return Some("it is paused (spec.paused): expected that its rollout is resumed first");
    }
    if (object.group, object.kind) == ("apps", "ReplicaSet") {
        return Some(
            "a ReplicaSet replaces no pods when its template changes: expected the Deployment that owns it",
        );
    }
    let partition = object.number("/spec/updateStrategy/rollingUpdate/partition").unwrap_or(0);
    if partition > 0 && (1..=partition).contains(&object.number("/spec/replicas").unwrap_or(1)) {
        return Some(
            "its partition covers all replicas (spec.updateStrategy.rollingUpdate.partition): expected a smaller one",
        );
    }
    is_on_delete(object).then_some(
        "its update strategy is OnDelete, with which pods are replaced only when someone deletes them: expected RollingUpdate",
    )
}

/// Pods are replaced only when someone deletes them, so that the update is never complete by itself.
fn is_on_delete(object: View<'_>) -> bool {
    object.text("/spec/updateStrategy/type") == Some("OnDelete")
}

/// Whether the controller has seen the current spec. Without a status it has seen nothing.
fn is_seen(object: View<'_>) -> bool {
    object.count("observedGeneration") >= object.meta.generation.unwrap_or(1)
}
