//! Asking for everything, and finding a kind in it.

use std::collections::HashMap;

use futures::future::{join, join_all};
use kube_core::discovery::v2::{APIGroupDiscovery, APIGroupDiscoveryList};
use kube_core::discovery::{ApiCapabilities, ApiResource};
use kube_core::gvk::GroupVersionKind;
use kube_core::{DynamicObject, TypeMeta};

use super::aggregated;
use super::fetch::{self, Known, Listed};
use super::group::ApiGroup;
use crate::client::Client;
use crate::error::Error;

/// The groups and kinds of a cluster, as they were when it was asked.
///
/// ```
/// use kube_client::api::GroupVersionKind;
/// use kube_client::{Client, Discovery};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
///
/// let discovery = Discovery::new(client).run().await?;
/// let deployment = GroupVersionKind::gvk("apps", "v1", "Deployment");
/// let Some((resource, capabilities)) = discovery.resolve_gvk(&deployment) else { return Err("not there".into()) };
/// println!("{} can be {:?}", resource.plural, capabilities.operations);
/// for group in discovery.failed_groups() {
///     eprintln!("{group} cannot be read at the moment");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Discovery {
    client: Client,
    wanted: Wanted,
    groups: HashMap<String, ApiGroup>,
    failed: Vec<String>,
}

#[derive(Clone, Debug)]
enum Wanted {
    Only(Vec<String>),
    AllBut(Vec<String>),
}

impl Wanted {
    fn covers(&self, group: &str) -> bool {
        match self {
            Self::Only(groups) => groups.iter().any(|name| name == group),
            Self::AllBut(groups) => !groups.iter().any(|name| name == group),
        }
    }

    /// Whether any group but the core group is wanted.
    fn covers_others(&self) -> bool {
        match self {
            Self::Only(groups) => groups.iter().any(|name| name != ApiGroup::CORE_GROUP),
            Self::AllBut(_) => true,
        }
    }
}

impl Discovery {
    /// Nothing is asked yet: see [`Discovery::run`].
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client, wanted: Wanted::AllBut(Vec::new()), groups: HashMap::new(), failed: Vec::new() }
    }

    /// Asks for these groups only (`""` is the core group).
    #[must_use]
    pub fn filter(mut self, allow: &[&str]) -> Self {
        self.wanted = Wanted::Only(allow.iter().map(ToString::to_string).collect());
        self
    }

    /// Asks for all groups but these.
    #[must_use]
    pub fn exclude(mut self, deny: &[&str]) -> Self {
        self.wanted = Wanted::AllBut(deny.iter().map(ToString::to_string).collect());
        self
    }

    /// Asks for everything: with two requests where the server has the aggregated form (Kubernetes 1.27 and newer), else for each group
    /// and version on its own.
    ///
    /// A group that cannot be read, as happens when the server behind an aggregated API is down, is left out and named in
    /// [`Discovery::failed_groups`], and so is the core group if only that cannot be read.
    ///
    /// # Errors
    /// If the groups cannot be listed, or none of them can be read.
    pub async fn run(mut self) -> Result<Self, Error> {
        let client = self.client.clone();
        let (core, others) = join(self.core(&client), self.others(&client)).await;
        self.clear();
        let others = others?;
        let mut first_error = None;
        match core {
            Ok(core) => first_error = self.take_in(&client, core).await,
            // A server for custom resources alone.
            Err(Error::Api(status)) if status.is_not_found() => {}
            Err(err) => {
                self.note_failure(ApiGroup::CORE_GROUP, &err);
                first_error = Some(err);
            }
        }
        let second_error = self.take_in(&client, others).await;
        match first_error.or(second_error) {
            Some(err) if self.groups.is_empty() => Err(err),
            _ => Ok(self),
        }
    }

    /// Asks for everything with two requests. Servers before Kubernetes 1.26 do not know this.
    ///
    /// # Errors
    /// As [`Client::list_api_groups_aggregated`]. Groups that the server itself could not read are named in
    /// [`Discovery::failed_groups`].
    pub async fn run_aggregated(mut self) -> Result<Self, Error> {
        let core: APIGroupDiscoveryList = match self.wanted.covers(ApiGroup::CORE_GROUP) {
            true => self.client.list_core_api_versions_aggregated().await?,
            false => APIGroupDiscoveryList::default(),
        };
        let others = self.client.list_api_groups_aggregated().await?;
        self.clear();
        self.take_in_aggregated(core.items.into_iter().chain(others.items));
        Ok(self)
    }

    async fn core(&self, client: &Client) -> Result<Known, Error> {
        match self.wanted.covers(ApiGroup::CORE_GROUP) {
            true => fetch::core(client).await,
            false => Ok(Known::Listed(Vec::new())),
        }
    }

    async fn others(&self, client: &Client) -> Result<Known, Error> {
        match self.wanted.covers_others() {
            true => fetch::others(client).await,
            false => Ok(Known::Listed(Vec::new())),
        }
    }

    /// Gives the first of what went wrong.
    async fn take_in(&mut self, client: &Client, known: Known) -> Option<Error> {
        let mut listed = match known {
            Known::Aggregated(items) => {
                self.take_in_aggregated(items);
                return None;
            }
            Known::Listed(listed) => listed,
        };
        listed.retain(|group| self.wanted.covers(&group.name));
        let asked = listed.into_iter().map(|group| fetch_named(client, group));
        let mut first_error = None;
        for (name, (group, errors)) in join_all(asked).await {
            for err in errors {
                self.note_failure(&name, &err);
                first_error.get_or_insert(err);
            }
            self.groups.extend(group.map(|group| (name, group)));
        }
        first_error
    }

    fn take_in_aggregated(&mut self, items: impl IntoIterator<Item = APIGroupDiscovery>) {
        for item in items {
            let found = aggregated::group(item);
            if !self.wanted.covers(&found.name) {
                continue;
            }
            if !found.stale.is_empty() {
                self.note_failure(&found.name, &format_args!("stale versions: {}", found.stale.join(", ")));
            }
            self.groups.extend(found.group.map(|group| (found.name, group)));
        }
    }

    fn clear(&mut self) {
        self.groups.clear();
        self.failed.clear();
    }

    fn note_failure(&mut self, group: &str, reason: &dyn std::fmt::Display) {
        tracing::warn!(%group, %reason, "an API group cannot be read");
        if !self.failed.iter().any(|name| name == group) {
            self.failed.push(group.to_owned());
        }
    }
}

async fn fetch_named(client: &Client, group: Listed) -> (String, (Option<ApiGroup>, Vec<Error>)) {
    (group.name.clone(), fetch::versions(client, group).await)
}

impl Discovery {
    /// The groups, in no order.
    pub fn groups(&self) -> impl Iterator<Item = &ApiGroup> {
        self.groups.values()
    }

    /// The groups by name, the core group first.
    pub fn groups_alphabetical(&self) -> Vec<&ApiGroup> {
        let mut groups: Vec<_> = self.groups.values().collect();
        groups.sort_by_key(|group| group.name());
        groups
    }

    /// The group of that name (`""` is the core group).
    pub fn get(&self, group: &str) -> Option<&ApiGroup> {
        self.groups.get(group)
    }

    /// Whether there is a group of that name.
    pub fn has_group(&self, group: &str) -> bool {
        self.groups.contains_key(group)
    }

    /// The groups of which something could not be read.
    pub fn failed_groups(&self) -> impl Iterator<Item = &str> {
        self.failed.iter().map(String::as_str)
    }

    /// The kind, if the cluster has it in that version.
    pub fn resolve_gvk(&self, gvk: &GroupVersionKind) -> Option<(ApiResource, ApiCapabilities)> {
        self.get(&gvk.group)?.kind_in_version(&gvk.version, &gvk.kind)
    }

    /// The kind that `tm` names, if the cluster has it.
    pub fn resolve_typemeta(&self, tm: &TypeMeta) -> Option<(ApiResource, ApiCapabilities)> {
        self.resolve_gvk(&GroupVersionKind::try_from(tm).ok()?)
    }

    /// The kind of `obj`, if the object names one and the cluster has it.
    pub fn resolve_object(&self, obj: &DynamicObject) -> Option<(ApiResource, ApiCapabilities)> {
        self.resolve_typemeta(obj.types.as_ref()?)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use http::{Request, Response};
    use tower::BoxError;

    use super::*;
    use crate::client::Body;

    /// A server with the core group, `apps`, and `metrics` whose backend is down.
    fn client() -> Client {
        let service = tower::service_fn(|request: Request<Body>| async move {
            let (code, body) = match request.uri().path() {
                "/api" => (200, r#"{"versions":["v1"],"serverAddressByClientCIDRs":[]}"#),
                "/api/v1" => (
                    200,
                    r#"{"groupVersion":"v1","resources":[{"name":"pods","kind":"Pod","namespaced":true,"singularName":"pod","verbs":["get"]}]}"#,
                ),
                "/apis" => (
                    200,
                    r#"{"groups":[
                        {"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"}],"preferredVersion":{"groupVersion":"apps/v1","version":"v1"}},
                        {"name":"metrics","versions":[{"groupVersion":"metrics/v1","version":"v1"}]}]}"#,
                ),
                "/apis/apps/v1" => (200, r#"{"groupVersion":"apps/v1","resources":[]}"#),
                _ => (503, "backend is down"),
            };
            let body = Body::from(body.as_bytes().to_vec());
            Ok::<_, BoxError>(Response::builder().status(code).body(body).unwrap())
        });
        Client::new(service, "default")
    }

    #[tokio::test]
    async fn a_group_that_is_down_is_named_and_the_others_are_there() {
        let discovery = Discovery::new(client()).run().await.unwrap();
        let names: Vec<_> = discovery.groups_alphabetical().iter().map(|group| group.name()).collect();
        assert_eq!(names, ["", "apps"]);
        assert_eq!(discovery.failed_groups().collect::<Vec<_>>(), ["metrics"]);
        let pod = TypeMeta { api_version: "v1".into(), kind: "Pod".into() };
        assert_eq!(discovery.resolve_typemeta(&pod).unwrap().0.plural, "pods");
        assert!(discovery.resolve_gvk(&GroupVersionKind::gvk("apps", "v1", "Pod")).is_none());
    }

    #[tokio::test]
    async fn only_wanted_groups_are_asked_for() {
        let only = Discovery::new(client()).filter(&["apps"]).run().await.unwrap();
        assert!(only.has_group("apps") && !only.has_group("") && only.failed_groups().next().is_none());
        let without = Discovery::new(client()).exclude(&["", "metrics"]).run().await.unwrap();
        assert_eq!(without.groups().count(), 1);
        assert!(Discovery::new(client()).filter(&["metrics"]).run().await.is_err());
    }

    #[tokio::test]
    async fn one_kind_takes_one_request() {
        let (pod, _) =
            super::super::pinned_kind(&client(), &GroupVersionKind::gvk("", "v1", "Pod")).await.unwrap();
        assert_eq!(pod.api_version, "v1");
        let missing = super::super::pinned_kind(&client(), &GroupVersionKind::gvk("", "v1", "Bar")).await;
        assert!(missing.unwrap_err().to_string().contains("discovery failed"));
        assert!(super::super::group(&client(), "nope").await.is_err());
        assert_eq!(super::super::group(&client(), "apps").await.unwrap().name(), "apps");
    }

    #[tokio::test]
    async fn a_server_without_the_aggregated_form_says_so() {
        let err = Discovery::new(client()).run_aggregated().await.err().unwrap();
        assert!(matches!(err, Error::Api(status) if status.code == 406));
    }

    /// A server that has the aggregated form at these paths, answers with this code at `/api`, and counts what it is asked.
    fn aggregating(core: u16) -> (Client, Arc<AtomicU32>) {
        let asked = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&asked);
        let service = tower::service_fn(move |request: Request<Body>| {
            counter.fetch_add(1, Ordering::Relaxed);
            let accept = request.headers()[http::header::ACCEPT].to_str().unwrap();
            assert!(accept.contains("v=v2;") && accept.contains("v=v2beta1;"), "{accept}");
            let (code, body) = match request.uri().path() {
                "/api" if core == 200 => (
                    200,
                    r#"{"kind":"APIGroupDiscoveryList","items":[{"versions":[{"version":"v1","resources":[
                        {"resource":"pods","scope":"Namespaced","verbs":["get"],"responseKind":{"group":"","version":"","kind":"Pod"}}]}]}]}"#,
                ),
                "/apis" => (
                    200,
                    r#"{"kind":"APIGroupDiscoveryList","items":[
                        {"metadata":{"name":"apps"},"versions":[{"version":"v1","freshness":"Current","resources":[
                            {"resource":"deployments","scope":"Namespaced","verbs":["get"],"responseKind":{"group":"","version":"","kind":"Deployment"}}]}]},
                        {"metadata":{"name":"metrics"},"versions":[{"version":"v1","freshness":"Stale"}]}]}"#,
                ),
                _ => (core, "no"),
            };
            let body = Body::from(body.as_bytes().to_vec());
            std::future::ready(Ok::<_, BoxError>(Response::builder().status(code).body(body).unwrap()))
        });
        (Client::new(service, "default"), asked)
    }

    #[tokio::test]
    async fn the_aggregated_form_takes_two_requests_and_names_what_is_down() {
        let (client, asked) = aggregating(200);
        let discovery = Discovery::new(client).run().await.unwrap();
        assert_eq!(asked.load(Ordering::Relaxed), 2);
        assert_eq!(discovery.failed_groups().collect::<Vec<_>>(), ["metrics"]);
        let (deployment, _) =
            discovery.resolve_gvk(&GroupVersionKind::gvk("apps", "v1", "Deployment")).unwrap();
        assert_eq!(deployment.api_version, "apps/v1");
        assert!(discovery.resolve_gvk(&GroupVersionKind::gvk("", "v1", "Pod")).is_some());
    }

    #[tokio::test]
    async fn only_what_is_wanted_is_asked_for() {
        let (client, asked) = aggregating(200);
        let core = Discovery::new(client).filter(&[""]).run().await.unwrap();
        assert_eq!((asked.load(Ordering::Relaxed), core.groups().count()), (1, 1));
        let (client, asked) = aggregating(200);
        let others = Discovery::new(client).exclude(&["", "metrics"]).run().await.unwrap();
        assert_eq!((asked.load(Ordering::Relaxed), others.groups().count()), (1, 1));
        assert!(others.failed_groups().next().is_none());
    }

    #[tokio::test]
    async fn a_core_group_that_is_down_is_named_and_one_that_is_not_there_is_none() {
        let down = Discovery::new(aggregating(503).0).run().await.unwrap();
        assert_eq!(down.failed_groups().collect::<Vec<_>>(), ["", "metrics"]);
        assert!(down.has_group("apps"));
        let absent = Discovery::new(aggregating(404).0).run().await.unwrap();
        assert_eq!(absent.failed_groups().collect::<Vec<_>>(), ["metrics"]);
    }
}
