//! Nodes that take new pods, or do not.

use k8s_openapi::api::core::v1::Node;

use crate::api::Api;
use crate::error::Error;

impl Api<Node> {
    /// Lets the node `name` take no new pods.
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
    pub async fn cordon(&self, name: &str) -> Result<Node, Error> {
        self.call("cordon", self.request.cordon(name)).await
    }

    /// Lets the node `name` take new pods again.
    ///
    /// # Errors
    /// As [`Api::patch`].
    pub async fn uncordon(&self, name: &str) -> Result<Node, Error> {
        self.call("uncordon", self.request.uncordon(name)).await
    }
}
