//! Applies objects of any kind from YAML, as `kubectl apply --server-side` does.

use k8s_openapi::api::core::v1::ConfigMap;
use kube_testserver::TestServer;

// ANCHOR: all
use kube::api::{Patch, PatchParams};
use kube::core::DynamicObject;
use kube::discovery::{Discovery, Scope};
use kube::{Api, Client, ResourceExt, core::GroupVersionKind};

async fn apply(client: Client, yaml: &str) -> Result<(), Box<dyn std::error::Error>> {
    let discovery = Discovery::new(client.clone()).run().await?;
    let params = PatchParams::apply("my-script").force();
    for object in serde_saphyr::from_multiple::<DynamicObject>(yaml)? {
        let types = object.types.as_ref().ok_or("an object has no apiVersion and kind")?;
        let kind = GroupVersionKind::try_from(types)?;
        let (resource, capabilities) =
            discovery.resolve_gvk(&kind).ok_or(format!("the cluster has no {}", kind.kind))?;
        let api: Api<DynamicObject> = match (capabilities.scope, object.namespace()) {
            (Scope::Cluster, _) => Api::all_with(client.clone(), &resource),
            (Scope::Namespaced, Some(namespace)) => {
                Api::namespaced_with(client.clone(), &namespace, &resource)
            }
            (Scope::Namespaced, None) => Api::default_namespaced_with(client.clone(), &resource),
        };
        api.patch(&object.name_any(), &params, &Patch::Apply(&object)).await?;
        println!("applied {} {}", kind.kind, object.name_any());
    }
    Ok(())
}
// ANCHOR_END: all

const OBJECTS: &str = "
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {level: info}
";

#[tokio::test]
async fn objects_are_applied_in_their_order_and_again() {
    let client = Client::new(TestServer::service(), "default");
    apply(client.clone(), OBJECTS).await.unwrap();
    apply(client.clone(), &OBJECTS.replace("info", "debug")).await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "shop");
    assert_eq!(maps.get("settings").await.unwrap().data.unwrap()["level"], "debug");

    let unknown = "apiVersion: example.com/v1\nkind: Unknown\nmetadata: {name: a}\n";
    assert_eq!(apply(client, unknown).await.unwrap_err().to_string(), "the cluster has no Unknown");
}
