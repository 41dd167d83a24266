//! Lists that are read in steps.

use http::Request;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube_core::DeserializeGuard;
use kube_core::object::ObjectList;
use serde::de::DeserializeOwned;

use super::Client;
use crate::decode::ListBody;
use crate::error::Error;

/// The answer to a list request, whose items have not been read.
///
/// For lists of several pages: what one says of itself is known before its items are there, so the next page can be on its way
/// meanwhile.
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
/// assert_eq!(page.head().await.unwrap().continue_.as_deref(), Some("b"));
/// let pods = page.decode::<Pod>().await.unwrap();
/// assert_eq!(pods.items.len(), 1);
/// # });
/// ```
///
/// # Cancellation
/// Dropping it, or the future of one of its calls, ends the request.
#[derive(Debug)]
pub struct ListAnswer {
    body: ListBody,
}

impl Client {
    /// Sends a list request and waits for the beginning of its answer.
    ///
    /// # Errors
    /// As [`Client::request`].
    pub async fn open_list(&self, request: Request<Vec<u8>>) -> Result<ListAnswer, Error> {
        Ok(ListAnswer { body: self.list_body(request).await? })
    }
}

impl ListAnswer {
    /// What the list says of itself before its first item: servers say everything there.
    ///
    /// Waits until so much has arrived, and reads no further.
    ///
    /// # Errors
    /// The connection broke, or the response is not a list: `Error::SerdeError` then says what it lacks.
    pub async fn head(&mut self) -> Result<ListMeta, Error> {
        self.body.head().await
    }

    /// Decodes the items as they arrive, each that cannot be decoded in its place, with its error and its metadata.
    ///
    /// A `Deserialize` that panics is an error of its item.
    ///
    /// # Errors
    /// As [`Client::request`], but for the items.
    pub async fn decode<K>(self) -> Result<ObjectList<DeserializeGuard<K>>, Error>
    where
        K: Clone + DeserializeOwned,
    {
        self.body.decode_guarded().await
    }
}
