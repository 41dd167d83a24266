//! The manager: any number of controllers and other components under one start and stop order.
//!
//! ```no_run
//! use k8s_openapi::api::core::v1::{ConfigMap, Secret};
//! use kube_client::{Api, Client};
//! use kube_core::admission::AdmissionRequest;
//! use kube_operator::{
//!     manager::Manager,
//!     webhook::{Denial, Webhooks, certificates::CertificateFiles},
//! };
//! use kube_runtime::{Controller, controller::Action, watcher::Config};
//! use std::{convert::Infallible, sync::Arc};
//!
//! async fn reconcile(map: Arc<ConfigMap>, _context: Arc<()>) -> Result<Action, Infallible> {
//!     println!("{:?}", map.metadata.name);
//!     Ok(Action::await_change())
//! }
//!
//! async fn check(request: AdmissionRequest<ConfigMap>) -> Result<(), Denial> {
//!     match request.object.is_some_and(|map| map.data.is_none()) {
//!         true => Err(Denial::invalid("data", "must not be empty")),
//!         false => Ok(()),
//!     }
//! }
//!
//! # async fn run(client: Client) -> Result<(), Box<dyn std::error::Error>> {
//! let (maps, secrets) = (Api::<ConfigMap>::all(client.clone()), Api::<Secret>::all(client.clone()));
//! Manager::new(client)
//!     .leader_election("my-operator", "my-namespace")
//!     .serve_metrics(([0, 0, 0, 0], 8080)) // /metrics, /livez, /readyz, /debug/controllers
//!     .webhooks(([0, 0, 0, 0], 9443), CertificateFiles::new("/certs"), Webhooks::new().validate(check))
//!     .controller("maps", Controller::new(maps, Config::default()).owns(secrets, Config::default()), reconcile, Arc::new(()))
//!     .run_until_signal()
//!     .await?;
//! # Ok(())
//! # }
//! ```
//!
//! **Start order.** Servers, then [components](Manager::component), then controllers, whose caches fill before this process leads, then
//! what runs [only while it leads](Manager::leader_component). A server that cannot start is an error before anything else has begun. The
//! readiness check `manager` fails until all of this is started, and again while the manager stops. A shutdown or a failure during the
//! start stops what has started.
//!
//! **Stop order.** The reverse: leader-only work and controllers end, the Lease is released, components end, servers drain. All of it
//! has [one grace period](Manager::grace_period), of which a phase that is slow leaves a tenth to each later one. Work of the leader that
//! has to be aborted may still run in a thread: then the Lease is not released but expires. The manager stops on a signal, or when a part
//! of it fails: the first failure is the result.
//!
//! **Permissions.** When it starts, and when something is added to it, the manager asks the server for the permissions of its watches, of
//! its Leases and of what it [writes](Manager::writes) (a `SelfSubjectAccessReview` each), and logs all that are missing in one warning, as
//! roles that can be applied. Where the server refuses the questions, the roles are those of the lists, watches and Leases that it refuses
//! in the first 10 s. What neither has named, such as a write that was not declared, is logged with its role when a reconcile fails for it:
//! once for each verb on a resource, in whatever namespace. That needs the server's response among the
//! [causes](kube_client::error::status_of) of the reconciler's error.
//!
//! **Leadership.** While another process leads, controllers reconcile nothing, but their caches stay filled. A process that lost the
//! leadership cancels its reconciles before another one can lead, and campaigns again; it does not end.

// `build` collects what is to run, with `on_each` of many clusters, `addresses` and what the program `writes`; `facts` tells a deployment
// about it, with the `member_needs` of other clusters. `run` starts it in order: `serve` the servers, `components`, `controllers` with a
// shared `cache`, some while their kind is `served`, those of other clusters as `members`, some on `selected` ones, with their `faults`,
// what of one is `triggering` another (by `triggers`), and a `removal`, `replicas` for leader and shards; it checks `permissions`. `handle`
// changes it while it runs, `status` shows it, `log` says what failed. `signals` end it, within the `grace_period`; `error` says why it
// ended.

mod addresses;
mod build;
mod cache;
mod components;
mod controllers;
mod error;
mod facts;
mod faults;
mod grace_period;
mod handle;
mod log;
mod member_needs;
mod members;
mod on_each;
mod permissions;
mod removal;
mod replicas;
mod run;
mod selected;
mod serve;
mod served;
mod signals;
mod status;
mod triggering;
mod triggers;
mod writes;

pub use build::Manager;
pub use components::Restart;
pub use error::ManagerError;
pub use handle::ManagerHandle;
pub use served::{ServedController, ServedVersions};
pub use writes::Writes;

pub(crate) use facts::{Facts, WebhookFacts};
