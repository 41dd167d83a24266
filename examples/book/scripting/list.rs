//! Lists objects page by page.

// ANCHOR: all
use futures::TryStreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::prelude::*;
use kube::{Api, Client};

/// Names and phases of the pods of an app, of all namespaces. A page of 500 at a time is requested, and one is in memory.
pub async fn phases(client: Client, app: &str) -> kube::Result<Vec<String>> {
    let mut pods = Api::<Pod>::all(client).list_stream(&ListParams::default().labels(&format!("app={app}")));
    let mut found = Vec::new();
    while let Some(pod) = pods.try_next().await? {
        let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Unknown");
        found.push(format!("{}/{} {phase}", pod.namespace().unwrap_or_default(), pod.name_any()));
    }
    Ok(found)
}
// ANCHOR_END: all
