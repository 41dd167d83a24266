//! Evictions: deletions that respect disruption budgets.

use kube_core::Status;
use kube_core::subresource::EvictParams;
use serde::de::DeserializeOwned;

use super::Evict;
use crate::api::Api;
use crate::error::Error;

impl<K> Api<K>
where
    K: DeserializeOwned + Evict,
{
    /// Evicts the pod `name`.
    ///
    /// While a disruption budget does not allow it, the server asks to try again later; a client with the default retries does so for up
    /// to 45 s.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_client::api::EvictParams;
    /// use kube_client::{Api, Client};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    /// # let pod: Pod = serde_json::from_str(r#"{"metadata":{"name":"web"},"spec":{"nodeName":"node","containers":[{"name":"main","image":"i"}]}}"#)?;
    /// # Api::default_namespaced(client.clone()).create(&Default::default(), &pod).await?;
    ///
    /// let pods: Api<Pod> = Api::default_namespaced(client);
    /// assert!(pods.evict("web", &EvictParams::default()).await?.is_success());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Api`] with code 429 while a disruption budget does not allow it, 404 if the pod is not there.
    pub async fn evict(&self, name: &str, ep: &EvictParams) -> Result<Status, Error> {
        self.call("evict", self.request.evict(name, ep)).await
    }
}
