//! Restarting workloads.

use kube_core::Resource;
use kube_core::util::Restart;
use serde::de::DeserializeOwned;

use crate::api::Api;
use crate::error::Error;

impl<K> Api<K>
where
    K: Restart + Resource + DeserializeOwned,
{
    /// Has the pods of the workload `name` replaced, by a change to its pod template, as `kubectl rollout restart` does.
    ///
    /// ```
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use kube_client::{Api, Client};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    /// # let labels = serde_json::json!({ "app": "web" });
    /// # let template = serde_json::json!({ "metadata": { "labels": labels }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    /// # let spec = serde_json::json!({ "replicas": 0, "selector": { "matchLabels": labels }, "template": template });
    /// # let web: Deployment = serde_json::from_value(serde_json::json!({ "metadata": { "name": "web" }, "spec": spec }))?;
    /// # Api::default_namespaced(client.clone()).create(&Default::default(), &web).await?;
    ///
    /// let deployments: Api<Deployment> = Api::default_namespaced(client);
    /// let marks = deployments.restart("web").await?.spec.template.metadata.and_then(|meta| meta.annotations);
    /// assert!(marks.is_some_and(|marks| marks.contains_key("kubectl.kubernetes.io/restartedAt")));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::patch`].
    pub async fn restart(&self, name: &str) -> Result<K, Error> {
        self.call("restart", self.request.restart(name)).await
    }
}
