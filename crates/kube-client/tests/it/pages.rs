//! Lists as streams, against a server that compacts its history.
#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube_client::core::{ApiResource, ObjectList};
use kube_client::{Api, Client, Error, ResourceExt};
use kube_testserver::{FaultResponse, Match};
use serde_json::json;

use crate::server::{create, in_process};

async fn with_maps(client: &Client, count: usize) -> Api<ConfigMap> {
    for number in 0..count {
        create(client, &format!("map-{number}")).await.unwrap();
    }
    Api::default_namespaced(client.clone())
}

fn names<K: kube_client::Resource + Clone>(page: &ObjectList<K>) -> Vec<String> {
    page.iter().map(ResourceExt::name_any).collect()
}

#[tokio::test]
async fn every_object_is_returned_once_in_order() {
    let (client, server) = in_process();
    let api = with_maps(&client, 7).await;
    let requests =
        server.fault(Match::list::<ConfigMap>(), kube_testserver::Fault::Delay(std::time::Duration::ZERO));
    let pages: Vec<_> = api.pages(&ListParams::default().limit(3)).try_collect().await.unwrap();
    let found: Vec<_> = pages.iter().map(names).collect();
    assert_eq!(found, [vec!["map-0", "map-1", "map-2"], vec!["map-3", "map-4", "map-5"], vec!["map-6"]]);
    let versions: Vec<_> = pages.iter().map(|page| page.metadata.resource_version.clone()).collect();
    assert!(versions.iter().all(|version| *version == versions[0]), "of one state");
    assert_eq!(requests.hits(), 3);
    let objects: Vec<_> = api
        .list_stream(&ListParams::default().limit(2))
        .map_ok(|map| map.name_any())
        .try_collect()
        .await
        .unwrap();
    assert_eq!(objects, found.concat());
    assert_eq!(api.list_stream(&ListParams::default()).count().await, 7);
}

#[tokio::test]
async fn a_page_is_requested_when_it_is_polled_for() {
    let (client, server) = in_process();
    let api = with_maps(&client, 3).await;
    let requests =
        server.fault(Match::list::<ConfigMap>(), kube_testserver::Fault::Delay(std::time::Duration::ZERO));
    let mut objects = api.list_stream(&ListParams::default().limit(1));
    assert_eq!(requests.hits(), 0);
    objects.try_next().await.unwrap();
    assert_eq!(requests.hits(), 1);
    drop(objects);
}

#[tokio::test]
async fn an_expired_token_is_continued_in_the_present_state() {
    let (client, server) = in_process();
    let api = with_maps(&client, 6).await;
    let mut pages = api.pages(&ListParams::default().limit(2));
    let first = pages.try_next().await.unwrap().unwrap();
    assert_eq!(names(&first), ["map-0", "map-1"]);
    // Before, at and behind the place that was reached.
    api.delete("map-0", &DeleteParams::default()).await.unwrap();
    api.delete("map-2", &DeleteParams::default()).await.unwrap();
    create(&client, "map-1a").await.unwrap();
    create(&client, "map-4a").await.unwrap();
    server.compact();
    let rest: Vec<_> = pages.try_collect().await.unwrap();
    assert_eq!(
        rest.iter().map(names).collect::<Vec<_>>().concat(),
        ["map-1a", "map-3", "map-4", "map-4a", "map-5"]
    );
    assert_ne!(
        rest[0].metadata.resource_version, first.metadata.resource_version,
        "the state is another one"
    );
}

#[tokio::test]
async fn an_error_is_the_last_item() {
    let (client, server) = in_process();
    let api = with_maps(&client, 4).await;
    server.fault(Match::list::<ConfigMap>().nth(2), FaultResponse::status(403, "Forbidden"));
    let mut pages = api.pages(&ListParams::default().limit(2));
    assert!(pages.next().await.is_some_and(|page| page.is_ok()));
    assert!(pages.next().await.is_some_and(|page| page.is_err_and(|error| error.is_forbidden())));
    assert!(pages.next().await.is_none());
    // A server that gives no token with its 410.
    server.clear_faults();
    server.fault(Match::list::<ConfigMap>().nth(2), FaultResponse::status(410, "Expired"));
    let error = api.list_stream(&ListParams::default().limit(2)).try_collect::<Vec<_>>().await.unwrap_err();
    assert!(matches!(&error, Error::Api(status) if status.is_expired()), "{error}");
}

/// Lists of custom resources have their metadata after the items.
#[tokio::test]
async fn metadata_may_follow_the_items() {
    let (client, server) = in_process();
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": { "name": "pages.example.com" },
        "spec": { "group": "example.com", "scope": "Namespaced", "names": { "plural": "pages", "kind": "Page" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": { "type": "object" } } }] },
    });
    server.load(crd).unwrap();
    let kind = ApiResource {
        group: "example.com".into(),
        version: "v1".into(),
        api_version: "example.com/v1".into(),
        kind: "Page".into(),
        plural: "pages".into(),
    };
    let api: Api<DynamicObject> = Api::default_namespaced_with(client, &kind);
    for name in ["a", "b", "c"] {
        let page = Patch::Apply(
            json!({ "apiVersion": "example.com/v1", "kind": "Page", "metadata": { "name": name } }),
        );
        api.patch(name, &PatchParams::apply("test"), &page).await.unwrap();
    }
    let found: Vec<_> = api
        .list_stream(&ListParams::default().limit(1))
        .map_ok(|page| page.name_any())
        .try_collect()
        .await
        .unwrap();
    assert_eq!(found, ["a", "b", "c"]);
}
