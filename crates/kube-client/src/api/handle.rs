//! [`Api`]: a kind, a scope, and a client.

use std::fmt;
use std::marker::PhantomData;

use either::Either;
use kube_core::discovery::Scope;
use kube_core::object::ObjectList;
use kube_core::{
    ApiResource, DynamicResourceScope, NamespaceResourceScope, NamespaceScope, Request, Resource, Status,
};
use serde::de::DeserializeOwned;

use crate::Result;
use crate::client::{BuiltRequest, Client, Prune, with_verb};

/// The objects of kind `K`, in one namespace or in the whole cluster.
///
/// Cheap to create and to clone; creating it sends no request.
///
/// ```
/// use k8s_openapi::api::core::v1::{Node, Pod};
/// use kube_client::{Api, Client, client::Body};
///
/// # let server = tower::service_fn(|_: http::Request<Body>| async {
/// #     Ok::<_, std::io::Error>(http::Response::new(Body::empty()))
/// # });
/// # let client = Client::new(server, "apps");
/// let pods: Api<Pod> = Api::namespaced(client.clone(), "web");
/// assert_eq!(pods.resource_url(), "/api/v1/namespaces/web/pods");
/// let pods: Api<Pod> = Api::default_namespaced(client.clone());
/// assert_eq!(pods.namespace(), Some("apps"));
/// let nodes: Api<Node> = Api::all(client);
/// assert_eq!(nodes.resource_url(), "/api/v1/nodes");
/// ```
pub struct Api<K> {
    pub(super) request: Request,
    pub(super) client: Client,
    pub(super) scope: ApiScope,
    /// Whether `K` is metadata only.
    pub(super) metadata_only: bool,
    /// What is skipped when the responses to reads are decoded.
    prune: Prune,
    kind: PhantomData<fn() -> K>,
}

impl<K> Clone for Api<K> {
    fn clone(&self) -> Self {
        Self {
            request: self.request.clone(),
            client: self.client.clone(),
            scope: self.scope.clone(),
            metadata_only: self.metadata_only,
            prune: self.prune.clone(),
            kind: PhantomData,
        }
    }
}

impl<K> fmt::Debug for Api<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api")
            .field("url", &self.request.url_path)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

impl<K: Resource> Api<K>
where
    K::DynamicType: Default,
{
    /// All objects of the cluster.
    pub fn all(client: Client) -> Self {
        Self::all_with(client, &K::DynamicType::default())
    }

    /// The objects in namespace `ns`. If it is empty, as in client-go, `list` and `watch` read all namespaces, and
    /// [`Api::delete_collection`] is an error.
    pub fn namespaced(client: Client, ns: &str) -> Self
    where
        K: Resource<Scope = NamespaceResourceScope>,
    {
        Self::new(client, &K::DynamicType::default(), ApiScope::in_namespace(ns))
    }

    /// The objects in the client's default namespace.
    pub fn default_namespaced(client: Client) -> Self
    where
        K: Resource<Scope = NamespaceResourceScope>,
    {
        let ns = client.default_namespace().to_owned();
        Self::namespaced(client, &ns)
    }
}

impl<K: Resource> Api<K> {
    /// All objects of the cluster, of the kind in `dyntype`.
    pub fn all_with(client: Client, dyntype: &K::DynamicType) -> Self {
        Self::new(client, dyntype, ApiScope::All)
    }

    /// The objects in namespace `ns` (if it is empty, as for [`Api::namespaced`]), of the kind in `dyntype`.
    pub fn namespaced_with(client: Client, ns: &str, dyntype: &K::DynamicType) -> Self
    where
        K: Resource<Scope = DynamicResourceScope>,
    {
        Self::new(client, dyntype, ApiScope::in_namespace(ns))
    }

    /// The objects in the client's default namespace, of the kind in `dyntype`.
    pub fn default_namespaced_with(client: Client, dyntype: &K::DynamicType) -> Self
    where
        K: Resource<Scope = DynamicResourceScope>,
    {
        let ns = client.default_namespace().to_owned();
        Self::namespaced_with(client, &ns, dyntype)
    }

    pub(super) fn new(client: Client, dyntype: &K::DynamicType, scope: ApiScope) -> Self {
        let request = Request::new(K::url_path(dyntype, scope.namespace()));
        Self {
            request,
            client,
            scope,
            metadata_only: K::metadata_api(),
            prune: Prune::default(),
            kind: PhantomData,
        }
    }

    /// Skips these fields when the responses to `get`, `list` and `watch` are decoded, also in watchers and controllers of this `Api`.
    ///
    /// Do not write the objects back as a whole: what was skipped would be deleted. Use patches; [`Api::entry`] reads whole objects by
    /// itself.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_client::{Api, Client, client::Prune};
    ///
    /// fn small_pods(client: Client) -> Api<Pod> {
    ///     Api::all(client).prune(Prune::default().managed_fields().last_applied().status())
    /// }
    /// ```
    #[must_use]
    pub fn prune(mut self, prune: Prune) -> Self {
        self.prune = prune;
        self
    }

    /// What [`prune`](Self::prune) has set.
    pub fn pruned(&self) -> &Prune {
        &self.prune
    }

    /// Returns the client.
    pub fn into_client(self) -> Client {
        self.into()
    }

    /// Path of the objects on the server, without the name of an object.
    pub fn resource_url(&self) -> &str {
        &self.request.url_path
    }

    /// The namespace; `None` for the whole cluster.
    pub fn namespace(&self) -> Option<&str> {
        self.scope.namespace()
    }
}

impl<K> From<Api<K>> for Client {
    fn from(api: Api<K>) -> Self {
        api.client
    }
}

/// Sends requests for the methods of the other files. `verb` is the name of the request's span.
impl<K> Api<K> {
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        verb: &'static str,
        request: BuiltRequest,
    ) -> Result<T> {
        self.client.request(with_verb(verb, request)?).await
    }

    /// A request whose response may be pruned.
    pub(super) fn read(&self, verb: &'static str, request: BuiltRequest) -> Result<http::Request<Vec<u8>>> {
        let mut request = with_verb(verb, request)?;
        if self.prune != Prune::default() {
            request.extensions_mut().insert(self.prune.clone());
        }
        Ok(request)
    }

    pub(super) async fn call_for_object_or_status(
        &self,
        verb: &'static str,
        request: BuiltRequest,
    ) -> Result<Either<K, Status>>
    where
        K: DeserializeOwned,
    {
        self.client.request_status(with_verb(verb, request)?).await
    }

    pub(super) async fn call_for_list_or_status(
        &self,
        verb: &'static str,
        request: BuiltRequest,
    ) -> Result<Either<ObjectList<K>, Status>>
    where
        K: Clone + DeserializeOwned,
    {
        self.client.request_status(with_verb(verb, request)?).await
    }
}

/// `None` for an object that does not exist (404).
pub(super) fn not_found_as_none<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(err) if err.is_not_found() => Ok(None),
        Err(err) => Err(err),
    }
}

/// The scope of an [`Api`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ApiScope {
    /// All namespaces, or none if the kind is cluster-scoped.
    All,
    /// All namespaces, because the name of the namespace is empty: perhaps by mistake, so deletes do not use it.
    EmptyNamespace,
    /// The kind is known to be cluster-scoped: the scope cannot be changed to a namespace.
    ClusterScopedKind,
    Namespace(String),
}

impl ApiScope {
    /// This namespace; the empty string means all, as in client-go.
    pub(super) fn in_namespace(ns: &str) -> Self {
        if ns.is_empty() { Self::EmptyNamespace } else { Self::Namespace(ns.to_owned()) }
    }

    pub(super) fn namespace(&self) -> Option<&str> {
        match self {
            Self::Namespace(namespace) => Some(namespace),
            Self::All | Self::EmptyNamespace | Self::ClusterScopedKind => None,
        }
    }
}

impl<K: Resource> Api<K> {
    /// All objects of a kind that is known only at run time, with the scope from discovery.
    ///
    /// A cluster-scoped kind stays cluster-scoped: [`Api::constrain`] has no effect on it.
    ///
    /// ```
    /// # use kube_client::{Api, Client, api::{ApiResource, DynamicObject, GroupVersionKind}, client::Body};
    /// # use kube_client::discovery::Scope;
    /// # let server = tower::service_fn(|_: http::Request<Body>| async {
    /// #     Ok::<_, std::io::Error>(http::Response::new(Body::empty()))
    /// # });
    /// # let client = Client::new(server, "default");
    /// let nodes = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Node"));
    /// let api = Api::<DynamicObject>::dynamic(client, &nodes, &Scope::Cluster).constrain("web");
    /// assert_eq!(api.resource_url(), "/api/v1/nodes");
    /// ```
    pub fn dynamic(client: Client, dyntype: &K::DynamicType, scope: &Scope) -> Self
    where
        K: Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>,
    {
        let api_scope = match scope {
            Scope::Cluster => ApiScope::ClusterScopedKind,
            Scope::Namespaced => ApiScope::All,
        };
        Self::new(client, dyntype, api_scope)
    }

    /// The same kind in namespace `ns`; if it is empty, as for [`Api::namespaced`].
    #[must_use]
    pub fn constrain(self, ns: &str) -> Self
    where
        K::Scope: NamespaceScope,
    {
        self.with_scope(ApiScope::in_namespace(ns))
    }

    /// The same kind in the client's default namespace.
    #[must_use]
    pub fn constrain_default(self) -> Self
    where
        K::Scope: NamespaceScope,
    {
        let scope = ApiScope::in_namespace(self.client.default_namespace());
        self.with_scope(scope)
    }

    /// The same kind in all namespaces.
    #[must_use]
    pub fn unconstrain(self) -> Self
    where
        K::Scope: NamespaceScope,
    {
        self.with_scope(ApiScope::All)
    }

    fn with_scope(mut self, scope: ApiScope) -> Self {
        if self.scope != ApiScope::ClusterScopedKind {
            self.request.url_path =
                change_namespace(&self.request.url_path, self.scope.namespace(), scope.namespace());
            self.scope = scope;
        }
        self
    }
}

/// The path in another namespace. Paths end in `/PLURAL` or in `/namespaces/NS/PLURAL`.
fn change_namespace(path: &str, from: Option<&str>, to: Option<&str>) -> String {
    let (version, plural) = path.rsplit_once('/').unwrap_or(("", path));
    let version = match from {
        Some(_) => version.rsplitn(3, '/').last().unwrap_or_default(),
        None => version,
    };
    match to {
        Some(namespace) => format!("{version}/namespaces/{namespace}/{plural}"),
        None => format!("{version}/{plural}"),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;
    use crate::error::Error;

    #[test]
    fn paths_change_their_namespace() {
        for (all, inside) in [
            ("/api/v1/pods", "/api/v1/namespaces/web/pods"),
            ("/apis/apps/v1/deployments", "/apis/apps/v1/namespaces/web/deployments"),
        ] {
            assert_eq!(change_namespace(all, None, Some("web")), inside);
            assert_eq!(change_namespace(inside, Some("web"), None), all);
            assert_eq!(change_namespace(inside, Some("web"), Some("other")), inside.replace("web", "other"));
            assert_eq!(change_namespace(all, None, None), all);
        }
    }

    #[test]
    fn the_empty_namespace_means_all_namespaces() {
        let server = tower::service_fn(|_: http::Request<crate::client::Body>| async {
            Ok::<_, std::io::Error>(http::Response::new(crate::client::Body::empty()))
        });
        let client = Client::new(server, "default");
        let all = || Api::<ConfigMap>::all(client.clone());
        for api in
            [all().constrain(""), all().constrain("web").constrain(""), Api::namespaced(client.clone(), "")]
        {
            assert_eq!(api.resource_url(), "/api/v1/configmaps");
            assert_eq!(api.namespace(), None);
            assert_eq!(api.constrain("web").resource_url(), "/api/v1/namespaces/web/configmaps");
        }
    }

    #[test]
    fn an_empty_default_namespace_is_default() {
        let server = tower::service_fn(|_: http::Request<crate::client::Body>| async {
            Ok::<_, std::io::Error>(http::Response::new(crate::client::Body::empty()))
        });
        let client = Client::new(server, "");
        assert_eq!(client.default_namespace(), "default");
        let all = Api::<ConfigMap>::all(client.clone());
        for api in [Api::<ConfigMap>::default_namespaced(client), all.constrain_default()] {
            assert_eq!(api.resource_url(), "/api/v1/namespaces/default/configmaps");
        }
    }

    #[tokio::test]
    async fn objects_of_the_empty_namespace_are_not_deleted_together() {
        use kube_core::params::{DeleteParams, ListParams};

        let server = tower::service_fn(|_: http::Request<crate::client::Body>| async {
            Ok::<_, std::io::Error>(http::Response::new(crate::client::Body::from(
                br#"{"kind":"Status","apiVersion":"v1","status":"Success"}"#.to_vec(),
            )))
        });
        let client = Client::new(server, "default");
        let all = Api::<ConfigMap>::all(client.clone());
        let (dp, lp) = (DeleteParams::default(), ListParams::default());
        for api in [Api::namespaced(client, ""), all.clone().constrain("")] {
            let err = api.delete_collection(&dp, &lp).await.unwrap_err();
            assert!(matches!(err, Error::BuildRequest(_)), "{err}");
            assert!(err.to_string().contains("the namespace is empty"), "{err}");
        }
        // Whoever says `all` means it.
        all.delete_collection(&dp, &lp).await.unwrap();
    }
}
