use super::BuiltInController;
use crate::{
    gc::ObjectId,
    store::{Key, TableId},
};

/// A consequence that is still to be drawn, in the order in which they are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Task {
    /// Are the owners of this object still there?
    CheckOwners(ObjectId),
    /// An owner that is deleted in the foreground: is it free to go?
    FinishForeground(String),
    /// Delete everything in a namespace.
    EmptyNamespace(String),
    /// A namespace that is being deleted: is it empty?
    FinishNamespace(String),
    /// Delete all objects of a custom resource.
    EmptyResource(TableId),
    /// A CRD that is being deleted: are all its objects gone?
    FinishResource(TableId),
    /// A volume or claim that is being deleted: does anybody use it still?
    FreeStorage(ObjectId),
    /// ClusterRoles that are made up of others.
    AggregateRoles,
    // Pods before those who count them.
    /// What is next for a pod?
    RunPod(ObjectId),
    /// Do pods that nobody controls belong to a ReplicaSet of this namespace? All of them, or the one that is named.
    Adopt(String, Option<Key>),
    /// Has a Job the pods it needs?
    Job(ObjectId),
    /// Has a ReplicaSet the pods it needs?
    ReplicaSet(ObjectId),
    /// What is the next step of a Deployment?
    Deployment(ObjectId),
    /// How many pods may the budgets of a namespace let go?
    Budgets(String),
    /// Has a namespace its service account?
    ServiceAccounts(String),
    /// An Event has been there long enough.
    ExpireEvent(ObjectId),
}

impl BuiltInController {
    pub(super) fn performs(self, task: &Task) -> bool {
        match self {
            Self::GarbageCollection => matches!(task, Task::CheckOwners(_) | Task::FinishForeground(_)),
            Self::NamespaceDeletion => matches!(task, Task::EmptyNamespace(_) | Task::FinishNamespace(_)),
            Self::StorageProtection => matches!(task, Task::FreeStorage(_)),
            Self::RoleAggregation => matches!(task, Task::AggregateRoles),
            Self::Kubelet => matches!(task, Task::RunPod(_)),
            Self::Workloads => {
                matches!(
                    task,
                    Task::Adopt(..)
                        | Task::Job(_)
                        | Task::ReplicaSet(_)
                        | Task::Deployment(_)
                        | Task::Budgets(_)
                )
            }
            Self::ServiceAccounts => matches!(task, Task::ServiceAccounts(_)),
        }
    }
}
