//! Runs a command in a container.

// ANCHOR: all
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::pods::{ExecError, ExecParams};
use kube::prelude::*;

/// Runs a command in a container, without a shell. Needs the feature `ws`.
pub async fn exec(pods: &Api<Pod>, name: &str, command: &[&str]) -> Result<String, ExecError> {
    let output = pods.exec_output(name, command.iter().copied(), &ExecParams::default()).await?;
    Ok(String::from_utf8_lossy(&output.exit_ok()?.stdout).into_owned())
}
// ANCHOR_END: all
