//! Two controllers with different finalizers on the same objects, while a third client changes labels: no finalizer is lost or added
//! twice, each cleanup runs once, and no reconcile fails.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _, future};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller, Error};
use kube::runtime::finalizer::{self, Event, finalizer};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, ResourceExt as _};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::test_env::{Requires, TestEnv, run};
use crate::widget::{Widget, widget};

const OBJECTS: i64 = 25;

/// One of the two controllers.
struct FinalizingController {
    api: Api<Widget>,
    finalizer: &'static str,
    cleanups: Mutex<BTreeMap<String, usize>>,
    failures: Mutex<Vec<String>>,
}

async fn reconcile(
    object: Arc<Widget>,
    controller: Arc<FinalizingController>,
) -> Result<Action, finalizer::Error<std::convert::Infallible>> {
    finalizer(&controller.api, controller.finalizer, object, |event| async {
        if let Event::Cleanup(object) = event {
            *controller.cleanups.lock().expect("no holder panics").entry(object.name_any()).or_default() += 1;
        }
        Ok(Action::await_change())
    })
    .await
}

impl FinalizingController {
    fn start(env: &TestEnv, finalizer: &'static str) -> (Arc<Self>, JoinHandle<()>) {
        let controller = Arc::new(Self {
            api: env.api(),
            finalizer,
            cleanups: Mutex::default(),
            failures: Mutex::default(),
        });
        let output = Controller::new(env.api::<Widget>(), watcher::Config::default()).run(
            reconcile,
            |_, _, _| Action::retry(),
            controller.clone(),
        );
        let listener = controller.clone();
        let task = tokio::spawn(output.for_each(move |item| {
            if let Err(Error::ReconcilerFailed(error, object)) = item {
                let failure = format!("{object}: {error}: {:?}", std::error::Error::source(&error));
                listener.failures.lock().expect("no holder panics").push(failure);
            }
            future::ready(())
        }));
        (controller, task)
    }
}

/// Collects every observed state that has a finalizer twice.
fn collect_duplicate_finalizers(env: &TestEnv) -> (Arc<Mutex<Vec<String>>>, JoinHandle<()>) {
    let duplicates = Arc::new(Mutex::new(Vec::new()));
    let found = duplicates.clone();
    let states = watcher(env.api::<Widget>(), watcher::Config::default()).default_backoff().touched_objects();
    let task = tokio::spawn(states.for_each(move |state| {
        if let Ok(state) = state {
            let mut finalizers = state.finalizers().to_vec();
            finalizers.sort();
            finalizers.dedup();
            if finalizers.len() < state.finalizers().len() {
                let state = format!("{}: {:?}", state.name_any(), state.finalizers());
                found.lock().expect("no holder panics").push(state);
            }
        }
        future::ready(())
    }));
    (duplicates, task)
}

/// Changes a label of one object after the other while `on` is set.
async fn change_labels(api: Api<Widget>, on: Arc<AtomicBool>) {
    for change in 0.. {
        if !on.load(Ordering::Relaxed) {
            return;
        }
        let patch = Patch::Merge(json!({ "metadata": { "labels": { "change": change.to_string() } } }));
        // An error means that the object does not exist yet or any more.
        let _ = api.patch(&format!("f-{}", change % OBJECTS), &PatchParams::default(), &patch).await;
    }
}

#[test]
fn two_controllers_add_and_remove_finalizers_concurrently() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            let (first, first_task) = FinalizingController::start(env, "first.example.com/cleanup");
            let (second, second_task) = FinalizingController::start(env, "second.example.com/cleanup");
            let (duplicates, observer) = collect_duplicate_finalizers(env);
            let on = Arc::new(AtomicBool::new(true));
            let label_changes = tokio::spawn(change_labels(api.clone(), on.clone()));
            for n in 0..OBJECTS {
                api.create(&PostParams::default(), &widget(&format!("f-{n}"), n)).await?;
            }
            until(|| async {
                let all = api.list(&ListParams::default()).await?;
                Ok(all.iter().all(|object| object.finalizers().len() == 2))
            })
            .await?;
            let mut names: Vec<_> = (0..OBJECTS).map(|n| format!("f-{n}")).collect();
            let params = DeleteParams::default();
            future::try_join_all(names.iter().map(|name| api.delete(name, &params))).await?;
            until(|| async { Ok(api.list(&ListParams::default()).await?.items.is_empty()) }).await?;
            on.store(false, Ordering::Relaxed);
            label_changes.await?;
            // Once one more object is created and deleted, the controllers have processed all events of the others.
            api.create(&PostParams::default(), &widget("last", OBJECTS)).await?;
            names.push("last".to_owned());
            until(|| async { Ok(api.get("last").await?.finalizers().len() == 2) }).await?;
            api.delete("last", &params).await?;
            until(|| async { Ok(api.get_opt("last").await?.is_none()) }).await?;
            for (controller, task) in [(first, first_task), (second, second_task)] {
                task.abort();
                assert_eq!(
                    *controller.failures.lock().expect("no holder panics"),
                    [""; 0],
                    "{}",
                    controller.finalizer
                );
                let expected: BTreeMap<_, _> = names.iter().map(|name| (name.clone(), 1)).collect();
                assert_eq!(
                    *controller.cleanups.lock().expect("no holder panics"),
                    expected,
                    "{}",
                    controller.finalizer
                );
            }
            observer.abort();
            assert_eq!(*duplicates.lock().expect("no holder panics"), [""; 0]);
            Ok(())
        }
        .boxed()
    })
}

async fn until<F: Future<Output = anyhow::Result<bool>>>(
    mut reached: impl FnMut() -> F,
) -> anyhow::Result<()> {
    tokio::time::timeout(Duration::from_secs(40), async {
        while !reached().await? {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        anyhow::Ok(())
    })
    .await?
}
