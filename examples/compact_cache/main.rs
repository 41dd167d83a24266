//! A controller of many ConfigMaps whose cache is compact: `cargo run --example compact-cache [OBJECTS]`, by default 2000.
//!
//! It runs on a server inside the process. `controller.rs` is the controller, `test.rs` its test.

// In a program, `pub` only marks what other files of the program use.
#![allow(unreachable_pub)]

mod controller;

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ObjectMeta, PostParams};
use kube::runtime::reflector::ObjectRef;
use kube::{Api, Client};
use kube_testserver::ApiServer;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let objects = match std::env::args().nth(1) {
        Some(text) => text.parse().with_context(|| format!("OBJECTS: expected a number, got {text:?}"))?,
        None => 2000,
    };
    ensure!(objects > 0, "OBJECTS: expected at least 1, got 0");
    let client = Client::new(ApiServer::new(), "default");
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    stream::iter((0..objects).map(Ok::<usize, kube::Error>))
        .try_for_each_concurrent(32, |index| {
            let maps = maps.clone();
            async move { maps.create(&PostParams::default(), &config_map(index)).await.map(drop) }
        })
        .await?;
    println!("created {objects} ConfigMaps");

    let started = Instant::now();
    let controller = controller::new(client.clone());
    let store = controller.store();
    let running = tokio::spawn(controller::run(controller, client).for_each(|outcome| async move {
        if let Err(error) = outcome {
            eprintln!("{:#}", anyhow::Error::new(error));
        }
    }));
    // Decodes every object: for a loop of a program, an `Index` would be the better way.
    while store.state_filter(|map| controller::size(map).is_some()).len() < objects {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    println!("the controller has written the size of each after {:.1?}", started.elapsed());

    let last = ObjectRef::new(&format!("settings-{}", objects - 1)).within("default");
    let map = store.try_get(&last)?.context("the last ConfigMap is not in the cache")?;
    println!("{last} has {} bytes", controller::size(&map).unwrap_or_default());
    running.abort();
    Ok(())
}

fn config_map(index: usize) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some(format!("settings-{index}")), ..ObjectMeta::default() },
        data: Some([("settings.yaml".to_owned(), format!("shard: {index}\nlevel: info\n"))].into()),
        ..ConfigMap::default()
    }
}
