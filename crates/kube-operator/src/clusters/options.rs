//! [`ClusterOptions`]: limits of a fleet.

use kube_client::{Client, Config};
use std::{fmt, sync::Arc, time::Duration};

type Connect = dyn Fn(&Config) -> kube_client::Result<Client> + Send + Sync;

/// `Instant + Duration` panics on overflow, and `Duration::MAX` means "never".
pub(crate) const LONGEST: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// How a fleet starts, works and stops.
#[derive(Clone)]
#[must_use]
pub struct ClusterOptions {
    pub(super) start_concurrency: usize,
    pub(super) concurrency: u16,
    pub(super) concurrency_per_cluster: u16,
    pub(super) grace_period: Duration,
    pub(super) connect: Arc<Connect>,
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self {
            start_concurrency: 20,
            concurrency: 64,
            concurrency_per_cluster: 8,
            grace_period: Duration::from_secs(20),
            connect: Arc::new(|config: &Config| Client::try_from(config.clone())),
        }
    }
}

impl ClusterOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many clusters connect and list for the first time at once. Clusters that failed before get at most half of these places. One
    /// that does not answer for 2 s has none until it does, and one whose first lists take more than 30 s goes on without. Default: 20.
    pub fn start_concurrency(self, clusters: usize) -> Self {
        Self { start_concurrency: clusters, ..self }
    }

    /// How many reconciles run at once on all clusters together; 0 means no limit. Default: 64.
    ///
    /// A cluster gets a second one only while enough are free for as many clusters as half of them, and so clusters in which every request
    /// hangs leave some to the others: by default, fewer than 32 of them do. Eight busy clusters have 40 together, 24 or more have 56.
    pub fn concurrency(self, reconciles: u16) -> Self {
        Self { concurrency: reconciles, ..self }
    }

    /// How many of them run at once on one cluster: what a cluster takes in which every request hangs; 0 means no limit. Default: 8.
    pub fn concurrency_per_cluster(self, reconciles: u16) -> Self {
        Self { concurrency_per_cluster: reconciles, ..self }
    }

    /// How long the reconciles of a removed cluster may go on before they are aborted, and then what
    /// [`on_cluster_removed`](crate::manager::Manager::on_cluster_removed) does, and those of a controller that is not
    /// [selected](crate::manager::Manager::only_on_clusters) there any more. What blocks its thread cannot be aborted: the cluster
    /// waits for it, and is [failed](super::ClusterState::Failed) after another such period. `Duration::MAX` means no limit. Default: 20 s.
    pub fn grace_period(self, period: Duration) -> Self {
        Self { grace_period: period.min(LONGEST), ..self }
    }

    /// How long what stops on a cluster may take, and then what cleans up there.
    pub(crate) fn limit_of_stop(&self) -> Duration {
        self.grace_period
    }

    /// How clients are made: with other layers, or over servers in the process. Default: `Client::try_from`.
    ///
    /// ```
    /// use kube_client::Client;
    /// use kube_operator::clusters::ClusterOptions;
    /// use kube_testserver::TestFleet;
    ///
    /// let fleet = TestFleet::new(["east", "west"]);
    /// let options = ClusterOptions::new().connect(move |config| Client::with_transport(config, fleet.clone()));
    /// # drop(options);
    /// ```
    pub fn connect(
        self,
        connect: impl Fn(&Config) -> kube_client::Result<Client> + Send + Sync + 'static,
    ) -> Self {
        Self { connect: Arc::new(connect), ..self }
    }
}

impl fmt::Debug for ClusterOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterOptions")
            .field("start_concurrency", &self.start_concurrency)
            .field("concurrency", &self.concurrency)
            .field("concurrency_per_cluster", &self.concurrency_per_cluster)
            .field("grace_period", &self.grace_period)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clusters::unit::Unit;
    use tokio::time::Instant;

    #[tokio::test(start_paused = true)]
    async fn a_cluster_without_a_limit_of_its_grace_period_can_leave() {
        let period = ClusterOptions::new().grace_period(Duration::MAX).grace_period;
        let now = Instant::now();
        let (mut unit, _) = Unit::new(period, now);
        unit.placed(now);
        unit.connected(Ok(()), now);
        unit.removed(now);
        assert!(unit.next_timer().is_some_and(|due| due > now + Duration::from_secs(365 * 24 * 60 * 60)));
    }
}
