//! Running components: their stop signals, failures and restarts.

use super::{
    error::{BoxError, Ended, ManagerError, Panicked},
    grace_period::GracePeriod,
};
use futures::{FutureExt, future::BoxFuture};
use kube_client::error::ErrorChain;
use kube_core::panic::panic_message;
use kube_runtime::watcher::DefaultBackoff;
use std::{collections::BTreeMap, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{
    task::{AbortHandle, JoinSet},
    time::{Instant, sleep, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;

/// How long to wait for the end of what was aborted: at once, unless it blocks its thread.
const ABORT: Duration = Duration::from_millis(100);

/// What happens when a component fails or ends although it should run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Restart {
    /// The manager stops with its error.
    #[default]
    Never,
    /// It is started again, after a wait of 0.8 s that doubles up to 30 s while it keeps failing.
    Always,
}

/// Starts a component with a token that is cancelled when it has to end.
type StartComponent = dyn FnMut(CancellationToken) -> BoxFuture<'static, Result<(), BoxError>> + Send;

/// A component that can be started any number of times.
#[derive(Clone)]
pub(super) struct Component(Arc<Mutex<StartComponent>>);

impl Component {
    pub(super) fn new<F, E>(mut component: impl FnMut(CancellationToken) -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        Self(Arc::new(Mutex::new(move |stop| {
            let run = component(stop);
            async move { run.await.map_err(Into::into) }.boxed()
        })))
    }

    fn start(&self, stop: CancellationToken) -> BoxFuture<'static, Result<(), BoxError>> {
        // Poisoned by a panic of the component, which may be started again all the same.
        (self.0.lock())(stop)
    }
}

/// Runs a component as its restart policy says, until it is stopped. A panic is a failure.
pub(super) async fn supervise(
    name: Arc<str>,
    component: Component,
    restart: Restart,
    stop: CancellationToken,
) -> Result<(), BoxError> {
    let mut backoff = DefaultBackoff::default();
    loop {
        let started = Instant::now();
        let run = AssertUnwindSafe(async { component.start(stop.clone()).await });
        let result = run.catch_unwind().await;
        let result =
            result.unwrap_or_else(|panic| Err(Box::new(Panicked(panic_message(&*panic).to_owned()))));
        let error = match result {
            _ if stop.is_cancelled() => return result,
            Ok(()) => Box::new(Ended),
            Err(error) => error,
        };
        if restart == Restart::Never {
            return Err(error);
        }
        if started.elapsed() > Duration::from_secs(120) {
            backoff = DefaultBackoff::default(); // it had worked
        }
        let wait = backoff.next().unwrap_or_default();
        let error = ErrorChain(&*error).to_string();
        tracing::error!(component = %name, %error, ?wait, "a component failed and is started again");
        tokio::select! {
            () = sleep(wait) => {}
            () = stop.cancelled() => return Ok(()),
        }
    }
}

/// The running components of one phase, which stop together.
#[derive(Default)]
pub(super) struct Group {
    tasks: JoinSet<Result<(), BoxError>>,
    names: BTreeMap<Arc<str>, (AbortHandle, CancellationToken)>,
    stop: CancellationToken,
}

impl Group {
    /// Starts a component. Its token is cancelled with the group, or by [`stop`](Self::stop).
    pub(super) fn start<F>(&mut self, name: Arc<str>, run: impl FnOnce(CancellationToken) -> F)
    where
        F: Future<Output = Result<(), BoxError>> + Send + 'static,
    {
        let token = self.stop.child_token();
        let task = self.tasks.spawn(run(token.clone()));
        self.names.insert(name, (task, token));
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Tells one component to stop. Returns whether there is one of this name.
    pub(super) fn stop(&self, name: &str) -> bool {
        let found = self.names.get(name);
        found.inspect(|(_, token)| token.cancel()).is_some()
    }

    /// Aborts one component, which ends without an error. Returns whether there is one of this name.
    pub(super) fn abort(&self, name: &str) -> bool {
        let found = self.names.get(name);
        found.inspect(|(task, _)| task.abort()).is_some()
    }

    /// The next component that ends; `None` if none runs.
    pub(super) async fn next_ended(&mut self) -> Option<(Arc<str>, Result<(), BoxError>)> {
        let (id, result) = match self.tasks.join_next_with_id().await? {
            Ok((id, result)) => (id, result),
            Err(error) if error.is_cancelled() => (error.id(), Ok(())),
            Err(error) => (error.id(), Err(error.into())),
        };
        let name =
            self.names.iter().find(|(_, (task, _))| task.id() == id).map(|(name, _)| Arc::clone(name))?;
        self.names.remove(&name);
        Some((name, result))
    }

    /// Stops all components, as one phase of the grace period unless there are none, and aborts those that still run at its end. Returns
    /// the first failure, and adds the names of the aborted ones to `late`. `phase` is its name in the log.
    pub(super) async fn stop_all(
        &mut self,
        phase: &'static str,
        grace: &mut GracePeriod,
        late: &mut Vec<String>,
    ) -> Result<(), ManagerError> {
        self.stop.cancel();
        let mut first = Ok(());
        if self.is_empty() {
            return first;
        }
        let (began, deadline) = (Instant::now(), grace.next_deadline());
        tracing::info!(running = self.names.len(), limit = ?deadline - began, "stop: {phase} end");
        loop {
            match timeout_at(deadline, self.next_ended()).await {
                Ok(None) => return first,
                Ok(Some((name, result))) => {
                    let result = result.map_err(|reason| ManagerError::Failed { name, reason });
                    first = first.and(result);
                }
                Err(_) => {
                    late.extend(self.names.keys().map(|name| name.to_string()));
                    self.tasks.abort_all();
                    let ended = async { while self.next_ended().await.is_some() {} };
                    let _blocked = timeout(ABORT, ended).await;
                    return first;
                }
            }
        }
    }
}
