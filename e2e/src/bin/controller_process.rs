//! A process with one controller, started by the `signals` scenarios: `controller_process NAMESPACE`.
//!
//! Prints one line per step to stdout. A reconcile ends when a line arrives on stdin.

use std::convert::Infallible;
use std::future::ready;
use std::io::stdin;
use std::sync::Arc;

use futures::StreamExt as _;
use kube::core::{DynamicObject, GroupVersionKind};
use kube::runtime::{Controller, controller::Action, watcher};
use kube::{Api, Client, ResourceExt as _, api::ApiResource};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let namespace =
        std::env::args().nth(1).ok_or_else(|| anyhow::anyhow!("usage: controller_process NAMESPACE"))?;
    let widgets = ApiResource::from_gvk(&GroupVersionKind::gvk("e2e.example.com", "v1", "Widget"));
    let api: Api<DynamicObject> = Api::namespaced_with(Client::try_default().await?, &namespace, &widgets);

    // A separate thread: at shutdown the tokio runtime would wait for a blocking read.
    let lines = Arc::new(Notify::new());
    let read = Arc::clone(&lines);
    std::thread::spawn(move || stdin().lines().for_each(|_| read.notify_one()));
    // The test waits for this line before it sends the next signal: pending signals of one kind are merged.
    let mut terminations = signal(SignalKind::terminate())?;
    tokio::spawn(async move {
        terminations.recv().await;
        println!("received SIGTERM");
    });

    Controller::new_with(api, watcher::Config::default(), widgets)
        .shutdown_on_signal()
        .run(reconcile, |_, _, _| Action::await_change(), lines)
        .for_each(|_| ready(()))
        .await;
    println!("stopped");
    Ok(())
}

async fn reconcile(widget: Arc<DynamicObject>, lines: Arc<Notify>) -> Result<Action, Infallible> {
    println!("reconciling {}", widget.name_any());
    lines.notified().await;
    println!("reconciled {}", widget.name_any());
    Ok(Action::await_change())
}
