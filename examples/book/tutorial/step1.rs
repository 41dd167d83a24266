//! Step 1 of the tutorial: a controller that prints the name of each ConfigMap.

// ANCHOR: all
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::{Controller, controller::Action, watcher};
use kube::{Api, Client, ResourceExt, error::ErrorChain};
use std::{convert::Infallible, sync::Arc};

async fn reconcile(map: Arc<ConfigMap>, _context: Arc<()>) -> Result<Action, Infallible> {
    println!("reconcile {}", map.name_any());
    Ok(Action::await_change())
}

#[tokio::main]
async fn main() -> Result<(), kube::Error> {
    let client = Client::try_default().await?;
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    Controller::new(maps, watcher::Config::default())
        .shutdown_on_signal()
        .run(reconcile, |_, _, _| Action::retry(), Arc::new(()))
        .for_each(async |outcome| {
            if let Err(error) = outcome {
                eprintln!("{}", ErrorChain(&error));
            }
        })
        .await;
    Ok(())
}
// ANCHOR_END: all
