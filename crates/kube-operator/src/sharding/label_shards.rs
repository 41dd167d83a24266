//! Shards by label: each has a watch, a cache and a leader of its own.

use super::config::InvalidConfig;
use crate::leader_election::{Config, LeaderElector};
use kube_client::Client;
use kube_runtime::watcher;

/// One of several shards of objects: those whose label has its number.
#[derive(Debug, Clone)]
pub struct LabelShard {
    index: usize,
    label: String,
    elector: LeaderElector,
}

/// Campaigns for `count` shards of the objects, which carry their shard's number (from 0) as the value of `label`.
///
/// Each shard has the Lease of `config` with its number as a suffix, and so one leader among the replicas that campaign for it. A replica
/// watches and caches only the shards that it runs controllers for. Who sets the labels is up to the program, such as a mutating webhook or
/// the reconciler of the parent. An object without the label belongs to no shard.
///
/// A replica that starts alone leads all shards, and keeps them when others join. To divide them, let each replica campaign for the shards
/// that it prefers at once, and for the others later.
///
/// # Errors
///
/// Settings that contradict each other.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_client::{Api, Client};
/// use kube_operator::{leader_election, sharding::{self, label_shards}};
/// use kube_runtime::{Controller, watcher};
///
/// fn controllers(client: Client) -> Result<Vec<Controller<ConfigMap>>, sharding::InvalidConfig> {
///     let election = leader_election::Config::new("my-operator", "my-namespace");
///     let shards = label_shards(client.clone(), election, "example.com/shard", 3)?;
///     let controllers = shards.iter().map(|shard| {
///         Controller::new(Api::all(client.clone()), shard.select(watcher::Config::default()))
///             .assigned_by(shard.elector().assignments(async || ()))
///     });
///     Ok(controllers.collect())
/// }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), sharding::InvalidConfig> {
/// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
/// # assert_eq!(controllers(client)?.len(), 3);
/// # Ok(())
/// # }
/// ```
pub fn label_shards(
    client: Client,
    config: Config,
    label: impl Into<String>,
    count: usize,
) -> Result<Vec<LabelShard>, InvalidConfig> {
    let label = label.into();
    (0..count)
        .map(|index| {
            let elector = LeaderElector::start(client.clone(), config.clone().suffixed(index))?;
            Ok(LabelShard { index, label: label.clone(), elector })
        })
        .collect()
}

impl LabelShard {
    /// Its number, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// `config`, limited to the objects of this shard.
    pub fn select(&self, config: watcher::Config) -> watcher::Config {
        let own = format!("{}={}", self.label, self.index);
        let selector = match &config.label_selector {
            Some(selector) if !selector.is_empty() => format!("{selector},{own}"),
            _ => own,
        };
        config.labels(&selector)
    }

    /// Campaigns for the shard.
    pub fn elector(&self) -> &LeaderElector {
        &self.elector
    }
}
