//! The tasks of the workload controllers.

use crate::{cluster::owners::ObjectId, storage::Key};

/// A unit of work of a workload controller. Tasks run in the order of the variants.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::cluster) enum WorkloadTask {
    /// Adopt unowned pods of a namespace into ReplicaSets: all of them, or only this one.
    Adopt(String, Option<Key>),
    /// Reconcile a Job.
    Job(ObjectId),
    /// Reconcile a ReplicaSet.
    ReplicaSet(ObjectId),
    /// Reconcile a Deployment.
    Deployment(ObjectId),
    /// Update the status of all PodDisruptionBudgets of a namespace.
    Budgets(String),
}
