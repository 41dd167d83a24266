//! A server whose storage is restored from a backup while a watcher runs.

use crate::common::{ApiExt, assert_idle, config_maps, eventually, expect_next, named, server};
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::ResourceExt;
use kube_runtime::{
    WatchStreamExt, reflector,
    watcher::{Config, watcher},
};
use kube_testserver::{Fault, FaultResponse, Match};
use std::{pin::pin, time::Duration};
use tokio::time::sleep;

/// The objects in the store after the server was restored to a backup with only the object `a`.
async fn after_a_restore(
    config: Config,
    after_restore: impl AsyncFnOnce(&kube_testserver::ApiServer),
) -> Vec<String> {
    let (server, client) = server();
    let api = config_maps(&client);
    api.add(named("a")).await;
    let backup = server.resource_version();
    let (store, writer) = reflector::store::<ConfigMap>();
    let filling = watcher(api.clone(), config).default_backoff().reflect(writer).for_each(|_| async {});
    let filling = tokio::spawn(filling);
    store.wait_until_ready().await.unwrap();
    for name in ["b", "c", "d"] {
        api.add(named(name)).await;
    }
    api.remove("a").await;
    eventually(async || store.len() == 3).await;
    sleep(Duration::from_secs(20)).await;
    server.rewind(backup).unwrap();
    after_restore(&server).await;
    // Nothing changes on the server: only the version check can notice the restore.
    eventually(async || store.len() == 1).await;
    api.add(named("new")).await;
    eventually(async || store.len() == 2).await;
    filling.abort();
    let mut names: Vec<_> = store.state().iter().map(|object| object.name_any()).collect();
    names.sort();
    names
}

#[tokio::test(start_paused = true)]
async fn a_restored_storage_is_noticed_without_changes() {
    for config in [Config::default(), Config::default().any_semantic(), Config::default().streaming_lists()] {
        assert_eq!(after_a_restore(config, async |_| {}).await, ["a", "new"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_restored_storage_is_noticed_after_an_outage() {
    let names = after_a_restore(Config::default(), async |server| {
        let outage = [server.fault(Match::any(), Fault::Reset)];
        sleep(Duration::from_secs(40)).await;
        outage.iter().for_each(|rule| rule.remove());
    });
    assert_eq!(names.await, ["a", "new"]);
}

/// A genuine server refuses requests until it has read the roles of its users.
#[tokio::test(start_paused = true)]
async fn a_restored_storage_is_noticed_after_initial_refusals() {
    for refusals in [1, 3] {
        let names = after_a_restore(Config::default(), async |server| {
            server.fault(Match::list::<ConfigMap>().times(refusals), FaultResponse::status(403, "Forbidden"));
        });
        assert_eq!(names.await, ["a", "new"], "{refusals} refusals");
    }
}

#[tokio::test(start_paused = true)]
async fn a_restart_without_a_restore_causes_no_relist() {
    let (server, client) = server();
    let api = config_maps(&client);
    api.add(named("a")).await;
    let mut events =
        pin!(watcher(api.clone(), Config::default()).map(|event| event.map(|it| it.to_string())));
    for expected in ["Init", "InitApply(default/a)", "InitDone"] {
        assert_eq!(expect_next(&mut events).await.unwrap(), expected);
    }
    assert_idle(&mut events).await;
    server.end_watches();
    assert_idle(&mut events).await;
    api.add(named("b")).await;
    assert_eq!(expect_next(&mut events).await.unwrap(), "Apply(default/b)");
}
