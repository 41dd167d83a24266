//! The controller: latency, restoring children, exclusive reconciles per object, graceful shutdown.

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

use crate::test_env::{Requires, run};
use crate::widget::{Widget, widget};

const TIMEOUT: Duration = Duration::from_secs(15);

fn requeue(_: Arc<Widget>, _: &impl std::error::Error, _: Arc<impl Sized>) -> Action {
    Action::requeue(Duration::from_secs(1))
}

/// Under paused time, which advances only while the controller waits for a timer.
#[tokio::test(start_paused = true)]
async fn a_created_object_is_reconciled_immediately() -> anyhow::Result<()> {
    let client = Client::new(kube_testserver::ApiServer::new(), "default");
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let (sender, mut reconciled) = mpsc::unbounded_channel();
    let running = Controller::new(api.clone(), watcher::Config::default()).run(
        |object: Arc<ConfigMap>, sender: Arc<mpsc::UnboundedSender<_>>| async move {
            let _ = sender.send(object.name_any());
            Ok::<_, Infallible>(Action::await_change())
        },
        |_, _, _| Action::await_change(),
        Arc::new(sender),
    );
    let running = tokio::spawn(running.for_each(|_| async {}));
    let map = |name: &str| ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        ..ConfigMap::default()
    };
    // Not timed: the controller may still be starting.
    api.create(&PostParams::default(), &map("warm-up")).await?;
    assert_eq!(reconciled.recv().await.as_deref(), Some("warm-up"));
    for name in ["a", "b", "c"] {
        let created = Instant::now();
        api.create(&PostParams::default(), &map(name)).await?;
        assert_eq!(reconciled.recv().await.as_deref(), Some(name));
        let took = created.elapsed();
        assert!(took < Duration::from_millis(100), "{name} took {took:?}");
    }
    running.abort();
    Ok(())
}

struct Context {
    client: Client,
}

async fn make_child(object: Arc<Widget>, context: Arc<Context>) -> Result<Action, kube::Error> {
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
fn a_deleted_or_changed_child_is_restored() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let (api, maps) = (env.api::<Widget>(), env.api::<ConfigMap>());
            let running = Controller::new(api.clone(), watcher::Config::default())
                .owns(maps.clone(), watcher::Config::default())
                .run(make_child, requeue, Arc::new(Context { client: env.client.clone() }));
            let running = tokio::spawn(running.for_each(|_| async {}));

            api.create(&PostParams::default(), &widget("owner", 3)).await?;
            let exists = |map: Option<&ConfigMap>| map.is_some();
            let created =
                tokio::time::timeout(TIMEOUT, await_condition(maps.clone(), "owner", exists)).await??;
            maps.delete("owner", &DeleteParams::default()).await?;
            let deleted = created.and_then(|map| map.uid());
            let recreated = move |map: Option<&ConfigMap>| map.is_some_and(|map| map.uid() != deleted);
            tokio::time::timeout(TIMEOUT, await_condition(maps.clone(), "owner", recreated)).await??;

            maps.patch(
                "owner",
                &PatchParams::default(),
                &Patch::Merge(json!({ "data": { "size": "wrong" } })),
            )
            .await?;
            let restored = |map: Option<&ConfigMap>| {
                map.and_then(|map| map.data.as_ref())
                    .and_then(|data| data.get("size"))
                    .is_some_and(|size| size == "3")
            };
            tokio::time::timeout(TIMEOUT, await_condition(maps, "owner", restored)).await??;
            running.abort();
            Ok(())
        }
        .boxed()
    })
}

/// Counts reconciles of one object that run at the same time.
#[derive(Default)]
struct OverlapCounter {
    running: Mutex<HashMap<String, usize>>,
    last_size: Mutex<HashMap<String, i64>>,
    overlaps: AtomicUsize,
}

async fn reconcile_slowly(object: Arc<Widget>, counter: Arc<OverlapCounter>) -> Result<Action, Infallible> {
    let name = object.name_any();
    {
        let mut running = counter.running.lock().expect("no holder panics");
        let count = running.entry(name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            counter.overlaps.fetch_add(1, Ordering::Relaxed);
        }
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
    *counter.running.lock().expect("no holder panics").entry(name.clone()).or_default() -= 1;
    counter.last_size.lock().expect("no holder panics").insert(name, object.spec.size);
    Ok(Action::await_change())
}

#[test]
fn reconciles_of_one_object_never_overlap_and_the_last_change_is_never_lost() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            let counter = Arc::new(OverlapCounter::default());
            let running = Controller::new(api.clone(), watcher::Config::default()).run(
                reconcile_slowly,
                requeue,
                counter.clone(),
            );
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
            let all_current = async {
                while ["a", "b", "c"]
                    .iter()
                    .any(|name| counter.last_size.lock().expect("no holder panics").get(*name) != Some(&20))
                {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            };
            tokio::time::timeout(TIMEOUT, all_current).await?;
            assert_eq!(counter.overlaps.load(Ordering::Relaxed), 0);
            running.abort();
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_graceful_shutdown_waits_for_running_reconciles_and_starts_no_new_ones() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
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
            tokio::time::timeout(TIMEOUT, starts.recv()).await?;
            let _ = stop.send(());
            tokio::time::timeout(TIMEOUT, running).await??;
            assert_eq!(
                finished.load(Ordering::SeqCst),
                1,
                "the running reconcile finishes, the requeued one does not start"
            );
            api.list(&ListParams::default()).await?;
            Ok(())
        }
        .boxed()
    })
}
