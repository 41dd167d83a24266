//! Shutting a controller down.

use crate::{
    common::{ApiExt, config_maps, expect_next, named, server, spawn_outputs, wait_for_change},
    layers::lagging,
};
use futures::{FutureExt, StreamExt, channel::mpsc};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::ResourceExt;
use kube_runtime::{
    Config, Controller, WatchStreamExt, applier,
    controller::{Action, trigger_self},
    reflector::{self, ObjectRef, Store},
    watcher::{self, Event},
};
use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    sync::oneshot,
    time::{sleep, timeout},
};

#[derive(Default)]
struct Runs {
    started: Mutex<Vec<String>>,
    finished: Mutex<Vec<String>>,
}

#[tokio::test(start_paused = true)]
async fn a_graceful_shutdown_waits_for_running_reconciles_and_starts_none() {
    let (_server, client) = server();
    let api = config_maps(&client);
    for name in ["a", "b", "c"] {
        api.add(named(name)).await;
    }
    let runs = Arc::new(Runs::default());
    let (stop, stopped) = oneshot::channel::<()>();
    let output = Controller::new(api.clone(), watcher::Config::default())
        .with_config(Config::default().concurrency(2))
        .graceful_shutdown_on(async { drop(stopped.await) })
        .run(
            |object: Arc<ConfigMap>, runs: Arc<Runs>| async move {
                runs.started.lock().unwrap().push(object.name_any());
                sleep(Duration::from_secs(5)).await;
                runs.finished.lock().unwrap().push(object.name_any());
                Ok::<_, Infallible>(Action::requeue(Duration::from_secs(1)))
            },
            wait_for_change,
            Arc::clone(&runs),
        );
    let mut outputs = spawn_outputs(output);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(*runs.started.lock().unwrap(), ["a", "b"]);
    stop.send(()).unwrap();
    api.touch("a", "1").await;
    expect_next(&mut outputs.items).await;
    expect_next(&mut outputs.items).await;
    timeout(Duration::from_secs(1), &mut outputs.task)
        .await
        .expect("the output ends after the last reconcile")
        .unwrap();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(*runs.started.lock().unwrap(), ["a", "b"], "no reconcile starts after the shutdown");
    assert_eq!(*runs.finished.lock().unwrap(), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_graceful_shutdown_before_the_start_starts_no_reconcile() {
    let (_server, client) = server();
    let api = config_maps(&client);
    api.add(named("a")).await;
    for _ in 0..50 {
        let output = Controller::new(api.clone(), watcher::Config::default())
            .graceful_shutdown_on(async {})
            .run(|_, _| async { Ok::<_, Infallible>(Action::await_change()) }, wait_for_change, Arc::new(()));
        assert_eq!(timeout(Duration::from_secs(1), output.count()).await.unwrap(), 0);
    }
}

/// With the real clock, because signals are external. One test for both signals, because they affect the whole process.
#[cfg(unix)]
#[tokio::test]
async fn the_first_signal_shuts_down_gracefully_and_the_second_at_once() {
    let (_server, client) = server();
    config_maps(&client).add(named("a")).await;
    let (started, mut starts) = mpsc::unbounded();
    let (drop_guard, dropped) = oneshot::channel::<()>();
    let output = Controller::new(config_maps(&client), watcher::Config::default())
        .shutdown_on_signal()
        // A second trigger, which never completes and is dropped when the signal arrives.
        .graceful_shutdown_on(async move {
            let _drop_guard = drop_guard;
            std::future::pending().await
        })
        .run(
            |_, started: Arc<mpsc::UnboundedSender<()>>| async move {
                started.unbounded_send(()).unwrap();
                std::future::pending::<()>().await;
                Ok::<_, Infallible>(Action::await_change())
            },
            wait_for_change,
            Arc::new(started),
        );
    let mut outputs = spawn_outputs(output);
    expect_next(&mut starts).await;
    send_signal("TERM").await;
    let received = timeout(Duration::from_secs(60), dropped).await.expect("the signal is received");
    assert!(received.is_err());
    // Without a running reconcile, the controller would have ended in the same poll.
    assert!(!outputs.task.is_finished(), "it waits for the running reconcile");
    send_signal("INT").await;
    timeout(Duration::from_secs(60), &mut outputs.task)
        .await
        .expect("the second signal ends it at once")
        .unwrap();
}

#[cfg(unix)]
async fn send_signal(name: &str) {
    let process = std::process::id().to_string();
    let status = tokio::process::Command::new("kill").args(["-s", name, &process]).status().await.unwrap();
    assert!(status.success());
}

/// A reconcile that waits until the store shows its own write.
async fn write_and_wait(
    object: Arc<ConfigMap>,
    (api, store, runs): (kube_client::Api<ConfigMap>, Store<ConfigMap>, Arc<Runs>),
) -> Result<Action, Infallible> {
    let name = object.name_any();
    runs.started.lock().unwrap().push(name.clone());
    let written = api.touch(&name, "by-reconciler").await;
    let shown = store.wait_for(&written).await;
    runs.finished.lock().unwrap().push(format!("{name}: {}", if shown.is_ok() { "shown" } else { "lost" }));
    Ok(Action::await_change())
}

#[tokio::test(start_paused = true)]
async fn a_graceful_shutdown_keeps_filling_the_store_for_running_reconciles() {
    let (server, client) = server();
    let api = config_maps(&client);
    for name in ["a", "b"] {
        api.add(named(name)).await;
    }
    let (runs, (stop, stopped)) = (Arc::new(Runs::default()), oneshot::channel::<()>());
    let controller =
        Controller::new(config_maps(&lagging(&server, Duration::from_secs(3))), watcher::Config::default());
    let (store, context) = (controller.store(), Arc::clone(&runs));
    let output = controller
        .with_config(Config::default().concurrency(1))
        .graceful_shutdown_on(async { drop(stopped.await) })
        .run(
            move |object, context| write_and_wait(object, (api.clone(), store.clone(), context)),
            wait_for_change,
            context,
        );
    let mut outputs = spawn_outputs(output);
    while runs.started.lock().unwrap().is_empty() {
        sleep(Duration::from_millis(100)).await;
    }
    stop.send(()).unwrap();
    timeout(Duration::from_secs(10), &mut outputs.task).await.expect("the controller ends").unwrap();
    assert_eq!(*runs.finished.lock().unwrap(), ["a: shown"]);
    assert_eq!(*runs.started.lock().unwrap(), ["a"], "no reconcile starts after the shutdown");
}

#[tokio::test(start_paused = true)]
async fn a_graceful_shutdown_ends_despite_a_source_that_is_always_ready() {
    let (_server, client) = server();
    let api = config_maps(&client);
    api.add(named("a")).await;
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = stopped.map(drop).shared();
    // Ready at each poll after the shutdown.
    let always_ready = futures::stream::once(stopped.clone())
        .flat_map(|()| futures::stream::repeat_with(|| ObjectRef::new("a").within("default")));
    let runs = Arc::new(Runs::default());
    let output = Controller::new(api, watcher::Config::default())
        .reconcile_on(always_ready)
        .graceful_shutdown_on(stopped)
        .run(
            |object: Arc<ConfigMap>, runs: Arc<Runs>| async move {
                runs.started.lock().unwrap().push(object.name_any());
                sleep(Duration::from_secs(1)).await;
                Ok::<_, Infallible>(Action::await_change())
            },
            wait_for_change,
            Arc::clone(&runs),
        );
    let mut outputs = spawn_outputs(output);
    while runs.started.lock().unwrap().is_empty() {
        sleep(Duration::from_millis(100)).await;
    }
    stop.send(()).unwrap();
    // By the real clock: the paused clock advances only when all tasks are idle.
    let start = std::time::Instant::now();
    while !outputs.task.is_finished() {
        assert!(start.elapsed() < Duration::from_secs(20), "the controller does not end");
        tokio::time::advance(Duration::from_millis(100)).await;
    }
    (&mut outputs.task).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn waiting_for_the_store_fails_when_the_sources_end() {
    let (store, writer) = reflector::store::<ConfigMap>();
    let mut object: ConfigMap = named("a");
    object.metadata.resource_version = Some("5".into());
    let events =
        [Event::Init, Event::InitApply(object.clone()), Event::InitDone].map(Ok::<_, watcher::Error>);
    let queue = reflector::reflector(writer, futures::stream::iter(events)).applied_objects();
    let queue = trigger_self(queue, ()); // owns the writer
    let later = ConfigMap {
        metadata: kube_core::ObjectMeta { resource_version: Some("9".into()), ..object.metadata.clone() },
        ..ConfigMap::default()
    };
    let (waiting, outcome) = (store.clone(), Arc::new(Mutex::new(None)));
    let result = Arc::clone(&outcome);
    let output = applier(
        move |_, _: Arc<()>| {
            let (store, later, result) = (waiting.clone(), later.clone(), Arc::clone(&result));
            Box::pin(async move {
                *result.lock().unwrap() = Some(store.wait_for(&later).await.is_err());
                Ok::<_, Infallible>(Action::await_change())
            })
        },
        wait_for_change,
        Arc::new(()),
        store,
        queue,
        Config::default(),
    );
    assert_eq!(timeout(Duration::from_secs(60), output.count()).await.expect("the output ends"), 1);
    assert_eq!(*outcome.lock().unwrap(), Some(true));
}
