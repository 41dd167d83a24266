//! The metrics of a fleet: none has a label for each cluster.

use super::status::ClusterState;
use metrics::{Gauge, describe_gauge, gauge};
use std::{collections::BTreeMap, time::Duration};
use tokio::time::Instant;

const CLUSTERS: &str = "kube_operator_clusters";
const LONGEST_FAILURE: &str = "kube_operator_clusters_longest_failure_seconds";
const OUTDATED: &str = "kube_operator_clusters_outdated";
const UNUSABLE: &str = "kube_operator_clusters_unusable";
const QUEUED_TRIGGERS: &str = "kube_operator_cluster_triggers_queued";
const FAILING_PROVIDERS: &str = "kube_operator_cluster_providers_failing";

/// How a fleet is, in numbers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Summary {
    clusters: BTreeMap<ClusterState, u32>,
    /// For how long the cluster has failed that fails for longest.
    longest_failure: Duration,
    outdated: u32,
}

impl Summary {
    /// Of clusters that have these states since then, and whether they go on with the configuration before the one that was announced last.
    pub(super) fn of(states: impl Iterator<Item = (ClusterState, Instant, bool)>, now: Instant) -> Self {
        let mut summary = Self::default();
        for (state, since, is_outdated) in states {
            summary.outdated += u32::from(is_outdated);
            *summary.clusters.entry(state).or_default() += 1;
            if state.is_failure() {
                summary.longest_failure = summary.longest_failure.max(now.saturating_duration_since(since));
            }
        }
        summary
    }
}

/// The gauges of a fleet. They are 0 after it.
pub(super) struct FleetMetrics {
    clusters: [(ClusterState, Gauge); ClusterState::ALL.len()],
    longest_failure: Gauge,
    outdated: Gauge,
    failing_providers: Gauge,
    unusable: Gauge,
}

impl FleetMetrics {
    pub(super) fn new() -> Self {
        describe_gauge!(CLUSTERS, "The number of clusters in each state");
        describe_gauge!(
            LONGEST_FAILURE,
            "For how long the cluster has been unreachable, forbidden or failed that is so for longest"
        );
        describe_gauge!(
            OUTDATED,
            "The number of clusters that keep the configuration before the one that was announced last"
        );
        describe_gauge!(
            FAILING_PROVIDERS,
            "The number of providers of clusters that cannot be read, so that changes are not seen"
        );
        describe_gauge!(
            UNUSABLE,
            "The number of Secrets, files and contexts that are no clusters because they cannot be used"
        );
        let clusters = ClusterState::ALL.map(|state| (state, gauge!(CLUSTERS, "state" => state.to_string())));
        let (longest_failure, outdated) = (gauge!(LONGEST_FAILURE), gauge!(OUTDATED));
        let (failing_providers, unusable) = (gauge!(FAILING_PROVIDERS), gauge!(UNUSABLE));
        let metrics = Self { clusters, longest_failure, outdated, failing_providers, unusable };
        metrics.record(&Summary::default(), 0, 0);
        metrics
    }

    pub(super) fn record(&self, summary: &Summary, failing_providers: usize, unusable: usize) {
        for (state, gauge) in &self.clusters {
            gauge.set(summary.clusters.get(state).copied().unwrap_or_default());
        }
        self.longest_failure.set(summary.longest_failure.as_secs_f64());
        self.outdated.set(summary.outdated);
        self.failing_providers.set(failing_providers as f64);
        self.unusable.set(unusable as f64);
    }
}

/// How many keys were sent to the controllers of the hub, or of all members together, which have not taken them yet.
pub(super) fn queued_triggers(to_hub: bool) -> Gauge {
    describe_gauge!(
        QUEUED_TRIGGERS,
        "The number of keys that cluster triggers have sent and controllers have not taken"
    );
    gauge!(QUEUED_TRIGGERS, "to" => if to_hub { "hub" } else { "members" })
}

impl Drop for FleetMetrics {
    fn drop(&mut self) {
        self.record(&Summary::default(), 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};

    /// Such as `kube_operator_clusters synced`, with its value if that is not 0.
    fn recorded(snapshotter: &Snapshotter) -> Vec<(String, f64)> {
        let metrics = snapshotter.snapshot().into_vec().into_iter();
        let values = metrics.filter_map(|(key, _unit, description, value)| {
            assert!(description.is_some());
            let labels: Vec<_> = key.key().labels().map(|label| label.value().to_owned()).collect();
            let DebugValue::Gauge(value) = value else { panic!("a gauge") };
            (value.into_inner() != 0.0)
                .then(|| (format!("{} {}", key.key().name(), labels.join(" ")), value.into_inner()))
        });
        let mut values: Vec<_> = values.collect();
        values.sort_by(|one, other| one.0.cmp(&other.0));
        values
    }

    #[tokio::test(start_paused = true)]
    async fn clusters_are_counted_by_state_and_the_longest_failure_is_known() {
        let recorder = DebuggingRecorder::new();
        let snapshotter = recorder.snapshotter();
        let _guard = metrics::set_default_local_recorder(&recorder);
        let now = Instant::now() + Duration::from_secs(1_000);
        let ago = |seconds| now - Duration::from_secs(seconds);
        let metrics = FleetMetrics::new();
        let states = [
            (ClusterState::Synced, ago(900), false),
            (ClusterState::Unreachable, ago(30), false),
            (ClusterState::Synced, ago(1), true),
            (ClusterState::Forbidden, ago(70), false),
        ];
        metrics.record(&Summary::of(states.into_iter(), now), 1, 3);
        assert_eq!(
            recorded(&snapshotter),
            [
                ("kube_operator_cluster_providers_failing ".to_owned(), 1.0),
                ("kube_operator_clusters forbidden".to_owned(), 1.0),
                ("kube_operator_clusters synced".to_owned(), 2.0),
                ("kube_operator_clusters unreachable".to_owned(), 1.0),
                ("kube_operator_clusters_longest_failure_seconds ".to_owned(), 70.0),
                ("kube_operator_clusters_outdated ".to_owned(), 1.0),
                ("kube_operator_clusters_unusable ".to_owned(), 3.0),
            ]
        );
        drop(metrics);
        assert_eq!(recorded(&snapshotter), []);
    }
}
