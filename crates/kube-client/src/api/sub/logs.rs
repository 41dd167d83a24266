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
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_client::api::LogParams;
    /// use kube_client::{Api, Client};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = kube_testserver::ApiServer::new();
    /// # let client = Client::new(server.clone(), "default");
    /// # let pod: Pod = serde_json::from_str(r#"{"metadata":{"name":"web"},"spec":{"nodeName":"node","containers":[{"name":"main","image":"i"}]}}"#)?;
    /// # Api::default_namespaced(client.clone()).create(&Default::default(), &pod).await?;
    /// # let running = kube_client::api::Patch::Merge(serde_json::json!({ "status": { "phase": "Running" } }));
    /// # Api::<Pod>::default_namespaced(client.clone()).patch_status("web", &Default::default(), &running).await?;
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
    /// [`Error::Api`] with code 400 if the container has not started, 404 if the pod is not there; [`Error::FromUtf8`].
    pub async fn logs(&self, name: &str, lp: &LogParams) -> Result<String, Error> {
        self.client.request_text(named("logs", self.request.logs(name, lp))?).await
    }

    /// The log as it is written: with `follow`, until the container ends or the reader is dropped.
    ///
    /// ```
    /// use futures::AsyncBufReadExt;
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_client::api::LogParams;
    /// use kube_client::{Api, Client};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let server = kube_testserver::ApiServer::new();
    /// # let client = Client::new(server.clone(), "default");
    /// # let pod: Pod = serde_json::from_str(r#"{"metadata":{"name":"web"},"spec":{"nodeName":"node","containers":[{"name":"main","image":"i"}]}}"#)?;
    /// # Api::default_namespaced(client.clone()).create(&Default::default(), &pod).await?;
    /// # let running = kube_client::api::Patch::Merge(serde_json::json!({ "status": { "phase": "Running" } }));
    /// # Api::<Pod>::default_namespaced(client.clone()).patch_status("web", &Default::default(), &running).await?;
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
    /// As [`Api::logs`] for the start; what breaks off later is an error of the reader.
    pub async fn log_stream(&self, name: &str, lp: &LogParams) -> Result<impl AsyncBufRead + use<K>, Error> {
        self.client.request_stream(named("log_stream", self.request.logs(name, lp))?).await
    }
}
