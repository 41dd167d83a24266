//! Requests with an answer of a certain form.

use either::Either;
use futures::{AsyncBufRead, Stream, TryStream, TryStreamExt};
use http::header::ACCEPT_ENCODING;
use http::{HeaderValue, Request};
use http_body_util::BodyExt;
use kube_core::object::ObjectList;
use kube_core::{DeserializeGuard, Status, WatchEvent};
use serde::de::DeserializeOwned;

use super::Client;
use crate::body::Body;
use crate::decode::{EventStream, ListBody, Prune, expect_success, from_body, object_or_status};
use crate::error::Error;

impl Client {
    /// Sends a request and decodes the JSON answer.
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
    /// [`Error::Api`] for an answer that is not 2xx, [`Error::SerdeError`] for one that is no `T`, others if none came.
    pub async fn request<T>(&self, request: Request<Vec<u8>>) -> Result<T, Error>
    where
        T: DeserializeOwned,
    {
        let prune = wanted(&request);
        from_body(self.succeed(request).await?, prune).await
    }

    /// Sends a request and gives the answer as text.
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
    pub async fn request_text(&self, request: Request<Vec<u8>>) -> Result<String, Error> {
        let bytes = self.succeed(request).await?.collect_bytes().await?;
        String::from_utf8(bytes.into()).map_err(Error::FromUtf8)
    }

    /// Sends a request whose answer is read as it comes, such as a log. Dropping the reader ends it.
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
    /// As [`Client::request`]; what breaks off later is an error of the reader.
    pub async fn request_stream(
        &self,
        request: Request<Vec<u8>>,
    ) -> Result<impl AsyncBufRead + use<>, Error> {
        let body = self.succeed(request).await?;
        // The boxed pin makes the reader movable while it is read.
        Ok(Box::pin(body.into_data_stream().map_err(std::io::Error::other)).into_async_read())
    }

    /// Sends a request that is answered by an object or by a `Status`, as deletions are.
    ///
    /// ```
    /// use http::Request;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::Client;
    /// # use kube_client::Api;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    /// # let map: ConfigMap = serde_json::from_str(r#"{"metadata":{"name":"settings"},"data":{"color":"blue"}}"#)?;
    /// # Api::default_namespaced(client.clone()).create(&Default::default(), &map).await?;
    ///
    /// let request = Request::delete("/api/v1/namespaces/default/configmaps/settings").body(Vec::new())?;
    /// assert!(client.request_status::<ConfigMap>(request).await?.is_right(), "it is gone at once");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Client::request`].
    pub async fn request_status<T>(&self, request: Request<Vec<u8>>) -> Result<Either<T, Status>, Error>
    where
        T: DeserializeOwned,
    {
        object_or_status(self.succeed(request).await?).await
    }

    /// Sends a watch and gives its events as they come.
    ///
    /// ```
    /// use futures::TryStreamExt;
    /// use http::Request;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::Client;
    /// use kube_client::api::WatchEvent;
    /// # use kube_client::Api;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    /// # let map: ConfigMap = serde_json::from_str(r#"{"metadata":{"name":"settings"},"data":{"color":"blue"}}"#)?;
    /// # Api::default_namespaced(client.clone()).create(&Default::default(), &map).await?;
    ///
    /// let request = Request::get("/api/v1/configmaps?watch=true&resourceVersion=0").body(Vec::new())?;
    /// let mut events = Box::pin(client.request_events::<ConfigMap>(request).await?);
    /// assert!(matches!(events.try_next().await?, Some(WatchEvent::Added(_))));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Client::request`] for the start. Then an object that cannot be decoded is one error that names it, and the stream goes
    /// on; a connection that breaks is the last item, and one that the server closes just ends.
    pub async fn request_events<T>(
        &self,
        request: Request<Vec<u8>>,
    ) -> Result<impl TryStream<Item = Result<WatchEvent<T>, Error>> + use<T>, Error>
    where
        T: Clone + DeserializeOwned,
    {
        self.events(request).await
    }

    /// Sends a list and decodes its items one by one as they arrive: body and objects are never in memory together.
    ///
    /// ```
    /// use http::Request;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::Client;
    /// # use kube_client::Api;
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    /// # let map: ConfigMap = serde_json::from_str(r#"{"metadata":{"name":"settings"},"data":{"color":"blue"}}"#)?;
    /// # Api::default_namespaced(client.clone()).create(&Default::default(), &map).await?;
    ///
    /// let request = Request::get("/api/v1/configmaps").body(Vec::new())?;
    /// assert_eq!(client.request_list::<ConfigMap>(request).await?.items.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Client::request`]. The first item that cannot be decoded is the error, and it is named.
    pub async fn request_list<K>(&self, request: Request<Vec<u8>>) -> Result<ObjectList<K>, Error>
    where
        K: Clone + DeserializeOwned,
    {
        self.list_body(request).await?.decode().await
    }

    /// [`Client::request_list`] with each item that cannot be decoded in its place, with its error and its metadata.
    ///
    /// Costs nothing beyond that for the good ones: they do not pass through another form.
    ///
    /// # Errors
    /// As [`Client::request`], but for the items.
    pub async fn request_list_guarded<K>(
        &self,
        request: Request<Vec<u8>>,
    ) -> Result<ObjectList<DeserializeGuard<K>>, Error>
    where
        K: Clone + DeserializeOwned,
    {
        self.list_body(request).await?.decode_guarded().await
    }

    /// [`Client::request_events`] in which an object that cannot be decoded is an event like others, with its error and its metadata.
    ///
    /// # Errors
    /// As [`Client::request_events`], but for the objects.
    pub async fn request_events_guarded<K>(
        &self,
        request: Request<Vec<u8>>,
    ) -> Result<impl Stream<Item = Result<WatchEvent<DeserializeGuard<K>>, Error>> + use<K>, Error>
    where
        K: DeserializeOwned,
    {
        let prune = wanted(&request);
        let body = self.open_events(request).await?;
        Ok(EventStream::<DeserializeGuard<K>>::guarded(body, prune))
    }

    /// [`Client::request_events`] with a type that has a name.
    pub(crate) async fn events<T>(&self, request: Request<Vec<u8>>) -> Result<EventStream<T>, Error>
    where
        T: DeserializeOwned,
    {
        let prune = wanted(&request);
        Ok(EventStream::new(self.open_events(request).await?, prune))
    }

    /// A list of which nothing has been read.
    pub(super) async fn list_body(&self, request: Request<Vec<u8>>) -> Result<ListBody, Error> {
        let prune = wanted(&request);
        Ok(ListBody::new(self.succeed(request).await?, prune))
    }

    async fn open_events(&self, mut request: Request<Vec<u8>>) -> Result<Body, Error> {
        // Compressing layers hold back events until they have enough of them.
        request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        self.succeed(request).await
    }

    async fn succeed(&self, request: Request<Vec<u8>>) -> Result<Body, Error> {
        let response = self.send(request.map(Body::from)).await?;
        expect_success(response).await.map(http::Response::into_body)
    }
}

/// What the answer may leave out.
fn wanted(request: &Request<Vec<u8>>) -> Prune {
    request.extensions().get().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use futures::{AsyncReadExt, StreamExt};
    use http::Response;
    use tower::BoxError;

    use super::*;

    fn answering(code: u16, body: &'static str) -> Client {
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
    async fn every_form_of_answer_turns_a_refusal_into_an_api_error() {
        let client = answering(429, "slow down");
        let is_429 = |err: Option<Error>| matches!(err, Some(Error::Api(status)) if status.code == 429);
        assert!(is_429(client.request::<()>(get()).await.err()));
        assert!(is_429(client.request_text(get()).await.err()));
        assert!(is_429(client.request_status::<()>(get()).await.err()));
        assert!(is_429(client.request_stream(get()).await.err()));
        assert!(is_429(client.request_events::<()>(get()).await.err()));
    }

    #[tokio::test]
    async fn text_and_streams_carry_the_body() {
        let client = answering(200, "one\ntwo\n");
        assert_eq!(client.request_text(get()).await.unwrap(), "one\ntwo\n");
        let mut text = String::new();
        let mut reader = Box::pin(client.request_stream(get()).await.unwrap());
        reader.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "one\ntwo\n");
    }

    #[tokio::test]
    async fn a_watch_gives_events() {
        let client = answering(200, "{\"type\":\"DELETED\",\"object\":{\"a\":1}}\n");
        let events = client.request_events::<serde_json::Value>(get()).await.unwrap();
        let events: Vec<_> = events.collect().await;
        assert!(matches!(&events[..], [Ok(WatchEvent::Deleted(object))] if object["a"] == 1));
    }
}
