//! Logs of containers.

use futures::AsyncBufRead;
use kube_core::subresource::LogParams;
use serde::de::DeserializeOwned;

use super::Log;
use crate::api::Api;
use crate::client::named;
use crate::error::Error;

impl<K> Api<K>
where
    K: DeserializeOwned + Log,
{
    /// The log as it is now, as one text.
    ///
    /// # Errors
    /// [`Error::Api`] with code 400 if the container has not started, 404 if the pod is not there; [`Error::FromUtf8`].
    pub async fn logs(&self, name: &str, lp: &LogParams) -> Result<String, Error> {
        self.client.request_text(named("logs", self.request.logs(name, lp))?).await
    }

    /// The log as it is written: with `follow`, until the container ends or the reader is dropped.
    ///
    /// # Errors
    /// As [`Api::logs`] for the start; what breaks off later is an error of the reader.
    pub async fn log_stream(&self, name: &str, lp: &LogParams) -> Result<impl AsyncBufRead + use<K>, Error> {
        self.client.request_stream(named("log_stream", self.request.logs(name, lp))?).await
    }
}
