//! The reconciler of the controller scenario, which checks each call.

use super::rng::Rng;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::{Api, Client};
use kube_core::{
    ResourceExt,
    params::{Patch, PatchParams},
};
use kube_runtime::{
    controller::{Action, Reconcile},
    reflector::{ObjectRef, Store},
};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    future::pending,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::time::{Instant, sleep};

/// The context of all reconciles.
pub(super) struct Context {
    rng: Mutex<Rng>,
    /// For the writes of reconciles. Without faults.
    client: Client,
    /// The store of the running controller.
    store: Mutex<Option<Store<ConfigMap>>>,
    start: Instant,
    /// Whether reconciles always succeed.
    pub(super) faults_over: AtomicBool,
    /// Whether a graceful shutdown of the controller has begun.
    pub(super) stopping: AtomicBool,
    running: Mutex<BTreeSet<String>>,
    reconciled: Mutex<BTreeMap<String, Reconciled>>,
    /// The versions of the writes that the next reconcile of an object has to see.
    writes: Mutex<BTreeMap<String, u64>>,
    /// Every reconciled state.
    states: Mutex<Vec<Weak<ConfigMap>>>,
    /// Every event with its time.
    trace: Mutex<Vec<String>>,
    /// The broken guarantees.
    violations: Mutex<Vec<String>>,
}

/// The last successful reconcile of an object.
#[derive(Debug, Clone)]
pub(super) struct Reconciled {
    pub(super) version: Option<String>,
    pub(super) started: Instant,
}

/// The version as a number. The test server counts across objects, so a recreated object is later than the deleted one.
fn version_of(object: &ConfigMap) -> u64 {
    object.resource_version().and_then(|version| version.parse().ok()).unwrap()
}

#[derive(Debug, thiserror::Error)]
#[error("injected fault")]
pub(super) struct InjectedError;

impl Context {
    pub(super) fn new(rng: Rng, client: Client) -> Arc<Self> {
        Arc::new(Self {
            rng: Mutex::new(rng),
            client,
            store: Mutex::default(),
            start: Instant::now(),
            faults_over: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            running: Mutex::default(),
            reconciled: Mutex::default(),
            writes: Mutex::default(),
            states: Mutex::default(),
            trace: Mutex::default(),
            violations: Mutex::default(),
        })
    }

    pub(super) fn is_idle(&self) -> bool {
        self.running.lock().unwrap().is_empty()
    }

    pub(super) fn reconciled(&self, name: &str) -> Option<Reconciled> {
        self.reconciled.lock().unwrap().get(name).cloned()
    }

    pub(super) fn set_store(&self, store: Option<Store<ConfigMap>>) {
        *self.store.lock().unwrap() = store;
    }

    /// Forgets the expected writes, for a new controller, which does not know those of the one before.
    pub(super) fn clear_writes(&self) {
        self.writes.lock().unwrap().clear();
    }

    /// The number of reconciled states that are still in memory.
    pub(super) fn states_in_memory(&self) -> usize {
        self.states.lock().unwrap().iter().filter(|state| state.strong_count() > 0).count()
    }

    pub(super) fn violations(&self) -> Vec<String> {
        self.violations.lock().unwrap().clone()
    }

    pub(super) fn trace(&self) -> Vec<String> {
        self.trace.lock().unwrap().clone()
    }

    pub(super) fn record(&self, what: impl Display) {
        self.trace.lock().unwrap().push(format!("{:>9.3} {what}", self.start.elapsed().as_secs_f64()));
    }

    fn violated(&self, what: String) {
        self.record(&what);
        self.violations.lock().unwrap().push(what);
    }

    /// Checks the guarantees at the start of a reconcile.
    fn check_start(&self, object: &Arc<ConfigMap>) {
        let name = object.name_any();
        if self.stopping.load(Ordering::Relaxed) {
            self.violated(format!("{name} was reconciled after the shutdown began"));
        }
        if let Some(written) = self.writes.lock().unwrap().remove(&name)
            && version_of(object) < written
        {
            self.violated(format!("{name} was reconciled without its own write"));
        }
        self.states.lock().unwrap().push(Arc::downgrade(object));
    }

    /// Writes to the object, or to a recreated one with its name. `None` if there is none.
    async fn write(&self, object: &ConfigMap) -> Option<ConfigMap> {
        let objects: Api<ConfigMap> = Api::namespaced(self.client.clone(), &object.namespace()?);
        let label = json!({ "metadata": { "labels": { "by": "reconciler", "at": self.now() } } });
        let patch = Patch::Merge(label);
        objects.patch(&object.name_any(), &PatchParams::default(), &patch).await.ok()
    }

    /// Requires the next reconcile to see a write.
    fn expect_write(&self, written: &ConfigMap, action: Action) -> Action {
        self.writes.lock().unwrap().insert(written.name_any(), version_of(written));
        action.after_write(written)
    }

    /// Waits until a write is in the store. The timeout of the reconcile limits the wait.
    async fn wait_for(&self, written: &ConfigMap) {
        let store = self.store.lock().unwrap().clone();
        let Some(store) = store else { return };
        let name = written.name_any();
        self.record(format!("{name} waits for {}", version_of(written)));
        match store.wait_for(written).await {
            Ok(shown) if shown.as_deref().is_none_or(|shown| version_of(shown) >= version_of(written)) => {
                self.record(format!("{name} is seen"));
            }
            Ok(shown) => {
                self.violated(format!(
                    "{name} was waited for and is shown at {:?}",
                    shown.map(|it| version_of(&it))
                ));
            }
            Err(error) => self.violated(format!("the wait for {name} failed: {error}")),
        }
    }

    fn now(&self) -> String {
        self.start.elapsed().as_millis().to_string()
    }
}

/// The owner of a child, from the child's name.
pub(super) fn owner_of(child: &Secret) -> Option<ObjectRef<ConfigMap>> {
    child
        .name_any()
        .strip_prefix("child-of-")
        .map(|owner| ObjectRef::new(owner).within(&child.namespace().unwrap_or_default()))
}

/// Succeeds, fails, panics or hangs at random.
pub(super) async fn reconcile(
    object: Arc<ConfigMap>,
    context: Arc<Context>,
) -> Result<Action, InjectedError> {
    let name = object.name_any();
    context.check_start(&object);
    let (what, duration) = {
        let mut rng = context.rng.lock().unwrap();
        (rng.below(16), rng.millis(4000))
    };
    let what = if context.faults_over.load(Ordering::Relaxed) { 0 } else { what };
    let version = object.resource_version();
    context.record(format!("{name} at {version:?}: {what}"));
    let started = Instant::now();
    let _running = RunningReconcile::enter(&context, &name);
    sleep(duration).await;
    match what {
        8 | 9 => return Err(InjectedError),
        10 => std::panic::resume_unwind(Box::new("injected fault")), // without the message of the panic hook
        11 => pending::<()>().await,
        _ => {}
    }
    let action = if what == 7 { Action::requeue(duration * 3) } else { Action::await_change() };
    let written = if what > 11 { context.write(&object).await } else { None };
    if let (14.., Some(written)) = (what, &written) {
        context.wait_for(written).await;
    }
    let action = match written {
        Some(written) if what < 15 => context.expect_write(&written, action),
        _ => action,
    };
    context.record(format!("{name} is done"));
    context.reconciled.lock().unwrap().insert(name, Reconciled { version, started });
    Ok(action)
}

pub(super) fn error_policy(_object: Arc<ConfigMap>, _error: &InjectedError, context: Arc<Context>) -> Action {
    let mut rng = context.rng.lock().unwrap();
    if rng.one_in(3) { Action::requeue(rng.millis(5000) + Duration::from_millis(1)) } else { Action::retry() }
}

/// The same as an implementation of [`Reconcile`], with a slow `on_error`.
pub(super) struct Reconciler(pub(super) Arc<Context>);

impl Reconcile<ConfigMap> for Reconciler {
    type Error = InjectedError;

    async fn reconcile(&self, object: Arc<ConfigMap>) -> Result<Action, InjectedError> {
        reconcile(object, Arc::clone(&self.0)).await
    }

    async fn on_error(&self, object: Arc<ConfigMap>, error: &InjectedError) -> Action {
        let _running = RunningReconcile::enter(&self.0, &object.name_any());
        let duration = self.0.rng.lock().unwrap().millis(1000);
        sleep(duration).await;
        error_policy(object, error, Arc::clone(&self.0))
    }
}

/// Marks a reconcile as running until it is dropped.
struct RunningReconcile(Arc<Context>, String);

impl RunningReconcile {
    fn enter(context: &Arc<Context>, name: &str) -> Self {
        if !context.running.lock().unwrap().insert(name.to_owned()) {
            context.violated(format!("{name} was reconciled twice at once"));
        }
        Self(Arc::clone(context), name.to_owned())
    }
}

impl Drop for RunningReconcile {
    fn drop(&mut self) {
        self.0.running.lock().unwrap().remove(&self.1);
    }
}
