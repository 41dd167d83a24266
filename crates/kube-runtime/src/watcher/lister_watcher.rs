//! List and watch requests for one collection.

use super::error::RequestError;
use kube_client::{
    Api, Client, Error,
    client::{ClusterChange, ListResponse, Optional, Prune, ReceivedBytes, WatchResponse},
};
use kube_core::{
    Request, Resource,
    params::{ListParams, WatchParams},
};
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// Everything that a watcher requires of a kind.
pub(crate) trait Watchable: Resource + Clone + DeserializeOwned + Debug + Send + 'static {}

impl<K: Resource + Clone + DeserializeOwned + Debug + Send + 'static> Watchable for K {}

/// Sends the requests for one collection of objects on one server.
pub(super) struct ListerWatcher {
    client: Client,
    request: Request,
    prune: Prune,
    /// Whether to request only the metadata of objects.
    metadata_only: bool,
    received: ReceivedBytes,
}

impl ListerWatcher {
    pub(super) fn new<K: Resource>(api: Api<K>) -> Self {
        let (request, prune) = (Request::new(api.resource_url()), api.pruned().clone());
        Self {
            client: api.into_client(),
            request,
            prune,
            metadata_only: K::metadata_api(),
            received: ReceivedBytes::default(),
        }
    }

    /// For objects as received, in which nothing is skipped.
    pub(super) fn raw<K: Resource>(api: Api<K>) -> Self {
        Self { prune: Prune::default(), ..Self::new(api) }
    }

    /// For objects that are read as `K`, which may have only the metadata.
    pub(super) fn read_as<K: Resource>(self) -> Self {
        Self { metadata_only: self.metadata_only || K::metadata_api(), ..self }
    }

    /// The same, also skipping the fields in `prune` when objects are decoded.
    pub(super) fn pruned(self, prune: &Prune) -> Self {
        Self { prune: self.prune.clone().and(prune), ..self }
    }

    /// To learn that the client leads to another cluster.
    pub(super) fn cluster_change(&self) -> ClusterChange {
        self.client.cluster_change()
    }

    /// The API path of the collection, which contains the kind and the namespace.
    pub(super) fn path(&self) -> &str {
        &self.request.url_path
    }

    /// The bytes of all lists and watches so far.
    pub(super) fn received_bytes(&self) -> u64 {
        self.received.get()
    }

    /// Whether the server may support streaming lists of this kind: no watch by this client has found otherwise.
    pub(super) fn supports_streaming_lists(&self) -> bool {
        !self.client.is_unsupported(Optional::StreamingLists, self.path())
    }

    /// Watches of this kind by this client do not ask for streaming lists again.
    pub(super) fn streaming_lists_are_unsupported(&self) {
        self.client.note_unsupported(Optional::StreamingLists, self.path());
    }

    pub(super) async fn list(&self, params: &ListParams) -> Result<ListResponse, RequestError> {
        let request = match self.metadata_only {
            true => self.request.list_metadata(params),
            false => self.request.list(params),
        };
        let mut request = request.map_err(Error::BuildRequest)?;
        request.extensions_mut().insert(self.prune.clone());
        request.extensions_mut().insert(self.received.clone());
        Ok(self.client.open_list(request).await?)
    }

    /// The `resourceVersion` that the server's storage has reached; empty if the server sends none.
    ///
    /// Costs the server the metadata of one object. The request has no selectors: with them the server would have to search.
    pub(super) async fn current_version(&self) -> Result<String, RequestError> {
        let one_object = ListParams { limit: Some(1), ..ListParams::default() };
        let request = self.request.list_metadata(&one_object).map_err(Error::BuildRequest)?;
        let metadata = self.client.open_list(request).await?.into_metadata().await?;
        Ok(metadata.resource_version.unwrap_or_default())
    }

    pub(super) async fn watch(
        &self,
        params: &WatchParams,
        version: &str,
    ) -> Result<WatchResponse, RequestError> {
        let request = match self.metadata_only {
            true => self.request.watch_metadata(params, version),
            false => self.request.watch(params, version),
        };
        let mut request = request.map_err(Error::BuildRequest)?;
        request.extensions_mut().insert(self.prune.clone());
        request.extensions_mut().insert(self.received.clone());
        Ok(self.client.open_watch(request).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Response;
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube_client::client::Body;
    use std::sync::{Arc, Mutex};

    const BODY: &str = r#"{"metadata":{"resourceVersion":"7"},"items":[]}"#;

    #[tokio::test]
    async fn requests_are_for_the_collection_and_the_version_check_is_for_one_object() {
        let requests = Arc::new(Mutex::new(Vec::new()));
        let sent = Arc::clone(&requests);
        let server = tower::service_fn(move |request: http::Request<Body>| {
            let prune = request.extensions().get::<Prune>().cloned();
            sent.lock().unwrap().push((request.uri().to_string(), prune));
            std::future::ready(Ok::<_, std::io::Error>(Response::new(Body::from(BODY.as_bytes().to_vec()))))
        });
        let api: Api<ConfigMap> = Api::namespaced(Client::new(server, "default"), "web");
        let watched = ListerWatcher::new(api).pruned(&Prune::default().managed_fields());
        assert_eq!(watched.path(), "/api/v1/namespaces/web/configmaps");
        assert_eq!(watched.current_version().await.unwrap(), "7");
        let limit = ListParams { limit: Some(5), ..ListParams::default() };
        let list = watched.list(&limit).await.unwrap();
        assert!(list.decode::<ConfigMap>().await.unwrap().items.is_empty());
        assert_eq!(
            watched.received_bytes(),
            BODY.len() as u64,
            "of lists and watches, not of the version check"
        );
        let requests = std::mem::take(&mut *requests.lock().unwrap());
        let [(check, _), (list, prune)] = &requests[..] else { panic!("{requests:?}") };
        assert!(check.starts_with(watched.path()) && check.ends_with("limit=1"), "{check}");
        assert!(list.starts_with(watched.path()) && list.ends_with("limit=5"), "{list}");
        assert_eq!(*prune, Some(Prune::default().managed_fields()));
    }
}
