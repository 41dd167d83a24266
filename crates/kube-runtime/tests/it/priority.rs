//! The order of reconciles: changes before objects from the initial list.

use crate::common::{
    ApiExt, Outputs, config_maps, expect_next, named, server, spawn_outputs, wait_for_change,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::ResourceExt;
use kube_runtime::{Config, Controller, controller::Action, watcher};
use std::{convert::Infallible, sync::Arc, time::Duration};

#[tokio::test(start_paused = true)]
async fn a_change_is_reconciled_before_objects_of_the_initial_list() {
    let (_server, client) = server();
    let api = config_maps(&client);
    for n in 0..30 {
        api.add(named(&format!("old-{n}"))).await;
    }
    let output = Controller::new(api.clone(), watcher::Config::default())
        .with_config(Config::default().concurrency(1))
        .run(
            |_, _| async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                Ok::<_, Infallible>(Action::await_change())
            },
            wait_for_change,
            Arc::new(()),
        );
    let mut outputs = spawn_outputs(output);
    expect_next(&mut outputs.items).await;
    api.touch("old-20", "1").await;
    api.add(named("new")).await;
    let next = [
        expect_next(&mut outputs.items).await,
        expect_next(&mut outputs.items).await,
        expect_next(&mut outputs.items).await,
    ];
    assert_eq!(next[1..], ["done: old-20", "done: new"], "after the running one");
}

#[tokio::test(start_paused = true)]
async fn objects_of_the_initial_list_do_not_starve_under_constant_changes() {
    let (_server, client) = server();
    let api = config_maps(&client);
    for name in ["busy", "other", "idle"] {
        api.add(named(name)).await;
    }
    let writes = api.clone();
    let output =
        Controller::new(api, watcher::Config::default()).with_config(Config::default().concurrency(1)).run(
            move |object: Arc<ConfigMap>, _| {
                let api = writes.clone();
                async move {
                    let now = format!("{:?}", tokio::time::Instant::now());
                    if object.name_any() != "idle" {
                        for name in ["busy", "other"] {
                            api.touch(name, &now).await;
                        }
                    }
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    Ok::<_, Infallible>(Action::await_change())
                }
            },
            wait_for_change,
            Arc::new(()),
        );
    let mut outputs = spawn_outputs(output);
    assert!(position(&mut outputs, "done: idle").await < 12);
}

async fn position(outputs: &mut Outputs, wanted: &str) -> usize {
    let mut position = 0;
    while expect_next(&mut outputs.items).await != wanted {
        position += 1;
        assert!(position < 100, "{wanted} did not arrive");
    }
    position
}
