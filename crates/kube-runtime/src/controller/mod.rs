//! Reconciling objects whenever they, or what they depend on, change.
//!
//! A [`Controller`] watches objects of one kind and what is related to them, keeps a queue of the objects to look at,
//! and calls a reconciler for each. See [`Controller`] for what it guarantees.

mod action;
mod applier;
mod builder;
mod config;
mod error;
mod guard;
mod namespaces;
mod owner_map;
mod pending_writes;
mod reconcile;
mod related;
mod related_sync;
mod related_watch;
mod request;
mod run;
mod runner;
mod runner_error;
mod running;
mod shutdown;
mod source;
mod trigger;

pub use action::Action;
pub use applier::applier;
pub use error::Error;
pub use reconcile::{Outcome, Reconcile};
pub use request::{ReconcileReason, ReconcileRequest};
pub use trigger::{trigger_owners, trigger_self, trigger_with};

use crate::{
    queue::RetryLimits,
    reflector::store::{Store, WriterDropped},
};
use kube_core::Resource;
use std::{fmt::Debug, hash::Hash, time::Duration};

/// Calls a reconciler for each object of a kind, at the start and whenever something changes.
///
/// # Guarantees
///
/// - After every change of an object, and after every change of what it [owns](Self::owns) or
///   [depends on](Self::watches), its reconciler is called at least once. Changes that come close together may be one
///   call.
/// - One object is never reconciled twice at the same time; different objects are, up to [`Config::concurrency`].
/// - Nothing is reconciled before all objects are known, and, if that takes no longer than five seconds more, what they
///   own and depend on; nor after a [shutdown](Self::graceful_shutdown_on).
/// - Changes come first; what was there at the start, or is looked at once more, comes when there are none, and is
///   every eighth start otherwise. Within each of the two, objects come in the order in which they became due.
/// - A reconciler that panics, or takes longer than the [timeout](Config::timeout), is one error in the output, and so
///   is a mapper that panics; everything else goes on.
///
/// # Errors
///
/// Errors are items of the output stream; none of them ends it, but a store that can never become ready. Watches are
/// tried again by themselves.
///
/// # Example
///
/// ```
/// # use kube_client::{Api, Client};
/// use futures::StreamExt;
/// use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
/// use kube_runtime::{controller::Action, Controller, watcher};
/// use std::{convert::Infallible, sync::Arc, time::Duration};
///
/// async fn reconcile(object: Arc<Deployment>, _context: Arc<()>) -> Result<Action, Infallible> {
///     println!("{:?}", object.metadata.name);
///     Ok(Action::requeue(Duration::from_secs(300)))
/// }
///
/// fn error_policy(_object: Arc<Deployment>, _error: &Infallible, _context: Arc<()>) -> Action {
///     Action::requeue(Duration::from_secs(5))
/// }
///
/// async fn run(client: Client) {
///     Controller::new(Api::<Deployment>::all(client.clone()), watcher::Config::default())
///         .owns(Api::<ConfigMap>::all(client), watcher::Config::default())
///         .shutdown_on_signal()
///         .run(reconcile, error_policy, Arc::new(()))
///         .for_each(|result| async move { println!("{result:?}") })
///         .await;
/// }
/// ```
pub struct Controller<K>
where
    K: Clone + Resource + Debug + 'static,
    K::DynamicType: Eq + Hash,
{
    sources: source::Sources<K>,
    dyntype: K::DynamicType,
    reader: Store<K>,
    config: Config,
    shutdown: shutdown::Shutdown,
}

/// How fast, and how many at a time.
///
/// ```
/// use kube_runtime::Config;
/// use std::time::Duration;
///
/// let _config = Config::default()
///     .concurrency(10)
///     .debounce(Duration::from_secs(1))
///     .timeout(Duration::from_secs(60))
///     .backoff(Duration::from_millis(50), Duration::from_secs(300))
///     .write_wait(Duration::from_secs(5));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Config {
    debounce: Duration,
    concurrency: u16,
    retries: RetryLimits,
    timeout: Option<Duration>,
    write_wait: Option<Duration>,
}

/// What can go wrong with running reconcilers, apart from what they report themselves.
pub type RunnerError = runner_error::Error<WriterDropped>;
