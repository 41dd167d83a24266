//! A conflict: the object has changed between read and write.

// ANCHOR: all
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client, ResourceExt, api::PostParams};
use kube_testserver::{Fault, Match, TestServer};
use serde_json::json;

/// Adds 1 to a counter. Another writer's change is never overwritten: after a conflict it reads again.
async fn count(maps: &Api<ConfigMap>, name: &str) -> kube::Result<ConfigMap> {
    maps.update_with_retry(name, |map| {
        let data = map.data.get_or_insert_default();
        let next = data.get("count").and_then(|text| text.parse::<u32>().ok()).unwrap_or(0) + 1;
        data.insert("count".into(), next.to_string());
    })
    .await
}

#[tokio::test]
async fn a_conflict_loses_no_change() {
    let server = TestServer::service();
    let maps: Api<ConfigMap> = Api::default_namespaced(Client::new(server.clone(), "default"));
    let map = serde_json::from_value(json!({"metadata": {"name": "visits"}})).unwrap();
    let old = maps.create(&PostParams::default(), &map).await.unwrap().resource_version().unwrap();
    assert_eq!(count(&maps, "visits").await.unwrap().data.unwrap()["count"], "1");

    // The next read gives the state before that write, as a read just before another writer's change would.
    let stale = server.fault(Match::get::<ConfigMap>().times(1), Fault::Stale(old.parse().unwrap()));
    assert_eq!(count(&maps, "visits").await.unwrap().data.unwrap()["count"], "2");
    assert_eq!(stale.hits(), 1);
}
// ANCHOR_END: all
