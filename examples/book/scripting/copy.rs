//! Copies files to and from a container.

// ANCHOR: all
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::pods::{CopyError, CopyParams};
use kube::prelude::*;
use std::path::Path;

/// Sends a file, and receives a directory. Needs the feature `cp`, and `tar` in the container.
pub async fn copy(pods: &Api<Pod>, pod: &str, input: &Path, results: &Path) -> Result<u64, CopyError> {
    pods.copy_to(pod, input, "/tmp/input", &CopyParams::default()).await?;
    let copied = pods.copy_from(pod, "/tmp", results, &CopyParams::default().retries(3)).await?;
    Ok(copied.bytes)
}
// ANCHOR_END: all
