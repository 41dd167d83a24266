//! Restarts a workload and follows the progress.

// ANCHOR: all
use futures::TryStreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::prelude::*;
use std::pin::pin;

/// Restarts a deployment and prints the progress, as `kubectl rollout restart` and `kubectl rollout status` do.
pub async fn rollout(
    deployments: &Api<Deployment>,
    name: &str,
) -> Result<String, Box<dyn std::error::Error>> {
    deployments.restart(name).await?;
    let (mut last, mut progress) = (String::new(), pin!(deployments.rollout_status(name)));
    while let Some(status) = progress.try_next().await? {
        println!("{status}");
        last = status.to_string();
    }
    Ok(last)
}
// ANCHOR_END: all
