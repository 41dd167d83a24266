//! [`Clusters`]: a provider of clusters, as a stream of events.

use super::{error::ClusterError, name::ClusterName, unusable::Unusable};
use futures::{Stream, StreamExt, stream::BoxStream};
use kube_client::Config;
use kube_core::{Selector, SelectorExt};
use kube_runtime::watcher::WatchMonitor;
use std::{collections::BTreeMap, fmt};

/// A cluster as a provider announces it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClusterSpec {
    /// By which it is known.
    pub name: ClusterName,
    /// How to reach it, and as whom. Clients use the address and the credentials that were announced last. With another default namespace,
    /// the controllers of the cluster end and start anew; other settings count when the cluster is announced after it was removed.
    pub config: Config,
    /// What the program may select clusters by.
    pub labels: BTreeMap<String, String>,
    /// Whether it is a part of a cluster, as a namespace is that stands for one: the rest may be the hub, or other clusters.
    pub(super) is_part: bool,
}

impl ClusterSpec {
    /// A cluster without labels.
    pub fn new(name: ClusterName, config: Config) -> Self {
        Self { name, config, labels: BTreeMap::new(), is_part: false }
    }

    /// Adds a label.
    #[must_use]
    pub fn label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(key.into(), value.into());
        self
    }

    /// Whether clients of both send the same requests to the same place as the same user.
    pub(super) fn is_reached_as(&self, other: &Self) -> bool {
        let (one, other) = (&self.config, &other.config);
        one.has_access_of(other)
            && one.default_namespace == other.default_namespace
            && one.headers == other.headers
    }
}

/// What a provider says of a cluster.
#[derive(Clone, Debug)]
pub enum ClusterEvent {
    /// There is a cluster, or its configuration or labels have changed. The same again changes nothing: an attempt to connect goes on, and
    /// the next one is not earlier.
    Upsert(Box<ClusterSpec>),
    /// It belongs to the fleet no more.
    Removed(ClusterName),
    /// The provider has announced all clusters that there were at its start: see
    /// [`Fleet::providers_have_synced`](super::Fleet::providers_have_synced). Those of this crate say so; a channel of the program has to,
    /// and a stream has to or to end.
    InitDone,
}

impl From<ClusterSpec> for ClusterEvent {
    fn from(spec: ClusterSpec) -> Self {
        Self::Upsert(Box::new(spec))
    }
}

/// What a provider emits: an error is about one cluster or object, and is logged. The stream goes on.
pub(crate) type ClusterEvents = BoxStream<'static, Result<ClusterEvent, ClusterError>>;

/// A provider of clusters, for [`Manager::clusters`](crate::manager::Manager::clusters).
///
/// A provider that fails or ends keeps what it has announced. Of two providers that announce one name, the first has it; the other gets it
/// when the first has removed it.
#[must_use = "a provider does nothing until a manager has it"]
pub struct Clusters {
    source: String,
    /// The collections of the hub that it watches.
    paths: Vec<String>,
    /// What shows these watches.
    pub(super) watches: Option<WatchMonitor>,
    /// What it has and cannot use.
    pub(super) unusable: Unusable,
    pub(super) events: ClusterEvents,
}

impl Clusters {
    /// The clusters of a stream. `source` names it in errors, such as `the inventory`.
    pub fn new<E>(
        source: impl Into<String>,
        events: impl Stream<Item = Result<ClusterEvent, E>> + Send + 'static,
    ) -> Self
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let events = events.map(|event| event.map_err(|error| ClusterError::Provider(error.into())));
        Self::of(source, events)
    }

    pub(super) fn of(
        source: impl Into<String>,
        events: impl Stream<Item = Result<ClusterEvent, ClusterError>> + Send + 'static,
    ) -> Self {
        let unusable = Unusable::default();
        Self { source: source.into(), paths: Vec::new(), watches: None, unusable, events: events.boxed() }
    }

    /// Only those of them whose labels match. One whose labels do not match any more is removed, and comes back when they do.
    /// What cannot be used and does not match is not counted in `kube_operator_clusters_unusable`.
    ///
    /// ```
    /// use kube_operator::clusters::Clusters;
    ///
    /// let (sender, clusters) = Clusters::channel();
    /// let production = clusters.matching("stage=production,!draining".parse()?);
    /// # drop((sender, production));
    /// # Ok::<(), kube_core::ParseExpressionError>(())
    /// ```
    pub fn matching(self, selector: Selector) -> Self {
        self.unusable.only(selector.clone());
        let matching = move |event| match event {
            ClusterEvent::Upsert(spec) if !selector.matches(&spec.labels) => ClusterEvent::Removed(spec.name),
            other => other,
        };
        Self { events: self.events.map(move |event| event.map(&matching)).boxed(), ..self }
    }

    pub(super) fn watching(self, path: String, watches: WatchMonitor) -> Self {
        Self { paths: vec![path], watches: Some(watches), ..self }
    }

    pub(super) fn telling(self, unusable: Unusable) -> Self {
        Self { unusable, ..self }
    }

    /// What of the hub the program has to be allowed to list and watch.
    pub(crate) fn paths(&self) -> &[String] {
        &self.paths
    }

    /// Where the clusters come from, in words.
    pub fn source(&self) -> &str {
        &self.source
    }
}

impl fmt::Debug for Clusters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clusters").field(&self.source).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clusters::claims::Claims;
    use futures::stream;

    #[tokio::test]
    async fn a_cluster_whose_labels_do_not_match_is_none_until_they_do() {
        let spec = |stage: &str| {
            let config = Config::new("https://east".parse().unwrap());
            ClusterSpec::new(ClusterName::new("east").unwrap(), config).label("stage", stage)
        };
        let stages = ["test", "production", "production", "test", "production"];
        let events = stages.map(|stage| Ok::<_, ClusterError>(ClusterEvent::from(spec(stage))));
        let clusters = Clusters::new("the test", stream::iter(events));
        let events: Vec<_> = clusters.matching("stage=production".parse().unwrap()).events.collect().await;
        let mut claims = Claims::default();
        let changes = events.into_iter().map(|event| claims.apply(0, event.unwrap()).unwrap().len());
        assert_eq!(changes.collect::<Vec<_>>(), [0, 1, 1, 1, 1]);
    }
}
