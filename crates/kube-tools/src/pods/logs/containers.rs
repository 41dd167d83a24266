//! What the status of a pod says about its containers.

use super::params::Containers;
use crate::pods::container::annotated_container;
use crate::pods::summary::{ContainerStatus, PodSummary};

/// The state of a container, as far as its log depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ContainerState {
    /// The number of restarts before the current run, or before the last one if it waits to be restarted.
    pub(super) run: i32,
    pub(super) phase: Phase,
    /// The pod is deleted.
    pub(super) gone: bool,
    /// The pod is not selected any more, or it is deleted and nobody has said so.
    pub(super) unselected: bool,
}

/// Whether a run has a log, and whether the log may still grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Waiting,
    Running,
    Terminated,
    /// It waits to be restarted. The server has the log of its last run, and not of the one before.
    Restarting,
}

/// The selected containers of a pod that have a status.
pub(super) fn containers_of(pod: &PodSummary, selected: &Containers) -> Vec<(String, ContainerState)> {
    let Some(status) = &pod.status else { return Vec::new() };
    let annotated = match selected {
        Containers::Main => annotated_container(pod).map(|name| Containers::Named(name.to_owned())),
        Containers::All | Containers::Named(_) => None,
    };
    let selected = annotated.as_ref().unwrap_or(selected);
    let lists = [
        (&status.init_container_statuses, selected.takes_all()),
        (&status.container_statuses, true),
        (&status.ephemeral_container_statuses, selected.takes_all()),
    ];
    lists
        .into_iter()
        .filter(|(_, taken)| *taken)
        .flat_map(|(statuses, _)| statuses.as_deref().unwrap_or_default())
        .filter(|status| selected.takes(&status.name))
        .map(|status| (status.name.clone(), state_of(status)))
        .collect()
}

fn state_of(status: &ContainerStatus) -> ContainerState {
    let state = status.state.as_ref();
    let crashed = status.last_state.as_ref().is_some_and(|last| last.terminated.is_some());
    let phase = match state {
        Some(state) if state.running.is_some() => Phase::Running,
        Some(state) if state.terminated.is_some() => Phase::Terminated,
        _ if crashed => Phase::Restarting,
        _ => Phase::Waiting,
    };
    ContainerState { run: status.restart_count, phase, gone: false, unselected: false }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod() -> PodSummary {
        let running = json!({"running": {}});
        let ended = json!({"terminated": {"exitCode": 1}});
        let waiting = json!({"waiting": {"reason": "CrashLoopBackOff"}});
        let status = |name: &str, state: &serde_json::Value, last: &serde_json::Value, restarts: i32| {
            json!({"name": name, "state": state, "lastState": last, "restartCount": restarts,
                "image": "i", "imageID": "", "ready": false})
        };
        serde_json::from_value(json!({"metadata": {}, "status": {
            "initContainerStatuses": [status("setup", &ended, &json!({}), 0)],
            "containerStatuses": [
                status("web", &running, &ended, 2), status("crashes", &waiting, &ended, 4), status("new", &waiting, &json!({}), 0)
            ],
        }}))
        .unwrap()
    }

    fn names(selected: &Containers) -> Vec<String> {
        containers_of(&pod(), selected).into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn containers_are_selected_by_kind_and_name() {
        assert_eq!(names(&Containers::Main), ["web", "crashes", "new"]);
        assert_eq!(names(&Containers::All), ["setup", "web", "crashes", "new"]);
        assert_eq!(names(&Containers::Named("setup".into())), ["setup"]);
        assert!(names(&Containers::Named("none".into())).is_empty());
        assert!(containers_of(&PodSummary::default(), &Containers::All).is_empty());
    }

    #[test]
    fn a_pod_may_name_its_default_container() {
        let mut pod = pod();
        let names = |pod: &PodSummary, selected: &Containers| -> Vec<String> {
            containers_of(pod, selected).into_iter().map(|(name, _)| name).collect()
        };
        pod.spec = serde_json::from_value(json!({"containers": [{"name": "web"}, {"name": "new"}]})).unwrap();
        for (annotated, main) in [("new", &["new"][..]), ("none", &["web", "crashes", "new"])] {
            let annotation = ("kubectl.kubernetes.io/default-container".to_owned(), annotated.to_owned());
            pod.metadata.annotations = Some([annotation].into());
            assert_eq!(names(&pod, &Containers::Main), main);
            assert_eq!(names(&pod, &Containers::All).len(), 4);
            assert_eq!(names(&pod, &Containers::Named("web".into())), ["web"]);
        }
    }

    #[test]
    fn a_container_that_waits_for_its_restart_has_the_log_of_its_last_run() {
        let states: Vec<(i32, Phase)> = containers_of(&pod(), &Containers::Main)
            .into_iter()
            .map(|(_, state)| (state.run, state.phase))
            .collect();
        assert_eq!(states, [(2, Phase::Running), (4, Phase::Restarting), (0, Phase::Waiting)]);
    }
}
