//! Controllers that are started and stopped during random changes and faults.

use super::{
    faults::Faults,
    reconciler::{Context, Reconciler, error_policy, owner_of, reconcile},
    rng::Rng,
};
use crate::common::{in_namespaces, named, owned};
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
use kube_runtime::{
    Config, Controller, WatchStreamExt,
    controller::{Assigner, Assignment, Related},
    predicates, reflector,
    reflector::Store,
    utils::CancelableJoinHandle,
    watcher,
};
use kube_testserver::{ApiServer, Fault, Match};
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

/// How long after the last fault the controller has to be consistent with the server, at the latest.
const CONVERGENCE_TIMEOUT: Duration = Duration::from_secs(600);

/// The namespaces that a controller of several namespaces watches. Object names contain their namespace.
pub(super) const NAMESPACES: [&str; 2] = ["default", "second"];

/// The result of a scenario.
pub(super) struct ScenarioRun {
    /// Every event with its time.
    pub(super) trace: Vec<String>,
    /// The broken guarantees.
    pub(super) outcome: Result<(), String>,
}

/// Runs one scenario.
///
/// Checks: in the end the store equals the server; every object was reconciled in its last state and for the last change of its
/// child; no two reconciles of one object overlapped; none saw a state older than its predecessor's write; none started after the
/// shutdown began or outlived its controller; no task and no state of an object is left in memory.
pub(super) async fn run(seed: u64) -> ScenarioRun {
    let mut rng = Rng::new(seed);
    let server = ApiServer::new();
    let client = Client::new(server.clone(), "default");
    let spaces = Api::<Namespace>::all(client.clone());
    spaces.create(&PostParams::default(), &named(NAMESPACES[1])).await.unwrap();
    let (faults, context) = (Faults::new(rng.split()), Context::new(rng.split(), client));
    let changes = OwnerWriter::new(&server, rng.split(), &context);
    let tasks = Handle::current().metrics().num_alive_tasks();
    let mut outcome = run_controllers(rng, &faults, &context, changes, faults.client(&server)).await;
    drop(server);
    sleep(Duration::from_secs(1)).await;
    let left = Handle::current().metrics().num_alive_tasks();
    let mut violations = context.violations();
    if outcome.is_ok() && left != tasks {
        violations.push(format!("{left} tasks are running, {tasks} were before"));
    }
    if outcome.is_ok() && context.states_in_memory() > 0 {
        violations.push(format!("{} states of objects are left in memory", context.states_in_memory()));
    }
    if outcome.is_ok() && Arc::strong_count(&context) != 1 {
        violations.push("the context of the reconciler was not dropped".to_owned());
    }
    if !violations.is_empty() {
        outcome = Err(violations.join("; "));
    }
    ScenarioRun { trace: context.trace(), outcome }
}

async fn run_controllers(
    mut rng: Rng,
    faults: &Faults,
    context: &Arc<Context>,
    mut changes: OwnerWriter,
    client: Client,
) -> Result<(), String> {
    for _ in 0..rng.below(12) {
        changes.next().await;
    }
    for _ in 0..rng.below(3) {
        let controller = RunningController::start(&client, context, &mut rng);
        for _ in 0..rng.below(25) {
            changes.next().await;
            sleep(rng.millis(5000)).await;
        }
        if rng.one_in(2) {
            controller.stop(context).await?
        } else {
            controller.drop(context).await?
        }
        changes.next().await;
    }
    let mut controller = RunningController::start(&client, context, &mut rng);
    for _ in 0..10 + rng.below(40) {
        changes.next().await;
        sleep(rng.millis(3000)).await;
    }
    if controller.assigner.is_some() {
        changes.assign_all_during_a_list(&mut controller).await;
    }
    faults.end();
    context.faults_over.store(true, Ordering::Relaxed);
    context.record("faults are over");
    settle(&controller, context, &changes).await?;
    controller.stop(context).await
}

/// Waits until store, reconciles and server are consistent.
async fn settle(
    controller: &RunningController,
    context: &Context,
    changes: &OwnerWriter,
) -> Result<(), String> {
    let end = Instant::now() + CONVERGENCE_TIMEOUT;
    loop {
        sleep(Duration::from_secs(5)).await;
        match changes.check_converged(controller, context).await {
            Err(difference) if Instant::now() > end => return Err(difference),
            Err(_not_yet) => {}
            Ok(()) => return Ok(()),
        }
    }
}

/// A running controller.
struct RunningController {
    store: Store<ConfigMap>,
    /// How many namespaces of objects, and of children, it watches.
    namespaces: (usize, usize),
    assigner: Option<Arc<Assigner>>,
    /// Changes the assignment.
    assigning: Option<CancelableJoinHandle<()>>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl RunningController {
    fn start(client: &Client, context: &Arc<Context>, rng: &mut Rng) -> Self {
        context.clear_writes();
        let (main, of_objects, shared) = main_source(client, context, rng);
        // What was triggered once is not triggered by a relist again.
        let main = if rng.one_in(2) { main.filter(predicates::resource_version) } else { main };
        let store = main.store();
        context.set_store(Some(store.clone()));
        let config = Config::default()
            .concurrency(u16::try_from(rng.below(4)).unwrap())
            .debounce(Duration::from_millis(rng.below(3) * 400))
            .backoff(Duration::from_millis(5), Duration::from_secs(20))
            .write_wait(Duration::from_secs(3600))
            .timeout(Duration::from_secs(15));
        let (stop, stopped) = oneshot::channel();
        let (main, of_children) = with_children(main, client, context, rng);
        let main = main.with_config(config).graceful_shutdown_on(async { drop(stopped.await) });
        let assigner = rng.one_in(3).then(|| Arc::new(Assigner::new()));
        let main = match &assigner {
            Some(assigner) => main.assigned_by(assigner.assignments()),
            None => main,
        };
        let assigning = assigner.as_ref().map(|assigner| {
            let changes = change_assignment(Arc::clone(assigner), Arc::clone(context), rng.split());
            CancelableJoinHandle::spawn(changes, &Handle::current())
        });
        let output = if rng.one_in(2) {
            main.run(reconcile, error_policy, Arc::clone(context)).map(to_string).boxed()
        } else {
            main.run_with(Reconciler(Arc::clone(context))).map(to_string).boxed()
        };
        let recorder = Arc::clone(context);
        let output = output.for_each(move |item| {
            recorder.record(item);
            ready(())
        });
        // The shared stream is polled concurrently with the controller, and dropped with it.
        let shared = shared.for_each(|()| ready(())).then(|()| pending::<()>()).boxed();
        let namespaces = (of_objects, of_children);
        let task = tokio::spawn(select(output.boxed(), shared).map(drop));
        Self { store, namespaces, assigner, assigning, stop, task }
    }

    /// The assignment from now on.
    fn assign(&mut self, assignment: Assignment) {
        self.assigning = None;
        if let Some(assigner) = &self.assigner {
            drop(assigner.assign(assignment));
        }
    }

    /// Shuts down gracefully.
    async fn stop(self, context: &Context) -> Result<(), String> {
        context.stopping.store(true, Ordering::Relaxed);
        self.stop.send(()).map_err(|()| "the controller ended by itself".to_owned())?;
        let ended = timeout(Duration::from_secs(60), self.task).await;
        ended
            .map_err(|_| "the graceful shutdown takes too long".to_owned())?
            .map_err(|error| error.to_string())?;
        context.stopping.store(false, Ordering::Relaxed);
        context.set_store(None);
        if context.is_idle() {
            Ok(())
        } else {
            Err("the graceful shutdown did not wait for a reconcile".to_owned())
        }
    }

    async fn drop(self, context: &Context) -> Result<(), String> {
        self.task.abort();
        let _cancelled = self.task.await;
        context.set_store(None);
        sleep(Duration::from_millis(1)).await;
        if context.is_idle() { Ok(()) } else { Err("a reconcile outlived its controller".to_owned()) }
    }
}

/// Changes the assignment again and again, as when replicas come and go: also between two pages of a list.
async fn change_assignment(assigner: Arc<Assigner>, context: Arc<Context>, mut rng: Rng) {
    loop {
        let (assignment, what) = match rng.below(3) {
            0 => (Assignment::none(), "nothing"),
            1 => (Assignment::all(), "everything"),
            _ => {
                let odd = |_: Option<&str>, name: &str| name.bytes().last().is_some_and(|last| last % 2 == 1);
                (Assignment::matching(odd), "every other object")
            }
        };
        context.record(format!("{what} is assigned"));
        drop(assigner.assign(assignment));
        sleep(rng.millis(3000)).await;
    }
}

/// A controller with one of four kinds of watches, the number of its namespaces, and a stream to poll concurrently with it.
fn main_source(
    client: &Client,
    context: &Context,
    rng: &mut Rng,
) -> (Controller<ConfigMap>, usize, BoxStream<'static, ()>) {
    let api = Api::<ConfigMap>::default_namespaced(client.clone());
    match rng.below(5) {
        0 => {
            context.record("a controller with a shared watch");
            let (store, writer) = reflector::store_shared(4);
            let objects = writer.subscribe().unwrap();
            let watch = watcher::watcher(api, watch(rng)).default_backoff().reflect_shared(writer);
            (Controller::for_shared_stream(objects, store), 1, watch.map(drop).boxed())
        }
        1 => {
            context.record("a controller of a stream of two namespaces");
            let (store, writer) = reflector::store();
            let (client, config) = (client.clone(), watch(rng));
            let namespaces = stream::iter([NAMESPACES]);
            let objects = reflector::reflect_namespaces(writer, namespaces, move |namespace| {
                watcher::watcher(Api::namespaced(client.clone(), namespace), config.clone()).default_backoff()
            });
            (Controller::for_stream(objects.applied_objects(), store), 2, stream::pending().boxed())
        }
        2 => {
            context.record("a controller of two namespaces");
            let main = in_namespaces(client.clone(), NAMESPACES, own_watch(context, rng));
            (main, 2, stream::pending().boxed())
        }
        _ => (Controller::new(api, own_watch(context, rng)), 1, stream::pending().boxed()),
    }
}

/// The watch of a controller's own objects, with either kind of cache.
fn own_watch(context: &Context, rng: &mut Rng) -> watcher::Config {
    let (config, compact) = (watch(rng), rng.one_in(3));
    #[cfg(feature = "compact-cache")]
    if compact {
        context.record("its cache is compact");
        return config.compact_cache();
    }
    let _ = (context, compact);
    config
}

/// Adds one of four relations to children. Returns also the number of their namespaces.
fn with_children(
    main: Controller<ConfigMap>,
    client: &Client,
    context: &Context,
    rng: &mut Rng,
) -> (Controller<ConfigMap>, usize) {
    let config = watch(rng);
    let api = Api::<Secret>::default_namespaced(client.clone());
    match rng.below(6) {
        0 | 1 => {
            context.record("it watches children in two namespaces");
            let children = Related::api(Api::all(client.clone()), config).namespaces(NAMESPACES);
            (main.watches_related(children, owner_of), 2)
        }
        2 => {
            context.record("it owns children in two namespaces");
            let children = Related::metadata(Api::<Secret>::all(client.clone()), config);
            (main.owns_related(children.namespaces(NAMESPACES)), 2)
        }
        3 => {
            context.record("it owns children");
            (main.owns(api, config), 1)
        }
        _ => (main.watches(api, config, |child| owner_of(&child)), 1),
    }
}

fn to_string<T: Debug, E: Error>(item: Result<T, E>) -> String {
    let mut text = match &item {
        Ok(_) => String::from("ok"),
        Err(error) => error.to_string(),
    };
    let mut cause = item.as_ref().err().and_then(Error::source);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

fn watch(rng: &mut Rng) -> watcher::Config {
    let config = watcher::Config::default().timeout(10 + u32::try_from(rng.below(30)).unwrap());
    match rng.below(3) {
        0 => config.streaming_lists(),
        1 => config.page_size(2),
        _ => config,
    }
}

/// Makes random changes, by a client without faults.
struct OwnerWriter {
    server: ApiServer,
    client: Client,
    rng: Rng,
    context: Arc<Context>,
    /// When a child of the object was last changed.
    children_changed: BTreeMap<String, Instant>,
    count: usize,
}

impl OwnerWriter {
    fn new(server: &ApiServer, rng: Rng, context: &Arc<Context>) -> Self {
        let client = Client::new(server.clone(), "default");
        Self {
            server: server.clone(),
            client,
            rng,
            context: Arc::clone(context),
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

    /// Makes one change, if its object exists.
    async fn next(&mut self) {
        self.count += 1;
        let namespace = NAMESPACES[usize::from(self.rng.one_in(4))];
        let name = format!("{namespace}-{}", self.rng.below(6));
        let label = json!({ "metadata": { "labels": { "change": self.count.to_string() } } });
        let (patch, params) = (Patch::Merge(label), PatchParams::default());
        let what = self.rng.below(13);
        self.context.record(format!("change {what} of {name}"));
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

    /// Makes the watch list anew, creates objects meanwhile, and assigns everything when any number of pages has come.
    ///
    /// No other assignment follows, so an object that the list brings must not be lost.
    async fn assign_all_during_a_list(&mut self, controller: &mut RunningController) {
        controller.assign(Assignment::none());
        let (names, objects) =
            (|| (0..6).map(|number| format!("{}-{number}", NAMESPACES[0])), self.objects(NAMESPACES[0]));
        for name in names() {
            if self.rng.one_in(2) {
                drop(objects.delete(&name, &DeleteParams::default()).await);
            }
        }
        sleep(self.rng.millis(3000)).await;
        let expired = Match::watch::<ConfigMap>().namespace(NAMESPACES[0]).times(1);
        self.server.fault(expired, Fault::Expired);
        self.server.end_watches();
        for name in names() {
            drop(objects.create(&PostParams::default(), &named(&name)).await);
        }
        sleep(self.rng.millis(10_000)).await;
        self.context.record("everything is assigned");
        controller.assign(Assignment::all());
        sleep(self.rng.millis(10_000)).await;
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

    /// Checks that the store has the objects of the server, and that all were reconciled.
    async fn check_converged(&self, controller: &RunningController, context: &Context) -> Result<(), String> {
        let (store, (of_objects, of_children)) = (&controller.store, controller.namespaces);
        let mut objects = Vec::new();
        for namespace in &NAMESPACES[..of_objects] {
            objects.extend(self.objects(namespace).list(&ListParams::default()).await.unwrap().items);
        }
        let versions = |object: &ConfigMap| (object.name_any(), object.resource_version());
        let on_server: BTreeMap<_, _> = objects.iter().map(versions).collect();
        let in_store: BTreeMap<_, _> = store.state().iter().map(|object| versions(object)).collect();
        if on_server != in_store {
            return Err(format!("the store has {in_store:?}, the server {on_server:?}"));
        }
        for (name, version) in on_server {
            let last = context.reconciled(&name).ok_or_else(|| format!("{name} was never reconciled"))?;
            if last.version != version {
                return Err(format!("{name} was reconciled at {:?}, and is at {version:?}", last.version));
            }
            let watches_child = NAMESPACES[..of_children].iter().any(|namespace| name.starts_with(namespace));
            if watches_child
                && self.children_changed.get(&name).is_some_and(|changed| last.started < *changed)
            {
                return Err(format!("{name} was not reconciled for the last change of its child"));
            }
        }
        Ok(())
    }
}
