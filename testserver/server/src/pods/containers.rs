//! Pod and container status, as a kubelet reports it.

use serde_json::{Value, json};

use super::ContainerState;
use crate::{
    clock::{seconds_left, time},
    object::conditions,
};

/// Assigns a pod to a node, as a scheduler does.
pub(crate) fn bind(pod: &mut Value, node: &str, now: &str) {
    pod["spec"]["nodeName"] = node.into();
    let mut all = list(&pod["status"]["conditions"]);
    conditions::set(&mut all, json!({"type": "PodScheduled", "status": "True", "lastProbeTime": null}), now);
    pod["status"]["conditions"] = all.into();
}

/// The state of a container without a script: running, or terminated with 0 in Jobs; `None` when its command decides.
///
/// An annotation of the pod has the last word: `kube-testserver/exit-code`, or `kube-testserver/exit-code.CONTAINER` for one of its
/// containers.
pub(crate) fn default_state(pod: &Value, container: &Value) -> Option<ContainerState> {
    if let Some(code) = annotated_exit(pod, container) {
        return Some(ContainerState::Terminated(code));
    }
    let policy = pod["spec"]["restartPolicy"].as_str().unwrap_or("Always");
    if policy == "Always" {
        return Some(ContainerState::Running);
    }
    let has_command = container["command"].is_array() || container["args"].is_array();
    if has_command {
        return None;
    }
    let owners = pod["metadata"]["ownerReferences"].as_array();
    let in_job = owners.is_some_and(|owners| owners.iter().any(|owner| owner["kind"] == "Job"));
    let ends = in_job && !is_pause(container);
    Some(if ends { ContainerState::Terminated(0) } else { ContainerState::Running })
}

/// Whether the image is Kubernetes' `pause`, which does nothing for ever.
fn is_pause(container: &Value) -> bool {
    let image = container["image"].as_str().unwrap_or_default();
    let name = image.rsplit('/').next().unwrap_or_default();
    name.split([':', '@']).next() == Some("pause")
}

/// The exit code that an annotation gives a container.
fn annotated_exit(pod: &Value, container: &Value) -> Option<i32> {
    const EXIT_CODE: &str = "kube-testserver/exit-code";
    let own = format!("{EXIT_CODE}.{}", container["name"].as_str().unwrap_or_default());
    let annotations = &pod["metadata"]["annotations"];
    [own.as_str(), EXIT_CODE].iter().find_map(|name| annotations[*name].as_str()?.trim().parse().ok())
}

/// Whether Helm runs the pod as a test: it succeeds where nothing else is known of it, so that `helm test` ends.
pub(crate) fn is_helm_test(pod: &Value) -> bool {
    let hook = pod["metadata"]["annotations"]["helm.sh/hook"].as_str().unwrap_or_default();
    hook.split(',').any(|event| matches!(event.trim(), "test" | "test-success"))
}

/// Starts all containers of a pod and sets its status. `number` determines the pod IP.
pub(crate) fn run(pod: &mut Value, states: &[ContainerState], number: u64, now: &str) {
    let policy = pod["spec"]["restartPolicy"].as_str().unwrap_or("Always").to_owned();
    let containers = list(&pod["spec"]["containers"]);
    let statuses: Vec<Value> = containers
        .iter()
        .zip(states)
        .map(|(container, state)| status(container, state, &policy, now))
        .collect();
    let ready = statuses.iter().all(|status| status["ready"] == true);
    let phase = phase(&statuses);
    let address = format!("10.244.{}.{}", (number >> 8) & 0xff, (number & 0xff).max(1));
    let initial = list(&pod["spec"]["initContainers"]);
    let mut all = list(&pod["status"]["conditions"]);
    for (kind, holds) in [
        ("PodReadyToStartContainers", true),
        ("Initialized", true),
        ("Ready", ready),
        ("ContainersReady", ready),
        ("PodScheduled", true),
    ] {
        let status = if holds { "True" } else { "False" };
        let mut condition = json!({"type": kind, "status": status, "lastProbeTime": null});
        if !holds {
            let (reason, message) = why_unready(phase, &statuses);
            condition["reason"] = reason.into();
            condition["message"] = message.into();
        }
        conditions::set(&mut all, condition, now);
    }
    let status = &mut pod["status"];
    status["phase"] = phase.into();
    status["conditions"] = all.into();
    status["hostIP"] = "127.0.0.1".into();
    status["hostIPs"] = json!([{"ip": "127.0.0.1"}]);
    status["podIP"] = address.as_str().into();
    status["podIPs"] = json!([{"ip": address}]);
    status["startTime"] = now.into();
    status["containerStatuses"] = statuses.into();
    if !initial.is_empty() {
        status["initContainerStatuses"] =
            initial.iter().map(|container| initialized(container, now)).collect();
    }
    record_generation(pod);
}

/// Records in the status which generation of the pod it is about. Returns whether that changed.
pub(crate) fn observe(pod: &mut Value) -> bool {
    let changed = pod["status"]["observedGeneration"] != pod["metadata"]["generation"];
    if changed {
        record_generation(pod);
    }
    changed
}

fn record_generation(pod: &mut Value) {
    let generation = pod["metadata"]["generation"].clone();
    let conditions = pod.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten() {
        condition["observedGeneration"] = generation.clone();
    }
    pod["status"]["observedGeneration"] = generation;
}

/// Whether all containers of a pod have ended for good.
pub(crate) fn is_over(pod: &Value) -> bool {
    matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
}

/// The seconds that a started pod may still run by its `activeDeadlineSeconds`.
pub(crate) fn deadline_in(pod: &Value, now: &str) -> Option<u64> {
    let limit = pod["spec"]["activeDeadlineSeconds"].as_u64()?;
    seconds_left(limit, time(&pod["status"]["startTime"]), now.parse().ok())
}

/// Ends a pod that ran longer than it may: its running containers are killed.
pub(crate) fn exceed_deadline(pod: &mut Value, now: &str) {
    const KILLED: i32 = 137;
    let status = &mut pod["status"];
    let containers = status.get_mut("containerStatuses").and_then(Value::as_array_mut);
    for container in containers.into_iter().flatten() {
        let mut ended = terminated(KILLED, now);
        let started = &container["state"]["running"]["startedAt"];
        if started.is_string() {
            ended["startedAt"] = started.clone();
        }
        if !container["state"]["terminated"].is_object() {
            container["state"] = json!({"terminated": ended});
        }
        container["ready"] = false.into();
        container["started"] = false.into();
    }
    let mut all = list(&status["conditions"]);
    for kind in ["Ready", "ContainersReady"] {
        let condition =
            json!({"type": kind, "status": "False", "reason": "PodFailed", "lastProbeTime": null});
        conditions::set(&mut all, condition, now);
    }
    status["conditions"] = all.into();
    status["phase"] = "Failed".into();
    status["reason"] = "DeadlineExceeded".into();
    status["message"] = "Pod was active on the node longer than the specified deadline".into();
    record_generation(pod);
}

fn phase(statuses: &[Value]) -> &'static str {
    let codes: Option<Vec<i64>> =
        statuses.iter().map(|status| status["state"]["terminated"]["exitCode"].as_i64()).collect();
    match codes {
        Some(codes) if codes.iter().all(|code| *code == 0) => "Succeeded",
        Some(_) => "Failed",
        None if statuses
            .iter()
            .all(|status| status["state"]["waiting"].is_object() && status["restartCount"] == 0) =>
        {
            "Pending"
        }
        None => "Running",
    }
}

fn why_unready(phase: &str, statuses: &[Value]) -> (&'static str, String) {
    match phase {
        "Succeeded" => ("PodCompleted", String::new()),
        "Failed" => ("PodFailed", String::new()),
        _ => {
            let unready = statuses.iter().filter(|status| status["ready"] != true);
            let names: Vec<&str> = unready.filter_map(|status| status["name"].as_str()).collect();
            ("ContainersNotReady", format!("containers with unready status: [{}]", names.join(" ")))
        }
    }
}

fn status(container: &Value, state: &ContainerState, policy: &str, now: &str) -> Value {
    let restarted = match state {
        ContainerState::Terminated(code) => policy == "Always" || policy == "OnFailure" && *code != 0,
        ContainerState::Running | ContainerState::Waiting(_) => false,
    };
    let (mut current, mut last) = (json!({}), json!({}));
    match state {
        ContainerState::Running => current["running"] = json!({"startedAt": now}),
        ContainerState::Waiting(reason) => current["waiting"] = json!({"reason": reason}),
        ContainerState::Terminated(code) if restarted => {
            last["terminated"] = terminated(*code, now);
            let message = format!("back-off 10s restarting failed container={}", text(&container["name"]));
            current["waiting"] = json!({"reason": "CrashLoopBackOff", "message": message});
        }
        ContainerState::Terminated(code) => current["terminated"] = terminated(*code, now),
    }
    let runs = *state == ContainerState::Running;
    base(container, (current, last), (runs, runs), i32::from(restarted))
}

fn initialized(container: &Value, now: &str) -> Value {
    let sidecar = container["restartPolicy"] == "Always";
    let state = if sidecar {
        json!({"running": {"startedAt": now}})
    } else {
        json!({"terminated": terminated(0, now)})
    };
    base(container, (state, json!({})), (true, sidecar), 0)
}

fn base(
    container: &Value,
    (state, last): (Value, Value),
    (ready, started): (bool, bool),
    restarts: i32,
) -> Value {
    let image = text(&container["image"]);
    json!({
        "name": container["name"], "image": image, "imageID": format!("testserver://{image}"),
        "containerID": format!("testserver://{}", text(&container["name"])),
        "state": state, "lastState": last, "ready": ready, "started": started, "restartCount": restarts,
    })
}

fn terminated(code: i32, now: &str) -> Value {
    let reason = if code == 0 { "Completed" } else { "Error" };
    json!({"exitCode": code, "reason": reason, "startedAt": now, "finishedAt": now})
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(policy: &str, states: &[ContainerState]) -> Value {
        let containers: Vec<Value> =
            (0..states.len()).map(|i| json!({"name": format!("c{i}"), "image": "i"})).collect();
        let mut pod = json!({"spec": {"restartPolicy": policy, "containers": containers}, "status": {"phase": "Pending"}});
        bind(&mut pod, "n", "t0");
        run(&mut pod, states, 7, "t1");
        pod["status"].take()
    }

    fn condition(status: &Value, kind: &str) -> Value {
        status["conditions"].as_array().unwrap().iter().find(|c| c["type"] == kind).unwrap().clone()
    }

    #[test]
    fn a_running_pod_is_ready() {
        let status = ran("Always", &[ContainerState::Running, ContainerState::Running]);
        assert_eq!((&status["phase"], &status["podIP"]), (&json!("Running"), &json!("10.244.0.7")));
        assert_eq!(condition(&status, "Ready")["status"], "True");
        assert_eq!(condition(&status, "PodScheduled")["lastTransitionTime"], "t0", "that did not change");
        assert_eq!(status["containerStatuses"][1]["state"], json!({"running": {"startedAt": "t1"}}));
    }

    #[test]
    fn containers_of_jobs_end_unless_they_pause() {
        let pod =
            json!({"metadata": {"ownerReferences": [{"kind": "Job"}]}, "spec": {"restartPolicy": "Never"}});
        for (image, state) in [
            ("busybox", ContainerState::Terminated(0)),
            ("pauses:1", ContainerState::Terminated(0)),
            ("registry.k8s.io/pause:3.10", ContainerState::Running),
            ("pause@sha256:0", ContainerState::Running),
        ] {
            assert_eq!(default_state(&pod, &json!({"image": image})), Some(state), "{image}");
        }
    }

    #[test]
    fn exit_codes_determine_the_phase_of_the_pod() {
        assert_eq!(
            ran("Never", &[ContainerState::Terminated(0), ContainerState::Terminated(0)])["phase"],
            "Succeeded"
        );
        assert_eq!(
            ran("Never", &[ContainerState::Terminated(0), ContainerState::Terminated(3)])["phase"],
            "Failed"
        );
        assert_eq!(
            ran("Never", &[ContainerState::Terminated(0), ContainerState::Running])["phase"],
            "Running"
        );
        assert_eq!(ran("OnFailure", &[ContainerState::Terminated(0)])["phase"], "Succeeded");
        let crashed = ran("Always", &[ContainerState::Terminated(1)]);
        assert_eq!(crashed["phase"], "Running");
        assert_eq!(crashed["containerStatuses"][0]["state"]["waiting"]["reason"], "CrashLoopBackOff");
        assert_eq!(crashed["containerStatuses"][0]["lastState"]["terminated"]["exitCode"], 1);
        let waiting = ran("Always", &[ContainerState::Waiting("ImagePullBackOff".into())]);
        assert_eq!(waiting["phase"], "Pending");
        assert_eq!(condition(&waiting, "Ready")["message"], "containers with unready status: [c0]");
    }

    #[test]
    fn a_deadline_ends_a_pod() {
        let mut pod = json!({"metadata": {"generation": 2}, "spec": {"activeDeadlineSeconds": 5, "containers": [{"name": "c"}]}});
        let (start, end) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z");
        assert_eq!(deadline_in(&pod, start), None, "it has not started");
        run(&mut pod, &[ContainerState::Running], 7, start);
        assert_eq!((deadline_in(&pod, start), deadline_in(&pod, end)), (Some(5), Some(0)));
        exceed_deadline(&mut pod, end);
        let status = &pod["status"];
        assert_eq!((&status["phase"], &status["reason"]), (&json!("Failed"), &json!("DeadlineExceeded")));
        let ended = &status["containerStatuses"][0]["state"]["terminated"];
        assert_eq!((&ended["startedAt"], &ended["finishedAt"]), (&json!(start), &json!(end)));
        let ready = condition(status, "Ready");
        assert_eq!((&ready["reason"], &ready["observedGeneration"]), (&json!("PodFailed"), &json!(2)));
        assert!(is_over(&pod) && !observe(&mut pod));
    }
}
