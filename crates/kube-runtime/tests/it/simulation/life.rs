//! One life: changes and faults, controllers that come and go, and a quiet end.

use super::{
    dice::Dice,
    faults::Faults,
    world::{Reconciler, World, error_policy, owner_of, reconcile},
};
use crate::common::{named, owned};
use futures::{
    FutureExt, StreamExt,
    future::{pending, ready, select},
    stream::{self, BoxStream},
};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube_client::{Api, Client};
use kube_core::{
    ResourceExt,
    params::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use kube_runtime::{Config, Controller, WatchStreamExt, reflector, reflector::Store, watcher};
use kube_testserver::ApiServer;
use serde_json::json;
use std::{
    collections::BTreeMap,
    error::Error,
    fmt::Debug,
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

/// What a controller of several namespaces watches. Names are those of one namespace only.
pub(super) const NAMESPACES: [&str; 2] = ["default", "second"];

/// What is left of a life.
pub(super) struct Life {
    /// What happened, line by line.
    pub(super) story: Vec<String>,
    /// What was wrong with it.
    pub(super) outcome: Result<(), String>,
}

/// Lives one life.
///
/// At its end the store equals the server, every object was reconciled in its last state and for the last change of its
/// child, no two reconciles of one object overlapped, none saw a state from before its predecessor's write, none began after
/// the end was asked for or outlived its controller, and no task and no state of an object is left in memory.
pub(super) async fn live(seed: u64) -> Life {
    let mut dice = Dice::new(seed);
    let server = ApiServer::new();
    let client = Client::new(server.clone(), "default");
    let spaces = Api::<Namespace>::all(client.clone());
    spaces.create(&PostParams::default(), &named(NAMESPACES[1])).await.unwrap();
    let (faults, world) = (Faults::new(dice.split()), World::new(dice.split(), client));
    let changes = Changes::new(&server, dice.split(), &world);
    let tasks = Handle::current().metrics().num_alive_tasks();
    let mut outcome = go_through(dice, &faults, &world, changes, faults.client(&server)).await;
    drop(server);
    sleep(Duration::from_secs(1)).await;
    let left = Handle::current().metrics().num_alive_tasks();
    let mut wrong = world.violations();
    if outcome.is_ok() && left != tasks {
        wrong.push(format!("{left} tasks are left of {tasks}"));
    }
    if outcome.is_ok() && world.kept() > 0 {
        wrong.push(format!("{} states of objects are left in memory", world.kept()));
    }
    if outcome.is_ok() && Arc::strong_count(&world) != 1 {
        wrong.push("somebody still holds the context of the reconciler".to_owned());
    }
    if !wrong.is_empty() {
        outcome = Err(wrong.join("; "));
    }
    Life { story: world.story(), outcome }
}

async fn go_through(
    mut dice: Dice,
    faults: &Faults,
    world: &Arc<World>,
    mut changes: Changes,
    client: Client,
) -> Result<(), String> {
    for _ in 0..dice.below(12) {
        changes.next().await;
    }
    for _ in 0..dice.below(3) {
        let controller = Running::start(&client, world, &mut dice);
        for _ in 0..dice.below(25) {
            changes.next().await;
            sleep(dice.millis(5000)).await;
        }
        if dice.one_in(2) {
            controller.stop(world).await?
        } else {
            controller.drop(world).await?
        }
        changes.next().await;
    }
    let controller = Running::start(&client, world, &mut dice);
    for _ in 0..10 + dice.below(40) {
        changes.next().await;
        sleep(dice.millis(3000)).await;
    }
    faults.end();
    world.calm.store(true, Ordering::Relaxed);
    world.tell("from here on, nothing goes wrong any more");
    settle(&controller, world, &changes).await?;
    controller.stop(world).await
}

/// Waits until nothing is out of order.
async fn settle(controller: &Running, world: &World, changes: &Changes) -> Result<(), String> {
    let end = Instant::now() + SETTLED;
    loop {
        sleep(Duration::from_secs(5)).await;
        match changes.all_arrived(controller, world).await {
            Err(wrong) if Instant::now() > end => return Err(wrong),
            Err(_not_yet) => {}
            Ok(()) => return Ok(()),
        }
    }
}

/// A controller at work.
struct Running {
    store: Store<ConfigMap>,
    /// The namespaces of its objects, and those of which it hears of children.
    covers: (usize, usize),
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Running {
    fn start(client: &Client, world: &Arc<World>, dice: &mut Dice) -> Self {
        world.begin();
        let (main, of_objects, shared) = main_source(client, world, dice);
        let store = main.store();
        world.set_store(Some(store.clone()));
        let config = Config::default()
            .concurrency(u16::try_from(dice.below(4)).unwrap())
            .debounce(Duration::from_millis(dice.below(3) * 400))
            .backoff(Duration::from_millis(5), Duration::from_secs(20))
            .write_wait(Duration::from_secs(3600))
            .timeout(Duration::from_secs(15));
        let (stop, stopped) = oneshot::channel();
        let (main, of_children) = with_children(main, client, world, dice);
        let main = main.with_config(config).graceful_shutdown_on(async { drop(stopped.await) });
        let output = if dice.one_in(2) {
            main.run(reconcile, error_policy, Arc::clone(world)).map(told).boxed()
        } else {
            main.run_with(Reconciler(Arc::clone(world))).map(told).boxed()
        };
        let listener = Arc::clone(world);
        let output = output.for_each(move |item| {
            listener.tell(item);
            ready(())
        });
        // The shared stream, where there is one, is polled beside the controller, and ends with it.
        let beside = shared.for_each(|()| ready(())).then(|()| pending::<()>()).boxed();
        let covers = (of_objects, of_children);
        Self { store, covers, stop, task: tokio::spawn(select(output.boxed(), beside).map(drop)) }
    }

    /// Waits for what runs; nothing new may start.
    async fn stop(self, world: &World) -> Result<(), String> {
        world.stopping.store(true, Ordering::Relaxed);
        self.stop.send(()).map_err(|()| "the controller ended by itself".to_owned())?;
        let ended = timeout(Duration::from_secs(60), self.task).await;
        ended.map_err(|_| "a graceful end takes too long".to_owned())?.map_err(|error| error.to_string())?;
        world.stopping.store(false, Ordering::Relaxed);
        world.set_store(None);
        if world.is_idle() { Ok(()) } else { Err("a graceful end did not wait for a reconcile".to_owned()) }
    }

    async fn drop(self, world: &World) -> Result<(), String> {
        self.task.abort();
        let _cancelled = self.task.await;
        world.set_store(None);
        sleep(Duration::from_millis(1)).await;
        if world.is_idle() { Ok(()) } else { Err("a reconcile outlived its controller".to_owned()) }
    }
}

/// A controller by one of four kinds of watches, how many namespaces it covers, and what has to be polled beside it.
fn main_source(
    client: &Client,
    world: &World,
    dice: &mut Dice,
) -> (Controller<ConfigMap>, usize, BoxStream<'static, ()>) {
    let api = Api::<ConfigMap>::default_namespaced(client.clone());
    match dice.below(5) {
        0 => {
            world.tell("a controller with a shared watch");
            let (store, writer) = reflector::store_shared(4);
            let objects = writer.subscribe().unwrap();
            let watch = watcher::watcher(api, watch(dice)).default_backoff().reflect_shared(writer);
            (Controller::for_shared_stream(objects, store), 1, watch.map(drop).boxed())
        }
        1 => {
            world.tell("a controller of a stream of two namespaces");
            let (store, writer) = reflector::store();
            let (client, config) = (client.clone(), watch(dice));
            let namespaces = stream::iter([NAMESPACES]);
            let objects = reflector::reflect_namespaces(writer, namespaces, move |namespace| {
                watcher::watcher(Api::namespaced(client.clone(), namespace), config.clone()).default_backoff()
            });
            (Controller::for_stream(objects.applied_objects(), store), 2, stream::pending().boxed())
        }
        2 => {
            world.tell("a controller of two namespaces");
            let main = Controller::for_namespaces(client.clone(), NAMESPACES, watch(dice));
            (main, 2, stream::pending().boxed())
        }
        _ => (Controller::new(api, watch(dice)), 1, stream::pending().boxed()),
    }
}

/// The controller with children, of which it hears in one of four ways, and in how many namespaces.
fn with_children(
    main: Controller<ConfigMap>,
    client: &Client,
    world: &World,
    dice: &mut Dice,
) -> (Controller<ConfigMap>, usize) {
    let (config, owner) = (watch(dice), |child: Secret| owner_of(&child));
    let api = Api::<Secret>::default_namespaced(client.clone());
    match dice.below(6) {
        0 | 1 => {
            world.tell("which watches children in two namespaces");
            (main.watches_in_namespaces(client.clone(), NAMESPACES, config, owner), 2)
        }
        2 => {
            world.tell("which owns children in two namespaces");
            (main.owns_in_namespaces::<Secret>(client.clone(), NAMESPACES, config), 2)
        }
        3 => {
            world.tell("which owns children");
            (main.owns(api, config), 1)
        }
        _ => (main.watches(api, config, owner), 1),
    }
}

fn told<T: Debug, E: Error>(item: Result<T, E>) -> String {
    let mut told = match &item {
        Ok(_) => String::from("ok"),
        Err(error) => error.to_string(),
    };
    let mut cause = item.as_ref().err().and_then(Error::source);
    while let Some(error) = cause {
        told = format!("{told}: {error}");
        cause = error.source();
    }
    told
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
    client: Client,
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
            client,
            dice,
            world: Arc::clone(world),
            children_changed: BTreeMap::new(),
            count: 0,
        }
    }

    fn objects(&self, namespace: &str) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), namespace)
    }

    fn children(&self, namespace: &str) -> Api<Secret> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// One change, if what it needs is there.
    async fn next(&mut self) {
        self.count += 1;
        let namespace = NAMESPACES[usize::from(self.dice.one_in(4))];
        let name = format!("{namespace}-{}", self.dice.below(6));
        let label = json!({ "metadata": { "labels": { "change": self.count.to_string() } } });
        let (patch, params) = (Patch::Merge(label), PatchParams::default());
        let what = self.dice.below(13);
        self.world.tell(format!("change {what} of {name}"));
        let objects = self.objects(namespace);
        match what {
            0..=2 => drop(objects.create(&PostParams::default(), &named(&name)).await),
            3..=6 => drop(objects.patch(&name, &params, &patch).await),
            7 => drop(objects.delete(&name, &DeleteParams::default()).await),
            8 | 9 => self.change_child(namespace, &name, &patch).await,
            10 => self.server.compact(),
            11 => self.remove_child(namespace, &name).await,
            _ => self.server.end_watches(),
        }
    }

    async fn change_child(&mut self, namespace: &str, name: &str, patch: &Patch<serde_json::Value>) {
        let Ok(owner) = self.objects(namespace).get(name).await else { return };
        let (child, children) = (format!("child-of-{name}"), self.children(namespace));
        let changed = match children.get_opt(&child).await.unwrap() {
            Some(_) => children.patch(&child, &PatchParams::default(), patch).await.is_ok(),
            None => children.create(&PostParams::default(), &owned(&child, &owner)).await.is_ok(),
        };
        if changed {
            self.children_changed.insert(name.to_owned(), Instant::now());
        }
    }

    async fn remove_child(&mut self, namespace: &str, name: &str) {
        let child = format!("child-of-{name}");
        if self.children(namespace).delete(&child, &DeleteParams::default()).await.is_ok() {
            self.children_changed.insert(name.to_owned(), Instant::now());
        }
    }

    /// Whether the store has what the server has, and all of it was reconciled.
    async fn all_arrived(&self, controller: &Running, world: &World) -> Result<(), String> {
        let (store, (of_objects, of_children)) = (&controller.store, controller.covers);
        let mut there = Vec::new();
        for namespace in &NAMESPACES[..of_objects] {
            there.extend(self.objects(namespace).list(&ListParams::default()).await.unwrap().items);
        }
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
            let hears = NAMESPACES[..of_children].iter().any(|namespace| name.starts_with(namespace));
            if hears && self.children_changed.get(&name).is_some_and(|changed| last.started < *changed) {
                return Err(format!("{name} was not reconciled for the last change of its child"));
            }
        }
        Ok(())
    }
}
