//! Deletes what a directory has, and tells the progress.

// ANCHOR: all
use futures::StreamExt;
use kube::Client;
use kube::api::DeleteParams;
use kube::yaml::{Applier, Objects};

pub async fn delete(client: Client, objects: &Objects) {
    let mut run = Applier::new(client).delete(objects, &DeleteParams::background());
    while let Some(progress) = run.next().await {
        println!("{progress}"); // 1/2 configmap/settings deleted
    }
}
// ANCHOR_END: all
