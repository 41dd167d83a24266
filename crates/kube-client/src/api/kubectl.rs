//! Patches known from kubectl: `rollout restart`, `cordon` and `uncordon`.

use k8s_openapi::api::core::v1::Node;
use kube_core::Resource;
use kube_core::util::Restart;
use serde::de::DeserializeOwned;

use super::Api;
use crate::Result;

impl<K> Api<K>
where
    K: Restart + Resource + DeserializeOwned,
{
    /// Replaces the pods of the workload `name` by a change of its pod template, as `kubectl rollout restart` does.
    ///
    /// ```
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use kube_client::{Api, Client};
    #[doc = include_str!("../doc/deployment.txt")]
    ///
    /// let deployments: Api<Deployment> = Api::default_namespaced(client);
    /// let annotations = deployments.restart("web").await?.spec.template.metadata.and_then(|meta| meta.annotations);
    /// assert!(annotations.is_some_and(|annotations| annotations.contains_key("kubectl.kubernetes.io/restartedAt")));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::patch`].
    pub async fn restart(&self, name: &str) -> Result<K> {
        self.call("restart", self.request.restart_at(name, crate::time::now())).await
    }
}

impl Api<Node> {
    /// Marks the node `name` as unschedulable: it gets no new pods.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Node;
    /// use kube_client::{Api, Client};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let client = Client::new(kube_testserver::ApiServer::new(), "default");
    /// # let node: Node = serde_json::from_str(r#"{"metadata":{"name":"worker"}}"#)?;
    /// # Api::all(client.clone()).create(&Default::default(), &node).await?;
    ///
    /// let nodes: Api<Node> = Api::all(client);
    /// let cordoned = nodes.cordon("worker").await?;
    /// assert_eq!(cordoned.spec.and_then(|spec| spec.unschedulable), Some(true));
    /// nodes.uncordon("worker").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Api::patch`].
    pub async fn cordon(&self, name: &str) -> Result<Node> {
        self.call("cordon", self.request.cordon(name)).await
    }

    /// Marks the node `name` as schedulable.
    ///
    /// # Errors
    /// As [`Api::patch`].
    pub async fn uncordon(&self, name: &str) -> Result<Node> {
        self.call("uncordon", self.request.uncordon(name)).await
    }
}
