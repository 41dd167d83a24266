//! Fields that an `Api` skips.

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::Api;
use kube_client::api::{DynamicObject, ListParams, PostParams, WatchEvent, WatchParams};
use kube_client::client::Prune;
use kube_core::{ApiResource, DeserializeGuard};

use crate::server::{config_map, create, in_process};

/// Whether the managed fields and the data are there.
fn parts(map: &ConfigMap) -> (bool, bool) {
    (map.metadata.managed_fields.is_some(), map.data.is_some())
}

#[tokio::test]
async fn every_read_skips_the_fields_and_no_write_does() {
    let (client, _server) = in_process();
    let created = create(&client, "a").await.unwrap();
    assert_eq!(parts(&created), (true, true));
    let whole: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let pruned = whole.clone().prune(Prune::default().managed_fields().path(["data"]));
    assert_eq!(parts(&pruned.get("a").await.unwrap()), (false, false));
    assert_eq!(parts(&pruned.get_opt("a").await.unwrap().unwrap()), (false, false));
    assert_eq!(parts(&pruned.list(&ListParams::default()).await.unwrap().items[0]), (false, false));
    let DeserializeGuard(listed) = pruned.list_guarded(&ListParams::default()).await.unwrap().items.remove(0);
    assert_eq!(parts(&listed.unwrap()), (false, false));
    let mut watched = pruned.watch(&WatchParams::default(), "0").await.unwrap().boxed();
    let Some(WatchEvent::Added(added)) = watched.try_next().await.unwrap() else { panic!("no event") };
    assert_eq!(parts(&added), (false, false));
    assert!(pruned.get_metadata("a").await.unwrap().metadata.managed_fields.is_none());
    assert!(whole.get_metadata("a").await.unwrap().metadata.managed_fields.is_some());
    let written = pruned.create(&PostParams::default(), &config_map("b", "value")).await.unwrap();
    assert_eq!(parts(&written), (true, true));
    assert_eq!(parts(&whole.get("a").await.unwrap()), (true, true));

    let kind = ApiResource::erase::<ConfigMap>(&());
    let dynamic: Api<DynamicObject> = Api::default_namespaced_with(client, &kind);
    let object = dynamic.prune(Prune::default().path(["data"])).get("a").await.unwrap();
    assert!(object.data.get("data").is_none() && object.metadata.managed_fields.is_some());
}

#[tokio::test]
async fn an_entry_is_read_as_a_whole() {
    let (client, _server) = in_process();
    create(&client, "a").await.unwrap();
    let whole: Api<ConfigMap> = Api::default_namespaced(client);
    let pruned = whole.clone().prune(Prune::default().path(["data"]));
    let entry = pruned.entry("a").await.unwrap().and_modify(|map| map.immutable = Some(true));
    entry.or_insert(ConfigMap::default).commit(&PostParams::default()).await.unwrap();
    let written = whole.get("a").await.unwrap();
    assert_eq!((written.immutable, parts(&written)), (Some(true), (true, true)));
}
