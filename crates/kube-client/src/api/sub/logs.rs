//! Logs of containers.

use futures::AsyncBufRead;
use k8s_openapi::api::core::v1::Pod;
use kube_core::subresource::LogParams;
use serde::de::DeserializeOwned;

use crate::Result;
use crate::api::Api;
use crate::client::with_verb;

/// Kinds that have logs.
pub trait Log {}
impl Log for Pod {}

impl<K> Api<K>
where
    K: DeserializeOwned + Log,
{
    /// The log up to now, as one string. Bytes that are not UTF-8 become U+FFFD, also those of a character that `limit_bytes` cuts;
    /// [`Api::log_stream`] returns the bytes themselves.
    ///
    /// Without a container in the parameters the server takes the only one, and refuses with the names of those there are if there are
    /// several. It does not know kubectl's annotation for a default container.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_client::api::LogParams;
    /// use kube_client::{Api, Client};
    #[doc = include_str!("../../doc/running_pod_in_process.txt")]
    /// # server.kubelet().log("default", "web", "main", "one\ntwo");
    ///
    /// let pods: Api<Pod> = Api::default_namespaced(client);
    /// let last = LogParams { tail_lines: Some(1), ..LogParams::default() };
    /// assert_eq!(pods.logs("web", &last).await?, "two\n");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Api`](crate::Error::Api) with code 400 if the container has not started or does not exist, 404 if the pod does not exist.
    pub async fn logs(&self, name: &str, lp: &LogParams) -> Result<String> {
        self.client.request_text_lossy(with_verb("logs", self.request.logs(name, lp))?).await
    }

    /// Reads the log as a stream: with `follow`, until the container ends or the reader is dropped.
    ///
    /// ```
    /// use futures::AsyncBufReadExt;
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_client::api::LogParams;
    /// use kube_client::{Api, Client};
    #[doc = include_str!("../../doc/running_pod_in_process.txt")]
    /// # server.kubelet().log("default", "web", "main", "one\ntwo");
    ///
    /// let pods: Api<Pod> = Api::default_namespaced(client);
    /// let follow = LogParams { follow: true, ..LogParams::default() };
    /// let mut lines = Box::pin(pods.log_stream("web", &follow).await?);
    /// let mut line = String::new();
    /// lines.read_line(&mut line).await?;
    /// assert_eq!(line, "one\n");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::logs`] before the stream starts; later errors are those of the reader.
    pub async fn log_stream(&self, name: &str, lp: &LogParams) -> Result<impl AsyncBufRead + use<K>> {
        self.client.request_stream(with_verb("log_stream", self.request.logs(name, lp))?).await
    }

    /// As [`Api::log_stream`], with a reader of tokio.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_client::api::LogParams;
    /// use kube_client::{Api, Client};
    #[doc = include_str!("../../doc/running_pod_in_process.txt")]
    /// # server.kubelet().log("default", "web", "main", "one\ntwo");
    ///
    /// let pods: Api<Pod> = Api::default_namespaced(client);
    /// let mut log = pods.log_reader("web", &LogParams::default()).await?;
    /// let mut file = Vec::new();
    /// tokio::io::copy(&mut log, &mut file).await?;
    /// assert_eq!(file, b"one\ntwo\n");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::log_stream`].
    pub async fn log_reader(
        &self,
        name: &str,
        lp: &LogParams,
    ) -> Result<impl tokio::io::AsyncBufRead + Send + Unpin + use<K>> {
        self.client.request_reader(with_verb("log_reader", self.request.logs(name, lp))?).await
    }
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};

    use super::*;
    use crate::Client;
    use crate::client::Body;

    #[tokio::test]
    async fn a_log_that_is_not_utf8_is_not_lost() {
        // An invalid byte, and the first half of a character.
        let server = tower::service_fn(async |_: Request<Body>| {
            Ok::<_, std::io::Error>(Response::new(Body::from(b"one\xff\ntw\xc3".to_vec())))
        });
        let pods: Api<Pod> = Api::default_namespaced(Client::new(server, "default"));
        assert_eq!(pods.logs("web", &LogParams::default()).await.unwrap(), "one\u{fffd}\ntw\u{fffd}");
    }
}
