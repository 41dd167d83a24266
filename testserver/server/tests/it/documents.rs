//! Discovery, OpenAPI and version documents.

use serde_json::json;

use crate::client::*;

#[tokio::test(start_paused = true)]
async fn health_and_version() {
    let client = TestClient::new();
    for path in ["/healthz", "/livez", "/readyz", "/readyz/ping"] {
        assert_eq!(client.get(path).await.ok(), "ok");
    }
    let version = client.get("/version").await.ok();
    assert_eq!((&version["major"], &version["minor"]), (&json!("1"), &json!("37")));
    assert!(version["gitVersion"].as_str().unwrap().starts_with("v1.37."));
    assert_eq!(client.get("/nope").await.body, "404 page not found\n");
}

#[tokio::test(start_paused = true)]
async fn discovery_follows_the_crds() {
    let client = TestClient::new();
    assert_eq!(client.get("/apis/rig.test").await.code, 404);
    client.post(CRDS, widgets()).await.ok();
    let group = client.get("/apis/rig.test").await.ok();
    assert_eq!(group["preferredVersion"]["groupVersion"], "rig.test/v1");
    let resources = client.get("/apis/rig.test/v1").await.ok();
    let names: Vec<_> =
        resources["resources"].as_array().unwrap().iter().map(|r| r["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["widgets", "widgets/status", "widgets/scale"]);
    assert_eq!(resources["resources"][2]["kind"], "Scale");
    let groups = client.get("/apis").await.ok();
    assert!(groups["groups"].as_array().unwrap().iter().any(|g| g["name"] == "rig.test"));
    assert_eq!(client.get("/api").await.ok()["versions"], json!(["v1"]));
    client.delete(&format!("{CRDS}/widgets.rig.test")).await.ok();
    assert_eq!(client.get("/apis/rig.test/v1").await.code, 404);
}

#[tokio::test(start_paused = true)]
async fn aggregated_discovery_is_negotiated() {
    let client = with_widgets().await;
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    let reply = client.get_as(accept, "/apis").await;
    assert!(reply.headers["content-type"].to_str().unwrap().contains("as=APIGroupDiscoveryList"));
    let document = reply.ok();
    assert_eq!(document["apiVersion"], "apidiscovery.k8s.io/v2");
    let group =
        document["items"].as_array().unwrap().iter().find(|g| g["metadata"]["name"] == "rig.test").unwrap();
    assert_eq!(group["versions"][0]["resources"][0]["shortNames"], json!(["wd"]));
    let core = client.get_as(accept, "/api").await.ok();
    assert_eq!(core["items"][0]["versions"][0]["version"], "v1");
}

#[tokio::test(start_paused = true)]
async fn openapi_describes_custom_resources() {
    let client = with_widgets().await;
    let index = client.get("/openapi/v3").await.ok();
    let url = index["paths"]["apis/rig.test/v1"]["serverRelativeURL"].as_str().unwrap();
    let document = client.get(url).await.ok();
    let schema = &document["components"]["schemas"]["test.rig.v1.Widget"];
    assert_eq!(schema["x-kubernetes-group-version-kind"][0]["kind"], "Widget");
    assert_eq!(schema["properties"]["spec"]["properties"]["color"]["type"], "string");
    assert_eq!(client.get("/openapi/v3/apis/nope/v1").await.code, 404);
}
