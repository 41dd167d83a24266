//! The handle: a kind, a place, and a client.

use std::fmt;
use std::marker::PhantomData;

use either::Either;
use kube_core::object::ObjectList;
use kube_core::{DynamicResourceScope, NamespaceResourceScope, Request, Resource, Status};
use serde::de::DeserializeOwned;

use super::scope::Place;
use crate::client::{Built, Client, named};
use crate::error::Error;

/// The objects of kind `K`, in one namespace or in all of the cluster.
///
/// Cheap to make and to clone; makes no request by itself.
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
    pub(super) place: Place,
    /// `K` wants to know the metadata only.
    pub(super) metadata_only: bool,
    kind: PhantomData<fn() -> K>,
}

impl<K> Clone for Api<K> {
    fn clone(&self) -> Self {
        Self {
            request: self.request.clone(),
            client: self.client.clone(),
            place: self.place.clone(),
            metadata_only: self.metadata_only,
            kind: PhantomData,
        }
    }
}

impl<K> fmt::Debug for Api<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api")
            .field("url", &self.request.url_path)
            .field("place", &self.place)
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

    /// The objects in namespace `ns`; in all namespaces if it is empty.
    pub fn namespaced(client: Client, ns: &str) -> Self
    where
        K: Resource<Scope = NamespaceResourceScope>,
    {
        Self::new(client, &K::DynamicType::default(), Place::in_namespace(ns))
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
    /// All objects of the cluster, of a kind that `dyntype` names.
    pub fn all_with(client: Client, dyntype: &K::DynamicType) -> Self {
        Self::new(client, dyntype, Place::Anywhere)
    }

    /// The objects in namespace `ns` (in all if it is empty), of a kind that `dyntype` names.
    pub fn namespaced_with(client: Client, ns: &str, dyntype: &K::DynamicType) -> Self
    where
        K: Resource<Scope = DynamicResourceScope>,
    {
        Self::new(client, dyntype, Place::in_namespace(ns))
    }

    /// The objects in the client's default namespace, of a kind that `dyntype` names.
    pub fn default_namespaced_with(client: Client, dyntype: &K::DynamicType) -> Self
    where
        K: Resource<Scope = DynamicResourceScope>,
    {
        let ns = client.default_namespace().to_owned();
        Self::namespaced_with(client, &ns, dyntype)
    }

    pub(super) fn new(client: Client, dyntype: &K::DynamicType, place: Place) -> Self {
        let request = Request::new(K::url_path(dyntype, place.namespace()));
        Self { request, client, place, metadata_only: K::metadata_api(), kind: PhantomData }
    }

    /// Gives back the client.
    pub fn into_client(self) -> Client {
        self.into()
    }

    /// Path of the objects on the server, without a name.
    pub fn resource_url(&self) -> &str {
        &self.request.url_path
    }

    /// The namespace, unless all of the cluster is meant.
    pub fn namespace(&self) -> Option<&str> {
        self.place.namespace()
    }
}

impl<K> From<Api<K>> for Client {
    fn from(api: Api<K>) -> Self {
        api.client
    }
}

/// What all calls have in common. `verb` names the span of the request.
impl<K> Api<K> {
    pub(super) async fn call<T: DeserializeOwned>(
        &self,
        verb: &'static str,
        request: Built,
    ) -> Result<T, Error> {
        self.client.request(named(verb, request)?).await
    }

    pub(super) async fn call_for_status(
        &self,
        verb: &'static str,
        request: Built,
    ) -> Result<Either<K, Status>, Error>
    where
        K: DeserializeOwned,
    {
        self.client.request_status(named(verb, request)?).await
    }

    pub(super) async fn call_for_status_of_many(
        &self,
        verb: &'static str,
        request: Built,
    ) -> Result<Either<ObjectList<K>, Status>, Error>
    where
        K: Clone + DeserializeOwned,
    {
        self.client.request_status(named(verb, request)?).await
    }
}

/// 404 is an answer to "is it there?", not a failure.
pub(super) fn absent_as_none<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(Error::Api(status)) if status.is_not_found() => Ok(None),
        Err(err) => Err(err),
    }
}
