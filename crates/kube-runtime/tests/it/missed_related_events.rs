//! Related objects that are created and deleted without an event: before the first list, or between two lists.

use crate::{
    common::{ApiExt, eventually, named, owned, server, spawn_outputs, wait_for_change},
    layers::gated,
};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::{Api, Client};
use kube_runtime::{Controller, controller::Action, watcher};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::{Instant, sleep};

fn secrets(client: &Client) -> Api<Secret> {
    Api::default_namespaced(client.clone())
}

fn config_maps(client: &Client) -> Api<ConfigMap> {
    Api::default_namespaced(client.clone())
}

/// A reconciler that checks by a request whether the child exists.
struct ChildCheck {
    children: Api<ConfigMap>,
    /// For each check, the seconds since the start, and whether the child existed.
    checks: Mutex<Vec<(u64, bool)>>,
    start: Instant,
}

impl ChildCheck {
    fn new(client: &Client) -> Arc<Self> {
        Arc::new(Self { children: config_maps(client), checks: Mutex::default(), start: Instant::now() })
    }

    fn last(&self) -> Option<bool> {
        self.checks.lock().unwrap().last().map(|(_, child)| *child)
    }
}

async fn check(_owner: Arc<Secret>, state: Arc<ChildCheck>) -> Result<Action, kube_client::Error> {
    let child = state.children.get_opt("child").await?.is_some();
    state.checks.lock().unwrap().push((state.start.elapsed().as_secs(), child));
    Ok(Action::await_change())
}

fn all() -> watcher::Config {
    watcher::Config::default()
}

#[tokio::test(start_paused = true)]
async fn an_owner_is_reconciled_after_a_child_was_deleted_before_the_first_list() {
    let (server, client) = server();
    let (through_gate, gate) = gated(&server, "configmaps");
    let owner = secrets(&client).add(named("owner")).await;
    config_maps(&client).add(owned("child", &owner)).await;
    gate.send(false).unwrap();
    let state = ChildCheck::new(&client);
    let controller = Controller::new(secrets(&through_gate), all()).owns(config_maps(&through_gate), all());
    let _outputs = spawn_outputs(controller.run(check, wait_for_change, Arc::clone(&state)));
    eventually(async || state.last() == Some(true)).await;
    assert_eq!(state.checks.lock().unwrap()[0].0, 5, "the first reconcile waits 5 s for related objects");
    config_maps(&client).remove("child").await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(state.last(), Some(true), "no event has reported the deletion yet");
    gate.send(true).unwrap();
    eventually(async || state.last() == Some(false)).await;
}

#[tokio::test(start_paused = true)]
async fn an_owner_is_reconciled_after_a_child_was_deleted_between_two_lists() {
    let (server, client) = server();
    let (through_gate, gate) = gated(&server, "configmaps");
    let owner = secrets(&client).add(named("owner")).await;
    let state = ChildCheck::new(&client);
    let controller = Controller::new(secrets(&through_gate), all()).owns(config_maps(&through_gate), all());
    let _outputs = spawn_outputs(controller.run(check, wait_for_change, Arc::clone(&state)));
    eventually(async || state.last() == Some(false)).await;
    gate.send(false).unwrap();
    config_maps(&client).add(owned("child", &owner)).await;
    secrets(&client).touch("owner", "1").await;
    eventually(async || state.last() == Some(true)).await;
    config_maps(&client).remove("child").await;
    server.compact();
    sleep(Duration::from_secs(30)).await;
    assert_eq!(state.last(), Some(true), "no event has reported the deletion yet");
    gate.send(true).unwrap();
    eventually(async || state.last() == Some(false)).await;
}

#[tokio::test(start_paused = true)]
async fn at_the_start_each_object_is_reconciled_once() {
    let (server, client) = server();
    let (through_gate, gate) = gated(&server, "configmaps");
    for n in 0..10 {
        let owner = secrets(&client).add(named(&format!("owner-{n}"))).await;
        config_maps(&client).add(owned(&format!("child-{n}"), &owner)).await;
    }
    gate.send(false).unwrap();
    let state = ChildCheck::new(&client);
    let controller = Controller::new(secrets(&through_gate), all()).owns(config_maps(&through_gate), all());
    let _outputs = spawn_outputs(controller.run(check, wait_for_change, Arc::clone(&state)));
    sleep(Duration::from_secs(3)).await;
    assert!(state.checks.lock().unwrap().is_empty(), "the children are not listed yet");
    gate.send(true).unwrap();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(
        state.checks.lock().unwrap().len(),
        10,
        "one per object, regardless of the order of the lists"
    );
}
