//! Objects of CRDs that another project defines.

use kube_testserver::TestServer;
use serde_json::json;

// ANCHOR: dynamic
use kube::core::{DynamicObject, GroupVersionKind};
use kube::{Api, Client, discovery};

/// Without any type: the fields are JSON. One request finds plural and scope of the kind.
async fn hosts(client: Client, name: &str) -> kube::Result<Vec<String>> {
    let kind = GroupVersionKind::gvk("networking.example.com", "v1", "Route");
    let (resource, _) = discovery::pinned_kind(&client, &kind).await?;
    let routes: Api<DynamicObject> = Api::default_namespaced_with(client, &resource);
    let route = routes.get(name).await?;
    let hosts = route.data["spec"]["hosts"].as_array().into_iter().flatten();
    Ok(hosts.filter_map(|host| host.as_str().map(Into::into)).collect())
}
// ANCHOR_END: dynamic

// ANCHOR: typed
use kube::CustomResource;
use serde::{Deserialize, Serialize};

/// With a type of the fields that the program reads. It is not registered, so it needs no schema.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize)]
#[kube(group = "networking.example.com", version = "v1", kind = "Route", namespaced, schema = "disabled")]
struct RouteSpec {
    #[serde(default)]
    hosts: Vec<String>,
}
// ANCHOR_END: typed

/// The CRD of another project, with more fields than this program knows.
const DEFINITION: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: routes.networking.example.com}
spec:
  group: networking.example.com
  scope: Namespaced
  names: {plural: routes, singular: route, kind: Route, listKind: RouteList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {hosts: {type: array, items: {type: string}}, weight: {type: integer}}
";

const ROUTE: &str = "
apiVersion: networking.example.com/v1
kind: Route
metadata: {name: web, namespace: default}
spec: {hosts: [a.example.com, b.example.com], weight: 3}
";

#[tokio::test]
async fn a_route_is_read_with_and_without_a_type() {
    let server = TestServer::service();
    server.load(DEFINITION).unwrap();
    server.load(ROUTE).unwrap();
    let client = Client::new(server, "default");
    assert_eq!(hosts(client.clone(), "web").await.unwrap(), ["a.example.com", "b.example.com"]);

    let routes: Api<Route> = Api::default_namespaced(client);
    assert_eq!(routes.get("web").await.unwrap().spec.hosts.len(), 2);
    // A merge patch leaves the fields that the type does not have as they are.
    let patch = kube::api::Patch::Merge(json!({ "spec": { "hosts": ["c.example.com"] } }));
    routes.patch("web", &Default::default(), &patch).await.unwrap();
    let all: Api<DynamicObject> = {
        let kind = GroupVersionKind::gvk("networking.example.com", "v1", "Route");
        let (resource, _) = discovery::pinned_kind(&routes.clone().into_client(), &kind).await.unwrap();
        Api::default_namespaced_with(routes.into_client(), &resource)
    };
    assert_eq!(
        all.get("web").await.unwrap().data["spec"],
        json!({ "hosts": ["c.example.com"], "weight": 3 })
    );
}

#[tokio::test]
async fn a_group_that_is_not_served_is_not_found() {
    let client = Client::new(TestServer::service(), "default");
    let error = hosts(client, "web").await.unwrap_err();
    assert!(error.is_not_found(), "{error}");
}
