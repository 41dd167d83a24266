//! Two controllers, each with a finalizer on the same objects, while a third party changes everything else: no finalizer is
//! lost, none is added twice, nobody cleans up twice, and nobody fails.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _, future};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::controller::{self, Action, Controller};
use kube::runtime::finalizer::{self, Event, finalizer};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, ResourceExt as _};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::widget::{Widget, widget};
use crate::world::{Need, World, run};

const OBJECTS: i64 = 25;

/// One of the two controllers.
struct Party {
    api: Api<Widget>,
    finalizer: &'static str,
    cleaned: Mutex<BTreeMap<String, usize>>,
    failures: Mutex<Vec<String>>,
}

async fn reconcile(
    object: Arc<Widget>,
    party: Arc<Party>,
) -> Result<Action, finalizer::Error<std::convert::Infallible>> {
    finalizer(&party.api, party.finalizer, object, |event| async {
        if let Event::Cleanup(object) = event {
            *party.cleaned.lock().expect("no holder panics").entry(object.name_any()).or_default() += 1;
        }
        Ok(Action::await_change())
    })
    .await
}

impl Party {
    fn start(world: &World, finalizer: &'static str) -> (Arc<Self>, JoinHandle<()>) {
        let party = Arc::new(Self {
            api: world.api(),
            finalizer,
            cleaned: Mutex::default(),
            failures: Mutex::default(),
        });
        let output = Controller::new(world.api::<Widget>(), watcher::Config::default()).run(
            reconcile,
            |_, _, _| Action::retry(),
            party.clone(),
        );
        let listener = party.clone();
        let task = tokio::spawn(output.for_each(move |item| {
            if let Err(controller::Error::ReconcilerFailed(error, object)) = item {
                let failure = format!("{object}: {error}: {:?}", std::error::Error::source(&error));
                listener.failures.lock().expect("no holder panics").push(failure);
            }
            future::ready(())
        }));
        (party, task)
    }
}

/// Looks at every state that comes by.
fn observe(world: &World) -> (Arc<Mutex<Vec<String>>>, JoinHandle<()>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let wrong = seen.clone();
    let states =
        watcher(world.api::<Widget>(), watcher::Config::default()).default_backoff().touched_objects();
    let task = tokio::spawn(states.for_each(move |state| {
        if let Ok(state) = state {
            let mut finalizers = state.finalizers().to_vec();
            finalizers.sort();
            finalizers.dedup();
            if finalizers.len() < state.finalizers().len() {
                let state = format!("{}: {:?}", state.name_any(), state.finalizers());
                wrong.lock().expect("no holder panics").push(state);
            }
        }
        future::ready(())
    }));
    (seen, task)
}

/// Changes labels of all objects, one after the other.
async fn disturb(api: Api<Widget>, on: Arc<AtomicBool>) {
    for change in 0.. {
        if !on.load(Ordering::Relaxed) {
            return;
        }
        let patch = Patch::Merge(json!({ "metadata": { "labels": { "change": change.to_string() } } }));
        // Gone by now, or not there yet.
        let _ = api.patch(&format!("f-{}", change % OBJECTS), &PatchParams::default(), &patch).await;
    }
}

#[test]
fn two_finalizers_come_and_go_at_the_same_time() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let api = world.api::<Widget>();
            let (first, first_task) = Party::start(world, "first.example.com/cleanup");
            let (second, second_task) = Party::start(world, "second.example.com/cleanup");
            let (duplicates, observer) = observe(world);
            let on = Arc::new(AtomicBool::new(true));
            let noise = tokio::spawn(disturb(api.clone(), on.clone()));
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
            noise.await?;
            // One more object goes the same way: behind it, all events of the others have been dealt with.
            api.create(&PostParams::default(), &widget("last", OBJECTS)).await?;
            names.push("last".to_owned());
            until(|| async { Ok(api.get("last").await?.finalizers().len() == 2) }).await?;
            api.delete("last", &params).await?;
            until(|| async { Ok(api.get_opt("last").await?.is_none()) }).await?;
            for (party, task) in [(first, first_task), (second, second_task)] {
                task.abort();
                assert_eq!(*party.failures.lock().expect("no holder panics"), [""; 0], "{}", party.finalizer);
                let expected: BTreeMap<_, _> = names.iter().map(|name| (name.clone(), 1)).collect();
                assert_eq!(*party.cleaned.lock().expect("no holder panics"), expected, "{}", party.finalizer);
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
