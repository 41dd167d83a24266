//! The table of a kind.

// ANCHOR: all
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::prelude::*;
use kube::{Api, Client};

/// The pods of an app as `kubectl get pods --all-namespaces -o wide` prints them.
pub async fn pod_table(client: Client, app: &str) -> kube::Result<String> {
    let pods: Api<Pod> = Api::all(client);
    let table = pods.table(&ListParams::default().labels(&format!("app={app}"))).await?;
    Ok(table.printer().with_namespace().wide().to_string())
}
// ANCHOR_END: all
