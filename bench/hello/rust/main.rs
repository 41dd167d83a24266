//! The hello operator on `kube`: one controller of ConfigMaps. See ../README.md.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::{Controller, controller::Action, watcher};
use kube::{Api, Client, ResourceExt};

struct Hello {
    expected: usize,
    /// Whether to print every reconcile.
    trace: bool,
    reconciled: AtomicUsize,
}

async fn reconcile(map: Arc<ConfigMap>, hello: Arc<Hello>) -> Result<Action, Infallible> {
    let reconciled = 1 + hello.reconciled.fetch_add(1, Ordering::Relaxed);
    if reconciled == 1 {
        println!("first");
    }
    if reconciled == hello.expected {
        println!("all");
    }
    if hello.trace {
        println!("{} {}", map.name_any(), map.resource_version().unwrap_or_default());
    }
    Ok(Action::await_change())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let expected = std::env::args().nth(1).ok_or("expected a number of objects")?.parse()?;
    let maps = Api::<ConfigMap>::all(Client::try_default().await?);
    let trace = std::env::var_os("HELLO_TRACE").is_some();
    let hello = Arc::new(Hello { expected, trace, reconciled: AtomicUsize::new(0) });
    Controller::new(maps, watcher::Config::default())
        .run(reconcile, |_, _, _| Action::await_change(), hello)
        .for_each(|_| std::future::ready(()))
        .await;
    Ok(())
}
