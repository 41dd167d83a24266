//! Leader election: of several replicas that compete for a Lease, one is active.
//!
//! A [`LeaderElector`] campaigns in a task of its own. [`wait_for_leadership`](LeaderElector::wait_for_leadership) returns when this
//! process leads, and [`lost_leadership`](LeaderElector::lost_leadership) completes when it does not any more:
//!
//! ```
//! use futures::StreamExt;
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube_client::{Api, Client};
//! use kube_operator::leader_election::{Config, LeaderElector};
//! use kube_runtime::{Controller, controller::Action, watcher};
//! use std::{convert::Infallible, sync::Arc};
//!
//! # async fn run(client: Client) -> Result<(), Box<dyn std::error::Error>> {
//! let elector = LeaderElector::start(client.clone(), Config::new("my-operator", "my-namespace"))?;
//! elector.wait_for_leadership().await?;
//! Controller::new(Api::<ConfigMap>::all(client), watcher::Config::default())
//!     .graceful_shutdown_on(elector.lost_leadership())
//!     .run(
//!         async |_, _| Ok::<_, Infallible>(Action::await_change()),
//!         |_, _, _| Action::await_change(),
//!         Arc::new(()),
//!     )
//!     .for_each(async |_| ())
//!     .await;
//! elector.release().await; // another replica need not wait for the expiry
//! # Ok(())
//! # }
//! ```
//!
//! **Guarantees.** At most one candidate leads at a time, whatever networks, slow responses, wall clocks and suspended machines do, as long
//! as only candidates write the Lease. Whoever deletes it, or changes its holder or duration by hand, can make two leaders until the old
//! one's next renewal, within the retry period, or until its renew deadline if it cannot reach the server; so it is in client-go. A leader
//! stops leading one [renew deadline](Config::renew_deadline) after it sent the last write that the server confirmed; the others see that
//! write later than that, and then wait for the whole [lease duration](Config::lease_duration). Each measures with its own monotonic
//! clock, on Linux one that goes on while the machine is suspended. This assumes different
//! identities, and clocks whose rates differ by less than the ratio of the two durations. When a leader crashes, another one leads within
//! lease duration and [retry period](Config::retry_period) of its last renewal (17 s by default); after a
//! [`release`](LeaderElector::release) within the retry period.
//!
//! A client that leads to another cluster ([`set_credentials`](kube_client::Client::set_credentials)) ends the leadership at once: there it
//! campaigns as at the start.
//!
//! **What it does not give.** A request that a leader sent before it lost the leadership may reach the server afterwards. Reconcilers stay
//! safe because of resourceVersions and server-side apply, not because of the Lease.
//!
//! The Lease is that of client-go's leader election, so candidates of both kinds may compete for one. It needs the permissions `get`,
//! `create` and `update` for `leases` of `coordination.k8s.io` in its namespace. A leader sends one request per retry period.
//!
//! # Metrics
//!
//! With the feature `metrics`; `name` and `lease_namespace` are those of the Lease. Install the recorder before the first elector starts.
//! All of them exist from then on, with the value 0.
//!
//! | metric | type | labels | |
//! |---|---|---|---|
//! | `leader_election_master_status` | gauge | `name`, `lease_namespace` | 1 if this process leads, else 0 |
//! | `leader_election_slowpath_total` | counter | `name`, `lease_namespace` | renewals for which the leader had to read the Lease first |
//! | `kube_runtime_leader_election_transitions_total` | counter | `name`, `lease_namespace` | how often this process became or ceased to be the leader |

mod config;
mod elector;
mod machine;
mod metrics;
mod standby;

pub use config::{Config, InvalidConfig};
pub(crate) use config::{
    MAX_LABEL, MAX_NAME, check_name, default_identity, is_name, time_to_stop, whole_seconds,
};
pub use elector::{LeaderElector, State, Stopped};
