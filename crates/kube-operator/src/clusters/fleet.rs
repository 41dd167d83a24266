//! [`Fleet`]: the clusters that a program has now.

use super::{
    cluster::Cluster,
    name::ClusterName,
    status::{ClusterNotReady, ClusterState, ClusterStatus},
};
use futures::{Stream, stream};
use parking_lot::Mutex;
use std::{
    collections::BTreeMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::{sync::watch, time::Instant};

/// The clusters that a program has now, and how they are: for reconcilers of the hub, for a status, for tests. Clones are the same.
#[derive(Clone, Default)]
pub struct Fleet(Arc<Shared>);

#[derive(Default)]
struct Shared {
    clusters: Mutex<BTreeMap<ClusterName, Entry>>,
    changed: watch::Sender<()>,
    /// How many providers have not announced yet what they have.
    unsynced: AtomicUsize,
}

struct Entry {
    /// Once a client was made.
    cluster: Option<Cluster>,
    /// Those that it had when it was shown.
    labels: Option<Arc<BTreeMap<String, String>>>,
    state: ClusterState,
    since: Instant,
    reason: Option<String>,
    outdated: Option<String>,
}

impl Entry {
    fn status(&self, name: &ClusterName, now: Instant) -> ClusterStatus {
        let since = now.saturating_duration_since(self.since);
        let (reason, outdated) = (self.reason.clone(), self.outdated.clone());
        ClusterStatus { name: name.clone(), state: self.state, since, reason, outdated }
    }
}

impl Fleet {
    /// The cluster of this name, if it is [`Synced`](ClusterState::Synced).
    ///
    /// # Errors
    /// At once, where a request would only time out: what the cluster is instead, since when, and why.
    pub fn cluster(&self, name: &ClusterName) -> Result<Cluster, ClusterNotReady> {
        let entries = self.0.clusters.lock();
        let entry = entries.get(name).ok_or_else(|| ClusterNotReady::Unknown(name.clone()))?;
        match &entry.cluster {
            Some(cluster) if entry.state == ClusterState::Synced => Ok(cluster.clone()),
            _ => Err(ClusterNotReady::State(entry.status(name, Instant::now()))),
        }
    }

    /// All clusters that are [`Synced`](ClusterState::Synced), by name.
    #[must_use]
    pub fn clusters(&self) -> Vec<Cluster> {
        let entries = self.0.clusters.lock();
        let synced = entries.values().filter(|entry| entry.state == ClusterState::Synced);
        synced.filter_map(|entry| entry.cluster.clone()).collect()
    }

    /// How all clusters are, by name. O(number of clusters).
    #[must_use]
    pub fn statuses(&self) -> Vec<ClusterStatus> {
        let now = Instant::now();
        self.0.clusters.lock().iter().map(|(name, entry)| entry.status(name, now)).collect()
    }

    /// How the cluster of this name is; `None` if there is none.
    #[must_use]
    pub fn status(&self, name: &ClusterName) -> Option<ClusterStatus> {
        self.0.clusters.lock().get(name).map(|entry| entry.status(name, Instant::now()))
    }

    /// Whether all providers have announced the clusters that they have at the start, as `HasSynced` of an informer: until then, a cluster
    /// that is not here may be one that is not here *yet*. To be asked before what was written to clusters counts as gone, say where the
    /// last finalizer of an object is taken off. [`changes`](Self::changes) has an item when it becomes true.
    ///
    /// `false` for as long as a provider cannot be read. A cluster that is there and cannot be used yet, such as a Secret without a
    /// kubeconfig or a file that names another one that is not there, is waited for, for at most 5 minutes: then an error in the log names
    /// it.
    #[must_use]
    pub fn providers_have_synced(&self) -> bool {
        self.0.unsynced.load(Ordering::Acquire) == 0
    }

    /// An item whenever a cluster comes, leaves, changes its state, its labels or why it is [outdated](ClusterStatus::outdated), or all
    /// providers have announced what they have; several changes may be one item. For a controller of the hub that has to look at its
    /// objects again then, by [`Controller::reconcile_all_on`](kube_runtime::Controller::reconcile_all_on).
    pub fn changes(&self) -> impl Stream<Item = ()> + Send + use<> {
        stream::unfold(self.0.changed.subscribe(), |mut changed| async move {
            changed.changed().await.ok()?;
            Some(((), changed))
        })
    }

    /// Returns whether the state is another one than before.
    pub(super) fn show(
        &self,
        name: &ClusterName,
        cluster: Option<&Cluster>,
        (state, since, reason): (ClusterState, Instant, Option<&str>),
        outdated: Option<&str>,
    ) -> bool {
        let mut entries = self.0.clusters.lock();
        let labels = cluster.map(Cluster::labels);
        let (cluster, reason) = (cluster.cloned(), reason.map(str::to_owned));
        let entry = Entry {
            cluster,
            labels: labels.clone(),
            state,
            since,
            reason,
            outdated: outdated.map(str::to_owned),
        };
        let before = entries.insert(name.clone(), entry);
        drop(entries);
        let is_change = before.as_ref().is_none_or(|before| before.state != state);
        let differs = |before: Entry| before.labels != labels || before.outdated.as_deref() != outdated;
        if is_change || before.is_some_and(differs) {
            self.0.changed.send_replace(());
        }
        is_change
    }

    /// There is one more provider.
    pub(crate) fn expect_provider(&self) {
        self.0.unsynced.fetch_add(1, Ordering::AcqRel);
    }

    /// One of the providers has announced what it has.
    pub(super) fn provider_has_synced(&self) {
        self.0.unsynced.fetch_sub(1, Ordering::AcqRel);
        self.0.changed.send_replace(());
    }

    pub(super) fn forget(&self, name: &ClusterName) {
        self.0.clusters.lock().remove(name);
        self.0.changed.send_replace(());
    }
}

impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.statuses()).finish()
    }
}
