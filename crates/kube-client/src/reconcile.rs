//! The scope of a reconcile: whose requests the current task makes, and what they have written.
//!
//! A controller of `kube-runtime` that waits for its own writes runs each reconcile in a scope. Requests that are made in it carry a
//! [`ReconcileMark`] in their extensions, and each write that the server confirms is recorded in the mark. A task that the reconcile spawns
//! is in the scope if it is spawned by [`ReconcileScope::spawn`]; one that `tokio::spawn` makes is not, and its writes are nobody's.

use std::future::Future;

use http::{Method, Request, Uri};
use kube_core::reconcile::{Observed, OwnWrite, ReconcileMark, StoreRead};
use tokio::task::JoinHandle;

use crate::stack;

tokio::task_local! {
    static CURRENT: Scope;
}

/// What is known of a reconcile that runs.
#[derive(Clone, Debug)]
struct Scope {
    mark: ReconcileMark,
    /// How often clients were led to other clusters before it began: what it has read is of the clusters until then.
    began: u64,
}

/// The reconcile that the current code belongs to, if it belongs to one. Clones are the same.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_client::{Api, Client, api::PostParams, reconcile::ReconcileScope};
///
/// /// Creates two objects at the same time. The next reconcile sees both.
/// async fn create_both(client: Client, one: ConfigMap, two: ConfigMap) -> Result<(), Box<dyn std::error::Error>> {
///     let maps: Api<ConfigMap> = Api::default_namespaced(client);
///     let scope = ReconcileScope::current();
///     let first = scope.spawn({
///         let maps = maps.clone();
///         async move { maps.create(&PostParams::default(), &one).await }
///     });
///     maps.create(&PostParams::default(), &two).await?;
///     first.await??;
///     Ok(())
/// }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let map = |name: &str| ConfigMap {
/// #     metadata: kube_core::ObjectMeta { name: Some(name.into()), ..Default::default() },
/// #     ..ConfigMap::default()
/// # };
/// # create_both(Client::new(kube_testserver::ApiServer::new(), "default"), map("one"), map("two")).await
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Only what is written before the reconcile returns is waited for: await the handles of tasks that write.
#[derive(Clone, Debug, Default)]
pub struct ReconcileScope(Option<Scope>);

impl ReconcileScope {
    /// The scope of the current code. Outside of a reconcile, and in one of a controller that does not wait for its own writes, it is
    /// empty, and its methods do what they would do without a scope.
    #[must_use]
    pub fn current() -> Self {
        Self(CURRENT.try_with(Clone::clone).ok())
    }

    /// Which reconcile it is; `None` if it is empty.
    #[must_use]
    pub fn mark(&self) -> Option<&ReconcileMark> {
        self.0.as_ref().map(|scope| &scope.mark)
    }

    /// Runs `future` in this scope, wherever it is polled.
    pub async fn in_scope<F: Future>(self, future: F) -> F::Output {
        match self.0 {
            Some(scope) => CURRENT.scope(scope, future).await,
            None => future.await,
        }
    }

    /// Calls `f` in this scope.
    pub fn sync_scope<R>(&self, f: impl FnOnce() -> R) -> R {
        match &self.0 {
            Some(scope) => CURRENT.sync_scope(scope.clone(), f),
            None => f(),
        }
    }

    /// Spawns a task of tokio in this scope.
    ///
    /// # Panics
    /// Outside of a runtime of tokio, as `tokio::spawn`.
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        tokio::spawn(self.clone().in_scope(future))
    }
}

impl From<ReconcileMark> for ReconcileScope {
    /// The scope of a reconcile with this mark, which begins now.
    fn from(mark: ReconcileMark) -> Self {
        Self(Some(Scope { mark, began: stack::cluster_changes() }))
    }
}

/// Tells the observer of the current reconcile, if there is one, that it reads a store. Without any observer in the process, this is one
/// load of a number.
pub fn observe_read(read: impl FnOnce() -> StoreRead) {
    if ReconcileMark::any_observed() {
        // The error: it is no reconcile.
        CURRENT.try_with(|scope| scope.mark.observe(|| Observed::Read(read()))).unwrap_or_default();
    }
}

/// How often any client of this process was led to another cluster. For the controllers of `kube-runtime`.
#[doc(hidden)]
#[must_use]
pub fn cluster_changes() -> u64 {
    stack::cluster_changes()
}

/// How often that was when the current reconcile began, if there is one.
pub(crate) fn began() -> Option<u64> {
    CURRENT.try_with(|scope| scope.began).ok()
}

/// Marks a request of the current reconcile, if there is one.
pub(crate) fn mark<B>(request: &mut Request<B>) {
    let Ok(mark) = CURRENT.try_with(|scope| scope.mark.clone()) else { return };
    if request.extensions().get::<ReconcileMark>().is_some() {
        return; // by a client above this one
    }
    mark.observe(|| Observed::Requested { method: request.method(), uri: request.uri() });
    request.extensions_mut().insert(mark);
}

/// A request that may write, made in a scope: once its response is known, what it has written is recorded.
pub(crate) struct PendingWrite {
    mark: ReconcileMark,
    method: Method,
    uri: Uri,
}

impl PendingWrite {
    /// `None` outside of a scope, and for a request that does not write an object.
    pub(crate) fn of<B>(request: &Request<B>) -> Option<Self> {
        let mark = CURRENT.try_with(|scope| scope.mark.clone()).ok()?;
        if !OwnWrite::may_follow(request.method(), request.uri()) {
            return None;
        }
        Some(Self { mark, method: request.method().clone(), uri: request.uri().clone() })
    }

    /// The server at this address has confirmed it with this response.
    pub(crate) fn confirmed(self, response: &[u8], server: Option<String>) {
        if let Some(mut write) = OwnWrite::of(&self.method, &self.uri, response) {
            write.server = server;
            self.mark.record(write);
        }
    }
}
