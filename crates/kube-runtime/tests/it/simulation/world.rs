//! What the reconciler does, and what it sees.

use super::dice::Dice;
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

/// What all reconciles share.
pub(super) struct World {
    dice: Mutex<Dice>,
    /// For the writes of reconciles. Without faults.
    client: Client,
    /// The store of the controller that runs.
    store: Mutex<Option<Store<ConfigMap>>>,
    born: Instant,
    /// Reconciles succeed.
    pub(super) calm: AtomicBool,
    /// The controller was asked to stop.
    pub(super) stopping: AtomicBool,
    running: Mutex<BTreeSet<String>>,
    reconciled: Mutex<BTreeMap<String, Reconciled>>,
    /// The writes that the next reconcile of an object has to see.
    writes: Mutex<BTreeMap<String, u64>>,
    /// Every state that was ever reconciled.
    handed_out: Mutex<Vec<Weak<ConfigMap>>>,
    /// What happened, line by line.
    story: Mutex<Vec<String>>,
    /// What should never have happened.
    violations: Mutex<Vec<String>>,
}

/// The last reconcile of an object that succeeded.
#[derive(Debug, Clone)]
pub(super) struct Reconciled {
    pub(super) version: Option<String>,
    pub(super) started: Instant,
}

/// Which state: versions count across objects, so that one made anew is later than all states of the one before.
fn version_of(object: &ConfigMap) -> u64 {
    object.resource_version().and_then(|version| version.parse().ok()).unwrap()
}

#[derive(Debug, thiserror::Error)]
#[error("as the dice fell")]
pub(super) struct Misfortune;

impl World {
    pub(super) fn new(dice: Dice, client: Client) -> Arc<Self> {
        Arc::new(Self {
            dice: Mutex::new(dice),
            client,
            store: Mutex::default(),
            born: Instant::now(),
            calm: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            running: Mutex::default(),
            reconciled: Mutex::default(),
            writes: Mutex::default(),
            handed_out: Mutex::default(),
            story: Mutex::default(),
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

    /// Another controller begins: it knows nothing of the writes of the one before.
    pub(super) fn begin(&self) {
        self.writes.lock().unwrap().clear();
    }

    /// How many of the states that were reconciled are still in memory.
    pub(super) fn kept(&self) -> usize {
        self.handed_out.lock().unwrap().iter().filter(|state| state.strong_count() > 0).count()
    }

    pub(super) fn violations(&self) -> Vec<String> {
        self.violations.lock().unwrap().clone()
    }

    pub(super) fn story(&self) -> Vec<String> {
        self.story.lock().unwrap().clone()
    }

    pub(super) fn tell(&self, what: impl Display) {
        self.story.lock().unwrap().push(format!("{:>9.3} {what}", self.born.elapsed().as_secs_f64()));
    }

    fn violated(&self, what: String) {
        self.tell(&what);
        self.violations.lock().unwrap().push(what);
    }

    /// What has to hold when a reconcile begins.
    fn check_start(&self, object: &Arc<ConfigMap>) {
        let name = object.name_any();
        if self.stopping.load(Ordering::Relaxed) {
            self.violated(format!("{name} was reconciled after the end was asked for"));
        }
        if let Some(written) = self.writes.lock().unwrap().remove(&name)
            && version_of(object) < written
        {
            self.violated(format!("{name} was reconciled without its own write"));
        }
        self.handed_out.lock().unwrap().push(Arc::downgrade(object));
    }

    /// Writes to the object, or the one that has taken its place. `None` where there is none.
    async fn write(&self, object: &ConfigMap) -> Option<ConfigMap> {
        let objects: Api<ConfigMap> = Api::namespaced(self.client.clone(), &object.namespace()?);
        let label = json!({ "metadata": { "labels": { "by": "reconciler", "at": self.now() } } });
        let patch = Patch::Merge(label);
        objects.patch(&object.name_any(), &PatchParams::default(), &patch).await.ok()
    }

    /// Notes that the next reconcile has to see a write.
    fn expects(&self, written: &ConfigMap, action: Action) -> Action {
        self.writes.lock().unwrap().insert(written.name_any(), version_of(written));
        action.after_write(written)
    }

    /// Waits for the store to show a write. The time that a reconcile may take is the end of it.
    async fn wait_for(&self, written: &ConfigMap) {
        let store = self.store.lock().unwrap().clone();
        let Some(store) = store else { return };
        let name = written.name_any();
        self.tell(format!("{name} waits for {}", version_of(written)));
        match store.wait_for(written).await {
            Ok(shown) if shown.as_deref().is_none_or(|shown| version_of(shown) >= version_of(written)) => {
                self.tell(format!("{name} is seen"));
            }
            Ok(shown) => {
                self.violated(format!(
                    "{name} was waited for and is shown at {:?}",
                    shown.map(|it| version_of(&it))
                ));
            }
            Err(error) => self.violated(format!("{name} is waited for in vain: {error}")),
        }
    }

    fn now(&self) -> String {
        self.born.elapsed().as_millis().to_string()
    }
}

/// The owner of a child, by its name.
pub(super) fn owner_of(child: &Secret) -> Option<ObjectRef<ConfigMap>> {
    child
        .name_any()
        .strip_prefix("child-of-")
        .map(|owner| ObjectRef::new(owner).within(&child.namespace().unwrap_or_default()))
}

/// Succeeds, fails, panics or hangs.
pub(super) async fn reconcile(object: Arc<ConfigMap>, world: Arc<World>) -> Result<Action, Misfortune> {
    let name = object.name_any();
    world.check_start(&object);
    let (what, duration) = {
        let mut dice = world.dice.lock().unwrap();
        (dice.below(16), dice.millis(4000))
    };
    let what = if world.calm.load(Ordering::Relaxed) { 0 } else { what };
    let version = object.resource_version();
    world.tell(format!("{name} at {version:?}: {what}"));
    let started = Instant::now();
    let _running = Running::enter(&world, &name);
    sleep(duration).await;
    match what {
        8 | 9 => return Err(Misfortune),
        10 => std::panic::resume_unwind(Box::new("as the dice fell")), // without a word on stderr
        11 => pending::<()>().await,
        _ => {}
    }
    let action = if what == 7 { Action::requeue(duration * 3) } else { Action::await_change() };
    let written = if what > 11 { world.write(&object).await } else { None };
    if let (14.., Some(written)) = (what, &written) {
        world.wait_for(written).await;
    }
    let action = match written {
        Some(written) if what < 15 => world.expects(&written, action),
        _ => action,
    };
    world.tell(format!("{name} is done"));
    world.reconciled.lock().unwrap().insert(name, Reconciled { version, started });
    Ok(action)
}

pub(super) fn error_policy(_object: Arc<ConfigMap>, _error: &Misfortune, world: Arc<World>) -> Action {
    let mut dice = world.dice.lock().unwrap();
    if dice.one_in(3) {
        Action::requeue(dice.millis(5000) + Duration::from_millis(1))
    } else {
        Action::retry()
    }
}

/// The same as a type of its own, which also takes its time over errors.
pub(super) struct Reconciler(pub(super) Arc<World>);

impl Reconcile<ConfigMap> for Reconciler {
    type Error = Misfortune;

    async fn reconcile(&self, object: Arc<ConfigMap>) -> Result<Action, Misfortune> {
        reconcile(object, Arc::clone(&self.0)).await
    }

    async fn on_error(&self, object: Arc<ConfigMap>, error: &Misfortune) -> Action {
        let _running = Running::enter(&self.0, &object.name_any());
        let duration = self.0.dice.lock().unwrap().millis(1000);
        sleep(duration).await;
        error_policy(object, error, Arc::clone(&self.0))
    }
}

/// A reconcile under way, however it ends.
struct Running(Arc<World>, String);

impl Running {
    fn enter(world: &Arc<World>, name: &str) -> Self {
        if !world.running.lock().unwrap().insert(name.to_owned()) {
            world.violated(format!("{name} was reconciled twice at once"));
        }
        Self(Arc::clone(world), name.to_owned())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.lock().unwrap().remove(&self.1);
    }
}
