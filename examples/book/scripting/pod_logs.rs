//! Reads the logs of many pods.

// ANCHOR: all
use futures::TryStreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::pods::{LogLinesError, LogLinesParams};
use kube::prelude::*;

/// Prints the last lines of all pods of an app, then new lines, also of restarted containers and of new pods.
pub async fn tail(pods: &Api<Pod>, app: &str) -> Result<(), LogLinesError> {
    let params = LogLinesParams::default().labels(&format!("app={app}")).tail(10).follow();
    let mut lines = pods.log_lines(&params);
    while let Some(line) = lines.try_next().await? {
        println!("{line}"); // [pod/web-1/web] text
    }
    Ok(())
}
// ANCHOR_END: all
