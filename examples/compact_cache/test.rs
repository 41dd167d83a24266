//! `cargo test -p kube-examples --test compact_cache`

#![allow(clippy::unwrap_used, unreachable_pub)] // a panic fails the test

mod controller;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::wait::await_condition;
use kube::{Api, Client};
use kube_testserver::{ApiServer, Fault, Match};
use serde_json::json;
use tokio::time::timeout;

const TIMEOUT: Duration = Duration::from_secs(30);

/// Waits until the controller has written this size.
async fn wait_for_size(maps: &Api<ConfigMap>, name: &str, size: usize) {
    let written = |map: Option<&ConfigMap>| map.and_then(controller::size) == Some(size);
    timeout(TIMEOUT, await_condition(maps.clone(), name, written)).await.unwrap().unwrap();
}

async fn set(maps: &Api<ConfigMap>, name: &str, text: &str) -> ConfigMap {
    let patch = Patch::Merge(json!({ "data": { "k": text } }));
    maps.patch(name, &PatchParams::default(), &patch).await.unwrap()
}

fn cached(store: &Store<ConfigMap>, name: &str) -> Option<Arc<ConfigMap>> {
    store.try_get(&ObjectRef::new(name).within("default")).unwrap()
}

#[tokio::test]
async fn it_follows_changes_and_a_relist_reconciles_nothing_that_is_unchanged() {
    let server = ApiServer::new();
    let client = Client::new(server.clone(), "default");
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    for index in 0..20 {
        let map =
            json!({ "metadata": { "name": format!("map-{index}") }, "data": { "k": "x".repeat(index) } });
        maps.create(&PostParams::default(), &serde_json::from_value(map).unwrap()).await.unwrap();
    }
    let controller = controller::new(client.clone());
    let store = controller.store();
    let reconciles = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&reconciles);
    let count = move |outcome: controller::Outcome| {
        // The watch reports that it has expired.
        if outcome.is_ok() {
            counted.fetch_add(1, Ordering::SeqCst);
        }
        std::future::ready(())
    };
    let _running = tokio::spawn(controller::run(controller, client).for_each(count));
    for index in 0..20 {
        wait_for_size(&maps, &format!("map-{index}"), 1 + index).await;
    }
    set(&maps, "map-7", "has changed").await;
    wait_for_size(&maps, "map-7", 12).await;

    // Two reconciles for each state: one writes the size, the other sees it.
    settled(&reconciles, 42).await;
    let expired = server.fault(Match::watch::<ConfigMap>().times(1), Fault::Expired);
    server.end_watches();
    let changed = set(&maps, "map-3", "after the relist").await;
    timeout(TIMEOUT, store.wait_for(&changed)).await.unwrap().unwrap();
    wait_for_size(&maps, "map-3", 17).await;
    settled(&reconciles, 44).await;
    assert_eq!(expired.hits(), 1);
    let data = |name| cached(&store, name).unwrap().data.clone().unwrap()["k"].clone();
    assert_eq!((data("map-3").as_str(), data("map-7").as_str()), ("after the relist", "has changed"));
    assert!(cached(&store, "map-20").is_none());
}

/// Waits until this many reconciles have ended.
async fn settled(reconciles: &AtomicUsize, expected: usize) {
    let reached = async {
        while reconciles.load(Ordering::SeqCst) < expected {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = timeout(TIMEOUT, reached).await;
    assert!(waited.is_ok(), "{} of {expected}", reconciles.load(Ordering::SeqCst));
    assert_eq!(reconciles.load(Ordering::SeqCst), expected);
}
