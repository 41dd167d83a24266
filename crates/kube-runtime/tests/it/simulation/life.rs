//! One life: changes and faults, controllers that come and go, and a quiet end.

use super::{
    dice::Dice,
    faults::Faults,
    world::{World, error_policy, owner_of, reconcile},
};
use crate::common::{named, owned};
use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::{Api, Client};
use kube_core::{
    ResourceExt,
    params::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use kube_runtime::{Config, Controller, reflector::Store, watcher};
use kube_testserver::ApiServer;
use serde_json::json;
use std::{
    collections::BTreeMap,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::{
    runtime::Handle,
    sync::oneshot,
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};

/// How long after the last fault everything has to be in order, at the latest.
const SETTLED: Duration = Duration::from_secs(600);

/// Lives one life; the error says what was wrong with it.
///
/// At its end the store equals the server, every object was reconciled in its last state and for the last change of its
/// child, no two reconciles of one object overlapped, none began after the end was asked for or outlived its
/// controller, and no task is left.
pub(super) async fn live(seed: u64) -> Result<(), String> {
    let mut dice = Dice::new(seed);
    let server = ApiServer::new();
    let (faults, world) = (Faults::new(dice.split()), World::new(dice.split()));
    let mut changes = Changes::new(&server, dice.split(), &world);
    let client = faults.client(&server);
    for _ in 0..dice.below(12) {
        changes.next().await;
    }
    let tasks = Handle::current().metrics().num_alive_tasks();
    for _ in 0..dice.below(3) {
        let controller = Running::start(&client, &world, &mut dice);
        for _ in 0..dice.below(25) {
            changes.next().await;
            sleep(dice.millis(5000)).await;
        }
        if dice.one_in(2) {
            controller.stop(&world).await?
        } else {
            controller.drop(&world).await?
        }
        changes.next().await;
    }
    let controller = Running::start(&client, &world, &mut dice);
    for _ in 0..10 + dice.below(40) {
        changes.next().await;
        sleep(dice.millis(3000)).await;
    }
    faults.end();
    world.calm.store(true, Ordering::Relaxed);
    settle(&controller.store, &world, &changes).await?;
    controller.stop(&world).await?;
    sleep(Duration::from_secs(1)).await;
    let left = Handle::current().metrics().num_alive_tasks();
    match world.violations().as_slice() {
        [] if left == tasks => Ok(()),
        [] => Err(format!("{left} tasks are left of {tasks}")),
        violations => Err(violations.join("; ")),
    }
}

/// Waits until nothing is out of order.
async fn settle(store: &Store<ConfigMap>, world: &World, changes: &Changes) -> Result<(), String> {
    let end = Instant::now() + SETTLED;
    loop {
        sleep(Duration::from_secs(5)).await;
        match changes.all_arrived(store, world).await {
            Err(wrong) if Instant::now() > end => return Err(wrong),
            Err(_not_yet) => {}
            Ok(()) => return Ok(()),
        }
    }
}

/// A controller at work.
struct Running {
    store: Store<ConfigMap>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Running {
    fn start(client: &Client, world: &Arc<World>, dice: &mut Dice) -> Self {
        let main = Controller::new(Api::<ConfigMap>::default_namespaced(client.clone()), watch(dice));
        let store = main.store();
        let config = Config::default()
            .concurrency(u16::try_from(dice.below(4)).unwrap())
            .debounce(Duration::from_millis(dice.below(3) * 400))
            .backoff(Duration::from_millis(5), Duration::from_secs(20))
            .timeout(Duration::from_secs(15));
        let (stop, stopped) = oneshot::channel();
        let sights = Arc::clone(world);
        world.sighted.lock().unwrap().clear();
        let output = main
            .watches(Api::<Secret>::default_namespaced(client.clone()), watch(dice), move |child| {
                owner_of(&child, &sights)
            })
            .with_config(config)
            .graceful_shutdown_on(async { drop(stopped.await) })
            .run(reconcile, error_policy, Arc::clone(world));
        Self { store, stop, task: tokio::spawn(output.for_each(|_| std::future::ready(()))) }
    }

    /// Waits for what runs; nothing new may start.
    async fn stop(self, world: &World) -> Result<(), String> {
        world.stopping.store(true, Ordering::Relaxed);
        self.stop.send(()).map_err(|()| "the controller ended by itself".to_owned())?;
        let ended = timeout(Duration::from_secs(60), self.task).await;
        ended.map_err(|_| "a graceful end takes too long".to_owned())?.map_err(|error| error.to_string())?;
        world.stopping.store(false, Ordering::Relaxed);
        if world.is_idle() { Ok(()) } else { Err("a graceful end did not wait for a reconcile".to_owned()) }
    }

    async fn drop(self, world: &World) -> Result<(), String> {
        self.task.abort();
        let _cancelled = self.task.await;
        sleep(Duration::from_millis(1)).await;
        if world.is_idle() { Ok(()) } else { Err("a reconcile outlived its controller".to_owned()) }
    }
}

fn watch(dice: &mut Dice) -> watcher::Config {
    let config = watcher::Config::default().timeout(10 + u32::try_from(dice.below(30)).unwrap());
    match dice.below(3) {
        0 => config.streaming_lists(),
        1 => config.page_size(2),
        _ => config,
    }
}

/// Changes at random, by a client without faults.
struct Changes {
    server: ApiServer,
    objects: Api<ConfigMap>,
    children: Api<Secret>,
    dice: Dice,
    world: Arc<World>,
    /// When a child of the object was last changed.
    children_changed: BTreeMap<String, Instant>,
    count: usize,
}

impl Changes {
    fn new(server: &ApiServer, dice: Dice, world: &Arc<World>) -> Self {
        let client = Client::new(server.clone(), "default");
        Self {
            server: server.clone(),
            objects: Api::default_namespaced(client.clone()),
            children: Api::default_namespaced(client),
            dice,
            world: Arc::clone(world),
            children_changed: BTreeMap::new(),
            count: 0,
        }
    }

    /// One change, if what it needs is there.
    async fn next(&mut self) {
        self.count += 1;
        let name = format!("object-{}", self.dice.below(6));
        let label = json!({ "metadata": { "labels": { "change": self.count.to_string() } } });
        let (patch, params) = (Patch::Merge(label), PatchParams::default());
        match self.dice.below(13) {
            0..=2 => drop(self.objects.create(&PostParams::default(), &named(&name)).await),
            3..=6 => drop(self.objects.patch(&name, &params, &patch).await),
            7 => drop(self.objects.delete(&name, &DeleteParams::default()).await),
            8 | 9 => self.change_child(&name, &patch).await,
            10 => self.server.compact(),
            11 => self.remove_child(&name).await,
            _ => self.server.end_watches(),
        }
    }

    async fn change_child(&mut self, name: &str, patch: &Patch<serde_json::Value>) {
        let Ok(owner) = self.objects.get(name).await else { return };
        let child = format!("child-of-{name}");
        let changed = match self.children.get_opt(&child).await.unwrap() {
            Some(_) => self.children.patch(&child, &PatchParams::default(), patch).await.is_ok(),
            None => self.children.create(&PostParams::default(), &owned(&child, &owner)).await.is_ok(),
        };
        if changed {
            self.children_changed.insert(name.to_owned(), Instant::now());
        }
    }

    /// Nobody hears of the end of a child that was never seen: it is gone before the first list of its kind.
    async fn remove_child(&mut self, name: &str) {
        let child = format!("child-of-{name}");
        let known = self.world.sighted.lock().unwrap().contains(&child);
        if known && self.children.delete(&child, &DeleteParams::default()).await.is_ok() {
            self.children_changed.insert(name.to_owned(), Instant::now());
        }
    }

    /// Whether the store has what the server has, and all of it was reconciled.
    async fn all_arrived(&self, store: &Store<ConfigMap>, world: &World) -> Result<(), String> {
        let there = self.objects.list(&ListParams::default()).await.unwrap().items;
        let versions = |object: &ConfigMap| (object.name_any(), object.resource_version());
        let on_server: BTreeMap<_, _> = there.iter().map(versions).collect();
        let in_store: BTreeMap<_, _> = store.state().iter().map(|object| versions(object)).collect();
        if on_server != in_store {
            return Err(format!("the store has {in_store:?}, the server {on_server:?}"));
        }
        for (name, version) in on_server {
            let last = world.reconciled(&name).ok_or_else(|| format!("{name} was never reconciled"))?;
            if last.version != version {
                return Err(format!("{name} was reconciled at {:?}, and is at {version:?}", last.version));
            }
            if self.children_changed.get(&name).is_some_and(|changed| last.started < *changed) {
                return Err(format!("{name} was not reconciled for the last change of its child"));
            }
        }
        Ok(())
    }
}
