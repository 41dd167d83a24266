//! Ending a controller.

use crate::common::{Change, config_maps, named, server, soon, spawn_outputs, wait_for_change};
use futures::{StreamExt, channel::mpsc};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::ResourceExt;
use kube_runtime::{Config, Controller, controller::Action, watcher};
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
async fn a_graceful_end_waits_for_what_runs_and_starts_nothing() {
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
    soon(&mut outputs.items).await;
    soon(&mut outputs.items).await;
    timeout(Duration::from_secs(1), &mut outputs.task)
        .await
        .expect("it ends when the last one is done")
        .unwrap();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(*runs.started.lock().unwrap(), ["a", "b"], "nothing new is started");
    assert_eq!(*runs.finished.lock().unwrap(), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_graceful_end_before_the_start_starts_nothing() {
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

/// With a real clock, as signals come from outside. One test for both signals: they belong to the process.
#[cfg(unix)]
#[tokio::test]
async fn the_first_signal_ends_gracefully_and_the_second_at_once() {
    let (_server, client) = server();
    config_maps(&client).add(named("a")).await;
    let (started, mut starts) = mpsc::unbounded();
    let (asked_to_end, end) = oneshot::channel::<()>();
    let output = Controller::new(config_maps(&client), watcher::Config::default())
        .shutdown_on_signal()
        // Another reason to end, which comes never and is dropped once there is one.
        .graceful_shutdown_on(async move {
            let _dropped = asked_to_end;
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
    soon(&mut starts).await;
    send_signal("TERM").await;
    let dropped = timeout(Duration::from_secs(60), end).await.expect("the signal is noticed");
    assert!(dropped.is_err());
    // The controller notices, and ends if nothing runs, in one step.
    assert!(!outputs.task.is_finished(), "it waits for what runs");
    send_signal("INT").await;
    timeout(Duration::from_secs(60), &mut outputs.task).await.expect("it ends at once").unwrap();
}

#[cfg(unix)]
async fn send_signal(name: &str) {
    let process = std::process::id().to_string();
    let status = tokio::process::Command::new("kill").args(["-s", name, &process]).status().await.unwrap();
    assert!(status.success());
}
