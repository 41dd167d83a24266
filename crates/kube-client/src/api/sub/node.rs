//! Nodes that take new pods, or do not.

use k8s_openapi::api::core::v1::Node;

use crate::api::Api;
use crate::error::Error;

impl Api<Node> {
    /// Lets the node `name` take no new pods.
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
