//! Tables of the embedded server, printed.
#![allow(clippy::unwrap_used, reason = "this is how a test fails")]

use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use kube_client::Api;
use kube_client::api::{ListParams, PostParams, WatchEvent, WatchParams};
use kube_tools::ApiExt as _;
use serde_json::{Value, json};

use crate::server::in_process;

fn object<K: serde::de::DeserializeOwned>(json: Value) -> K {
    serde_json::from_value(json).unwrap()
}

#[tokio::test(start_paused = true)]
async fn pods_are_printed_as_kubectl_prints_them() {
    let (client, _server) = in_process();
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    assert_eq!(pods.table(&ListParams::default()).await.unwrap().to_string(), "");
    let containers = json!([{ "name": "web", "image": "web" }]);
    let pod = json!({ "metadata": { "name": "web-0", "labels": { "app": "web" } }, "spec": { "containers": containers, "nodeName": "n1" } });
    pods.create(&PostParams::default(), &object(pod)).await.unwrap();
    let table = pods.table(&ListParams::default()).await.unwrap();
    assert_eq!(
        table.to_string(),
        "NAME    READY   STATUS    RESTARTS   AGE\nweb-0   0/1     Pending   0          0s"
    );
    let wide = "NAMESPACE   NAME    READY   STATUS    RESTARTS   AGE   IP       NODE   NOMINATED NODE   READINESS GATES\n\
                default     web-0   0/1     Pending   0          0s    <none>   n1     <none>           <none>";
    assert_eq!(table.printer().wide().with_namespace().to_string(), wide);
    assert_eq!(table.column("nominated node"), Some(7));
    assert_eq!(
        table.rows[0]
            .object
            .as_ref()
            .and_then(|pod| pod.metadata.labels.as_ref())
            .map(|labels| labels["app"].as_str()),
        Some("web")
    );
    assert_eq!(pods.get_table("web-0").await.unwrap().to_string(), table.to_string());
    assert!(pods.get_table("missing").await.unwrap_err().is_not_found());
}

#[tokio::test(start_paused = true)]
async fn a_watch_has_a_row_for_each_event() {
    let (client, _server) = in_process();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let map = json!({ "metadata": { "name": "a" }, "data": { "key": "value" } });
    maps.create(&PostParams::default(), &object(map)).await.unwrap();
    let params = WatchParams::default().disable_bookmarks();
    let mut events = Box::pin(maps.watch_table(&params, "0").await.unwrap());
    let Some(Ok(WatchEvent::Added(table))) = events.next().await else { panic!("no event") };
    assert_eq!(table.to_string(), "NAME   DATA   AGE\na      1      0s");
    maps.delete("a", &Default::default()).await.unwrap();
    let Some(Ok(WatchEvent::Deleted(table))) = events.next().await else { panic!("no event") };
    assert_eq!((table.rows[0].cells[0].as_str(), table.columns.len()), (Some("a"), 0));
}

#[tokio::test(start_paused = true)]
async fn tables_have_pages_and_selectors() {
    let (client, _server) = in_process();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    for name in ["a", "b", "c"] {
        let map =
            json!({ "metadata": { "name": name, "labels": { "name": name } }, "data": { "key": "value" } });
        maps.create(&PostParams::default(), &object(map)).await.unwrap();
    }
    let page = maps.table(&ListParams::default().limit(2)).await.unwrap();
    assert_eq!((page.rows.len(), page.metadata.remaining_item_count), (2, Some(1)));
    let token = page.metadata.continue_.unwrap();
    let last = maps.table(&ListParams::default().limit(2).continue_token(&token)).await.unwrap();
    // Then the age, which grows.
    assert!(last.to_string().starts_with("NAME   DATA   AGE\nc      1      "), "{last}");
    let selected = maps.table(&ListParams::default().labels("name=b")).await.unwrap();
    let printed = selected.printer().no_headers().label_columns(["name"]).to_string();
    let columns: Vec<_> = printed.split_whitespace().collect();
    assert_eq!((columns.len(), columns[0], columns[1], columns[3]), (4, "b", "1", "b"), "{printed}");
    // A cluster-scoped kind.
    let nodes: Api<Node> = Api::all(client);
    nodes.create(&PostParams::default(), &object(json!({ "metadata": { "name": "n1" } }))).await.unwrap();
    assert!(nodes.table(&ListParams::default()).await.unwrap().to_string().starts_with("NAME   STATUS"));
}
