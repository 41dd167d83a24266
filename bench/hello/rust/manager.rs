//! The hello operator of `main.rs`, run by a manager. See ../README.md.

use std::convert::Infallible;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::operator::manager::Manager;
use kube::runtime::{Controller, controller::Action, watcher};
use kube::{Api, Client, ResourceExt};

async fn reconcile(map: Arc<ConfigMap>, _: Arc<()>) -> Result<Action, Infallible> {
    println!("{} {}", map.name_any(), map.resource_version().unwrap_or_default());
    Ok(Action::await_change())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::try_default().await?;
    let config = watcher::Config::default().without_managed_fields();
    let controller = Controller::new(Api::<ConfigMap>::all(client.clone()), config);
    Manager::new(client).controller("hello", controller, reconcile, Arc::new(())).run_until_signal().await?;
    Ok(())
}
