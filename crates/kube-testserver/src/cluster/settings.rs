use std::collections::BTreeSet;

/// What a server is told at its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// How many changes watches can catch up on.
    pub(crate) history: usize,
    pub(crate) disabled: BTreeSet<BuiltInController>,
    /// Whether users are told apart and RBAC is enforced.
    pub(crate) rbac: bool,
}

impl Default for Settings {
    fn default() -> Self {
        let disabled = BTreeSet::from([
            BuiltInController::Kubelet,
            BuiltInController::ServiceAccounts,
            BuiltInController::Workloads,
        ]);
        Self { history: 10_000, disabled, rbac: false }
    }
}

/// A part of the server that acts by itself, as a cluster's controller manager and nodes do. Those that clean up are on unless
/// switched disabled with [`Builder::without`](crate::Builder::without); those that make and run pods are disabled unless switched on with
/// [`Builder::with`](crate::Builder::with), so that a test of a controller has its objects to itself.
///
/// They act within the request that gives them reason to: once it is answered, all that follows from it has been done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum BuiltInController {
    /// Deletes objects whose owners are gone, and lets owners go that wait in the foreground for their dependents.
    GarbageCollection,
    /// Empties namespaces that are being deleted, and lets them go.
    NamespaceDeletion,
    /// Lets volumes and claims that are being deleted go once no pod uses them.
    StorageProtection,
    /// Gives ClusterRoles with an aggregation rule the rules of those that they select.
    RoleAggregation,
    /// A node that runs pods: schedules them to itself, reports them running, ends them. See [`Kubelet`](crate::Kubelet) for what
    /// their containers do.
    Kubelet,
    /// Every namespace has a service account `default` and a ConfigMap `kube-root-ca.crt`.
    ServiceAccounts,
    /// PodDisruptionBudgets count their pods; Deployments make ReplicaSets, ReplicaSets and Jobs make pods, and all count them in their status.
    Workloads,
}
