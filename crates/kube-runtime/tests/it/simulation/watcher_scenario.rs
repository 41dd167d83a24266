//! A watcher and its store during random changes and faults of unusual servers.

use super::{
    controller_scenario::ScenarioRun,
    faults::Faults,
    rng::Rng,
    servers::{ServerBehavior, Servers},
};
use crate::common::{in_namespaces, named, wait_for_change};
use futures::{FutureExt, StreamExt, future::BoxFuture};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Api, Client};
use kube_core::{
    ResourceExt,
    params::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
};
use kube_runtime::{
    Controller, WatchStreamExt,
    controller::{Action, Error},
    reflector,
    reflector::{ObjectRef, Store},
    watcher::{self, Event, watcher},
};
use kube_testserver::ApiServer;
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::{Instant, sleep};

/// How long after the last fault the store has to equal the server, at the latest.
const CONVERGENCE_TIMEOUT: Duration = Duration::from_secs(600);

/// Longer than it takes to notice that a storage without changes was restored from a backup.
const RESTORE_NOTICED: Duration = Duration::from_secs(180);

/// Runs one scenario.
///
/// Checks: in the end the store equals the server, except for undecodable objects; every undecodable object was named by an error,
/// and the store has none that the server does not have. The store never goes back in time, unless the storage does or
/// versions cannot be compared.
pub(super) async fn run(seed: u64) -> ScenarioRun {
    let mut rng = Rng::new(seed);
    let behavior =
        [ServerBehavior::None, ServerBehavior::Lag, ServerBehavior::Lag, ServerBehavior::OpaqueVersions]
            [rng.below(4) as usize];
    let rewinds = behavior != ServerBehavior::OpaqueVersions && rng.one_in(3);
    let server = ApiServer::new();
    let faults = Faults::new(rng.split());
    let servers = Servers::new(&server, &faults, behavior, rng.split());
    let checker = Arc::new(EventChecker::new(behavior != ServerBehavior::OpaqueVersions && !rewinds));
    checker.record(format!("{behavior:?}, rewinds: {rewinds}"));
    let mut changes = ObjectWriter::new(&server, rng.split(), &checker);

    let api: Api<ConfigMap> = Api::default_namespaced(servers.client());
    let (store, filling) = fill(api, &mut rng, &checker);
    let filling = tokio::spawn(filling);

    let mut outcome = Ok(());
    for _ in 0..20 + rng.below(60) {
        if rewinds && rng.one_in(20) {
            outcome = outcome.and(changes.rewind(&store).await);
        } else {
            changes.next().await;
            sleep(rng.millis(4000)).await;
        }
    }
    faults.end();
    servers.end();
    checker.record("faults are over".to_owned());
    outcome = outcome.and(changes.settle(&store).await);
    filling.abort();
    let violations = std::mem::take(&mut *checker.violations.lock().unwrap());
    if !violations.is_empty() {
        outcome = Err(violations.join("; "));
    }
    let trace = std::mem::take(&mut *checker.trace.lock().unwrap());
    ScenarioRun { trace, outcome }
}

/// A store of either kind, and what fills it.
fn fill(
    api: Api<ConfigMap>,
    rng: &mut Rng,
    checker: &Arc<EventChecker>,
) -> (Store<ConfigMap>, BoxFuture<'static, ()>) {
    let (config, compact, backoff, controller) = (config(rng), rng.one_in(3), rng.one_in(2), rng.one_in(3));
    let checker = Arc::clone(checker);
    if controller {
        return fill_by_controller(api, config, compact, rng.one_in(2), checker);
    }
    #[cfg(feature = "compact-cache")]
    if compact {
        checker.record("a compact cache".to_owned());
        let (store, writer) = reflector::compact_store();
        let reader = store.clone();
        let filling = writer.watch(api, config).for_each(move |item| {
            checker.check_compact_item(&item, &reader);
            std::future::ready(())
        });
        return (store, filling.boxed());
    }
    let (store, writer) = reflector::store();
    let reader = store.clone();
    let events = watcher(api, config);
    let events = if backoff || compact { events.default_backoff().boxed() } else { events.boxed() };
    let filling = events.reflect(writer).for_each(move |item| {
        checker.check_item(&item, &reader);
        std::future::ready(())
    });
    (store, filling.boxed())
}

/// The store of a controller, whose lists do not decode what it has.
fn fill_by_controller(
    api: Api<ConfigMap>,
    config: watcher::Config,
    compact: bool,
    by_namespace: bool,
    checker: Arc<EventChecker>,
) -> (Store<ConfigMap>, BoxFuture<'static, ()>) {
    checker.record(format!("a controller, compact: {compact}, by namespace: {by_namespace}"));
    #[cfg(feature = "compact-cache")]
    let config = if compact { config.compact_cache() } else { config };
    let controller = if by_namespace {
        in_namespaces(api.into_client(), ["default"], config)
    } else {
        Controller::new(api, config)
    };
    let (store, reader) = (controller.store(), controller.store());
    let reconcile = async |_: Arc<ConfigMap>, _| Ok::<_, Infallible>(Action::await_change());
    let filling = controller.run(reconcile, wait_for_change, Arc::new(())).for_each(move |item| {
        match item {
            Err(Error::QueueError(error)) => checker.check_error(&error),
            Err(error) => checker.record(error.to_string()),
            Ok((object, _)) => checker.record(object.to_string()),
        }
        if checker.only_forward {
            checker.check_store(&reader);
        }
        std::future::ready(())
    });
    (store, filling.boxed())
}

fn config(rng: &mut Rng) -> watcher::Config {
    let config = watcher::Config::default().timeout(10 + u32::try_from(rng.below(30)).unwrap());
    let config = if rng.one_in(4) { config } else { config.any_semantic() };
    match rng.below(3) {
        0 => config.streaming_lists(),
        1 => config.page_size(2),
        _ => config,
    }
}

/// Checks every item of the watcher against the store.
struct EventChecker {
    start: Instant,
    /// Whether versions may never regress.
    only_forward: bool,
    /// The highest version of each object that was seen, with its uid.
    highest: Mutex<BTreeMap<String, (u64, String)>>,
    /// The uids of objects that were deleted or could not be decoded at some time.
    may_be_missing: Mutex<BTreeSet<String>>,
    errors: Mutex<Vec<String>>,
    trace: Mutex<Vec<String>>,
    violations: Mutex<Vec<String>>,
}

impl EventChecker {
    fn new(only_forward: bool) -> Self {
        Self {
            start: Instant::now(),
            only_forward,
            highest: Mutex::default(),
            may_be_missing: Mutex::default(),
            errors: Mutex::default(),
            trace: Mutex::default(),
            violations: Mutex::default(),
        }
    }

    fn record(&self, what: String) {
        self.trace.lock().unwrap().push(format!("{:>9.3} {what}", self.start.elapsed().as_secs_f64()));
    }

    fn check_item(&self, item: &watcher::Result<Event<ConfigMap>>, store: &Store<ConfigMap>) {
        match item {
            Err(error) => self.check_error(error),
            Ok(event) => {
                self.record(event.to_string());
                if let Event::Delete(object) = event {
                    self.advance(object);
                }
                if self.only_forward && !matches!(event, Event::Init | Event::InitApply(_)) {
                    self.check_store(store);
                }
            }
        }
    }

    /// The same for the events of a compact cache, which have no objects.
    #[cfg(feature = "compact-cache")]
    fn check_compact_item(
        &self,
        item: &watcher::Result<Event<ObjectRef<ConfigMap>>>,
        store: &Store<ConfigMap>,
    ) {
        match item {
            Err(error) => self.check_error(error),
            Ok(event) => {
                self.record(format!("{event:?}"));
                if self.only_forward && !matches!(event, Event::Init | Event::InitApply(_)) {
                    self.check_store(store);
                }
            }
        }
    }

    fn check_error(&self, error: &watcher::Error) {
        let error = chain(error);
        self.record(error.clone());
        self.errors.lock().unwrap().push(error);
    }

    /// The store has every object at the highest version that was seen, or a higher one, and lacks only deleted or undecodable ones.
    fn check_store(&self, store: &Store<ConfigMap>) {
        let objects = store.state();
        for object in &objects {
            self.advance(object);
        }
        let in_store: BTreeSet<String> = objects.iter().filter_map(|object| object.uid()).collect();
        let missing = self.may_be_missing.lock().unwrap();
        for (name, (version, uid)) in &*self.highest.lock().unwrap() {
            if !in_store.contains(uid) && !missing.contains(uid) {
                self.violated(format!("{name} at {version} is missing, and was never deleted"));
            }
        }
    }

    /// Records the version of an object, which must not be lower than before.
    fn advance(&self, object: &ConfigMap) {
        let version = version_of(object);
        let (name, uid) = (object.name_any(), object.uid().unwrap());
        let mut highest = self.highest.lock().unwrap();
        let before = highest.get(&name).map_or(0, |(version, _)| *version);
        if self.only_forward && version < before {
            self.violated(format!("{name} went back from {before} to {version}"));
        }
        highest.insert(name, (version.max(before), uid));
    }

    fn violated(&self, what: String) {
        self.record(what.clone());
        self.violations.lock().unwrap().push(what);
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {}", chain(source)))
}

/// Makes random changes, by a client without faults.
struct ObjectWriter {
    server: ApiServer,
    objects: Api<ConfigMap>,
    /// The same by a path that is not served from a lagging cache.
    all_namespaces: Api<ConfigMap>,
    rng: Rng,
    checker: Arc<EventChecker>,
    count: usize,
    /// The object that got each version.
    written: BTreeMap<u64, String>,
}

impl ObjectWriter {
    fn new(server: &ApiServer, rng: Rng, checker: &Arc<EventChecker>) -> Self {
        let client = Client::new(server.clone(), "default");
        let (objects, all_namespaces) = (Api::default_namespaced(client.clone()), Api::all(client));
        Self {
            server: server.clone(),
            objects,
            all_namespaces,
            rng,
            checker: Arc::clone(checker),
            count: 0,
            written: BTreeMap::new(),
        }
    }

    /// Makes one change, if its object exists.
    async fn next(&mut self) {
        self.count += 1;
        let name = format!("object-{}", self.rng.below(6));
        let what = self.rng.below(13);
        self.checker.record(format!("change {what} of {name}"));
        match what {
            0..=3 => self.create(&name).await,
            4..=6 => self.patch(&name, json!({})).await,
            7 | 8 => self.patch(&name, json!({ "undecodable": "yes" })).await,
            9 => self.patch(&name, json!({ "undecodable": null })).await,
            10 => self.delete(&name).await,
            11 => self.server.compact(),
            _ => self.server.end_watches(),
        }
    }

    async fn create(&mut self, name: &str) {
        if let Ok(object) = self.objects.create(&PostParams::default(), &named(name)).await {
            self.written.insert(version_of(&object), name.to_owned());
        }
    }

    async fn patch(&mut self, name: &str, data: serde_json::Value) {
        let labels = json!({ "change": self.count.to_string() });
        let patch = Patch::Merge(json!({ "metadata": { "labels": labels }, "data": data }));
        let Ok(object) = self.objects.patch(name, &PatchParams::default(), &patch).await else { return };
        self.written.insert(version_of(&object), name.to_owned());
        if is_undecodable(&object) {
            self.checker.may_be_missing.lock().unwrap().extend(object.uid());
        }
    }

    async fn delete(&self, name: &str) {
        if let Ok(object) = self.objects.get(name).await {
            self.checker.may_be_missing.lock().unwrap().extend(object.uid());
            drop(self.objects.delete(name, &DeleteParams::default()).await);
        }
    }

    /// Restores the storage from a backup, makes other changes, which get the versions of those that are lost, and waits until the watcher
    /// can have noticed it: a storage that reaches the old version again before is not noticed. Meanwhile a compaction may take one
    /// version.
    async fn rewind(&mut self, store: &Store<ConfigMap>) -> Result<(), String> {
        // The watcher has reached the version of changes that the store shows. They come after all compactions, so that there is a history.
        for number in (0..=self.rng.below(6)).rev() {
            self.count += 1;
            let name = format!("object-{number}");
            self.create(&name).await;
            self.patch(&name, json!({ "undecodable": null })).await;
        }
        self.settle(store).await?;
        let reached = self.server.resource_version();
        let version = reached.saturating_sub(2 + self.rng.below(10));
        let version = match self.server.rewind(version) {
            Ok(()) => version,
            Err(too_old) => self.server.rewind(too_old.oldest).map(|()| too_old.oldest).unwrap(),
        };
        self.checker.record(format!("the storage goes back to {version}"));
        for _ in 0..self.rng.below(20) {
            let next = self.server.resource_version() + 1;
            if next + 1 >= reached {
                break;
            }
            self.count += 1;
            match self.written.get(&next).cloned().filter(|_| self.rng.one_in(2)) {
                Some(name) => self.patch(&name, json!({})).await, // another state with the uid and the version of one that is lost
                None => self.next().await,
            }
        }
        self.checker.record(format!("and is at {}", self.server.resource_version()));
        sleep(RESTORE_NOTICED).await;
        self.settle(store).await
    }

    /// Waits until store and server are consistent.
    async fn settle(&self, store: &Store<ConfigMap>) -> Result<(), String> {
        let end = Instant::now() + CONVERGENCE_TIMEOUT;
        loop {
            sleep(Duration::from_secs(5)).await;
            match self.check_converged(store).await {
                Err(difference) if Instant::now() > end => return Err(difference),
                Err(_not_yet) => {}
                Ok(()) => return Ok(()),
            }
        }
    }

    async fn check_converged(&self, store: &Store<ConfigMap>) -> Result<(), String> {
        let objects = self.all_namespaces.list(&ListParams::default()).await.unwrap().items;
        let state =
            |object: &ConfigMap| (object.name_any(), (object.uid(), object.labels().get("change").cloned()));
        let (undecodable, decodable): (Vec<_>, Vec<_>) = objects.into_iter().partition(is_undecodable);
        let undecodable: BTreeMap<_, _> = undecodable.iter().map(state).collect();
        let decodable: BTreeMap<_, _> = decodable.iter().map(state).collect();
        let mut in_store: BTreeMap<_, _> = store.state().iter().map(|object| state(object)).collect();
        let retained: Vec<_> =
            undecodable.keys().filter_map(|name| Some((name, in_store.remove(name)?))).collect();
        if in_store != decodable {
            return Err(format!("the store has {in_store:?}, the server {decodable:?}"));
        }
        if let Some((name, state)) =
            retained.into_iter().find(|(name, state)| state.0 != undecodable[*name].0)
        {
            return Err(format!("the store has {name} as {state:?}, the server {:?}", undecodable[name]));
        }
        let errors = self.checker.errors.lock().unwrap();
        let named = |name: &String| {
            // A compact cache decodes the objects of a list when they are read.
            let read = store.try_get(&ObjectRef::new(name).within("default"));
            errors.iter().any(|it| it.contains(name.as_str()))
                || read.is_err_and(|error| error.to_string().contains(name.as_str()))
        };
        match undecodable.keys().find(|name| !named(name)) {
            Some(name) => Err(format!("{name} cannot be decoded, and no error names it")),
            None => Ok(()),
        }
    }
}

fn version_of(object: &ConfigMap) -> u64 {
    object.resource_version().and_then(|version| version.parse().ok()).unwrap()
}

fn is_undecodable(object: &ConfigMap) -> bool {
    object.data.as_ref().is_some_and(|data| data.contains_key("undecodable"))
}
