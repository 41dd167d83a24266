//! The handle by which programs observe the watches of a stream or a cache.

use super::{
    config::Config,
    error::Result,
    event::Event,
    machine::ListChoice,
    registry::{WatchRegistry, WatchSettings},
    retry::RetryBackoff,
    snapshot::WatchSnapshot,
    stream::registered_watcher,
};
use crate::metrics::{Subject, describe, register, unregister};
use futures::Stream;
use kube_client::Api;
use kube_core::Resource;
use serde::de::DeserializeOwned;
use std::{
    fmt::{self, Debug},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;

/// Shows what the watches of streams and caches do: in the metrics `kube_runtime_watch_*`, for health checks, or on a debug page.
///
/// Clones show the same watches. The watches of a controller are shown by its [`Monitor`](crate::controller::Monitor) instead.
///
/// # Cost
///
/// Each event of a watch takes an uncontended lock.
///
/// ```
/// use futures::StreamExt;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_client::{Api, Client};
/// use kube_runtime::watcher::{Config, Event, WatchMonitor};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
/// let monitor = WatchMonitor::new("settings", "ConfigMap");
/// let mut events = Box::pin(monitor.watcher(Api::<ConfigMap>::all(client), Config::default()));
/// while !matches!(events.next().await, Some(Ok(Event::InitDone))) {}
/// assert!(monitor.snapshot().iter().all(|watch| watch.synced && watch.kind == "ConfigMap"));
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct WatchMonitor {
    registered: Arc<Registered>,
}

struct Registered {
    name: Arc<str>,
    kind: String,
    watches: Arc<WatchRegistry>,
    /// Whether stores that [`Writer::watch_monitored`](crate::reflector::store::Writer::watch_monitored) fills prefer streaming lists.
    streaming_lists: AtomicBool,
}

impl WatchMonitor {
    /// `name` is the label `controller` of the metrics, `kind` their label `kind`. Another name than that of any controller keeps them
    /// apart.
    pub fn new(name: &str, kind: &str) -> Self {
        describe();
        let (name, watches) = (Arc::from(name), Arc::<WatchRegistry>::default());
        watches.set_controller(&Subject::alone(&name));
        register(&watches);
        let (kind, streaming_lists) = (kind.to_owned(), AtomicBool::new(false));
        Self { registered: Arc::new(Registered { name, kind, watches, streaming_lists }) }
    }

    /// Stores that are filled with this monitor from now on read the objects that exist by streaming lists, where the server can do that:
    /// see [`Controller::prefer_streaming_lists`](crate::Controller::prefer_streaming_lists).
    #[doc(hidden)]
    pub fn prefer_streaming_lists(&self) {
        self.registered.streaming_lists.store(true, Ordering::Relaxed);
    }

    /// The name that it was made with.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.registered.name
    }

    /// Like [`watcher`](fn@super::watcher), as a watch that this shows. Any number of streams may be made, one for each namespace, say.
    pub fn watcher<K: Resource + Clone + DeserializeOwned + Debug + Send + 'static>(
        &self,
        api: Api<K>,
        config: Config,
    ) -> impl Stream<Item = Result<Event<K>>> + Send + use<K> {
        registered_watcher(api, config, &self.settings())
    }

    /// What the watches do now; those that were dropped are left out. O(number of watches).
    #[must_use]
    pub fn snapshot(&self) -> Vec<WatchSnapshot> {
        let now = Instant::now();
        self.watches().watches().iter().map(|watch| WatchSnapshot::of(watch, now)).collect()
    }

    /// Whether each watch shows the cluster to which its client leads.
    #[doc(hidden)]
    #[must_use]
    pub fn shows_present_clusters(&self) -> bool {
        self.watches().show_present_clusters()
    }

    /// The watch that has done nothing for longest, with that time: neither received an event or a bookmark, nor ended, failed or begun
    /// anew, waits between retries not counted.
    pub(crate) fn longest_idle(&self) -> Option<(WatchSnapshot, Duration)> {
        let now = Instant::now();
        let watches = self.watches().watches();
        let idle =
            watches.iter().map(|watch| (watch, now.saturating_duration_since(watch.status().busy_until())));
        let longest = idle.max_by_key(|(_, idle)| *idle);
        longest.map(|(watch, idle)| (WatchSnapshot::of(watch, now), idle))
    }

    fn watches(&self) -> &Arc<WatchRegistry> {
        &self.registered.watches
    }

    /// The settings of a watch that this shows.
    pub(crate) fn settings(&self) -> WatchSettings {
        let Registered { watches, kind, streaming_lists, .. } = &*self.registered;
        let lists = match streaming_lists.load(Ordering::Relaxed) {
            true => ListChoice::StreamedIfSupported,
            false => ListChoice::Configured,
        };
        let settings =
            WatchSettings::registered(RetryBackoff::with_default(), Arc::clone(watches), kind.clone());
        settings.listing(lists)
    }
}

/// The same watches.
impl PartialEq for WatchMonitor {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.registered, &other.registered)
    }
}

impl fmt::Debug for WatchMonitor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchMonitor").field("name", &self.registered.name).finish_non_exhaustive()
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        unregister(&self.watches);
    }
}
