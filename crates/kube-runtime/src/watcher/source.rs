//! Where a watcher gets its answers: list and watch requests of one collection.

use futures::{StreamExt, stream::BoxStream};
use kube_client::{
    Api, Client, Error,
    client::{ListResponse, Prune},
};
use kube_core::{
    DeserializeGuard, Request, Resource, WatchEvent,
    params::{ListParams, WatchParams},
};
use serde::{Deserialize, de::DeserializeOwned};
use std::fmt::Debug;

/// What can be watched.
pub(crate) trait Watchable: Resource + Clone + DeserializeOwned + Debug + Send + 'static {}

impl<K: Resource + Clone + DeserializeOwned + Debug + Send + 'static> Watchable for K {}

/// The messages of one watch request. Objects that cannot be decoded are messages too.
pub(super) type Messages<K> = BoxStream<'static, Result<WatchEvent<DeserializeGuard<K>>, Error>>;

/// One collection of objects on one server.
#[derive(Clone)]
pub(super) struct Source {
    client: Client,
    request: Request,
    prune: Prune,
}

impl Source {
    pub(super) fn of<K: Resource>(api: Api<K>) -> Self {
        let request = Request::new(api.resource_url());
        Self { client: api.into_client(), request, prune: Prune::default() }
    }

    /// The same with objects of which `prune` is passed over.
    pub(super) fn without(self, prune: Prune) -> Self {
        Self { prune, ..self }
    }

    /// Its path in the API, which tells the kind and the namespace.
    pub(super) fn path(&self) -> &str {
        &self.request.url_path
    }

    pub(super) async fn list<K: Watchable>(&self, params: &ListParams) -> Result<ListResponse, Error> {
        let request =
            if K::metadata_api() { self.request.list_metadata(params) } else { self.request.list(params) };
        let mut request = request.map_err(Error::BuildRequest)?;
        request.extensions_mut().insert(self.prune);
        self.client.open_list(request).await
    }

    /// The version that the server's storage has reached; empty where it does not say.
    ///
    /// Costs the server one object without its spec. Selectors are left out: they would make it search.
    pub(super) async fn version(&self) -> Result<String, Error> {
        let least = ListParams { limit: Some(1), ..ListParams::default() };
        let request = self.request.list_metadata(&least).map_err(Error::BuildRequest)?;
        Ok(self.client.request::<ListHead>(request).await?.metadata.resource_version)
    }

    pub(super) async fn watch<K: Watchable>(
        &self,
        params: &WatchParams,
        version: &str,
    ) -> Result<Messages<K>, Error> {
        let request = if K::metadata_api() {
            self.request.watch_metadata(params, version)
        } else {
            self.request.watch(params, version)
        };
        let mut request = request.map_err(Error::BuildRequest)?;
        request.extensions_mut().insert(self.prune);
        Ok(self.client.request_events_guarded(request).await?.boxed())
    }
}

/// What a list says of itself.
#[derive(Deserialize)]
struct ListHead {
    #[serde(default)]
    metadata: HeadMeta,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct HeadMeta {
    #[serde(default)]
    resource_version: String,
}
