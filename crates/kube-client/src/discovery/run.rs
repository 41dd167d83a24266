//! [`Discovery`]: fetches all groups, and finds kinds in them.

use std::collections::HashMap;

use futures::future::{join, join_all};
use kube_core::discovery::v2::{APIGroupDiscovery, APIGroupDiscoveryList};
use kube_core::discovery::{ApiCapabilities, ApiResource};
use kube_core::gvk::GroupVersionKind;
use kube_core::{DynamicObject, TypeMeta};

use super::aggregated;
use super::fetch::{self, Groups, ListedGroup};
use super::group::ApiGroup;
use crate::Result;
use crate::client::Client;
use crate::error::Error;

/// The groups and kinds of a cluster, as of the last [`Discovery::run`].
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
/// let Some((resource, capabilities)) = discovery.resolve_gvk(&deployment) else { return Err("not found".into()) };
/// println!("{} supports {:?}", resource.plural, capabilities.operations);
/// for group in discovery.failed_groups() {
///     eprintln!("{group} is not available");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Discovery {
    client: Client,
    filter: GroupFilter,
    groups: HashMap<String, ApiGroup>,
    /// The names of the groups in the server's order, which is that of their priority; the core group first.
    order: Vec<String>,
    failed: Vec<String>,
    /// The groups of which the log says already that they cannot be fetched.
    logged: Vec<String>,
}

/// A group whose kinds are made of those of the core group.
const WORKLOADS: &str = "apps";

#[derive(Clone, Debug)]
enum GroupFilter {
    Only(Vec<String>),
    AllExcept(Vec<String>),
}

impl GroupFilter {
    fn includes(&self, group: &str) -> bool {
        match self {
            Self::Only(groups) => groups.iter().any(|name| name == group),
            Self::AllExcept(groups) => !groups.iter().any(|name| name == group),
        }
    }

    /// Whether it includes any group but the core group.
    fn includes_named_groups(&self) -> bool {
        match self {
            Self::Only(groups) => groups.iter().any(|name| name != ApiGroup::CORE_GROUP),
            Self::AllExcept(_) => true,
        }
    }
}

impl Discovery {
    /// An empty result; [`Discovery::run`] fetches the groups.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self {
            client,
            filter: GroupFilter::AllExcept(Vec::new()),
            groups: HashMap::new(),
            order: Vec::new(),
            failed: Vec::new(),
            logged: Vec::new(),
        }
    }

    /// Of these groups, the log says already that they cannot be fetched.
    pub(super) fn logged(self, logged: Vec<String>) -> Self {
        Self { logged, ..self }
    }

    /// Includes only these groups (`""` is the core group).
    #[must_use]
    pub fn filter(mut self, allow: &[&str]) -> Self {
        self.filter = GroupFilter::Only(allow.iter().map(ToString::to_string).collect());
        self
    }

    /// Includes all groups except these.
    #[must_use]
    pub fn exclude(mut self, deny: &[&str]) -> Self {
        self.filter = GroupFilter::AllExcept(deny.iter().map(ToString::to_string).collect());
        self
    }

    /// Fetches all groups: two requests if the server supports aggregated discovery (Kubernetes 1.27 and newer), else one for each
    /// version of each group.
    ///
    /// A group that cannot be fetched, because the backend of an aggregated API is down, is left out and listed in
    /// [`Discovery::failed_groups`]; where the server still knows what the backend had, the group is in both. So is the core group left
    /// out, if only that cannot be fetched, or if the server denies it and has the group `apps`, whose kinds need it.
    ///
    /// # Errors
    /// If the groups cannot be listed, or none of them can be fetched.
    pub async fn run(mut self) -> Result<Self> {
        let client = self.client.clone();
        let (core, others) = join(self.fetch_core(&client), self.fetch_others(&client)).await;
        self.clear();
        let others = others?;
        let mut first_error = None;
        match core {
            Ok(core) => first_error = self.add_groups(&client, core).await,
            Err(err) if err.is_not_found() && !self.needs_core(&client, &others).await? => {}
            Err(err) => {
                self.add_failed(ApiGroup::CORE_GROUP, &err);
                first_error = Some(err);
            }
        }
        let second_error = self.add_groups(&client, others).await;
        match first_error.or(second_error) {
            Some(err) if self.groups.is_empty() => Err(err),
            _ => Ok(self),
        }
    }

    /// Fetches all groups with two requests, by aggregated discovery. Servers before Kubernetes 1.26 do not support it.
    ///
    /// # Errors
    /// As [`Client::list_api_groups_aggregated`]. Groups that the server itself could not fetch are listed in
    /// [`Discovery::failed_groups`].
    pub async fn run_aggregated(mut self) -> Result<Self> {
        let core: APIGroupDiscoveryList = match self.filter.includes(ApiGroup::CORE_GROUP) {
            true => self.client.list_core_api_versions_aggregated().await?,
            false => APIGroupDiscoveryList::default(),
        };
        let others = self.client.list_api_groups_aggregated().await?;
        self.clear();
        self.add_aggregated(core.items.into_iter().chain(others.items));
        Ok(self)
    }

    async fn fetch_core(&self, client: &Client) -> Result<Groups> {
        match self.filter.includes(ApiGroup::CORE_GROUP) {
            true => fetch::core(client).await,
            false => Ok(Groups::Unaggregated(Vec::new())),
        }
    }

    /// Whether the server has a core group although it says no: a load balancer may have answered. One for custom resources only has
    /// none, and no workloads.
    async fn needs_core(&self, client: &Client, others: &Groups) -> Result<bool> {
        match self.filter.includes_named_groups() {
            true => Ok(others.has(WORKLOADS)),
            false => Ok(fetch::others(client).await?.has(WORKLOADS)),
        }
    }

    async fn fetch_others(&self, client: &Client) -> Result<Groups> {
        match self.filter.includes_named_groups() {
            true => fetch::others(client).await,
            false => Ok(Groups::Unaggregated(Vec::new())),
        }
    }

    /// Adds the groups that the filter includes. Returns the first error.
    async fn add_groups(&mut self, client: &Client, groups: Groups) -> Option<Error> {
        let mut listed = match groups {
            Groups::Aggregated(items) => {
                self.add_aggregated(items);
                return None;
            }
            Groups::Unaggregated(listed) => listed,
        };
        listed.retain(|group| self.filter.includes(&group.name));
        let requests = listed.into_iter().map(|group| fetch_versions(client, group));
        let mut first_error = None;
        for (name, (group, errors)) in join_all(requests).await {
            for err in errors {
                self.add_failed(&name, &err);
                first_error.get_or_insert(err);
            }
            self.add_group(group);
        }
        first_error
    }

    fn add_aggregated(&mut self, items: impl IntoIterator<Item = APIGroupDiscovery>) {
        for item in items {
            let converted = aggregated::group(item);
            if !self.filter.includes(&converted.name) {
                continue;
            }
            if !converted.stale.is_empty() {
                self.add_failed(
                    &converted.name,
                    format_args!("stale versions: {}", converted.stale.join(", ")),
                );
            }
            self.add_group(converted.group);
        }
    }

    fn add_group(&mut self, group: Option<ApiGroup>) {
        let Some(group) = group else { return };
        self.order.push(group.name().to_owned());
        self.groups.insert(group.name().to_owned(), group);
    }

    fn clear(&mut self) {
        self.groups.clear();
        self.order.clear();
        self.failed.clear();
    }

    fn add_failed(&mut self, group: &str, reason: impl std::fmt::Display) {
        if self.logged.iter().any(|name| name == group) {
            tracing::debug!(%group, %reason, "an API group cannot be fetched yet");
        } else {
            tracing::warn!(%group, %reason, "an API group cannot be fetched");
        }
        if !self.failed.iter().any(|name| name == group) {
            self.failed.push(group.to_owned());
        }
    }
}

async fn fetch_versions(client: &Client, group: ListedGroup) -> (String, (Option<ApiGroup>, Vec<Error>)) {
    (group.name.clone(), fetch::versions(client, group).await)
}

impl Discovery {
    /// The groups, in no particular order.
    pub fn groups(&self) -> impl Iterator<Item = &ApiGroup> {
        self.groups.values()
    }

    /// The groups in the server's order of priority, the core group first.
    pub(super) fn groups_by_priority(&self) -> impl Iterator<Item = &ApiGroup> {
        self.order.iter().filter_map(|name| self.groups.get(name))
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

    /// The groups that could not be fetched, in whole or in part.
    pub fn failed_groups(&self) -> impl Iterator<Item = &str> {
        self.failed.iter().map(String::as_str)
    }

    /// The kind, if the cluster serves it in that version.
    pub fn resolve_gvk(&self, gvk: &GroupVersionKind) -> Option<(ApiResource, ApiCapabilities)> {
        self.get(&gvk.group)?.kind_in_version(&gvk.version, &gvk.kind)
    }

    /// The kind in `tm`, if the cluster serves it.
    pub fn resolve_typemeta(&self, tm: &TypeMeta) -> Option<(ApiResource, ApiCapabilities)> {
        self.resolve_gvk(&GroupVersionKind::try_from(tm).ok()?)
    }

    /// The kind of `obj`, if the object has one and the cluster serves it.
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

    /// A client of a server with the core group, `apps`, and `metrics`, whose backend is down.
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
    async fn a_group_that_cannot_be_fetched_is_listed_as_failed() {
        let discovery = Discovery::new(client()).run().await.unwrap();
        let names: Vec<_> = discovery.groups_alphabetical().iter().map(|group| group.name()).collect();
        assert_eq!(names, ["", "apps"]);
        assert_eq!(discovery.failed_groups().collect::<Vec<_>>(), ["metrics"]);
        let pod = TypeMeta { api_version: "v1".into(), kind: "Pod".into() };
        assert_eq!(discovery.resolve_typemeta(&pod).unwrap().0.plural, "pods");
        assert!(discovery.resolve_gvk(&GroupVersionKind::gvk("apps", "v1", "Pod")).is_none());
    }

    #[tokio::test]
    async fn only_groups_of_the_filter_are_fetched() {
        let only = Discovery::new(client()).filter(&["apps"]).run().await.unwrap();
        assert!(only.has_group("apps") && !only.has_group("") && only.failed_groups().next().is_none());
        let without = Discovery::new(client()).exclude(&["", "metrics"]).run().await.unwrap();
        assert_eq!(without.groups().count(), 1);
        assert!(Discovery::new(client()).filter(&["metrics"]).run().await.is_err());
    }

    #[tokio::test]
    async fn oneshot_finds_one_kind_and_one_group() {
        let (pod, _) =
            super::super::pinned_kind(&client(), &GroupVersionKind::gvk("", "v1", "Pod")).await.unwrap();
        assert_eq!(pod.api_version, "v1");
        let missing = super::super::pinned_kind(&client(), &GroupVersionKind::gvk("", "v1", "Bar")).await;
        assert!(missing.unwrap_err().to_string().contains("Missing Kind"));
        assert!(super::super::group(&client(), "nope").await.is_err());
        assert_eq!(super::super::group(&client(), "apps").await.unwrap().name(), "apps");
    }

    #[tokio::test]
    async fn run_aggregated_fails_on_a_server_without_aggregated_discovery() {
        let err = Discovery::new(client()).run_aggregated().await.err().unwrap();
        assert!(matches!(err, Error::Api(status) if status.code == 406));
    }

    /// A client of a server with aggregated discovery that responds with this code at `/api`, and its number of requests.
    fn aggregating(core: u16) -> (Client, Arc<AtomicU32>) {
        aggregating_groups(core, "apps")
    }

    /// As [`aggregating`], with a group of this name.
    fn aggregating_groups(core: u16, group: &'static str) -> (Client, Arc<AtomicU32>) {
        let requests = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&requests);
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
                        {"metadata":{"name":"GROUP"},"versions":[{"version":"v1","freshness":"Current","resources":[
                            {"resource":"deployments","scope":"Namespaced","verbs":["get"],"responseKind":{"group":"","version":"","kind":"Deployment"}}]}]},
                        {"metadata":{"name":"metrics"},"versions":[{"version":"v1","freshness":"Stale"}]}]}"#,
                ),
                _ => (core, "no"),
            };
            let body = Body::from(body.replace("GROUP", group).into_bytes());
            std::future::ready(Ok::<_, BoxError>(Response::builder().status(code).body(body).unwrap()))
        });
        (Client::new(service, "default"), requests)
    }

    #[tokio::test]
    async fn aggregated_discovery_needs_two_requests_and_lists_failed_groups() {
        let (client, requests) = aggregating(200);
        let discovery = Discovery::new(client).run().await.unwrap();
        assert_eq!(requests.load(Ordering::Relaxed), 2);
        assert_eq!(discovery.failed_groups().collect::<Vec<_>>(), ["metrics"]);
        let (deployment, _) =
            discovery.resolve_gvk(&GroupVersionKind::gvk("apps", "v1", "Deployment")).unwrap();
        assert_eq!(deployment.api_version, "apps/v1");
        assert!(discovery.resolve_gvk(&GroupVersionKind::gvk("", "v1", "Pod")).is_some());
    }

    #[tokio::test]
    async fn aggregated_discovery_requests_only_what_the_filter_includes() {
        let (client, requests) = aggregating(200);
        let core = Discovery::new(client).filter(&[""]).run().await.unwrap();
        assert_eq!((requests.load(Ordering::Relaxed), core.groups().count()), (1, 1));
        let (client, requests) = aggregating(200);
        let others = Discovery::new(client).exclude(&["", "metrics"]).run().await.unwrap();
        assert_eq!((requests.load(Ordering::Relaxed), others.groups().count()), (1, 1));
        assert!(others.failed_groups().next().is_none());
    }

    #[tokio::test]
    async fn a_core_group_that_cannot_be_fetched_is_listed_and_a_missing_one_is_not() {
        let down = Discovery::new(aggregating(503).0).run().await.unwrap();
        assert_eq!(down.failed_groups().collect::<Vec<_>>(), ["", "metrics"]);
        assert!(down.has_group("apps"));
        let absent = Discovery::new(aggregating_groups(404, "example.com").0).run().await.unwrap();
        assert_eq!(absent.failed_groups().collect::<Vec<_>>(), ["metrics"]);
        let only_core = async |group| {
            Discovery::new(aggregating_groups(404, group).0).filter(&[""]).run().await.map(|core| core.order)
        };
        assert_eq!(only_core("example.com").await.unwrap(), [""; 0]);
        // A server with workloads has pods: the answer is not the server's.
        let denied = Discovery::new(aggregating(404).0).run().await.unwrap();
        assert_eq!(denied.failed_groups().collect::<Vec<_>>(), ["", "metrics"]);
        assert!(only_core("apps").await.unwrap_err().is_not_found());
    }
}
