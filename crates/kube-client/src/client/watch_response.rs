//! [`WatchResponse`]: the response to a watch request, read as a stream of events.

use futures::Stream;
use http::header::ACCEPT_ENCODING;
use http::{HeaderValue, Request};
use kube_core::{DeserializeGuard, WatchEvent};
use serde::de::DeserializeOwned;

use super::Client;
use super::requests::prune_of;
use crate::body::Body;
use crate::decode::{DecodeBy, EventStream, Form, KnownObjects, ParallelEvents, Prune, guarded_events};
use crate::error::{ErasedError, Error};

/// The response to a watch request, whose events have not been read. For the watcher of `kube-runtime`.
///
/// # Cancellation
/// Dropping it, or the stream of one of its methods, cancels the request.
#[derive(Debug)]
pub struct WatchResponse {
    body: Body,
    prune: Prune,
}

impl Client {
    /// Sends a watch request and waits for the head of the response.
    ///
    /// # Errors
    /// As [`Client::request`].
    #[doc(hidden)]
    pub async fn open_watch(&self, mut request: Request<Vec<u8>>) -> Result<WatchResponse, Error> {
        let prune = prune_of(&request);
        if !self.reads_compressed_events || !sends_initial_events(&request) {
            // Single events gain little, and a proxy that compresses may delay them until it has enough data for a block.
            request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        Ok(WatchResponse { body: self.send_negotiated(request, Form::Events).await?, prune })
    }
}

/// Whether a watch begins with the existing objects, which are compressed as a list is.
fn sends_initial_events(request: &Request<Vec<u8>>) -> bool {
    let query = request.uri().query().unwrap_or_default();
    query.split('&').any(|parameter| parameter == "sendInitialEvents=true")
}

impl WatchResponse {
    /// See [`Client::request_events`].
    pub(crate) fn events<K>(self) -> EventStream<K>
    where
        K: DeserializeOwned,
    {
        EventStream::new(self.body, &self.prune)
    }

    /// See [`Client::request_events_guarded`]. `known` is told how the objects were received.
    pub fn guarded_events<K>(
        self,
        known: KnownObjects<K>,
    ) -> impl Stream<Item = Result<WatchEvent<DeserializeGuard<K>>, ErasedError>> + use<K>
    where
        K: DeserializeOwned,
    {
        guarded_events(self.body, &self.prune, known)
    }

    /// See [`Client::request_many_events`]. Objects that the caller has already are not decoded.
    pub fn many_events<K>(
        self,
        known: KnownObjects<K>,
        by: DecodeBy,
    ) -> impl Stream<Item = Result<WatchEvent<DeserializeGuard<K>>, ErasedError>> + use<K>
    where
        K: DeserializeOwned + Send + 'static,
    {
        ParallelEvents::new(self.body, &self.prune, known, by)
    }
}
