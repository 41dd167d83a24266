//! Sharding: several replicas of a program share the objects among them, each object reconciled by one.
//!
//! Each replica [joins](Membership::join) a group of members. Rendezvous hashing over namespace and name (or [the namespace
//! alone](PartitionBy::Namespace)) decides on the member for each object, so that a member that joins or leaves moves only its own share:
//!
//! ```
//! use futures::StreamExt;
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube_client::{Api, Client};
//! use kube_operator::sharding::{Config, Membership};
//! use kube_runtime::{Controller, controller::Action, watcher};
//! use std::{convert::Infallible, sync::Arc};
//!
//! async fn run(client: Client) -> Result<(), Box<dyn std::error::Error>> {
//!     let membership = Membership::join(client.clone(), Config::new("my-operator", "default"))?;
//!     Controller::new(Api::<ConfigMap>::all(client), watcher::Config::default())
//!         .assigned_by(membership.assignments())
//!         .shutdown_on_signal()
//!         .run(
//!             async |_, _| Ok::<_, Infallible>(Action::await_change()),
//!             |_, _, _| Action::await_change(),
//!             Arc::new(()),
//!         )
//!         # .take(1)
//!         .for_each(async |_| ())
//!         .await;
//!     membership.leave().await; // the others need not wait for the expiry
//!     Ok(())
//! }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let client = Client::new(kube_testserver::ApiServer::new(), "default");
//! # let map: ConfigMap = serde_json::from_str(r#"{"metadata":{"name":"a"}}"#)?;
//! # Api::default_namespaced(client.clone()).create(&Default::default(), &map).await?;
//! # run(client).await
//! # }
//! ```
//!
//! **Guarantees.** No object is reconciled by two members at once, under the assumptions of [leader election](crate::leader_election): a
//! member hands a key over after its reconcile has ended, and one that cannot renew its Lease stops before the others take over. No object
//! is left out: the keys of a member that crashed have other members within lease duration and two retry periods, those of one that left
//! within two retry periods. While keys move, the others go on. This holds as long as
//! only members write their Leases: whoever deletes the Lease of a running member, or changes its holder, label or duration, makes it stop
//! and join again at its next renewal; until then, a member that joins may reconcile the same keys.
//!
//! **Cost.** Every member watches and caches all objects; sharding divides the reconciles, not the memory. Where the caches are what is too
//! large, use [`label_shards`]. A member sends two requests per retry period, an update of its Lease and a list of those of the group. It
//! needs the permissions `list`, `create`, `update` and `delete` for `leases` of `coordination.k8s.io` in its namespace; members delete the
//! Leases that others left behind.
//!
//! A reconcile that takes long delays the hand-over of the keys that its member loses: set a [timeout](kube_runtime::Config::timeout).

// `config` is what a member is told. `membership` performs what `machine` decides, which reads the Lease of each `other_member`;
// `rendezvous` says whose a key is, `claims` which keys this member may reconcile. `label_shards` divides by label instead.

mod claims;
mod config;
mod label_shards;
mod machine;
mod membership;
mod other_member;
mod rendezvous;

pub use config::{Config, InvalidConfig};
pub use label_shards::{LabelShard, label_shards};
pub use membership::Membership;
pub use rendezvous::PartitionBy;
