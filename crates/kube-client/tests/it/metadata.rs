//! Metadata of objects, which the server sends in protobuf: what is read equals what it sends in JSON.
#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

use std::pin::pin;

use futures::TryStreamExt;
use http::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::api::{DeleteParams, ListParams, ObjectList, PostParams, WatchEvent, WatchParams};
use kube_client::core::PartialObjectMeta;
use kube_client::{Api, Client};
use kube_testserver::ApiServer;
use serde_json::json;

type Meta = PartialObjectMeta<ConfigMap>;

/// With every field that a client can set.
async fn create(client: &Client, name: &str) {
    let owner = json!({"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "1", "controller": true});
    let map: ConfigMap = serde_json::from_value(json!({"metadata": {
        "name": name, "labels": {"a": "b", "empty": ""}, "annotations": {"odd": "\"\\\n\u{1F980}"},
        "finalizers": ["example.org/f"], "ownerReferences": [owner],
    }}))
    .unwrap();
    Api::default_namespaced(client.clone()).create(&PostParams::default(), &map).await.unwrap();
}

async fn in_json(client: &Client) -> ObjectList<Meta> {
    // An `Accept` of the program is kept.
    let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, */*";
    let request = Request::get("/api/v1/namespaces/default/configmaps").header("accept", accept);
    client.request_list(request.body(Vec::new()).unwrap()).await.unwrap()
}

#[tokio::test]
async fn metadata_in_protobuf_are_those_in_json() {
    let client = Client::new(ApiServer::new(), "default");
    for name in ["a", "b", "c"] {
        create(&client, name).await;
    }
    let maps: Api<Meta> = Api::default_namespaced(client.clone());
    let whole: Api<ConfigMap> = Api::default_namespaced(client.clone());
    whole.delete("b", &DeleteParams::default()).await.unwrap(); // its finalizer keeps it
    let (protobuf, json) = (maps.list(&ListParams::default()).await.unwrap(), in_json(&client).await);
    assert_eq!(serde_json::to_value(&protobuf).unwrap(), serde_json::to_value(&json).unwrap());
    assert!(protobuf.items[1].metadata.deletion_timestamp.is_some() && protobuf.items.len() == 3);

    let mut events = pin!(maps.watch(&WatchParams::streaming_lists(), "0").await.unwrap());
    for item in json.items {
        let Some(WatchEvent::Added(object)) = events.try_next().await.unwrap() else { panic!() };
        assert_eq!(serde_json::to_value(object).unwrap(), serde_json::to_value(item).unwrap());
    }
    let Some(WatchEvent::Bookmark(end)) = events.try_next().await.unwrap() else { panic!() };
    assert_eq!(end.metadata.annotations["k8s.io/initial-events-end"], "true");
    create(&client, "d").await;
    let Some(WatchEvent::Added(created)) = events.try_next().await.unwrap() else { panic!() };
    assert_eq!(created.metadata.name.as_deref(), Some("d"));
    assert_eq!(
        json!(created.types),
        json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata"})
    );
}
