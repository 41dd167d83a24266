//! One controller of ConfigMaps on each cluster of a kubeconfig, run by a manager of this workspace. See ../README.md.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::operator::clusters::{Clusters, OnCluster};
use kube::operator::manager::Manager;
use kube::runtime::{Controller, controller::Action, watcher};
use kube::{Api, Client};

struct Count {
    expected: usize,
    reconciled: AtomicUsize,
}

async fn reconcile(_: Arc<ConfigMap>, context: Arc<OnCluster<Count>>) -> Result<Action, Infallible> {
    if 1 + context.reconciled.fetch_add(1, Ordering::Relaxed) == context.expected {
        println!("all");
    }
    Ok(Action::await_change())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let expected = std::env::args().nth(1).ok_or("expected a number of objects")?.parse()?;
    let mut contexts = Kubeconfig::read()?;
    let options = KubeConfigOptions { context: Some("hub".into()), ..Default::default() };
    let hub = Client::try_from(Config::from_custom_kubeconfig(contexts.clone(), &options).await?)?;
    contexts.contexts.retain(|context| context.name != "hub");
    let count = Arc::new(Count { expected, reconciled: AtomicUsize::new(0) });
    let config = watcher::Config::default().compact_cache();
    Manager::new(hub)
        .clusters(Clusters::contexts("the kubeconfig", contexts))
        .controller_on_each(
            "maps",
            move |cluster| Controller::new(Api::all(cluster.client()), config.clone()),
            reconcile,
            count,
        )
        .run_until_signal()
        .await?;
    Ok(())
}
