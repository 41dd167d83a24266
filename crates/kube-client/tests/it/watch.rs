//! `Api::watch`.

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::api::{DeleteParams, ListParams, PartialObjectMeta, PostParams, WatchEvent, WatchParams};
use kube_client::{Api, Error, ResourceExt};

use crate::server::{config_map, in_process};

#[tokio::test]
async fn events_arrive_in_order() {
    let (client, _server) = in_process();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let start = api.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    let events = api.watch(&WatchParams::default(), &start).await.unwrap();
    api.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    api.replace("a", &PostParams::default(), &config_map("a", "2")).await.unwrap();
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let seen: Vec<_> = events
        .take(3)
        .map_ok(|event| match event {
            WatchEvent::Added(map) => format!("added {}", map.data.unwrap()["key"]),
            WatchEvent::Modified(map) => format!("modified {}", map.data.unwrap()["key"]),
            WatchEvent::Deleted(map) => format!("deleted {}", map.data.unwrap()["key"]),
            other => panic!("{other:?}"),
        })
        .try_collect()
        .await
        .unwrap();
    assert_eq!(seen, ["added 1", "modified 2", "deleted 2"]);
}

#[tokio::test]
async fn metadata_are_watched_by_method_and_by_type() {
    let (client, _server) = in_process();
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    api.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    let mut by_method = Box::pin(api.watch_metadata(&WatchParams::default(), "0").await.unwrap());
    let Some(Ok(WatchEvent::Added(meta))) = by_method.next().await else { panic!("expected an object") };
    assert_eq!(meta.name_any(), "a");
    assert_eq!(meta.types.unwrap().kind, "PartialObjectMetadata");
    let api: Api<PartialObjectMeta<ConfigMap>> = Api::default_namespaced(client);
    let mut by_type = Box::pin(api.watch(&WatchParams::default(), "0").await.unwrap());
    let Some(Ok(WatchEvent::Added(meta))) = by_type.next().await else { panic!("expected an object") };
    assert_eq!(meta.types.unwrap().kind, "PartialObjectMetadata");
    assert_eq!(api.get("a").await.unwrap().types.unwrap().kind, "PartialObjectMetadata");
}

#[tokio::test]
async fn an_expired_resource_version_is_code_410() {
    let (client, server) = in_process();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    for name in ["a", "b", "c"] {
        api.create(&PostParams::default(), &config_map(name, "1")).await.unwrap();
    }
    server.compact();
    let gone = match api.watch(&WatchParams::default(), "1").await {
        Err(Error::Api(status)) => status,
        Err(other) => panic!("{other:?}"),
        Ok(events) => match Box::pin(events).next().await {
            Some(Ok(WatchEvent::Error(status))) => status,
            other => panic!("{other:?}"),
        },
    };
    assert_eq!(gone.code, 410);
}

#[tokio::test]
async fn a_watch_that_the_server_ends_has_no_error() {
    let (client, server) = in_process();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    let events = api.watch(&WatchParams::default(), "0").await.unwrap();
    server.end_watches();
    let rest: Vec<_> = events.try_collect().await.unwrap();
    assert!(rest.iter().all(|event| matches!(event, WatchEvent::Added(_) | WatchEvent::Bookmark(_))));
}
