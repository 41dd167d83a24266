//! Waits for a state.

// ANCHOR: all
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::prelude::*;
use std::time::Duration;

/// Waits as `kubectl wait` does, at most a minute.
pub async fn wait(deployments: &Api<Deployment>, name: &str) -> Result<(), Box<dyn std::error::Error>> {
    let minute = Duration::from_secs(60);
    deployments.wait_ready(name, minute).await?;
    deployments.wait_for(name, &"condition=Available".parse()?, minute).await?;
    deployments.wait_for(name, &"jsonpath={.status.readyReplicas}=2".parse()?, minute).await?;
    Ok(())
}
// ANCHOR_END: all
