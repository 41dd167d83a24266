//! Related objects that nobody saw come and go.

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

/// Looks whether the child is there, without the cache.
struct Looking {
    children: Api<ConfigMap>,
    /// After how many seconds, and whether it was.
    saw: Mutex<Vec<(u64, bool)>>,
    start: Instant,
}

impl Looking {
    fn new(client: &Client) -> Arc<Self> {
        Arc::new(Self { children: config_maps(client), saw: Mutex::default(), start: Instant::now() })
    }

    fn last(&self) -> Option<bool> {
        self.saw.lock().unwrap().last().map(|(_, child)| *child)
    }
}

async fn look(_owner: Arc<Secret>, looking: Arc<Looking>) -> Result<Action, kube_client::Error> {
    let child = looking.children.get_opt("child").await?.is_some();
    looking.saw.lock().unwrap().push((looking.start.elapsed().as_secs(), child));
    Ok(Action::await_change())
}

fn all() -> watcher::Config {
    watcher::Config::default()
}

#[tokio::test(start_paused = true)]
async fn a_child_that_came_and_went_before_the_first_list_is_noticed() {
    let (server, client) = server();
    let (through_gate, gate) = gated(&server, "configmaps");
    let owner = secrets(&client).add(named("owner")).await;
    config_maps(&client).add(owned("child", &owner)).await;
    gate.send(false).unwrap();
    let looking = Looking::new(&client);
    let controller = Controller::new(secrets(&through_gate), all()).owns(config_maps(&through_gate), all());
    let _outputs = spawn_outputs(controller.run(look, wait_for_change, Arc::clone(&looking)));
    eventually(async || looking.last() == Some(true)).await;
    assert_eq!(looking.saw.lock().unwrap()[0].0, 5, "related objects are waited for, but not for ever");
    config_maps(&client).remove("child").await;
    sleep(Duration::from_secs(30)).await;
    assert_eq!(looking.last(), Some(true), "nobody can know yet");
    gate.send(true).unwrap();
    eventually(async || looking.last() == Some(false)).await;
}

#[tokio::test(start_paused = true)]
async fn a_child_that_came_and_went_between_two_lists_is_noticed() {
    let (server, client) = server();
    let (through_gate, gate) = gated(&server, "configmaps");
    let owner = secrets(&client).add(named("owner")).await;
    let looking = Looking::new(&client);
    let controller = Controller::new(secrets(&through_gate), all()).owns(config_maps(&through_gate), all());
    let _outputs = spawn_outputs(controller.run(look, wait_for_change, Arc::clone(&looking)));
    eventually(async || looking.last() == Some(false)).await;
    gate.send(false).unwrap();
    config_maps(&client).add(owned("child", &owner)).await;
    secrets(&client).touch("owner", "1").await;
    eventually(async || looking.last() == Some(true)).await;
    config_maps(&client).remove("child").await;
    server.compact();
    sleep(Duration::from_secs(30)).await;
    assert_eq!(looking.last(), Some(true), "nobody can know yet");
    gate.send(true).unwrap();
    eventually(async || looking.last() == Some(false)).await;
}

#[tokio::test(start_paused = true)]
async fn a_controller_that_starts_reconciles_each_object_once() {
    let (server, client) = server();
    let (through_gate, gate) = gated(&server, "configmaps");
    for n in 0..10 {
        let owner = secrets(&client).add(named(&format!("owner-{n}"))).await;
        config_maps(&client).add(owned(&format!("child-{n}"), &owner)).await;
    }
    gate.send(false).unwrap();
    let looking = Looking::new(&client);
    let controller = Controller::new(secrets(&through_gate), all()).owns(config_maps(&through_gate), all());
    let _outputs = spawn_outputs(controller.run(look, wait_for_change, Arc::clone(&looking)));
    sleep(Duration::from_secs(3)).await;
    assert!(looking.saw.lock().unwrap().is_empty(), "the children are not known yet");
    gate.send(true).unwrap();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(looking.saw.lock().unwrap().len(), 10, "one for each, whichever list comes first");
}
