//! Applies a directory of YAML, as `kubectl apply --server-side` does, and deletes it.

mod apply;
mod delete;
mod deploy;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::yaml::Objects;
use kube::{Api, Client};
use kube_testserver::TestServer;

use apply::apply;
use delete::delete;
use deploy::deploy;

const OBJECTS: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {level: info}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
";

#[tokio::test]
async fn a_directory_is_applied_again_and_deleted() {
    let client = Client::new(TestServer::service(), "default");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("objects.yaml");
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "shop");
    for level in ["info", "debug"] {
        std::fs::write(&path, OBJECTS.replace("info", level)).unwrap();
        apply(client.clone(), directory.path().to_str().unwrap()).await.unwrap();
        assert_eq!(maps.get("settings").await.unwrap().data.unwrap()["level"], level);
    }
    delete(client.clone(), &Objects::read(&path).unwrap()).await;
    assert!(maps.get_opt("settings").await.unwrap().is_none());

    std::fs::write(&path, "apiVersion: example.com/v1\nkind: Unknown\nmetadata: {name: a}\n").unwrap();
    let err = apply(client, directory.path().to_str().unwrap()).await.unwrap_err().to_string();
    assert!(err.contains(r#"the cluster serves no kind "Unknown" in version "example.com/v1""#), "{err}");
}

#[tokio::test]
async fn what_is_no_longer_in_the_directory_is_deleted() {
    let client = Client::new(TestServer::service(), "default");
    let directory = tempfile::tempdir().unwrap();
    let map = |name: &str| format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}");
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    for (name, gone) in [("old", "new"), ("new", "old")] {
        std::fs::write(directory.path().join("map.yaml"), map(name)).unwrap();
        deploy(client.clone(), directory.path().to_str().unwrap()).await.unwrap();
        assert!(maps.get_opt(name).await.unwrap().is_some());
        assert!(maps.get_opt(gone).await.unwrap().is_none());
    }
    std::fs::write(directory.path().join("map.yaml"), map("Bad")).unwrap();
    let err = deploy(client, directory.path().to_str().unwrap()).await.unwrap_err().to_string();
    assert!(err.contains("map.yaml, document 1, line 1)") && err.contains("nothing was pruned"), "{err}");
    assert!(maps.get_opt("new").await.unwrap().is_some());
}
