//! What the reconciler does, and what it sees.

use super::dice::Dice;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_core::ResourceExt;
use kube_runtime::{controller::Action, reflector::ObjectRef};
use std::{
    collections::{BTreeMap, BTreeSet},
    future::{Future, pending},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::time::{Instant, sleep};

/// What all reconciles share.
pub(super) struct World {
    dice: Mutex<Dice>,
    /// Reconciles succeed.
    pub(super) calm: AtomicBool,
    /// The controller was asked to stop.
    pub(super) stopping: AtomicBool,
    running: Mutex<BTreeSet<String>>,
    reconciled: Mutex<BTreeMap<String, Reconciled>>,
    /// The children that the present controller knows of.
    pub(super) sighted: Mutex<BTreeSet<String>>,
    /// What should never have happened.
    violations: Mutex<Vec<String>>,
}

/// The last reconcile of an object that succeeded.
#[derive(Debug, Clone)]
pub(super) struct Reconciled {
    pub(super) version: Option<String>,
    pub(super) started: Instant,
}

#[derive(Debug, thiserror::Error)]
#[error("as the dice fell")]
pub(super) struct Misfortune;

impl World {
    pub(super) fn new(dice: Dice) -> Arc<Self> {
        Arc::new(Self {
            dice: Mutex::new(dice),
            calm: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
            running: Mutex::default(),
            reconciled: Mutex::default(),
            sighted: Mutex::default(),
            violations: Mutex::default(),
        })
    }

    pub(super) fn is_idle(&self) -> bool {
        self.running.lock().unwrap().is_empty()
    }

    pub(super) fn reconciled(&self, name: &str) -> Option<Reconciled> {
        self.reconciled.lock().unwrap().get(name).cloned()
    }

    pub(super) fn violations(&self) -> Vec<String> {
        self.violations.lock().unwrap().clone()
    }

    fn violated(&self, what: String) {
        self.violations.lock().unwrap().push(what);
    }
}

/// The owner of a child, by its name.
pub(super) fn owner_of(child: &Secret, world: &World) -> Option<ObjectRef<ConfigMap>> {
    world.sighted.lock().unwrap().insert(child.name_any());
    child.name_any().strip_prefix("child-of-").map(|owner| ObjectRef::new(owner).within("default"))
}

/// Succeeds, fails, panics or hangs.
pub(super) fn reconcile(
    object: Arc<ConfigMap>,
    world: Arc<World>,
) -> impl Future<Output = Result<Action, Misfortune>> + Send + 'static {
    let name = object.name_any();
    if world.stopping.load(Ordering::Relaxed) {
        world.violated(format!("{name} was reconciled after the end was asked for"));
    }
    let (what, duration) = {
        let mut dice = world.dice.lock().unwrap();
        (dice.below(12), dice.millis(4000))
    };
    let what = if world.calm.load(Ordering::Relaxed) { 0 } else { what };
    async move {
        let started = Instant::now();
        let _running = Running::enter(&world, &name);
        sleep(duration).await;
        match what {
            8 | 9 => return Err(Misfortune),
            10 => std::panic::resume_unwind(Box::new("as the dice fell")), // without a word on stderr
            11 => pending::<()>().await,
            _ => {}
        }
        let version = object.resource_version();
        world.reconciled.lock().unwrap().insert(name.clone(), Reconciled { version, started });
        Ok(if what == 7 { Action::requeue(duration * 3) } else { Action::await_change() })
    }
}

pub(super) fn error_policy(_object: Arc<ConfigMap>, _error: &Misfortune, world: Arc<World>) -> Action {
    let mut dice = world.dice.lock().unwrap();
    if dice.one_in(3) {
        Action::requeue(dice.millis(5000) + Duration::from_millis(1))
    } else {
        Action::retry()
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
