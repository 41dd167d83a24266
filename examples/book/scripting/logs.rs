//! Reads the log of a container.

// ANCHOR: all
use futures::{AsyncBufReadExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::LogParams;

/// Prints a log line by line, and the lines that follow if `follow` is set.
pub async fn logs(
    pods: &Api<Pod>,
    name: &str,
    follow: bool,
) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let params = LogParams { follow, tail_lines: Some(100), ..LogParams::default() };
    let mut lines = pods.log_stream(name, &params).await?.lines();
    let mut printed = Vec::new();
    while let Some(line) = lines.try_next().await? {
        println!("{line}");
        printed.push(line);
    }
    Ok(printed)
}
// ANCHOR_END: all
