//! Requests whose response is decoded: as an object, a list, text, a stream, a status or events.

use either::Either;
use futures::{AsyncBufRead, Stream, TryStream, TryStreamExt};
use http::{Request, Response};
use http_body_util::BodyExt;
use kube_core::object::ObjectList;
use kube_core::{DeserializeGuard, Status, WatchEvent};
use serde::de::DeserializeOwned;
use tokio_util::io::StreamReader;

use super::Client;
use crate::Result;
use crate::body::Body;
use crate::decode::{
    DecodeBy, Form, KnownObjects, ListBody, Prune, expect_success, from_body, object_or_status,
};
use crate::error::{ErasedError, Error};
use crate::reconcile::PendingWrite;

impl Client {
    /// Sends a request and decodes the JSON response.
    ///
    /// ```
    /// use http::Request;
    /// use kube_client::Client;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// let request = Request::get("/api/v1/namespaces/default").body(Vec::new())?;
    /// let namespace: serde_json::Value = client.request(request).await?;
    /// assert_eq!(namespace["status"]["phase"], "Active");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Api`] for a response that is not 2xx, [`Error::SerdeError`] for one that does not decode as `T`, others as
    /// [`Client::send`].
    pub async fn request<T>(&self, request: Request<Vec<u8>>) -> Result<T>
    where
        T: DeserializeOwned,
    {
        let prune = prune_of(&request);
        from_body(self.send_for_body(request).await?, &prune).await
    }

    /// Sends a request and returns the response as text.
    ///
    /// ```
    /// use http::Request;
    /// use kube_client::Client;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// let text = client.request_text(Request::get("/readyz").body(Vec::new())?).await?;
    /// assert_eq!(text, "ok");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Client::request`], and [`Error::FromUtf8`].
    pub async fn request_text(&self, request: Request<Vec<u8>>) -> Result<String> {
        let bytes = self.send_for_body(request).await?.collect_bytes().await?;
        String::from_utf8(bytes.into()).map_err(Error::FromUtf8)
    }

    /// As [`Client::request_text`], with U+FFFD in place of what is not UTF-8.
    pub(crate) async fn request_text_lossy(&self, request: Request<Vec<u8>>) -> Result<String> {
        let bytes = self.send_for_body(request).await?.collect_bytes().await?;
        Ok(String::from_utf8(bytes.into())
            .unwrap_or_else(|err| String::from_utf8_lossy(err.as_bytes()).into()))
    }

    /// Sends a request and returns a reader of the response, such as a log. Dropping the reader ends the request.
    ///
    /// ```
    /// use futures::AsyncBufReadExt;
    /// use http::Request;
    /// use kube_client::Client;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    ///
    /// let mut reader = client.request_stream(Request::get("/readyz").body(Vec::new())?).await?;
    /// let mut line = String::new();
    /// reader.read_line(&mut line).await?;
    /// assert_eq!(line, "ok");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Client::request`] before the response starts; later errors are those of the reader.
    pub async fn request_stream(&self, request: Request<Vec<u8>>) -> Result<impl AsyncBufRead + use<>> {
        let body = self.send_for_body(request).await?;
        // The pinned box makes the reader `Unpin`.
        Ok(Box::pin(body.into_data_stream().map_err(std::io::Error::other)).into_async_read())
    }

    /// [`Client::request_stream`] with a reader of tokio.
    pub(crate) async fn request_reader(
        &self,
        request: Request<Vec<u8>>,
    ) -> Result<impl tokio::io::AsyncBufRead + Send + Unpin + use<>> {
        let body = self.send_for_body(request).await?;
        Ok(StreamReader::new(Box::pin(body.into_data_stream().map_err(std::io::Error::other))))
    }

    /// Sends a request whose response is an object or a `Status`, such as a deletion.
    ///
    /// ```
    /// use http::Request;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::Client;
    /// # use kube_client::Api;
    #[doc = include_str!("../doc/config_map.txt")]
    ///
    /// let request = Request::delete("/api/v1/namespaces/default/configmaps/settings").body(Vec::new())?;
    /// assert!(client.request_status::<ConfigMap>(request).await?.is_right(), "it is deleted at once");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Client::request`].
    pub async fn request_status<T>(&self, request: Request<Vec<u8>>) -> Result<Either<T, Status>>
    where
        T: DeserializeOwned,
    {
        object_or_status(self.send_for_body(request).await?).await
    }

    /// Sends a watch request and returns its events as a stream.
    ///
    /// ```
    /// use futures::TryStreamExt;
    /// use http::Request;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::Client;
    /// use kube_client::api::WatchEvent;
    /// # use kube_client::Api;
    #[doc = include_str!("../doc/config_map.txt")]
    ///
    /// let request = Request::get("/api/v1/configmaps?watch=true&resourceVersion=0").body(Vec::new())?;
    /// let mut events = Box::pin(client.request_events::<ConfigMap>(request).await?);
    /// assert!(matches!(events.try_next().await?, Some(WatchEvent::Added(_))));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Client::request`] before the stream starts. Then an object that cannot be decoded is an error with its name, and the stream
    /// continues. A broken connection is an error and the last item; a watch that the server ends has no error.
    pub async fn request_events<T>(
        &self,
        request: Request<Vec<u8>>,
    ) -> Result<impl TryStream<Item = Result<WatchEvent<T>>> + use<T>>
    where
        T: Clone + DeserializeOwned,
    {
        self.events(request).await
    }

    /// Sends a list request and decodes its items one by one as they arrive: the whole body is never in memory.
    ///
    /// ```
    /// use http::Request;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::Client;
    /// # use kube_client::Api;
    #[doc = include_str!("../doc/config_map.txt")]
    ///
    /// let request = Request::get("/api/v1/configmaps").body(Vec::new())?;
    /// assert_eq!(client.request_list::<ConfigMap>(request).await?.items.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Client::request`]. The first item that cannot be decoded fails the list; the error has the item's name.
    pub async fn request_list<K>(&self, request: Request<Vec<u8>>) -> Result<ObjectList<K>>
    where
        K: Clone + DeserializeOwned,
    {
        self.list_body(request).await?.decode().await
    }

    /// As [`Client::request_list`], but an item that cannot be decoded does not fail the list: it carries its error and its metadata.
    ///
    /// # Cost
    /// Items that can be decoded cost nothing extra: there is no intermediate form.
    ///
    /// # Errors
    /// As [`Client::request`], except for items that cannot be decoded.
    pub async fn request_list_guarded<K>(
        &self,
        request: Request<Vec<u8>>,
    ) -> Result<ObjectList<DeserializeGuard<K>>>
    where
        K: Clone + DeserializeOwned,
    {
        self.list_body(request).await?.decode_guarded().await
    }

    /// As [`Client::request_events`], but an object that cannot be decoded is an event that carries its error and its metadata.
    ///
    /// # Errors
    /// As [`Client::request_events`], except for objects that cannot be decoded.
    pub async fn request_events_guarded<K>(
        &self,
        request: Request<Vec<u8>>,
    ) -> Result<impl Stream<Item = Result<WatchEvent<DeserializeGuard<K>>>> + use<K>>
    where
        K: DeserializeOwned,
    {
        Ok(self
            .open_watch(request)
            .await?
            .guarded_events(KnownObjects::default())
            .map_err(ErasedError::into_error))
    }

    /// As [`Client::request_events_guarded`], for a watch that starts with many events, as a streaming list does.
    ///
    /// Events that are received faster than they are read are decoded by tasks of the runtime, several at the same time, and returned
    /// in their order. An event that arrives alone is decoded by the reader. On a runtime with one thread all are.
    ///
    /// # Cost
    /// About 160 KiB of text are read ahead, or one longer event, and held as text or as decoded objects.
    ///
    /// # Cancellation
    /// Dropping the stream cancels the request and the tasks; each of them finishes the object that it decodes.
    ///
    /// # Errors
    /// As [`Client::request_events_guarded`].
    ///
    /// ```
    /// use futures::TryStreamExt;
    /// use http::Request;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::Client;
    /// # use kube_client::Api;
    #[doc = include_str!("../doc/config_map.txt")]
    ///
    /// let request = Request::get("/api/v1/configmaps?watch=1&resourceVersion=0").body(Vec::new())?;
    /// let mut events = std::pin::pin!(client.request_many_events::<ConfigMap>(request).await?);
    /// assert!(events.try_next().await?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn request_many_events<K>(
        &self,
        request: Request<Vec<u8>>,
    ) -> Result<impl Stream<Item = Result<WatchEvent<DeserializeGuard<K>>>> + use<K>>
    where
        K: DeserializeOwned + Send + 'static,
    {
        let response = self.open_watch(request).await?;
        Ok(response.many_events(KnownObjects::default(), DecodeBy::Tasks).map_err(ErasedError::into_error))
    }

    /// [`Client::request_events`] for types that cannot be cloned.
    pub(crate) async fn events<T>(
        &self,
        request: Request<Vec<u8>>,
    ) -> Result<impl Stream<Item = Result<WatchEvent<T>>> + use<T>>
    where
        T: DeserializeOwned,
    {
        Ok(self.open_watch(request).await?.events().map_err(ErasedError::into_error))
    }

    /// A list response that has not been read.
    pub(super) async fn list_body(&self, request: Request<Vec<u8>>) -> Result<ListBody> {
        let prune = prune_of(&request);
        Ok(ListBody::new(self.send_negotiated(request, Form::List).await?, prune))
    }

    async fn send_for_body(&self, request: Request<Vec<u8>>) -> Result<Body> {
        Ok(self.send_for_success(request).await?.into_body())
    }

    pub(super) async fn send_for_success(&self, request: Request<Vec<u8>>) -> Result<Response<Body>> {
        let received = request.extensions().get().cloned();
        let write = PendingWrite::of(&request);
        let response = self.send(request.map(Body::from)).await?;
        let response = expect_success(response).await?.map(|body| body.counted(received));
        let Some(write) = write else { return Ok(response) };
        // Before it is decoded: an object that the program's type cannot hold is written as well.
        let (head, body) = response.into_parts();
        let bytes = body.collect_bytes().await?;
        write.confirmed(&bytes, self.server_address().get());
        Ok(Response::from_parts(head, Body::from(bytes)))
    }
}

/// What may be left out while the response is decoded.
pub(super) fn prune_of(request: &Request<Vec<u8>>) -> Prune {
    request.extensions().get().cloned().unwrap_or_default()
}

/// The result of building a request in kube-core.
pub type BuiltRequest = Result<Request<Vec<u8>>, kube_core::request::Error>;

/// Adds the name of the calling method to a request, such as `list`: the name of its tracing span, `otel.name`.
///
/// ```
/// use kube_client::client::with_verb;
/// use kube_client::core::{Request, params::ListParams};
///
/// let request = with_verb("list_twice", Request::new("/api/v1/pods").list(&ListParams::default()))?;
/// # Ok::<(), kube_client::Error>(())
/// ```
///
/// # Errors
/// [`Error::BuildRequest`] if there is no request.
pub fn with_verb(verb: &'static str, request: BuiltRequest) -> Result<Request<Vec<u8>>> {
    let mut request = request.map_err(Error::BuildRequest)?;
    request.extensions_mut().insert(verb);
    Ok(request)
}

#[cfg(test)]
mod tests {
    use futures::{AsyncReadExt, StreamExt};
    use http::Response;
    use tower::BoxError;

    use super::*;

    fn responding(code: u16, body: &'static str) -> Client {
        let server = tower::service_fn(move |_: Request<Body>| async move {
            let body = Body::from(body.as_bytes().to_vec());
            Ok::<_, BoxError>(Response::builder().status(code).body(body).unwrap())
        });
        Client::new(server, "default")
    }

    fn get() -> Request<Vec<u8>> {
        Request::get("/x").body(Vec::new()).unwrap()
    }

    #[tokio::test]
    async fn an_error_response_is_an_api_error_for_every_method() {
        let client = responding(429, "slow down");
        let is_429 = |err: Option<Error>| matches!(err, Some(Error::Api(status)) if status.code == 429);
        assert!(is_429(client.request::<()>(get()).await.err()));
        assert!(is_429(client.request_text(get()).await.err()));
        assert!(is_429(client.request_status::<()>(get()).await.err()));
        assert!(is_429(client.request_stream(get()).await.err()));
        assert!(is_429(client.request_events::<()>(get()).await.err()));
    }

    #[tokio::test]
    async fn text_and_stream_return_the_body() {
        let client = responding(200, "one\ntwo\n");
        assert_eq!(client.request_text(get()).await.unwrap(), "one\ntwo\n");
        let mut text = String::new();
        let mut reader = Box::pin(client.request_stream(get()).await.unwrap());
        reader.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "one\ntwo\n");
    }

    #[tokio::test]
    async fn a_watch_response_is_a_stream_of_events() {
        let client = responding(200, "{\"type\":\"DELETED\",\"object\":{\"a\":1}}\n");
        let events = client.request_events::<serde_json::Value>(get()).await.unwrap();
        let events: Vec<_> = events.collect().await;
        assert!(matches!(&events[..], [Ok(WatchEvent::Deleted(object))] if object["a"] == 1));
    }
}
