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

#[tokio::test(start_paused = true)]
async fn openapi_is_sent_once_to_clients_that_remember_it() {
    let client = with_widgets().await;
    let tag = |reply: &Reply| reply.headers["etag"].to_str().unwrap().to_owned();
    let unless = async |path: &str, tag: &str| client.send("GET", path, &[("if-none-match", tag)], "").await;
    let index = client.get("/openapi/v3").await.ok();
    let addresses = [
        "/openapi/v2",
        index["paths"]["api/v1"]["serverRelativeURL"].as_str().unwrap(),
        index["paths"]["apis/rig.test/v1"]["serverRelativeURL"].as_str().unwrap(),
    ];
    let mut tags = Vec::new();
    for path in addresses {
        let first = client.get(path).await;
        tags.push(tag(&first));
        assert!(first.ok().is_object());
        let again = unless(path, &format!("\"other\", {}", tags.last().unwrap())).await;
        assert_eq!((again.code.as_u16(), &again.body), (304, &json!("")), "{path}");
        assert_eq!(&tag(&again), tags.last().unwrap());
        assert_eq!(unless(path, "\"other\"").await.code, 200);
    }
    // Objects change nothing, definitions what is about their group.
    client.post("/api/v1/namespaces", json!({"metadata": {"name": "more"}})).await.ok();
    assert_eq!(client.get("/openapi/v3").await.ok(), index);
    let columns =
        json!([{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/description", "value": "new"}]);
    client.patch(JSON, &format!("{CRDS}/widgets.rig.test"), columns).await.ok();
    assert_eq!(unless(addresses[0], &tags[0]).await.code, 200);
    assert_eq!(unless(addresses[1], &tags[1]).await.code, 304);
    let moved = client.get(addresses[2]).await;
    let current =
        client.get("/openapi/v3").await.ok()["paths"]["apis/rig.test/v1"]["serverRelativeURL"].clone();
    assert_eq!(
        (moved.code.as_u16(), moved.headers["location"].to_str().unwrap()),
        (301, current.as_str().unwrap())
    );
    assert_ne!(current, addresses[2]);
    assert_eq!(client.get(current.as_str().unwrap()).await.headers["cache-control"], "public, immutable");
}
