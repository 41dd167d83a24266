//! What this program may not do that it needs: asked when the manager starts and when something is added to it, and said in one message.
//! What a reconciler is refused later is said then.

use super::{replicas::Replicas, writes::Writes};
use crate::{
    rbac::{Permissions, missing_permissions, permissions_for, refused_permission},
    webhook::certificates::CertificateNeeds,
};
use http::{Method, Request, StatusCode, Uri};
use kube_client::{
    Api, Client, Error,
    client::Body,
    error::{ErrorChain, status_of},
};
use kube_core::{ClusterResourceScope, Resource, Status};
use kube_runtime::watcher;
use parking_lot::Mutex;
use std::{
    any::TypeId,
    collections::HashSet,
    error::Error as StdError,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};
use tokio::task::JoinSet;

/// How long refused requests are collected where the server does not answer questions: the first attempts of all watches are made by then.
const COLLECTED: Duration = Duration::from_secs(10);

/// Where a recorder writes events about objects without a namespace.
const CLUSTER_NAMESPACE: &str = "kube-system";

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces";

/// The name in requests about objects of any name.
const ANY: &str = "any";

/// The requests for which a manager needs permissions.
#[derive(Clone, Default)]
pub(super) struct NeededRequests(HashSet<(Method, Uri)>);

impl NeededRequests {
    /// Such as `pages, Writes::Status`, and the requests of these writes.
    pub(super) fn of_writes<K: Resource<Scope: 'static>>(api: &Api<K>, writes: Writes) -> (String, Self) {
        let cluster_scoped = TypeId::of::<K::Scope>() == TypeId::of::<ClusterResourceScope>();
        let mut needed = Self::default();
        needed.add_writes(api.resource_url(), writes, cluster_scoped);
        let plural = api.resource_url().rsplit('/').next().unwrap_or_default();
        (format!("{plural}, Writes::{writes:?}"), needed)
    }

    /// List and watch of this collection.
    pub(super) fn add_watch(&mut self, path: &str) {
        self.add(Method::GET, path);
        self.add(Method::GET, &format!("{path}?watch=true"));
    }

    /// What tells clusters apart.
    pub(super) fn add_identity(&mut self) {
        self.add(Method::GET, "/api/v1/namespaces/kube-system");
    }

    /// What leader election or sharding does with Leases.
    pub(super) fn add_leases(&mut self, replicas: &Replicas) {
        let leases = |namespace: &str| format!("{LEASES}/{namespace}/leases");
        match replicas {
            Replicas::Alone => {}
            Replicas::Elected(config) => {
                let (leases, name) = (leases(&config.namespace), &config.name);
                self.add(Method::GET, &format!("{leases}/{name}"));
                self.add(Method::POST, &leases);
                self.add(Method::PUT, &format!("{leases}/{name}"));
            }
            Replicas::Sharded(config) => {
                let (leases, name) = (leases(config.namespace()), ANY);
                self.add(Method::GET, &leases);
                self.add(Method::POST, &leases);
                self.add(Method::PUT, &format!("{leases}/{name}"));
                self.add(Method::DELETE, &format!("{leases}/{name}"));
            }
        }
    }

    /// What the library's helpers request for such writes to objects of this collection.
    pub(super) fn add_writes(&mut self, path: &str, writes: Writes, cluster_scoped: bool) {
        let any = format!("{path}/{ANY}");
        match writes {
            Writes::Objects => {
                self.add(Method::GET, &any);
                self.add(Method::POST, path);
                self.add(Method::PATCH, &any);
            }
            Writes::Children => {
                self.add_writes(path, Writes::Objects, cluster_scoped);
                self.add(Method::GET, path);
                self.add(Method::DELETE, &any);
            }
            // The `get` of finalizers follows a conflict with another writer.
            Writes::Finalizers | Writes::ChildrenRecord => {
                self.add(Method::GET, &any);
                self.add(Method::PATCH, &any);
            }
            Writes::Status => {
                self.add(Method::GET, &any);
                self.add(Method::PATCH, &format!("{any}/status"));
            }
            Writes::Events => {
                let events = events_of(path, cluster_scoped);
                self.add(Method::POST, &events);
                self.add(Method::PATCH, &format!("{events}/{ANY}"));
            }
            Writes::OwnerReferences => self.add(Method::PUT, &format!("{any}/finalizers")),
        }
    }

    /// What the source of certificates requests.
    pub(super) fn add_certificates(&mut self, needs: &CertificateNeeds) {
        let CertificateNeeds::SelfSigned { namespace, secret, targets, .. } = needs else { return };
        let secrets = format!("/api/v1/namespaces/{namespace}/secrets");
        self.add(Method::POST, &secrets);
        self.add(Method::GET, &format!("{secrets}/{secret}"));
        self.add(Method::PUT, &format!("{secrets}/{secret}"));
        for (resource, name) in targets {
            let path = format!("/apis/{}/{}", resource.api_version, resource.plural);
            self.add(Method::GET, &format!("{path}/{name}"));
            self.add(Method::PATCH, &format!("{path}/{name}"));
            for parameters in ["", "&watch=true"] {
                self.add(Method::GET, &format!("{path}?fieldSelector=metadata.name%3D{name}{parameters}"));
            }
        }
    }

    /// Those of several parts of a program.
    pub(super) fn of_all(parts: impl IntoIterator<Item = Self>) -> Self {
        Self(parts.into_iter().flat_map(|part| part.0).collect())
    }

    /// As permissions: on single objects where their names are known.
    pub(super) fn permissions(self) -> Permissions {
        permissions_for(self.0).with_resource_names().without_name(ANY)
    }

    fn add(&mut self, method: Method, uri: &str) {
        // A path that is no URI is an error of its own requests.
        self.0.extend(uri.parse().ok().map(|uri| (method, uri)));
    }
}

fn is_about_leases((_, uri): &(Method, Uri)) -> bool {
    uri.path().starts_with(LEASES)
}

/// Where a [`Recorder`](kube_runtime::events::Recorder) writes the events about objects of this collection.
fn events_of(path: &str, cluster_scoped: bool) -> String {
    let namespaced = path.split_once("/namespaces/").and_then(|(_, rest)| rest.split_once('/'));
    let namespace = namespaced.map(|(namespace, _)| namespace);
    match namespace.or_else(|| cluster_scoped.then_some(CLUSTER_NAMESPACE)) {
        Some(namespace) => format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events"),
        None => "/apis/events.k8s.io/v1/events".to_owned(),
    }
}

/// What the server has refused. Clones are the same.
#[derive(Clone)]
pub(super) struct Refusals {
    /// That of the program.
    own_namespace: Arc<str>,
    refused: Arc<Mutex<Refused>>,
}

/// A controller whose reconciles may be refused.
pub(super) struct Reconciling {
    pub(super) name: Arc<str>,
    /// Whether one of its watches is of all namespaces.
    pub(super) in_all_namespaces: bool,
}

#[derive(Default)]
struct Refused {
    /// Lists and watches, for the message at the start.
    watches: NeededRequests,
    /// What the log has named, without the namespaces: a program that is refused in many would name each.
    named: Permissions,
}

impl Refusals {
    /// Of a program in this namespace.
    pub(super) fn new(own_namespace: &str) -> Self {
        Self { own_namespace: own_namespace.into(), refused: Arc::default() }
    }

    /// A watch has failed.
    pub(super) fn note(&self, error: &watcher::Error) {
        let status = match error {
            watcher::Error::InitialListFailed(Error::Api(status))
            | watcher::Error::WatchStartFailed(Error::Api(status))
            | watcher::Error::WatchError(status) => status,
            _ => return,
        };
        if let Some(path) = refused_path(status) {
            self.refused.lock().watches.add_watch(path); // whoever may not list may hardly watch
        }
    }

    /// A reconcile has failed. Logs the permission that it lacked, if it is a new one.
    ///
    /// The refusal is about one object. A controller of all namespaces does the same for all objects, except in the namespace of the
    /// program, and whoever reads children has to watch them: so the role is one for all namespaces, and for all that reads.
    pub(super) fn name_missing(&self, controller: &Reconciling, error: &(dyn StdError + 'static)) {
        // `source` of the reconciler's error is the program's code, which may panic.
        let missing = catch_unwind(AssertUnwindSafe(|| status_of(error).and_then(refused_permission)));
        let Ok(Some(missing)) = missing else { return };
        let elsewhere =
            || missing.clone().moved(|namespace| Some(namespace).filter(|it| **it == *self.own_namespace));
        let missing = match controller.in_all_namespaces && elsewhere() != missing {
            true => missing.in_all_namespaces().with_all_reads(),
            false => missing,
        };
        if self.note_named(&missing) {
            let role = missing.to_yaml("missing-permission");
            tracing::warn!(
                controller = &*controller.name,
                "a reconcile was refused for a permission that this program lacks; this role would grant it, and Manager::writes \
                 puts what the helpers of this library need into the generated roles:\n{role}"
            );
        }
    }

    /// Notes that the log names these permissions. Returns whether some are new.
    fn note_named(&self, missing: &Permissions) -> bool {
        self.refused.lock().named.add(missing.clone().in_all_namespaces())
    }

    fn take_watches(&self) -> NeededRequests {
        std::mem::take(&mut self.refused.lock().watches)
    }
}

fn refused_path(status: &Status) -> Option<&str> {
    let path = status.metadata.as_ref()?.self_link.as_deref();
    path.filter(|_| status.code == StatusCode::FORBIDDEN.as_u16())
}

/// Asks for the permissions of a manager, each once. Dropped with it.
pub(super) struct PermissionReview {
    client: Client,
    asked: HashSet<(Method, Uri)>,
    refusals: Refusals,
    tasks: JoinSet<()>,
}

impl PermissionReview {
    pub(super) fn new(client: Client, refusals: Refusals) -> Self {
        Self { client, asked: HashSet::new(), refusals, tasks: JoinSet::new() }
    }

    /// Asks for what was not asked before, beside the start of the manager, which it does not delay. What is missing is one message.
    pub(super) fn ask(&mut self, mut needed: NeededRequests) {
        needed.0.retain(|request| self.asked.insert(request.clone()));
        while self.tasks.try_join_next().is_some() {}
        if !needed.0.is_empty() {
            self.tasks.spawn(review(self.client.clone(), needed, self.refusals.clone()));
        }
    }
}

/// Logs the rules that are missing, as roles that can be applied.
async fn review(client: Client, needed: NeededRequests, refusals: Refusals) {
    match missing_permissions(&client, needed.0.iter().cloned()).await {
        Ok(missing) if missing.is_empty() => {}
        Ok(missing) => {
            refusals.note_named(&missing);
            let roles = missing.to_yaml("missing-permissions");
            tracing::warn!(
                "this program lacks permissions that it needs; these roles would grant them:\n{roles}"
            );
        }
        // Every identity may ask by default. Where it may not, what is refused tells.
        Err(error) => {
            let leases = refused_leases(&client, needed).await;
            tokio::time::sleep(COLLECTED).await;
            let refused = permissions_for(refusals.take_watches().0.into_iter().chain(leases.0));
            if !refused.is_empty() {
                refusals.note_named(&refused);
                let roles = refused.to_yaml("missing-permissions");
                tracing::warn!(
                    not_reviewed = %ErrorChain(&error),
                    "this program lacks permissions that it needs, as refused requests show; these roles would grant them:\n{roles}"
                );
            }
        }
    }
}

/// All requests about Leases, if reading them is refused.
async fn refused_leases(client: &Client, needed: NeededRequests) -> NeededRequests {
    let mut leases = needed;
    leases.0.retain(is_about_leases);
    let read = leases.0.iter().find(|(method, _)| method == Method::GET);
    let request = read.and_then(|(_, uri)| Request::get(uri.clone()).body(Body::empty()).ok());
    let Some(request) = request else { return NeededRequests::default() };
    match client.send(request).await {
        Ok(response) if response.status() == StatusCode::FORBIDDEN => leases,
        _ => NeededRequests::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_the_requests_of_the_helpers() {
        let requests_of = |path: &str, writes, cluster_scoped| {
            let mut needed = NeededRequests::default();
            needed.add_writes(path, writes, cluster_scoped);
            let mut requests: Vec<_> =
                needed.0.iter().map(|(method, uri)| format!("{method} {uri}")).collect();
            requests.sort();
            requests
        };
        let requests = |path, writes| requests_of(path, writes, false);
        const PAGES: &str = "/apis/example.com/v1/pages";
        assert_eq!(
            requests(PAGES, Writes::Objects),
            [
                "GET /apis/example.com/v1/pages/any",
                "PATCH /apis/example.com/v1/pages/any",
                "POST /apis/example.com/v1/pages",
            ]
        );
        assert_eq!(
            requests(PAGES, Writes::Children),
            [
                "DELETE /apis/example.com/v1/pages/any",
                "GET /apis/example.com/v1/pages",
                "GET /apis/example.com/v1/pages/any",
                "PATCH /apis/example.com/v1/pages/any",
                "POST /apis/example.com/v1/pages",
            ]
        );
        let get = "GET /apis/example.com/v1/pages/any";
        assert_eq!(requests(PAGES, Writes::ChildrenRecord), requests(PAGES, Writes::Finalizers));
        assert_eq!(requests(PAGES, Writes::Finalizers), [get, "PATCH /apis/example.com/v1/pages/any"]);
        assert_eq!(requests(PAGES, Writes::Status), [get, "PATCH /apis/example.com/v1/pages/any/status"]);
        assert_eq!(
            requests(PAGES, Writes::Events),
            ["PATCH /apis/events.k8s.io/v1/events/any", "POST /apis/events.k8s.io/v1/events"]
        );
        assert_eq!(
            requests("/apis/example.com/v1/namespaces/shop/pages", Writes::Events)[1],
            "POST /apis/events.k8s.io/v1/namespaces/shop/events"
        );
        assert_eq!(
            requests(PAGES, Writes::OwnerReferences),
            ["PUT /apis/example.com/v1/pages/any/finalizers"]
        );
        assert_eq!(
            requests_of("/api/v1/nodes", Writes::Events, true)[1],
            "POST /apis/events.k8s.io/v1/namespaces/kube-system/events"
        );
    }
}
