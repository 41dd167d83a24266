//! [`RestMapper`]: finds kinds by name, and keeps what discovery has answered.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};
use kube_core::gvk::GroupVersionKind;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::mapping::{RestMapping, of_argument, of_group_kind, of_kind, versions_of_kind};
use super::run::Discovery;
use crate::client::Client;
use crate::error::Error;
use crate::task::in_task_of_runtime;

/// Finds kinds that are known only at run time: by group, version and kind, or by a name that a user types. It is what client-go calls a
/// `RESTMapper`, with a cache.
///
/// Cheap to clone; all clones share the cache. Use one for the whole program.
///
/// ```
/// use kube_client::api::{Api, DynamicObject, GroupVersionKind};
/// use kube_client::{Client, discovery::RestMapper};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
///
/// let mapper = RestMapper::new(client.clone());
/// let deployments = mapper.resource("deploy").await?;
/// assert_eq!(deployments.resource.api_version, "apps/v1");
/// let nodes = mapper.kind(&GroupVersionKind::gvk("", "v1", "Node")).await?;
/// assert!(!nodes.is_namespaced());
/// let api = Api::<DynamicObject>::dynamic(client, &nodes.resource, &nodes.capabilities.scope);
/// assert_eq!(api.resource_url(), "/api/v1/nodes");
/// # Ok(())
/// # }
/// ```
///
/// # Cost
/// The first call fetches all groups, as [`Discovery::run`] does: two requests where the server supports aggregated discovery. What was
/// found is kept until [`invalidate`](Self::invalidate). A kind or name that is not found leads to one more fetch, because a CRD may be
/// new; the same one again only after [5 seconds](Self::miss_interval). Concurrent calls share one fetch: of a fetch that began before the
/// call only what is found counts, and those who miss in it share the next one. A lookup by kind looks at one version of one group, one by
/// name at every resource.
///
/// # Cancellation
/// Safe: a fetch goes on while any call waits for it, and ends with the last one. No lock is held while it runs.
#[derive(Clone)]
pub struct RestMapper {
    cache: Arc<Cache>,
    miss_interval: Duration,
}

struct Cache {
    client: Client,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    fetched: Option<Arc<Discovery>>,
    running: Option<Running>,
    /// How many fetches have begun.
    begun: u64,
    /// Counts the calls of `invalidate`, so that a fetch that was started before one does not fill the cache.
    generation: u64,
    misses: Misses,
    /// The groups that could not be fetched the last time, so that the log says it once.
    failed: Vec<String>,
}

struct Running {
    fetch: WeakShared<Fetch>,
    /// Its number, once it has begun.
    number: Option<u64>,
}

type Fetch = BoxFuture<'static, Result<Arc<Discovery>, Arc<Error>>>;

impl fmt::Debug for RestMapper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestMapper").field("miss_interval", &self.miss_interval).finish_non_exhaustive()
    }
}

impl RestMapper {
    /// A mapper with an empty cache. Sends no request.
    #[must_use]
    pub fn new(client: Client) -> Self {
        let cache = Cache { client, state: Mutex::default() };
        Self { cache: Arc::new(cache), miss_interval: Duration::from_secs(5) }
    }

    /// For how long a kind or name that was not found is not looked up again: 5 seconds by default. So the answer that the cluster does not
    /// serve it may be as old. With zero, each such call fetches.
    #[must_use]
    pub fn miss_interval(mut self, interval: Duration) -> Self {
        self.miss_interval = interval;
        self
    }

    /// The kind, in exactly the version of `gvk`.
    ///
    /// # Errors
    /// [`RestMapperError::NoMatch`] if the cluster does not serve it, [`RestMapperError::Discovery`] if discovery failed.
    pub async fn kind(&self, gvk: &GroupVersionKind) -> Result<RestMapping, RestMapperError> {
        let wanted = format!("kind {:?} in version {:?}", gvk.kind, gvk.api_version());
        self.find(wanted, &gvk.kind, |discovery| of_kind(discovery, gvk)).await
    }

    /// The kind, in the version that the server prefers, or else in the newest of the most stable ones that have it.
    ///
    /// # Errors
    /// As [`kind`](Self::kind).
    pub async fn group_kind(&self, group: &str, kind: &str) -> Result<RestMapping, RestMapperError> {
        let wanted = format!("kind {kind:?} in group {group:?}");
        self.find(wanted, kind, |discovery| of_group_kind(discovery, group, kind)).await
    }

    /// The resource that a user means by `name`: plural, singular, short name or kind, alone (`deployments`, `deploy`), with a group
    /// (`deployments.apps`) or with a version and a group (`deployments.v1.apps`), as for `kubectl get`. Case does not matter.
    ///
    /// Where several groups have it, the first in the server's order of groups is meant, and in a group the version that the server
    /// prefers.
    ///
    /// # Errors
    /// As [`kind`](Self::kind).
    pub async fn resource(&self, name: &str) -> Result<RestMapping, RestMapperError> {
        let wanted = format!("resource {name:?}");
        self.find(wanted, name, |discovery| of_argument(discovery, name)).await
    }

    /// Forgets everything, so that the next call fetches. A fetch that runs answers those who wait for it, and does not fill the cache.
    ///
    /// Needed only where a kind was removed or changed: new ones are found anyway.
    pub fn invalidate(&self) {
        let mut state = self.cache.state.lock();
        let failed = std::mem::take(&mut state.failed);
        *state = State { generation: state.generation + 1, begun: state.begun, failed, ..State::default() };
    }

    /// The groups of the last fetch, which is the first one if there was none.
    ///
    /// # Errors
    /// [`RestMapperError::Discovery`].
    pub async fn discovery(&self) -> Result<Arc<Discovery>, RestMapperError> {
        let (fetched, begun) = self.cache.known();
        match fetched {
            Some(fetched) => Ok(fetched),
            None => self.fetch(begun, |_| true).await,
        }
    }

    async fn find(
        &self,
        wanted: String,
        kind: &str,
        find: impl Fn(&Discovery) -> Option<RestMapping>,
    ) -> Result<RestMapping, RestMapperError> {
        let started = Instant::now();
        let (fetched, begun) = self.cache.known();
        if let Some(found) = fetched.as_deref().and_then(&find) {
            return Ok(found);
        }
        let recent_miss = self.cache.state.lock().misses.is_recent(&wanted, started, self.miss_interval);
        let discovery = match fetched {
            Some(fetched) if recent_miss => fetched,
            _ => self.fetch(begun, |discovery| find(discovery).is_some()).await?,
        };
        if let Some(found) = find(&discovery) {
            return Ok(found);
        }
        // Whoever fetches at each call needs no memory of it, and others did not ask.
        if !recent_miss && !self.miss_interval.is_zero() {
            self.cache.state.lock().misses.add(wanted.clone(), started, self.miss_interval);
        }
        Err(RestMapperError::NoMatch(Box::new(NoMatch {
            wanted,
            served: versions_of_kind(&discovery, kind),
            failed_groups: discovery.failed_groups().map(str::to_owned).collect(),
        })))
    }

    /// Fetches all groups, or waits for a fetch by another call. One of the first `begun` fetches is older than the question, so only what
    /// it finds is an answer.
    async fn fetch(
        &self,
        begun: u64,
        answers: impl Fn(&Discovery) -> bool,
    ) -> Result<Arc<Discovery>, RestMapperError> {
        loop {
            let (fetch, number) = Cache::running_fetch(&self.cache);
            let is_newer = number.is_none_or(|number| number > begun);
            match fetch.await {
                Ok(fetched) if is_newer || answers(&fetched) => return Ok(fetched),
                Err(err) if is_newer => return Err(RestMapperError::Discovery(err)),
                _ => {} // it is not running any more
            }
        }
    }
}

impl Cache {
    /// The last fetch, and how many have begun.
    fn known(&self) -> (Option<Arc<Discovery>>, u64) {
        let state = self.state.lock();
        (state.fetched.clone(), state.begun)
    }

    /// The fetch that runs, with its number if it has begun. Starts one if none runs.
    fn running_fetch(cache: &Arc<Self>) -> (Shared<Fetch>, Option<u64>) {
        let mut state = cache.state.lock();
        let running = state.running.as_ref().and_then(|it| Some((it.fetch.upgrade()?, it.number)));
        if let Some(running) = running {
            return running;
        }
        // In a task, so that calls at the same time share it: it begins after them.
        let fetch = in_task_of_runtime(Self::fetch(Arc::clone(cache), state.generation));
        let ended_early = || Err(Arc::new(Error::Service("the task that runs discovery ended early".into())));
        let fetch = async move { fetch.await.unwrap_or_else(ended_early) }.boxed().shared();
        state.running = fetch.downgrade().map(|fetch| Running { fetch, number: None });
        (fetch, None)
    }

    async fn fetch(self: Arc<Self>, generation: u64) -> Result<Arc<Discovery>, Arc<Error>> {
        self.begin(generation);
        let logged = self.state.lock().failed.clone();
        let discovery = Discovery::new(self.client.clone()).logged(logged);
        let fetched = discovery.run().await.map(Arc::new).map_err(Arc::new);
        let mut state = self.state.lock();
        if let Ok(fetched) = &fetched {
            state.failed = fetched.failed_groups().map(str::to_owned).collect();
        }
        if state.generation == generation {
            state.running = None;
            if let Ok(fetched) = &fetched {
                state.fetched = Some(Arc::clone(fetched));
            }
        }
        fetched
    }

    fn begin(&self, generation: u64) {
        let mut state = self.state.lock();
        state.begun += 1;
        let number = state.begun;
        if state.generation == generation
            && let Some(running) = &mut state.running
        {
            running.number = Some(number);
        }
    }
}

/// When each kind or name was looked for in vain.
#[derive(Default)]
struct Misses(HashMap<String, Instant>);

impl Misses {
    fn is_recent(&self, wanted: &str, now: Instant, interval: Duration) -> bool {
        self.0.get(wanted).is_some_and(|at| now.saturating_duration_since(*at) < interval)
    }

    /// Forgets the old ones as well, so that it holds no more than were looked for in one interval.
    fn add(&mut self, wanted: String, now: Instant, interval: Duration) {
        self.0.retain(|_, at| now.saturating_duration_since(*at) < interval);
        self.0.insert(wanted, now);
    }
}

/// Why a [`RestMapper`] did not find a kind.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RestMapperError {
    /// The cluster does not serve it.
    #[error("{0}")]
    NoMatch(Box<NoMatch>),
    /// Discovery failed, so that nothing is known.
    #[error("{0}")]
    Discovery(#[source] Arc<Error>),
}

impl RestMapperError {
    /// Whether the cluster certainly does not serve the kind: discovery succeeded, with every group. As of the last look, which may be as
    /// old as [`RestMapper::miss_interval`]: with zero, it is not older than the call.
    pub fn is_no_match(&self) -> bool {
        matches!(self, Self::NoMatch(missing) if missing.failed_groups.is_empty())
    }
}

/// What a cluster does not serve, and what may help.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NoMatch {
    /// The kind or resource that was looked for, in words.
    pub wanted: String,
    /// The versions in which the cluster serves a kind of this name, such as `apps/v1`.
    pub served: Vec<String>,
    /// Groups that discovery could not fetch. The kind may be in one of them.
    pub failed_groups: Vec<String>,
}

impl fmt::Display for NoMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the cluster serves no {}", self.wanted)?;
        if !self.served.is_empty() {
            write!(f, "; it serves a kind of this name in {}", self.served.join(", "))?;
        }
        if !self.failed_groups.is_empty() {
            write!(f, "; it could not tell what is in {}", self.failed_groups.join(", "))?;
        }
        if self.served.is_empty() && self.failed_groups.is_empty() {
            f.write_str("; for a custom resource, install its CRD first")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
