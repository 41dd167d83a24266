//! [`Readiness`]: what the rules say about an object.

use std::fmt;

/// Whether an object is ready, and why not.
///
/// The rules are those of `kubectl rollout status` where it has some, with its texts, and elsewhere those by which GitOps tools judge
/// objects (kstatus):
///
/// | kind | ready | failed |
/// |---|---|---|
/// | any | not being deleted, and `status.observedGeneration` and that of the conditions is the current one | |
/// | Deployment | all replicas are of the current template and available, no old ones are left | its progress deadline is exceeded |
/// | StatefulSet | all replicas are ready, those above the partition are of the current template | |
/// | DaemonSet | on each node, the pod is of the current template and available | |
/// | ReplicaSet, ReplicationController | all replicas are available | |
/// | Job | it has completed; also if it is deleted then, by its `ttlSecondsAfterFinished` | it has failed, or is gone by that and its end was not seen |
/// | Pod | its condition `Ready` is true, or it has succeeded | its phase is `Failed` |
/// | PersistentVolumeClaim | bound | lost |
/// | PersistentVolume | any phase but `Pending` and `Failed` | its phase is `Failed` |
/// | CustomResourceDefinition | `Established` | its names are in conflict |
/// | APIService | `Available` | |
/// | Service | its load balancer has an address, or it has `externalIPs`, if it is of that type | |
/// | Namespace | active | |
/// | others | the condition `Ready`, or without it `Available`, is true or missing; `Reconciling` is not true | `Stalled` is true |
///
/// A custom resource whose controller has written no condition yet counts as ready, because most kinds have none, ever. To wait for a
/// certain condition, use [`WaitFor`](crate::wait::WaitFor).
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use kube_tools::ready::{ReadyState, Readiness};
///
/// let web: Deployment = serde_json::from_value(serde_json::json!({
///     "metadata": { "name": "web", "generation": 2 },
///     "spec": { "replicas": 3, "selector": {}, "template": {} },
///     "status": { "observedGeneration": 2, "replicas": 3, "updatedReplicas": 1, "availableReplicas": 3 },
/// }))?;
/// let readiness = Readiness::of(&web)?;
/// assert_eq!(readiness.state, ReadyState::InProgress);
/// assert_eq!(
///     readiness.to_string(),
///     r#"Waiting for deployment "web" rollout to finish: 1 out of 3 new replicas have been updated..."#
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// Ready or not.
    pub state: ReadyState,
    /// The state in one line: for workloads the text of `kubectl rollout status`.
    pub message: String,
}

/// The states of a [`Readiness`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReadyState {
    /// It does what its spec says.
    Ready,
    /// Not yet ready.
    InProgress,
    /// It will not become ready without a change of its spec, or of what it depends on.
    Failed,
    /// It is being deleted.
    Terminating,
}

impl Readiness {
    /// Whether it is [`ReadyState::Ready`].
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.state == ReadyState::Ready
    }
}

impl fmt::Display for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// For the rules.
pub(super) fn ready(message: impl Into<String>) -> Readiness {
    Readiness { state: ReadyState::Ready, message: message.into() }
}

pub(super) fn in_progress(message: impl Into<String>) -> Readiness {
    Readiness { state: ReadyState::InProgress, message: message.into() }
}

pub(super) fn failed(message: impl Into<String>) -> Readiness {
    Readiness { state: ReadyState::Failed, message: message.into() }
}
