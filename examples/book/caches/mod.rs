//! Smaller caches, and indexes that find objects in them.

mod index;
mod small;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::PostParams;
use kube::runtime::{controller::Action, reflector::ObjectRef};
use kube::{Api, Client, ResourceExt};
use kube_testserver::TestServer;
use serde_json::json;
use std::{convert::Infallible, sync::Arc};

use index::by_node;
use small::small;

async fn create<K>(client: &Client, object: serde_json::Value)
where
    K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
    K: serde::de::DeserializeOwned + serde::Serialize + Clone + std::fmt::Debug,
{
    let object: K = serde_json::from_value(object).unwrap();
    Api::<K>::default_namespaced(client.clone()).create(&PostParams::default(), &object).await.unwrap();
}

#[tokio::test]
async fn an_index_finds_the_pods_of_a_node() {
    let client = Client::new(TestServer::service(), "default");
    for (name, node) in [("a", "one"), ("b", "two")] {
        let spec = json!({ "nodeName": node, "containers": [{ "name": "c", "image": "i" }] });
        create::<Pod>(&client, json!({ "metadata": { "name": name }, "spec": spec })).await;
    }
    let (controller, index) = by_node(client);
    let store = controller.store();
    let reconcile = async |_, _| Ok::<_, Infallible>(Action::await_change());
    let running = controller.run(reconcile, |_, _, _| Action::retry(), Arc::new(()));
    running.take(2).for_each(async |_| ()).await;
    let found: Vec<String> = store.by_index(&index, "two").iter().map(|pod| pod.name_any()).collect();
    assert_eq!(found, ["b"]);
}

#[tokio::test]
async fn a_small_cache_has_what_is_selected() {
    let client = Client::new(TestServer::service(), "default");
    let labels = json!({ "app.kubernetes.io/managed-by": "my-operator" });
    create::<ConfigMap>(
        &client,
        json!({ "metadata": { "name": "mine", "labels": labels }, "data": { "k": "v" } }),
    )
    .await;
    create::<ConfigMap>(&client, json!({ "metadata": { "name": "other" } })).await;
    let controller = small(client);
    let store = controller.store();
    let reconcile = async |map: Arc<ConfigMap>, _| {
        assert!(map.metadata.managed_fields.is_none());
        Ok::<_, Infallible>(Action::await_change())
    };
    let running = controller.run(reconcile, |_, _, _| Action::retry(), Arc::new(()));
    running.take(1).for_each(async |outcome| drop(outcome.unwrap())).await;
    assert_eq!(store.len(), 1);
    let mine = store.try_get(&ObjectRef::new("mine").within("default")).unwrap().unwrap();
    assert_eq!(mine.data.as_ref().unwrap()["k"], "v");
}
