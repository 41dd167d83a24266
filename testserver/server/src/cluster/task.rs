//! The tasks of controllers, in the order in which they run.

use super::{BuiltInController, owners::ObjectId, workloads::WorkloadTask};
use crate::{scheme::TableId, storage::Key};

/// A unit of work of a controller. Tasks run in the order of the variants.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Task {
    /// Garbage collection: release the dependents of a terminating owner that is deleted without them.
    OrphanDependents(ObjectId),
    /// Garbage collection: check whether the owners of an object exist.
    CheckOwners(ObjectId),
    /// Finish the foreground deletion of the owner with this uid, unless dependents block it.
    FinishForeground(String),
    /// Delete all objects in a namespace.
    EmptyNamespace(String),
    /// Remove a terminating namespace if it is empty.
    FinishNamespace(String),
    /// Delete all objects of a custom resource.
    EmptyResource(TableId),
    /// Remove a terminating CRD if it has no objects.
    FinishResource(TableId),
    /// Remove the protection finalizer of a terminating volume or claim if it is unused.
    FreeStorage(ObjectId),
    /// Aggregate ClusterRoles.
    AggregateRoles,
    // Pods run before the controllers that count them.
    /// Schedule, start or finish a pod.
    RunPod(ObjectId),
    /// Run a workload controller.
    Workload(WorkloadTask),
    /// Create the default service account of a namespace.
    ServiceAccounts(String),
    /// Write the status of a ResourceQuota.
    QuotaStatus(Key),
    /// Delete an Event whose time to live has passed.
    ExpireEvent(ObjectId),
}

impl From<WorkloadTask> for Task {
    fn from(task: WorkloadTask) -> Self {
        Self::Workload(task)
    }
}

impl BuiltInController {
    pub(super) fn performs(self, task: &Task) -> bool {
        match self {
            Self::GarbageCollection => {
                matches!(task, Task::OrphanDependents(_) | Task::CheckOwners(_) | Task::FinishForeground(_))
            }
            Self::NamespaceDeletion => matches!(task, Task::EmptyNamespace(_) | Task::FinishNamespace(_)),
            Self::StorageProtection => matches!(task, Task::FreeStorage(_)),
            Self::RoleAggregation => matches!(task, Task::AggregateRoles),
            // It has no tasks of its own.
            Self::Events => false,
            Self::Kubelet => matches!(task, Task::RunPod(_)),
            #[cfg(feature = "workloads")]
            Self::Workloads => matches!(task, Task::Workload(task) if !task.concerns_endpoints()),
            #[cfg(feature = "workloads")]
            Self::Endpoints => matches!(task, Task::Workload(task) if task.concerns_endpoints()),
            Self::ServiceAccounts => matches!(task, Task::ServiceAccounts(_)),
        }
    }
}
