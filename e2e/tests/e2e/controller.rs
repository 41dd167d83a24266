//! The controller end to end: prompt, healing, never two at once, done when it says so.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::wait::await_condition;
use kube::runtime::watcher;
use kube::{Api, Client, Resource as _, ResourceExt as _};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::widget::{Widget, widget};
use crate::world::{Need, run};

const PATIENCE: Duration = Duration::from_secs(15);

fn requeue(_: Arc<Widget>, _: &impl std::error::Error, _: Arc<impl Sized>) -> Action {
    Action::requeue(Duration::from_secs(1))
}

/// On paused time: what passes is what the controller waits for, and nothing else.
#[tokio::test(start_paused = true)]
async fn a_creation_is_reconciled_without_a_wait() -> anyhow::Result<()> {
    let client = Client::new(kube_testserver::ApiServer::new(), "default");
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let (seen, mut reconciled) = mpsc::unbounded_channel();
    let running = Controller::new(api.clone(), watcher::Config::default()).run(
        |object: Arc<ConfigMap>, seen: Arc<mpsc::UnboundedSender<_>>| async move {
            let _ = seen.send(object.name_any());
            Ok::<_, Infallible>(Action::await_change())
        },
        |_, _, _| Action::await_change(),
        Arc::new(seen),
    );
    let running = tokio::spawn(running.for_each(|_| async {}));
    let map = |name: &str| ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        ..ConfigMap::default()
    };
    // The first one shows that the controller is up; only those after it are timed.
    api.create(&PostParams::default(), &map("warm-up")).await?;
    assert_eq!(reconciled.recv().await.as_deref(), Some("warm-up"));
    for name in ["a", "b", "c"] {
        let asked = Instant::now();
        api.create(&PostParams::default(), &map(name)).await?;
        assert_eq!(reconciled.recv().await.as_deref(), Some(name));
        let took = asked.elapsed();
        assert!(took < Duration::from_millis(100), "{name} took {took:?}");
    }
    running.abort();
    Ok(())
}

struct Making {
    client: Client,
}

async fn make_child(object: Arc<Widget>, context: Arc<Making>) -> Result<Action, kube::Error> {
    let namespace = object.namespace().unwrap_or_default();
    let maps: Api<ConfigMap> = Api::namespaced(context.client.clone(), &namespace);
    let map = ConfigMap {
        metadata: ObjectMeta {
            name: Some(object.name_any()),
            owner_references: object.controller_owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        data: Some([("size".to_owned(), object.spec.size.to_string())].into()),
        ..ConfigMap::default()
    };
    maps.patch(&object.name_any(), &PatchParams::apply("e2e").force(), &Patch::Apply(&map)).await?;
    Ok(Action::await_change())
}

#[test]
fn an_owned_object_is_healed() -> anyhow::Result<()> {
    run(Need::CoreKinds, |world| {
        async move {
            let (api, maps) = (world.api::<Widget>(), world.api::<ConfigMap>());
            let running = Controller::new(api.clone(), watcher::Config::default())
                .owns(maps.clone(), watcher::Config::default())
                .run(make_child, requeue, Arc::new(Making { client: world.client.clone() }));
            let running = tokio::spawn(running.for_each(|_| async {}));

            api.create(&PostParams::default(), &widget("owner", 3)).await?;
            let there = |map: Option<&ConfigMap>| map.is_some();
            let made =
                tokio::time::timeout(PATIENCE, await_condition(maps.clone(), "owner", there)).await??;
            let first = made.and_then(|map| map.uid());
            maps.delete("owner", &DeleteParams::default()).await?;
            let lost = first.clone();
            let again = move |map: Option<&ConfigMap>| map.is_some_and(|map| map.uid() != lost);
            tokio::time::timeout(PATIENCE, await_condition(maps.clone(), "owner", again)).await??;

            maps.patch(
                "owner",
                &PatchParams::default(),
                &Patch::Merge(json!({ "data": { "size": "wrong" } })),
            )
            .await?;
            let right = |map: Option<&ConfigMap>| {
                map.and_then(|map| map.data.as_ref())
                    .and_then(|data| data.get("size"))
                    .is_some_and(|size| size == "3")
            };
            tokio::time::timeout(PATIENCE, await_condition(maps, "owner", right)).await??;
            running.abort();
            Ok(())
        }
        .boxed()
    })
}

#[derive(Default)]
struct Busy {
    running: Mutex<HashMap<String, usize>>,
    last: Mutex<HashMap<String, i64>>,
    overlaps: AtomicUsize,
}

async fn slowly(object: Arc<Widget>, busy: Arc<Busy>) -> Result<Action, Infallible> {
    let name = object.name_any();
    {
        let mut running = busy.running.lock().expect("no holder panics");
        let count = running.entry(name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            busy.overlaps.fetch_add(1, Ordering::Relaxed);
        }
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
    *busy.running.lock().expect("no holder panics").entry(name.clone()).or_default() -= 1;
    busy.last.lock().expect("no holder panics").insert(name, object.spec.size);
    Ok(Action::await_change())
}

#[test]
fn reconciles_of_one_object_never_overlap_and_the_last_change_is_never_lost() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let api = world.api::<Widget>();
            let busy = Arc::new(Busy::default());
            let running =
                Controller::new(api.clone(), watcher::Config::default()).run(slowly, requeue, busy.clone());
            let running = tokio::spawn(running.for_each(|_| async {}));
            for name in ["a", "b", "c"] {
                api.create(&PostParams::default(), &widget(name, 0)).await?;
            }
            for size in 1..=20 {
                for name in ["a", "b", "c"] {
                    let patch = Patch::Merge(json!({ "spec": { "size": size } }));
                    api.patch(name, &PatchParams::default(), &patch).await?;
                }
            }
            let settled = async {
                while ["a", "b", "c"]
                    .iter()
                    .any(|name| busy.last.lock().expect("no holder panics").get(*name) != Some(&20))
                {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            };
            tokio::time::timeout(PATIENCE, settled).await?;
            assert_eq!(busy.overlaps.load(Ordering::Relaxed), 0);
            running.abort();
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_graceful_shutdown_waits_for_what_runs_and_starts_nothing_new() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let api = world.api::<Widget>();
            let finished = Arc::new(AtomicUsize::new(0));
            let (started, mut starts) = mpsc::unbounded_channel();
            let (stop, stopped) = oneshot::channel::<()>();
            let stopped = stopped.map(drop).shared();
            let running =
                Controller::new(api.clone(), watcher::Config::default()).graceful_shutdown_on(stopped).run(
                    |_, context: Arc<(mpsc::UnboundedSender<()>, Arc<AtomicUsize>)>| async move {
                        let _ = context.0.send(());
                        tokio::time::sleep(Duration::from_millis(300)).await;
                        context.1.fetch_add(1, Ordering::SeqCst);
                        Ok::<_, Infallible>(Action::requeue(Duration::from_millis(1)))
                    },
                    requeue,
                    Arc::new((started, finished.clone())),
                );
            let running = tokio::spawn(running.for_each(|_| async {}));
            api.create(&PostParams::default(), &widget("slow", 1)).await?;
            tokio::time::timeout(PATIENCE, starts.recv()).await?;
            let _ = stop.send(());
            tokio::time::timeout(PATIENCE, running).await??;
            assert_eq!(
                finished.load(Ordering::SeqCst),
                1,
                "the running reconcile was finished, the requeued one not begun"
            );
            api.list(&ListParams::default()).await?;
            Ok(())
        }
        .boxed()
    })
}
