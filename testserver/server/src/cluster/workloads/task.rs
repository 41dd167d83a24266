//! The tasks of the workload controllers.

use crate::{cluster::owners::ObjectId, scheme::Resource, storage::Key};

/// A unit of work of a workload controller. Tasks run in the order of the variants.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::cluster) enum WorkloadTask {
    /// Adopt unowned objects of a namespace: all of them, or only this one.
    Adopt(String, Adoptable, Option<Key>),
    /// Reconcile a CronJob.
    CronJob(ObjectId),
    /// Reconcile a Job.
    Job(ObjectId),
    /// Release a pod that no Job counts any more.
    FreeJobPod(ObjectId),
    /// Reconcile a ReplicaSet or a ReplicationController.
    ReplicaSet(ObjectId),
    /// Reconcile a StatefulSet.
    StatefulSet(ObjectId),
    /// Reconcile a DaemonSet.
    DaemonSet(ObjectId),
    /// Reconcile a Deployment.
    Deployment(ObjectId),
    /// Delete the endpoints of a removed service.
    RemoveEndpoints(Key),
    /// Write the endpoints of a service.
    Endpoints(Key),
    /// Reconcile a PodDisruptionBudget.
    Budget(Key),
}

/// What is left to do for an object after its controller ran.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Requeue {
    /// Seconds until its plan changes by time alone.
    pub(super) after: Option<u64>,
    /// Whether a write was refused, which is tried again later.
    pub(super) refused: bool,
}

impl WorkloadTask {
    /// The task that reconciles an object.
    pub(super) fn of(resource: &Resource, key: &Key) -> Option<Self> {
        let of_table = |task: fn(ObjectId) -> Self| task((resource.table, key.clone()));
        Some(match (resource.group.as_str(), resource.plural.as_str()) {
            ("batch", "cronjobs") => of_table(Self::CronJob),
            ("batch", "jobs") => of_table(Self::Job),
            ("apps", "replicasets") | ("", "replicationcontrollers") => of_table(Self::ReplicaSet),
            ("apps", "statefulsets") => of_table(Self::StatefulSet),
            ("apps", "daemonsets") => of_table(Self::DaemonSet),
            ("apps", "deployments") => of_table(Self::Deployment),
            ("", "services") => Self::Endpoints(key.clone()),
            ("policy", "poddisruptionbudgets") => Self::Budget(key.clone()),
            _ => return None,
        })
    }

    /// Whether the task belongs to the controller of endpoints.
    pub(in crate::cluster) fn concerns_endpoints(&self) -> bool {
        matches!(self, Self::RemoveEndpoints(_) | Self::Endpoints(_))
    }
}

/// The kinds that are adopted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::cluster) enum Adoptable {
    ReplicaSets,
    ControllerRevisions,
    Pods,
}

impl Adoptable {
    /// Group and plural.
    pub(super) fn resource(self) -> (&'static str, &'static str) {
        match self {
            Self::ReplicaSets => ("apps", "replicasets"),
            Self::ControllerRevisions => ("apps", "controllerrevisions"),
            Self::Pods => ("", "pods"),
        }
    }

    /// The kinds that adopt them, in the order in which they may.
    pub(super) fn owners(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::ReplicaSets => &[("apps", "deployments")],
            Self::ControllerRevisions => &[("apps", "statefulsets"), ("apps", "daemonsets")],
            Self::Pods => &[
                ("apps", "replicasets"),
                ("", "replicationcontrollers"),
                ("apps", "statefulsets"),
                ("apps", "daemonsets"),
                ("batch", "jobs"),
            ],
        }
    }
}
