//! The handle by which programs observe a controller.

use super::{
    progress::{ProgressLimits, Stalled, check},
    snapshot::Snapshot,
    state::Observation,
};
use std::sync::Arc;
use tokio::time::Instant;

/// Shows what a controller does: for a debug page, health checks, or a test. From [`Controller::monitor`](crate::Controller::monitor).
///
/// Clones show the same controller. It can be read before the controller runs, while it runs, and after it has ended. A controller
/// without a monitor collects nothing for it.
///
/// # Cost
///
/// The controller takes an uncontended lock per event of a watch, per start and end of a reconcile, and when it has nothing to do.
///
/// ```
/// use futures::StreamExt;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_client::{Api, Client};
/// use kube_runtime::{
///     Config, Controller,
///     controller::{Action, ControllerState, ProgressLimits},
///     watcher,
/// };
/// use std::{convert::Infallible, sync::Arc};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
/// # let map: ConfigMap = serde_json::from_str(r#"{"metadata":{"name":"a"}}"#)?;
/// # Api::default_namespaced(client.clone()).create(&Default::default(), &map).await?;
/// let controller = Controller::new(Api::<ConfigMap>::all(client), watcher::Config::default())
///     .with_config(Config::default().name("settings"));
/// let monitor = controller.monitor();
/// assert_eq!(monitor.snapshot().state, ControllerState::NotStarted);
/// controller
///     .run(
///         async |_, _| Ok::<_, Infallible>(Action::await_change()),
///         |_, _, _| Action::retry(),
///         Arc::new(()),
///     )
///     .take(1)
///     .for_each(async |_| {
///         assert!(monitor.is_synced() && monitor.progress(&ProgressLimits::default()).is_ok());
///         let snapshot = monitor.snapshot();
///         assert_eq!((snapshot.name.as_str(), snapshot.objects, snapshot.totals.success), ("settings", 1, 1));
///         println!("{}", serde_json::to_string_pretty(&snapshot).unwrap_or_default());
///     })
///     .await;
/// assert_eq!(monitor.snapshot().state, ControllerState::Stopped);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Monitor {
    observation: Arc<Observation>,
}

impl Monitor {
    pub(crate) fn new(observation: Arc<Observation>) -> Self {
        Self { observation }
    }

    /// The name of the controller: see [`Config::name`](crate::Config::name).
    #[must_use]
    pub fn name(&self) -> String {
        self.observation.facts.lock().name.to_string()
    }

    /// The kind of the objects that it reconciles, such as `ConfigMap`.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.observation.kind
    }

    /// What the controller does now. O(number of watches and running reconciles).
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::of(&self.observation, Instant::now())
    }

    /// Whether the first list of the controller's own objects is in its store, and the first lists of all its other watches are
    /// complete: for a readiness probe.
    ///
    /// It stays true when a watch fails later, until the controller has ended.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        let facts = self.observation.facts.lock();
        let cache = facts.cache.clone();
        drop(facts);
        let watches = self.observation.watches.watches();
        cache.is_some_and(|cache| cache.is_ready()) && watches.iter().all(|watch| watch.status().synced)
    }

    /// Whether each watch shows the cluster to which its client leads.
    #[doc(hidden)]
    #[must_use]
    pub fn shows_present_clusters(&self) -> bool {
        self.observation.watches.show_present_clusters()
    }

    /// Whether the controller makes progress: for a liveness probe.
    ///
    /// It does not while it was not started, after it has ended, or when it waits for a reason, such as an unreachable server: then a
    /// restart would not help, and the result is `Ok`.
    ///
    /// # Errors
    ///
    /// The first limit that is exceeded, and by what.
    pub fn progress(&self, limits: &ProgressLimits) -> Result<(), Stalled> {
        check(&self.observation, limits, Instant::now())
    }
}
