//! A deletion with a finalizer: the object stays until its clean-up has succeeded.

// ANCHOR: all
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt,
    api::PostParams,
    runtime::{controller::Action, finalizer},
};
use kube_testserver::TestServer;
use serde_json::json;
use std::{
    collections::BTreeSet,
    io,
    sync::{Arc, Mutex},
};

/// Something outside of the cluster, which may be unavailable.
#[derive(Default)]
struct Disks {
    names: BTreeSet<String>,
    unavailable: bool,
}

/// Every ConfigMap has a disk of its name.
async fn reconcile(
    map: Arc<ConfigMap>,
    maps: &Api<ConfigMap>,
    disks: &Mutex<Disks>,
) -> Result<Action, finalizer::Error<io::Error>> {
    finalizer::finalizer(maps, "example.com/disk", map, async |event| {
        let mut disks = disks.lock().unwrap();
        if disks.unavailable {
            return Err(io::Error::other("no connection to the disks"));
        }
        match event {
            finalizer::Event::Apply(map) => disks.names.insert(map.name_any()),
            finalizer::Event::Cleanup(map) => disks.names.remove(&map.name_any()),
        };
        Ok(Action::await_change())
    })
    .await
}

#[tokio::test]
async fn a_map_is_deleted_after_its_disk() {
    let maps: Api<ConfigMap> = Api::default_namespaced(Client::new(TestServer::service(), "default"));
    let disks = Mutex::new(Disks::default());
    let map = serde_json::from_value(json!({"metadata": {"name": "data"}})).unwrap();
    maps.create(&PostParams::default(), &map).await.unwrap();
    // A controller would call it for each change.
    let again = async || reconcile(Arc::new(maps.get("data").await.unwrap()), &maps, &disks).await;

    again().await.unwrap();
    assert!(disks.lock().unwrap().names.is_empty(), "first the finalizer, then the disk");
    again().await.unwrap();
    assert!(disks.lock().unwrap().names.contains("data"));

    maps.delete("data", &Default::default()).await.unwrap();
    disks.lock().unwrap().unavailable = true;
    assert!(matches!(again().await, Err(finalizer::Error::CleanupFailed(_))));
    let waiting = maps.get("data").await.unwrap();
    assert!(waiting.metadata.deletion_timestamp.is_some() && waiting.finalizers() == ["example.com/disk"]);

    disks.lock().unwrap().unavailable = false;
    again().await.unwrap();
    assert!(disks.lock().unwrap().names.is_empty());
    assert!(maps.get_opt("data").await.unwrap().is_none());
}
// ANCHOR_END: all
