//! The operator that is tried: a function that runs until it is dropped.

use std::{any::Any, collections::BTreeMap, fmt::Debug, future::Future, sync::Arc, time::Duration};

use futures::{FutureExt, future::BoxFuture};
use kube_testserver::ApiServer;
use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::{
    gate::{ApiService, Session, observe_reconciles},
    panics::{self, TestFailure},
    webhooks::WebhookServices,
};

/// How long a crashed operator takes to start again.
const RESTART: Duration = Duration::from_secs(1);

/// An operator: a function of the API server that returns the whole program as a future.
///
/// Implemented for functions of an [`ApiService`] and, with the feature `kube`, for functions of a `Client`. The function is called again
/// for each process: after a crash, a restart. The future ends where the program would; in a run without
/// faults that is a finding ([`Oracle::Ended`](crate::Oracle::Ended)).
///
/// To drop the future has to end all of the program: let it own its tasks, as with a `JoinSet`. A task that goes on gets no answers any
/// more, but it reaches fakes, and its panics are told if they are not about a missing answer.
pub trait Operator<From>: Send + Sync + 'static {
    /// Starts the program. The result tells how it ended.
    fn start(&self, service: ApiService) -> BoxFuture<'static, String>;
}

impl<F, Fut> Operator<ApiService> for F
where
    F: Fn(ApiService) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Debug> + Send + 'static,
{
    fn start(&self, service: ApiService) -> BoxFuture<'static, String> {
        let program = self(service);
        Box::pin(async move { format!("{:?}", program.await) })
    }
}

#[cfg(feature = "kube")]
impl<F, Fut> Operator<kube_client::Client> for F
where
    F: Fn(kube_client::Client) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Debug> + Send + 'static,
{
    /// The client has the layers of a real one: it repeats what is refused with 429 or 503.
    fn start(&self, service: ApiService) -> BoxFuture<'static, String> {
        let url = "http://verify.invalid".parse().expect("invariant: the URL is valid");
        let config = kube_client::Config::new(url);
        match kube_client::Client::with_transport(&config, service) {
            Ok(client) => {
                let program = self(client);
                Box::pin(async move { format!("{:?}", program.await) })
            }
            Err(error) => Box::pin(async move { format!("no client: {error}") }),
        }
    }
}

/// Starts a process of the operator.
pub(crate) type Start = Arc<dyn Fn(ApiService) -> BoxFuture<'static, String> + Send + Sync>;

/// The processes of a run: those of the new version, and before an upgrade those of the old one.
pub(crate) struct Versions {
    pub(crate) old: Option<Start>,
    pub(crate) new: Start,
}

/// What surrounds the operator in one run.
///
/// A fake of an external system belongs to a run, not to a process of the operator: make it before the function that starts the operator,
/// so that it outlives crashes.
pub struct World {
    external: Mutex<BTreeMap<String, StateOf>>,
    fakes: Mutex<BTreeMap<String, Arc<dyn Any + Send + Sync>>>,
    webhooks: WebhookServices,
    failure: TestFailure,
}

type StateOf = Arc<dyn Fn() -> Value + Send + Sync>;

impl Default for World {
    /// Without a run: for tests of fakes.
    fn default() -> Self {
        Self::new(None, TestFailure::default())
    }
}

impl World {
    /// What surrounds the operator in a run on this server.
    pub(crate) fn new(server: Option<ApiServer>, failure: TestFailure) -> Self {
        let (external, fakes) = Default::default();
        Self { external, fakes, webhooks: WebhookServices::new(server), failure }
    }

    /// The webhooks of the operator, which the API server calls in the process.
    ///
    /// ```
    /// use kube_verify::{ApiService, Verify};
    ///
    /// # use bytes::Bytes;
    /// # use http_body_util::Full;
    /// # async fn run_operator(_: ApiService) {}
    /// # fn webhooks_of(_: &ApiService) -> impl tower::Service<http::Request<Full<Bytes>>, Response = http::Response<Full<Bytes>>,
    /// #     Error = std::io::Error, Future: Send> + Clone + Send + 'static {
    /// #     tower::service_fn(|_| async { Ok(http::Response::default()) })
    /// # }
    /// let verify = Verify::new(|world| {
    ///     let webhooks = world.webhooks();
    ///     move |service: ApiService| {
    ///         webhooks.serve("shop", "prices", 443, webhooks_of(&service));
    ///         run_operator(service)
    ///     }
    /// });
    /// # drop(verify);
    /// ```
    pub fn webhooks(&self) -> WebhookServices {
        self.webhooks.clone()
    }

    /// Makes the state of an external system part of the result: it is compared after each step, like the objects of the cluster.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex, PoisonError};
    /// use kube_verify::{ApiService, Verify};
    ///
    /// # async fn run_operator(_: ApiService, _: Arc<Mutex<Vec<String>>>) {}
    /// let verify = Verify::new(|world| {
    ///     let buckets = Arc::new(Mutex::new(Vec::<String>::new()));
    ///     let state = buckets.clone();
    ///     // Also after a panic of the operator.
    ///     world.external("buckets", move || serde_json::json!(*state.lock().unwrap_or_else(PoisonError::into_inner)));
    ///     move |service: ApiService| run_operator(service, buckets.clone())
    /// });
    /// # drop(verify);
    /// ```
    ///
    /// A second one of the same name takes the place of the first.
    pub fn external(&self, name: impl Into<String>, state: impl Fn() -> Value + Send + Sync + 'static) {
        self.external.lock().insert(name.into(), Arc::new(state));
    }

    /// A fake of this name, made at the first call: the old and the new version of an operator share it, as they would share the system.
    ///
    /// # Panics
    /// If the first call of this name made another type.
    pub fn fake<T: Send + Sync + 'static>(
        &self,
        name: impl Into<String>,
        make: impl FnOnce() -> T,
    ) -> Arc<T> {
        let name = name.into();
        let known = self.fakes.lock().get(&name).cloned();
        let fake = known.unwrap_or_else(|| {
            // Without the lock: it may ask for another fake.
            let made: Arc<T> = Arc::new(self.failure.pass(|| format!("the fake {name:?}"), make));
            self.fakes.lock().entry(name.clone()).or_insert(made).clone()
        });
        fake.downcast().unwrap_or_else(|_| panic!("the fake {name:?} is of another type"))
    }

    /// The state of all external systems.
    pub(crate) fn state(&self) -> Value {
        let systems = self.external.lock().clone();
        let state = |(name, state): (String, StateOf)| {
            let of_system =
                self.failure.catch(|| format!("the state of the external system {name:?}"), || state());
            (name, of_system.unwrap_or_default())
        };
        Value::Object(systems.into_iter().map(state).collect::<Map<_, _>>())
    }
}

impl Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("external", &self.state()).finish()
    }
}

/// Runs the operator, and starts it again after each crash, as a cluster does.
pub(crate) async fn supervise(session: Arc<Session>, versions: Versions, world: Arc<World>) {
    let mut held = session.held.subscribe();
    let mut old = versions.old;
    loop {
        // Cannot fail: the session owns the sender.
        let _ = held.wait_for(|held| !held).await;
        // A crash while no process ran is none of the next one.
        let _ = session.crashed.notified().now_or_never();
        if session.is_upgraded() && old.take().is_some() {
            session.begin_new_version(world.state());
            panics::forget();
        }
        let start = old.as_ref().unwrap_or(&versions.new);
        let (start, service) = (start.clone(), ApiService::new(&session, session.incarnation()));
        world.webhooks.begin();
        observe_reconciles(&session);
        // The function itself may panic as well.
        let mut process = tokio::spawn(async move { start(service).await });
        panics::process_begins(process.id());
        tokio::select! {
            biased;
            () = session.crashed.notified() => {
                world.webhooks.end();
                panics::process_ends();
                process.abort();
            }
            ended = &mut process => {
                session.end_incarnation();
                world.webhooks.end();
                panics::process_ends();
                let text = match &ended {
                    Ok(how) => format!("the operator ended: {how}"),
                    Err(_) => "the operator panicked".to_owned(),
                };
                session.log(text);
                session.trace(|trace| trace.ended = trace.ended.take().or(ended.ok()));
            }
        }
        tokio::time::sleep(RESTART).await;
    }
}
