//! Many clusters in one program: clusters that come and go, each with its own controllers, under one scheduler.
//!
//! ```no_run
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube_client::{Api, Client};
//! use kube_core::ResourceExt;
//! use kube_operator::{
//!     clusters::{OnCluster, SecretClusters},
//!     manager::Manager,
//! };
//! use kube_runtime::{Controller, controller::Action, watcher::Config};
//! use std::{convert::Infallible, sync::Arc};
//!
//! async fn reconcile(map: Arc<ConfigMap>, context: Arc<OnCluster<()>>) -> Result<Action, Infallible> {
//!     println!("{} on {}", map.name_any(), context.cluster().name());
//!     Ok(Action::await_change())
//! }
//!
//! # async fn run(hub: Client) -> Result<(), Box<dyn std::error::Error>> {
//! Manager::new(hub.clone())
//!     .clusters(SecretClusters::new(hub).namespace("fleet"))
//!     .controller_on_each("maps", |cluster| Controller::new(Api::all(cluster.client()), Config::default()), reconcile, Arc::new(()))
//!     .run_until_signal()
//!     .await?;
//! # Ok(())
//! # }
//! ```
//!
//! **Where clusters come from.** [`Clusters`] is a provider: a [fixed list](Clusters::fixed), the [contexts](Clusters::contexts) of a
//! kubeconfig, a [directory](Clusters::directory) of kubeconfigs, [Secrets](SecretClusters) of the hub, a [channel](Clusters::channel), any
//! stream. A manager may have several. A name belongs to the provider that announces it first.
//!
//! **A cluster alone.** A cluster starts, fails, waits and ends without any other one, or the manager's start or readiness, waiting for it.
//! [`Fleet`] tells how each is, and whether all are announced that there are. One that does not answer is tried again after 1 s, later
//! after up to a minute; once its controllers run, their watches retry as those of any controller.
//!
//! **Changes.** Other credentials are exchanged in place: watches go on, nothing is listed. Another address is used once the cluster there
//! says who it is, by the uid of its namespace `kube-system`; the same one resumes, and another one lists everything anew. Until then, and
//! where it is the cluster of another name, the old address is used, and [`ClusterStatus::outdated`] says why. A removed cluster stops its
//! reconciles within [a grace period](ClusterOptions::grace_period), and nothing of it is kept. What the program has written to it stays
//! there, unless [`Manager::on_cluster_removed`](crate::manager::Manager::on_cluster_removed) cleans up.
//!
//! **Two names for one cluster.** The first that answers has it until it leaves; then the first that answers of those that wait. Names that
//! wait for the clusters of one another exchange them: their controllers stop, and start anew. Replicas, and a restart, may have another
//! one as the first: with sharding, two replicas reconcile such a cluster then, or none. Announce one name.
//!
//! **Some clusters only.** [`Clusters::matching`] selects clusters by labels for all controllers,
//! [`Manager::only_on_clusters`](crate::manager::Manager::only_on_clusters) for one.
//!
//! **Relations across clusters.** [`ClusterTriggers`] has objects of one cluster reconciled for those of another. What owns an object of
//! another cluster is named in a label or annotation: the garbage collector would delete what has an owner reference to it.
//!
//! **Fairness.** All clusters share [`Workers`](kube_runtime::controller::Workers): a limit for all, one for each cluster, and turns by
//! worker time. Workers are kept for as many clusters as half of them: fewer hanging clusters than that stop no other, and one object that
//! hangs does not stop its cluster.
//!
//! **Memory.** Compact caches that the functions of `controller_on_each` make share a dictionary for each kind, except for Secrets. It is
//! text of objects: when a cluster leaves, its text goes within seconds, and what the others keep is compressed anew in the background.
//! Where many leave one after another, that takes at most a tenth of the time.
//! The objects of a kind that stay decoded have about 16 MiB for all clusters together; those of Secrets, on each.
//!
//! **Metrics.** `kube_operator_clusters` counts clusters by `state`; `kube_operator_clusters_longest_failure_seconds` says for how long the
//! cluster has failed that fails for longest, `kube_operator_cluster_providers_failing` how many providers cannot be read,
//! `kube_operator_clusters_outdated` how many clusters keep an earlier configuration than the announced one,
//! `kube_operator_clusters_unusable` how many are no clusters at all, because what was announced never could be used.
//!
//! **Replicas.** With leader election, controllers of members reconcile while this process leads, as all others. With sharding, a member
//! belongs to one replica, which reconciles all of its objects; each replica watches all members, so that none has to list when one moves.
//! The Leases are those of the replicas, however many clusters there are, and are on the hub: while that is away, no Lease can be renewed,
//! and nothing is reconciled on any cluster. A program that runs alone goes on with the clusters that it has.

// In the order in which data passes:
// - `name`, `event`, `error`: what `providers` emit, and `sources` read; `unusable`: what they cannot use. `claims`: whose a name is.
//   `identities`: whose a cluster is.
// - `phase`, `unit`: the life of one cluster; `places`: how many start at once. `status`: how it is, `cluster`: what its controllers know,
//   `triggers`: what they have reconciled elsewhere.
// - `supervisor` performs what units want, with the `options`: each is a `member`, its `tasks` and its `work`. `addresses`: how a name gets
//   to the cluster at its address. `fleet` and `metrics` show all.

mod addresses;
mod claims;
mod cluster;
mod error;
mod event;
mod fleet;
mod identities;
mod member;
mod metrics;
mod name;
mod options;
mod phase;
mod places;
mod providers;
mod sources;
mod status;
mod supervisor;
mod tasks;
mod triggers;
mod unit;
mod unusable;
mod work;

pub use cluster::{Cluster, OnCluster};
pub use error::ClusterError;
pub use event::{ClusterEvent, ClusterSpec, Clusters};
pub use fleet::Fleet;
pub use name::{ClusterName, InvalidClusterName};
pub use options::ClusterOptions;
pub use providers::SecretClusters;
pub use status::{ClusterNotReady, ClusterState, ClusterStatus};
pub use triggers::ClusterTriggers;

pub(crate) use options::LONGEST;
pub(crate) use supervisor::{FleetRun, supervise};
pub(crate) use tasks::{fails, fault_of_class};
pub(crate) use unit::{Fault, Look};
pub(crate) use work::{CleanUp, CleanedUp, MakeWork, RunWork, Work, WorkResult};
