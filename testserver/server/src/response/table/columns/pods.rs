//! Columns of pods.

use serde_json::Value;

use super::values::{condition, count, items, number, since};

pub(super) fn ready(pod: &Value) -> Value {
    let ready = items(&pod["status"]["containerStatuses"]).filter(|status| status["ready"] == true);
    format!("{}/{}", ready.count(), count(&pod["spec"]["containers"])).into()
}

/// The number of restarts, and the time of the last one.
pub(super) fn restarts(pod: &Value, now: &str) -> Value {
    let statuses = || items(&pod["status"]["containerStatuses"]);
    let restarts: i64 = statuses().map(|status| number(&status["restartCount"])).sum();
    let ended = statuses().filter_map(|status| status["lastState"]["terminated"]["finishedAt"].as_str());
    match ended.max() {
        Some(last) if restarts > 0 => {
            format!("{restarts} ({} ago)", since(&last.into(), now, "").as_str().unwrap_or_default()).into()
        }
        _ => restarts.to_string().into(),
    }
}

pub(super) fn gates(pod: &Value) -> Value {
    let gates = pod["spec"]["readinessGates"].as_array().map_or(&[][..], Vec::as_slice);
    let open = |gate: &&Value| condition(pod, gate["conditionType"].as_str().unwrap_or_default()) == "True";
    match gates {
        [] => "<none>".into(),
        gates => format!("{}/{}", gates.iter().filter(open).count(), gates.len()).into(),
    }
}

/// `STATUS`: the reason of a container or of a deletion, else the phase.
pub(super) fn status(pod: &Value) -> Value {
    let status = &pod["status"];
    let phase = text(&status["phase"]).unwrap_or("Pending");
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    let gated = conditions.any(|condition| condition["reason"] == "SchedulingGated");
    let reason = text(&status["reason"]).unwrap_or(if gated { "SchedulingGated" } else { phase });
    let reason = initial(pod).or_else(|| main(status, phase)).unwrap_or_else(|| reason.to_owned());
    match pod["metadata"]["deletionTimestamp"].is_string() {
        true if status["reason"] == "NodeLost" => "Unknown".into(),
        true if !matches!(phase, "Succeeded" | "Failed") => "Terminating".into(),
        _ => reason.into(),
    }
}

/// The status of the first init container that has not completed.
fn initial(pod: &Value) -> Option<String> {
    let statuses = pod["status"]["initContainerStatuses"].as_array()?;
    let specs = pod["spec"]["initContainers"].as_array().map_or(0, Vec::len);
    let at = statuses.iter().position(|status| {
        let sidecar = status["started"] == true && status["state"]["running"].is_object();
        !(status["state"]["terminated"]["exitCode"] == 0 || sidecar)
    })?;
    let state = &statuses[at]["state"];
    let why = ended(&state["terminated"]).or_else(|| {
        text(&state["waiting"]["reason"]).filter(|why| *why != "PodInitializing").map(Into::into)
    });
    Some(why.map_or_else(|| format!("Init:{at}/{specs}"), |why| format!("Init:{why}")))
}

/// The status of the first container that waits or has terminated, unless another one runs.
fn main(status: &Value, phase: &str) -> Option<String> {
    let statuses = status["containerStatuses"].as_array()?;
    let mut reason = None;
    for state in statuses.iter().rev().map(|status| &status["state"]) {
        let waiting = text(&state["waiting"]["reason"]).map(Into::into);
        reason = waiting.or_else(|| ended(&state["terminated"])).or(reason);
    }
    let running = |status: &Value| status["ready"] == true && status["state"]["running"].is_object();
    if reason.as_deref() == Some("Completed") && statuses.iter().any(running) {
        return Some(if phase == "Running" { "Running".into() } else { "NotReady".into() });
    }
    reason
}

fn ended(terminated: &Value) -> Option<String> {
    if !terminated.is_object() {
        return None;
    }
    let number = |field: &str| terminated[field].as_i64().unwrap_or(0);
    Some(match text(&terminated["reason"]) {
        Some(reason) => reason.to_owned(),
        None if number("signal") != 0 => format!("Signal:{}", number("signal")),
        None => format!("ExitCode:{}", number("exitCode")),
    })
}

fn text(value: &Value) -> Option<&str> {
    value.as_str().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(status: Value) -> Value {
        super::status(&json!({"spec": {"initContainers": [{}, {}]}, "status": status}))
    }

    #[test]
    fn the_reason_comes_before_the_phase() {
        assert_eq!(shown(json!({"phase": "Running"})), "Running");
        assert_eq!(shown(json!({"phase": "Failed", "reason": "Evicted"})), "Evicted");
        let gated = json!([{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]);
        assert_eq!(shown(json!({"phase": "Pending", "conditions": gated})), "SchedulingGated");
        let waiting = json!({"state": {"waiting": {"reason": "CrashLoopBackOff"}}});
        assert_eq!(shown(json!({"phase": "Running", "containerStatuses": [waiting]})), "CrashLoopBackOff");
        let over = json!({"state": {"terminated": {"reason": "Completed", "exitCode": 0}}});
        assert_eq!(shown(json!({"phase": "Succeeded", "containerStatuses": [over]})), "Completed");
        let runs = json!({"ready": true, "state": {"running": {}}});
        assert_eq!(shown(json!({"phase": "Running", "containerStatuses": [over, runs]})), "Running");
        let killed = json!({"state": {"terminated": {"exitCode": 137, "signal": 9}}});
        assert_eq!(shown(json!({"phase": "Failed", "containerStatuses": [killed]})), "Signal:9");
    }

    #[test]
    fn restarts_show_the_time_of_the_last() {
        let ended =
            json!({"restartCount": 2, "lastState": {"terminated": {"finishedAt": "2026-01-01T00:00:00Z"}}});
        let pod = json!({"status": {"containerStatuses": [ended, {"restartCount": 1}]}});
        assert_eq!(restarts(&pod, "2026-01-01T00:01:00Z"), "3 (60s ago)");
        assert_eq!(restarts(&json!({}), "2026-01-01T00:01:00Z"), "0");
    }

    #[test]
    fn init_containers_come_first_and_deletion_last() {
        let through = json!({"state": {"terminated": {"exitCode": 0}}});
        let runs = json!({"state": {"running": {}}});
        assert_eq!(shown(json!({"phase": "Pending", "initContainerStatuses": [through, runs]})), "Init:1/2");
        let failed = json!({"state": {"terminated": {"exitCode": 1, "reason": "Error"}}});
        assert_eq!(shown(json!({"phase": "Pending", "initContainerStatuses": [failed]})), "Init:Error");
        let pod = json!({"metadata": {"deletionTimestamp": "t"}, "status": {"phase": "Running"}});
        assert_eq!(super::status(&pod), "Terminating");
    }
}
