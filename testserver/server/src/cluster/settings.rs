//! The configuration of a server, and the built-in controllers.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use jiff::Timestamp;

use crate::{admission::AdmissionPlugin, object::addresses::ServiceRange, scheme::RuntimeConfig};

/// Configuration of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The number of changes in the history.
    pub(crate) history: usize,
    pub(crate) disabled: BTreeSet<BuiltInController>,
    /// How long controllers take until they look at a change.
    pub(crate) delays: BTreeMap<BuiltInController, Duration>,
    /// The API versions that are switched on besides the stable ones.
    pub(crate) runtime_config: RuntimeConfig,
    pub(crate) disabled_plugins: BTreeSet<AdmissionPlugin>,
    /// The addresses that services get.
    pub(crate) service_range: ServiceRange,
    /// Whether the server authenticates users and enforces RBAC.
    pub(crate) rbac: bool,
    /// Determines the uids and generated names.
    pub(crate) seed: Option<u64>,
    /// The time at which the clock starts.
    pub(crate) start_time: Option<Timestamp>,
}

impl Default for Settings {
    fn default() -> Self {
        let disabled = BTreeSet::from([
            BuiltInController::Kubelet,
            BuiltInController::ServiceAccounts,
            BuiltInController::Events,
            #[cfg(feature = "workloads")]
            BuiltInController::Workloads,
            #[cfg(feature = "workloads")]
            BuiltInController::Endpoints,
        ]);
        Self {
            history: 10_000,
            disabled,
            delays: BTreeMap::new(),
            runtime_config: RuntimeConfig::default(),
            disabled_plugins: BTreeSet::new(),
            service_range: ServiceRange::default(),
            rbac: false,
            seed: None,
            start_time: None,
        }
    }
}

impl Settings {
    /// The call of the builder that chose another value than a server with these `other` settings has, if there is one. Defaults are not
    /// chosen.
    pub(crate) fn conflict_with(&self, other: &Self) -> Option<&'static str> {
        // Names every field, so that a new setting is not forgotten.
        let Self {
            history,
            disabled,
            delays,
            runtime_config,
            disabled_plugins,
            service_range,
            rbac,
            seed,
            start_time,
        } = Self::default();
        let conflicts = [
            ("history", conflicts(&self.history, &history, &other.history)),
            ("with or without", conflicts(&self.disabled, &disabled, &other.disabled)),
            ("with_delay", conflicts(&self.delays, &delays, &other.delays)),
            ("runtime_config", conflicts(&self.runtime_config, &runtime_config, &other.runtime_config)),
            (
                "disable_admission_plugin",
                conflicts(&self.disabled_plugins, &disabled_plugins, &other.disabled_plugins),
            ),
            ("service_range", conflicts(&self.service_range, &service_range, &other.service_range)),
            ("with_rbac", conflicts(&self.rbac, &rbac, &other.rbac)),
            ("seed", conflicts(&self.seed, &seed, &other.seed)),
            ("start_time", conflicts(&self.start_time, &start_time, &other.start_time)),
        ];
        conflicts.into_iter().find(|(_, conflicts)| *conflicts).map(|(name, _)| name)
    }
}

/// Whether a value was chosen that is not the one of the other server.
fn conflicts<T: PartialEq>(own: &T, default: &T, other: &T) -> bool {
    own != default && own != other
}

/// A controller that is part of the server, like those of a cluster's controller manager and its nodes. Controllers that clean up are on
/// unless switched off with [`Builder::without`](crate::Builder::without); controllers that create and run pods are off unless switched on
/// with [`Builder::with`](crate::Builder::with), so that they do not interfere with a controller under test.
///
/// Controllers run within the request that triggers them: when it returns, they have finished. With
/// [`Builder::with_delay`](crate::Builder::with_delay) they take their time, as on clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum BuiltInController {
    /// Deletes objects whose owners no longer exist, and finishes foreground deletions.
    GarbageCollection,
    /// Deletes the objects of terminating namespaces, then the namespaces.
    NamespaceDeletion,
    /// Removes the protection finalizers of volumes and claims that no pod uses.
    StorageProtection,
    /// Writes the rules of ClusterRoles with an aggregation rule.
    RoleAggregation,
    /// A node that runs pods: schedules them to itself, reports them running and finishes their deletion. [`Kubelet`](crate::Kubelet)
    /// scripts what their containers do.
    Kubelet,
    /// Creates the service account `default` and the ConfigMap `kube-root-ca.crt` in every namespace.
    ServiceAccounts,
    /// Records Events of what the scheduler, the kubelet and the workload controllers do, as `kubectl describe` shows them. A repetition is
    /// counted in the Event that exists.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use http_body_util::{BodyExt, Full};
    /// use kube_testserver::{ApiServer, BuiltInController};
    /// use tower::ServiceExt;
    ///
    /// let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: i}]}\n";
    /// let builder = ApiServer::builder().with(BuiltInController::Kubelet).with(BuiltInController::Events);
    /// let server = builder.with_objects(pod).service()?;
    /// let request = http::Request::get("/api/v1/namespaces/default/events").body(Full::<bytes::Bytes>::default())?;
    /// let events = server.oneshot(request).await?.into_body().collect().await?.to_bytes();
    /// assert!(String::from_utf8_lossy(&events).contains("Successfully assigned default/web to testserver"));
    /// # Ok::<_, Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    Events,
    /// The controllers of Deployments, ReplicaSets, ReplicationControllers, StatefulSets, DaemonSets, Jobs, CronJobs and
    /// PodDisruptionBudgets. Exists with the feature `workloads`.
    #[cfg(feature = "workloads")]
    Workloads,
    /// Writes the Endpoints and EndpointSlices of services with a selector, and EndpointSlices for Endpoints that users write. Exists with
    /// the feature `workloads`.
    #[cfg(feature = "workloads")]
    Endpoints,
}
