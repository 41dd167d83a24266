//! A reconciler as a type, with settings of its controller.

use kube::api::{ObjectMeta, PostParams};
use kube_testserver::ApiServer;

// ANCHOR: all
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::runtime::{Config, Controller, controller::Action, controller::Reconcile, watcher};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use std::{sync::Arc, time::Duration};

/// Labels every ConfigMap. Idempotent: another call changes nothing.
struct Labeller {
    maps: Api<ConfigMap>,
}

impl Reconcile<ConfigMap> for Labeller {
    type Error = kube::Error;

    async fn reconcile(&self, map: Arc<ConfigMap>) -> Result<Action, Self::Error> {
        if map.labels().contains_key("seen") {
            return Ok(Action::await_change());
        }
        let label = json!({ "metadata": { "labels": { "seen": "yes" } } });
        let written = self.maps.patch(&map.name_any(), &PatchParams::default(), &Patch::Merge(label)).await?;
        // The next reconcile of this object waits until the cache shows the label.
        Ok(Action::await_change().after_write(&written))
    }

    async fn on_error(&self, map: Arc<ConfigMap>, error: &Self::Error) -> Action {
        eprintln!("{}: {error}", map.name_any());
        Action::retry()
    }
}

fn controller(maps: Api<ConfigMap>) -> Controller<ConfigMap> {
    let config = Config::default()
        .concurrency(10)
        .timeout(Duration::from_secs(60))
        .backoff(Duration::from_millis(50), Duration::from_secs(300));
    Controller::new(maps, watcher::Config::default()).with_config(config)
}
// ANCHOR_END: all

#[tokio::test]
async fn each_map_is_labelled() {
    let maps: Api<ConfigMap> = Api::default_namespaced(Client::new(ApiServer::new(), "default"));
    let map = ConfigMap {
        metadata: ObjectMeta { name: Some("a".into()), ..Default::default() },
        ..Default::default()
    };
    maps.create(&PostParams::default(), &map).await.unwrap();

    // Two reconciles: of the object as created, and as labelled.
    let running = controller(maps.clone()).run_with(Labeller { maps: maps.clone() });
    running.take(2).for_each(async |_| ()).await;
    assert_eq!(maps.get("a").await.unwrap().labels()["seen"], "yes");
}
