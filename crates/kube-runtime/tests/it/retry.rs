//! What happens to an object whose reconcile does not succeed.

use crate::common::{
    Change, Failure, config_maps, named, quiet, server, soon, spawn_outputs, wait_for_change,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::Client;
use kube_core::ResourceExt;
use kube_runtime::{Config, Controller, controller::Action, watcher};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::Instant;

fn controller(client: &Client) -> Controller<ConfigMap> {
    Controller::new(config_maps(client), watcher::Config::default())
}

#[tokio::test(start_paused = true)]
async fn retries_wait_longer_and_longer_until_one_succeeds() {
    let (_server, client) = server();
    config_maps(&client).add(named("a")).await;
    let times = Arc::new(Mutex::new(Vec::<Instant>::new()));
    let config = Config::default().backoff(Duration::from_secs(1), Duration::from_secs(6));
    let output = controller(&client).with_config(config).run(
        |_, times: Arc<Mutex<Vec<Instant>>>| async move {
            let mut times = times.lock().unwrap();
            times.push(Instant::now());
            // The sixth run succeeds, later ones fail again.
            if times.len() == 6 {
                Ok(Action::requeue(Duration::from_secs(100)))
            } else {
                Err(Failure("not yet"))
            }
        },
        |_, _, _| Action::retry(),
        Arc::clone(&times),
    );
    let mut outputs = spawn_outputs(output);
    for _ in 0..8 {
        soon_or_later(&mut outputs.items).await;
    }
    let times = times.lock().unwrap();
    let waits: Vec<Duration> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let steps = [1, 2, 4, 6, 6, 100, 1].map(Duration::from_secs);
    for (wait, step) in waits.iter().zip(steps) {
        let shortest = if step.as_secs() == 100 { step } else { step / 2 };
        assert!(*wait >= shortest && *wait <= step + Duration::from_millis(2), "{waits:?}");
    }
}

async fn soon_or_later(items: &mut (impl futures::Stream<Item = String> + Unpin)) -> String {
    use futures::StreamExt;
    tokio::time::timeout(Duration::from_secs(1000), items.next()).await.unwrap().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_change_does_not_wait_for_the_retry() {
    let (_server, client) = server();
    let api = config_maps(&client);
    api.add(named("a")).await;
    let config = Config::default().backoff(Duration::from_secs(3600), Duration::from_secs(3600));
    let output = controller(&client).with_config(config).run(
        |object: Arc<ConfigMap>, _| async move {
            if object.annotations().contains_key("touched") {
                Ok(Action::await_change())
            } else {
                Err(Failure("no"))
            }
        },
        |_, _, _| Action::retry(),
        Arc::new(()),
    );
    let mut outputs = spawn_outputs(output);
    assert!(soon(&mut outputs.items).await.contains("failed"));
    quiet(&mut outputs.items).await;
    api.touch("a", "1").await;
    assert_eq!(soon(&mut outputs.items).await, "done: a");
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_retried_like_a_failure() {
    let (_server, client) = server();
    config_maps(&client).add(named("a")).await;
    let runs = Arc::new(Mutex::new(0));
    let output = controller(&client).run(
        |_, runs: Arc<Mutex<i32>>| async move {
            let run = {
                let mut runs = runs.lock().unwrap();
                *runs += 1;
                *runs
            };
            assert!(run > 2, "not ready");
            Ok::<_, Failure>(Action::await_change())
        },
        wait_for_change,
        runs,
    );
    let mut outputs = spawn_outputs(output);
    for expected in ["running reconcilers failed", "running reconcilers failed", "done: a"] {
        assert_eq!(soon(&mut outputs.items).await, expected);
    }
    quiet(&mut outputs.items).await;
}
