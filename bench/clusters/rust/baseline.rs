//! The same on kube 5.0.0, written by hand: a client and a controller for each context. See ../README.md.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::runtime::{Controller, controller::Action, watcher};
use kube::{Api, Client};

struct Count {
    expected: usize,
    reconciled: AtomicUsize,
}

async fn reconcile(_: Arc<ConfigMap>, count: Arc<Count>) -> Result<Action, Infallible> {
    if 1 + count.reconciled.fetch_add(1, Ordering::Relaxed) == count.expected {
        println!("all");
    }
    Ok(Action::await_change())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let expected = std::env::args().nth(1).ok_or("expected a number of objects")?.parse()?;
    let contexts = Kubeconfig::read()?;
    let count = Arc::new(Count { expected, reconciled: AtomicUsize::new(0) });
    let mut controllers = Vec::new();
    for context in contexts.contexts.iter().filter(|context| context.name != "hub") {
        let options = KubeConfigOptions { context: Some(context.name.clone()), ..Default::default() };
        let client = Client::try_from(Config::from_custom_kubeconfig(contexts.clone(), &options).await?)?;
        let controller = Controller::new(Api::<ConfigMap>::all(client), watcher::Config::default())
            .run(reconcile, |_, _, _| Action::await_change(), count.clone())
            .for_each(|_| std::future::ready(()));
        controllers.push(tokio::spawn(controller));
    }
    futures::future::join_all(controllers).await;
    Ok(())
}
