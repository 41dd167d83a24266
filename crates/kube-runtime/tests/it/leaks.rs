//! Controllers that end leak neither tasks nor memory.

use crate::common::{ApiExt, config_maps, named, server, wait_for_change};
use futures::{StreamExt, future::join_all};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::{Api, Client};
use kube_runtime::{Controller, controller::Action, watcher};
use std::{convert::Infallible, sync::Arc};
use tokio::{runtime, sync::oneshot};

/// Runs `count` controllers at the same time, each until its first reconcile. Then half of them are shut down gracefully, and
/// the others are dropped.
async fn controllers(client: &Client, count: usize) {
    let mut running = Vec::new();
    let mut stops = Vec::new();
    for _ in 0..count {
        let (stop, stopped) = oneshot::channel::<()>();
        let mut output = Controller::new(config_maps(client), watcher::Config::default())
            .owns(Api::<Secret>::default_namespaced(client.clone()), watcher::Config::default())
            .graceful_shutdown_on(async { drop(stopped.await) })
            .run(
                async |_: Arc<ConfigMap>, _| Ok::<_, Infallible>(Action::await_change()),
                wait_for_change,
                Arc::new(()),
            )
            .boxed();
        running.push(async move {
            output.next().await.unwrap().unwrap();
            output
        });
        stops.push(stop);
    }
    let outputs = join_all(running).await;
    drop(stops.split_off(count / 2));
    for (index, output) in outputs.into_iter().enumerate() {
        if index >= count / 2 {
            assert_eq!(output.count().await, 0, "the output ends");
        }
    }
}

#[test]
fn a_thousand_controllers_leak_no_task_and_no_memory() {
    let runtime = runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let (_server, client) = server();
    runtime.block_on(async { config_maps(&client).add(named("a")).await });
    runtime.block_on(controllers(&client, 10)); // warms up caches and lazy statics
    let tasks = runtime.metrics().num_alive_tasks();
    let memory = allocation_counter::measure(|| runtime.block_on(controllers(&client, 1000)));
    runtime.block_on(async {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    });
    assert_eq!(runtime.metrics().num_alive_tasks(), tasks);
    assert!(memory.bytes_max > 1_000_000, "the allocations are counted: {memory:?}");
    assert!(memory.bytes_current < 50_000, "{memory:?}");
}
