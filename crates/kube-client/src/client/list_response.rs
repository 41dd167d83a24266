//! [`ListResponse`]: the response to a list request, read in steps.

use http::Request;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube_core::DeserializeGuard;
use kube_core::object::ObjectList;
use serde::de::DeserializeOwned;

use super::Client;
use crate::decode::{ListBody, ReceivedItems};
use crate::error::Error;

/// The response to a list request, whose items have not been read.
///
/// For lists of several pages: if the list's metadata arrive before its items, the next page can be requested while this one is
/// decoded. API servers send them first for built-in kinds, and last for custom resources.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// # let server = tower::service_fn(|_| async {
/// #     let list = r#"{"metadata": {"continue": "b"}, "items": [{"metadata": {"name": "a"}}]}"#;
/// #     Ok::<_, std::io::Error>(http::Response::new(kube_client::client::Body::from(list.as_bytes().to_vec())))
/// # });
/// # let client = kube_client::Client::new(server, "default");
/// use http::Request;
/// use k8s_openapi::api::core::v1::Pod;
///
/// let request = Request::get("/api/v1/pods?limit=1").body(Vec::new()).unwrap();
/// let mut page = client.open_list(request).await.unwrap();
/// let early = page.head().await.unwrap();
/// assert_eq!(early.unwrap().continue_.as_deref(), Some("b"));
/// let pods = page.decode::<Pod>().await.unwrap();
/// assert_eq!(pods.items.len(), 1);
/// // Known in any case, now that the items are read.
/// assert_eq!(pods.metadata.continue_.as_deref(), Some("b"));
/// # });
/// ```
///
/// # Cancellation
/// Dropping it, or the future of one of its methods, cancels the request.
#[derive(Debug)]
pub struct ListResponse {
    body: ListBody,
}

/// The former name of [`ListResponse`].
#[deprecated(note = "renamed to `ListResponse`")]
pub type ListAnswer = ListResponse;

impl Client {
    /// Sends a list request and waits for the head of the response.
    ///
    /// # Errors
    /// As [`Client::request`].
    pub async fn open_list(&self, request: Request<Vec<u8>>) -> Result<ListResponse, Error> {
        Ok(ListResponse { body: self.list_body(request).await? })
    }
}

impl ListResponse {
    /// The metadata of the list. `None`: not known yet, because the server sends them after the items; [`decode`](Self::decode)
    /// returns them in any case.
    ///
    /// Reads up to the first item, and no further.
    ///
    /// # Errors
    /// If the connection breaks, or the response is not a list: `Error::SerdeError` then has the missing field.
    pub async fn head(&mut self) -> Result<Option<ListMeta>, Error> {
        self.body.head().await
    }

    /// Decodes the items as they arrive. An item that cannot be decoded carries its error and its metadata.
    ///
    /// A `Deserialize` that panics is an error of its item.
    ///
    /// # Errors
    /// As [`Client::request`], except for items that cannot be decoded.
    pub async fn decode<K>(self) -> Result<ObjectList<DeserializeGuard<K>>, Error>
    where
        K: Clone + DeserializeOwned,
    {
        self.body.decode_guarded().await
    }

    /// The metadata, wherever in the list they are. For the watcher of `kube-runtime`.
    ///
    /// # Errors
    /// As [`head`](Self::head).
    #[doc(hidden)]
    pub async fn into_metadata(self) -> Result<ListMeta, Error> {
        self.body.skip_items().await
    }

    /// The items, which a task receives from now on. For the watcher of `kube-runtime`.
    ///
    /// # Errors
    /// As [`head`](Self::head).
    ///
    /// # Panics
    /// Outside of a tokio runtime.
    #[doc(hidden)]
    pub async fn receive(self) -> Result<ReceivedItems, Error> {
        ReceivedItems::open(self.body).await
    }
}
