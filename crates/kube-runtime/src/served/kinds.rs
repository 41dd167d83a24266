//! [`ServedKinds`]: what programs see of it.

use super::{
    availability::{Availability, Finding, KnownKind},
    task,
    wanted::{Shared, State, Wanted},
};
use crate::{task::CancelableJoinHandle, watcher::seconds};
use kube_client::{Client, discovery::RestMapper};
use kube_core::{ApiResource, ClusterResourceScope, NamespaceResourceScope, Resource, discovery::Scope};
use parking_lot::Mutex;
use serde::Serialize;
use std::{any::TypeId, fmt, future::pending, mem::discriminant, sync::Arc, time::Duration};
use tokio::{
    runtime::Handle,
    sync::{Notify, watch},
    time::Instant,
};

/// Which of the kinds that a program asks for the cluster serves, as definitions come and go. Clones share all.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kube_client::Client;
/// use kube_runtime::served::{Availability, ServedKinds};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
/// let mut maps = ServedKinds::new(client).kind::<ConfigMap>();
/// assert!(matches!(maps.next().await, Availability::Served(resource) if resource.version == "v1"));
/// // The next call returns when that has changed.
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Cost
///
/// One watch of the metadata of all CustomResourceDefinitions and one of that of all APIServices, and four runs of discovery within the
/// 10 s after each change of a definition of a group that is asked for; two more within a minute if a kind is still missing. Nothing is
/// polled, but a group that the server cannot look up is asked for again, at most every 30 s, until it can. They begin when the first
/// [`ServedKind`] is asked, in a task of the runtime there, and end with the last clone of this and the last [`ServedKind`].
///
/// # Permissions
///
/// `list` and `watch` of `customresourcedefinitions` in `apiextensions.k8s.io` and of `apiservices` in `apiregistration.k8s.io`. Without
/// them, and while a watch does not work for a minute, one line of the log says which, and discovery runs every minute; then a kind that
/// is removed and returns within a minute is not noticed.
#[derive(Clone)]
pub struct ServedKinds(Arc<Running>);

struct Running {
    shared: Arc<Shared>,
    task: Mutex<Option<CancelableJoinHandle<()>>>,
}

/// A kind at one time: an entry of [`ServedKinds::snapshot`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct KindSnapshot {
    /// Such as `Page.example.com`.
    pub name: String,
    /// `served`, `missing`, `mismatch`, or `unknown`, as before the first answer of the server: see [`Availability`].
    pub state: &'static str,
    /// The version that the program uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// For how long it is served, or not.
    #[serde(rename = "since_seconds", serialize_with = "seconds")]
    pub since: Duration,
    /// Why it is not served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Whether one kind is served: from [`ServedKinds::kind`]. A clone begins anew.
pub struct ServedKind {
    kinds: ServedKinds,
    state: watch::Receiver<Option<State>>,
    /// What `next` returned last.
    last: Option<Finding>,
}

impl ServedKinds {
    /// Of the cluster of this client. Sends no request yet.
    #[must_use]
    pub fn new(client: Client) -> Self {
        let mapper = RestMapper::new(client.clone());
        let shared = Shared { client, mapper, asked: Notify::new(), wanted: Mutex::default() };
        Self(Arc::new(Running { shared: Arc::new(shared), task: Mutex::default() }))
    }

    /// The kind of this type, in its version, with its scope.
    #[must_use]
    pub fn kind<K: Resource<DynamicType: Default> + 'static>(&self) -> ServedKind {
        let known = ApiResource::erase::<K>(&K::DynamicType::default());
        self.kind_in(known, [], scope_of::<K>())
    }

    /// A kind of which the program knows several versions, in any order. The newest one that is served is used, by the order of versions of
    /// Kubernetes; of several groups, the one that is named first. `scope` is what the program expects; `None` if it handles both.
    #[must_use]
    pub fn kind_in(
        &self,
        known: ApiResource,
        others: impl IntoIterator<Item = ApiResource>,
        scope: Option<Scope>,
    ) -> ServedKind {
        let known = KnownKind::new(known, others, scope);
        let mut wanted = self.0.shared.wanted.lock();
        let same = wanted.iter_mut().find(|it| it.known == known);
        let state = match same {
            Some(same) => same.subscribe(),
            None => {
                let (state, receiver) = watch::channel(None);
                wanted.push(Wanted::new(known, state));
                self.0.shared.asked.notify_one();
                receiver
            }
        };
        drop(wanted);
        ServedKind { kinds: self.clone(), state, last: None }
    }

    /// All kinds that somebody waits for, or has asked for within the last day, in the order in which they were asked for first.
    #[must_use]
    pub fn snapshot(&self) -> Vec<KindSnapshot> {
        let now = Instant::now();
        let mut wanted = self.0.shared.wanted.lock();
        let used = wanted.iter_mut().filter_map(|wanted| wanted.is_used(now).then_some(&*wanted));
        used.map(|wanted| {
            let state = wanted.state.borrow().clone();
            let (name, since) =
                (wanted.known.name(), state.as_ref().map_or(wanted.asked, |state| state.since));
            let (state, version, message) = match finding(state.as_ref()) {
                Finding::Served(served) => ("served", Some(served.resource.version), None),
                Finding::Mismatch(why) => ("mismatch", None, Some(why)),
                Finding::Missing(why) => ("missing", None, Some(why)),
                Finding::Unknown(why) => ("unknown", None, Some(why)),
            };
            KindSnapshot { name, state, version, since: now.saturating_duration_since(since), message }
        })
        .collect()
    }

    fn ensure_running(&self) {
        self.0.task.lock().get_or_insert_with(|| {
            CancelableJoinHandle::spawn(task::run(Arc::clone(&self.0.shared)), &Handle::current())
        });
    }
}

/// What is known, before the first answer too.
fn finding(state: Option<&State>) -> Finding {
    let unanswered = || Finding::Unknown("the server has not said yet which kinds it serves".to_owned());
    state.map_or_else(unanswered, |state| state.finding.clone())
}

/// The scope that a type has; `None` for a type that may have either, such as `DynamicObject`. For [`ServedKinds::kind_in`].
#[must_use]
pub fn scope_of<K: Resource + 'static>() -> Option<Scope> {
    let scope = TypeId::of::<K::Scope>();
    if scope == TypeId::of::<NamespaceResourceScope>() {
        Some(Scope::Namespaced)
    } else if scope == TypeId::of::<ClusterResourceScope>() {
        Some(Scope::Cluster)
    } else {
        None
    }
}

impl ServedKind {
    /// The first call returns when discovery has worked once, each further one when the answer is another one than the last, or the version
    /// or scope in which the kind is served. A kind that is removed and served again before it is noticed counts as served all the time.
    ///
    /// Of an API whose server is away, what was served before counts as served, because its objects exist; else the answer is
    /// [`Unknown`](Availability::Unknown). A kind that was served and whose definition was not seen to be deleted is missing when the
    /// server has said so for 3 s: of several API servers, one may lag behind.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    ///
    /// # Cancellation
    ///
    /// Safe: no change is lost.
    pub async fn next(&mut self) -> Availability {
        self.kinds.ensure_running();
        loop {
            let finding = self.state.borrow_and_update().as_ref().map(|state| state.finding.clone());
            if let Some(finding) = finding.filter(|finding| self.is_news(finding)) {
                self.last = Some(finding.clone());
                return finding.into();
            }
            if self.state.changed().await.is_err() {
                pending::<()>().await; // the sender lives as long as this does
            }
        }
    }

    /// The last answer, without a wait, for a reconcile: [`Unknown`](Availability::Unknown) before the first one. Does not change what
    /// [`next`](Self::next) returns. The answer is kept for a day after the last [`ServedKind`] is dropped, so that a reconcile may ask
    /// [`ServedKinds`] anew each time.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    #[must_use]
    pub fn now(&self) -> Availability {
        self.kinds.ensure_running();
        finding(self.state.borrow().as_ref()).into()
    }

    /// Whether it is served now, as far as is known.
    pub(crate) fn is_served(&self) -> bool {
        self.state.borrow().as_ref().is_some_and(State::is_served)
    }

    /// Another reason for the same answer is none.
    fn is_news(&self, finding: &Finding) -> bool {
        match (&self.last, finding) {
            (Some(Finding::Served(last)), Finding::Served(now)) => last != now,
            (Some(last), now) => discriminant(last) != discriminant(now),
            (None, _) => true,
        }
    }
}

impl Clone for ServedKind {
    fn clone(&self) -> Self {
        Self { kinds: self.kinds.clone(), state: self.state.clone(), last: None }
    }
}

impl fmt::Debug for ServedKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServedKinds").field(&self.snapshot()).finish()
    }
}

impl fmt::Debug for ServedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServedKind").field("state", &*self.state.borrow()).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "kinds_tests.rs"]
mod tests;
