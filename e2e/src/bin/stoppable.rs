//! A program with a controller, as the scenarios of signals start it: `stoppable NAMESPACE`.
//!
//! Its standard output tells what happens, a line each. A reconcile ends when there is a line on the standard input.

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
    let namespace = std::env::args().nth(1).ok_or_else(|| anyhow::anyhow!("usage: stoppable NAMESPACE"))?;
    let widgets = ApiResource::from_gvk(&GroupVersionKind::gvk("e2e.example.com", "v1", "Widget"));
    let api: Api<DynamicObject> = Api::namespaced_with(Client::try_default().await?, &namespace, &widgets);

    // A thread of its own: the runtime would wait for one of its threads that reads.
    let lines = Arc::new(Notify::new());
    let read = Arc::clone(&lines);
    std::thread::spawn(move || stdin().lines().for_each(|_| read.notify_one()));
    // So that nobody sends the next one too early: two at the same time are one to the system.
    let mut terminations = signal(SignalKind::terminate())?;
    tokio::spawn(async move {
        terminations.recv().await;
        println!("asked to end");
    });

    Controller::new_with(api, watcher::Config::default(), widgets)
        .shutdown_on_signal()
        .run(reconcile, |_, _, _| Action::await_change(), lines)
        .for_each(|_| ready(()))
        .await;
    println!("ended");
    Ok(())
}

async fn reconcile(widget: Arc<DynamicObject>, lines: Arc<Notify>) -> Result<Action, Infallible> {
    println!("reconciling {}", widget.name_any());
    lines.notified().await;
    println!("reconciled {}", widget.name_any());
    Ok(Action::await_change())
}
