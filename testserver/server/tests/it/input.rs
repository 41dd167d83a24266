//! Invalid input: a clear error, never a panic.

use proptest::prelude::*;
use serde_json::json;

use crate::client::*;

#[tokio::test(start_paused = true)]
async fn broken_bodies_are_bad_requests() {
    let client = with_widgets().await;
    let deep = "[".repeat(10_000);
    let deep_object = format!("{}1{}", "{\"a\":".repeat(10_000), "}".repeat(10_000));
    for body in ["", "{", "[]", "3", "\"x\"", "{\"metadata\":3}", "{\"kind\":3}", &deep, &deep_object] {
        for path in [CONFIG_MAPS, WIDGETS] {
            let reply =
                client.send("POST", path, &[("content-type", "application/json")], body.to_string()).await;
            reply.refused(400, "BadRequest");
        }
    }
    // As on 1.37, null is an object without members; a custom resource has to say its kind.
    for (path, code, reason) in [(CONFIG_MAPS, 422, "Invalid"), (WIDGETS, 400, "BadRequest")] {
        let reply = client.send("POST", path, &[("content-type", "application/json")], "null").await;
        reply.refused(code, reason);
    }
    let yaml = "metadata: {name: from-yaml}\ndata: {k: v}\n";
    client.send("POST", CONFIG_MAPS, &[("content-type", "application/yaml")], yaml).await.ok();
    client
        .send("POST", CONFIG_MAPS, &[("content-type", "application/yaml")], "a: [")
        .await
        .refused(400, "BadRequest");
    client
        .send("POST", CONFIG_MAPS, &[("content-type", "text/plain")], "{}")
        .await
        .refused(415, "UnsupportedMediaType");
}

#[tokio::test(start_paused = true)]
async fn values_of_a_wrong_type_are_refused_everywhere() {
    let client = TestClient::new();
    for (field, value) in
        [("labels", json!({"a": 1})), ("finalizers", json!("x")), ("ownerReferences", json!([1]))]
    {
        let mut object = config_map("a");
        object["metadata"][field] = value;
        client.post(CONFIG_MAPS, object).await.refused(400, "BadRequest");
    }
    client
        .post(CONFIG_MAPS, json!({"metadata": {"name": "a"}, "data": {"k": 1}}))
        .await
        .refused(400, "BadRequest");
    client.post(CONFIG_MAPS, json!({"metadata": {"name": "A"}})).await.refused(422, "Invalid");
    client.post(CONFIG_MAPS, json!({"metadata": {}})).await.refused(422, "Invalid");
    client
        .post(CONFIG_MAPS, json!({"metadata": {"name": "a", "namespace": "b"}}))
        .await
        .refused(400, "BadRequest");
    client
        .post("/api/v1/namespaces", json!({"metadata": {"name": "a"}, "status": "x", "spec": 3}))
        .await
        .refused(400, "BadRequest");
}

#[tokio::test(start_paused = true)]
async fn bodies_have_a_limit() {
    let client = TestClient::new();
    let body = vec![b' '; 3 * 1024 * 1024 + 1];
    client.send("POST", CONFIG_MAPS, &[], body).await.refused(413, "RequestEntityTooLarge");
}

#[tokio::test(start_paused = true)]
async fn unknown_methods_and_paths() {
    let client = with_widgets().await;
    client.put(CONFIG_MAPS, config_map("a")).await.refused(405, "MethodNotAllowed");
    client.post("/api/v1/configmaps", config_map("a")).await.refused(405, "MethodNotAllowed");
    client.send("TRACE", CONFIG_MAPS, &[], "").await.refused(405, "MethodNotAllowed");
    client.get("/api/v1/nothings").await.refused(404, "NotFound");
    client.get("/api/v1/configmaps/a").await.refused(404, "NotFound");
    client.get("/api/v1/namespaces/default/nodes").await.refused(404, "NotFound");
    client.get(&format!("{WIDGETS}/a/exec")).await.refused(404, "NotFound");
    assert_eq!(client.get("/apis/none.test/v1/things").await.code, 404);
}

#[tokio::test(start_paused = true)]
async fn options_are_checked_by_name() {
    let client = TestClient::new();
    let message =
        client.post(&format!("{CONFIG_MAPS}?dryRun=maybe"), config_map("a")).await.refused(422, "Invalid");
    assert!(message.starts_with("CreateOptions.meta.k8s.io"), "{message}");
    client.get(&format!("{CONFIG_MAPS}?limit=x")).await.refused(400, "BadRequest");
    client.get(&format!("{CONFIG_MAPS}?continue=x")).await.refused(400, "BadRequest");
    assert_eq!(client.get(&format!("{CONFIG_MAPS}?resourceVersion=x")).await.code, 400);
    client.get(&format!("{CONFIG_MAPS}?resourceVersionMatch=x")).await.refused(422, "Invalid");
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("api".to_string()),
        Just("apis".into()),
        Just("v1".into()),
        Just("namespaces".into()),
        Just("default".into()),
        Just("configmaps".into()),
        Just("rig.test".into()),
        Just("widgets".into()),
        Just("status".into()),
        Just("a".into()),
        Just("%2F".into()),
        Just("%zz".into()),
        Just("scale".into()),
        "[a-z%.0-9]{0,6}",
    ]
}

fn value() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(|b| json!(b)),
        any::<i64>().prop_map(|n| json!(n)),
        "[a-z/]{0,4}".prop_map(|s| json!(s))
    ];
    let keys = prop_oneof![
        "metadata|spec|status|kind|apiVersion|labels|finalizers|ownerReferences|name|managedFields|color|replicas|op|path",
        "[a-z]{1,3}"
    ];
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|v| json!(v)),
            prop::collection::hash_map(keys.clone(), inner, 0..4).prop_map(|m| json!(m)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    /// Every request gets a response, and the server works afterwards.
    #[test]
    fn no_request_breaks_the_server(
        path in prop::collection::vec(piece(), 0..7),
        query in "(watch=0&)?[a-zA-Z]{0,8}=[a-z0-9%]{0,5}|dryRun=All|force=1&fieldManager=m|limit=1",
        method in prop_oneof![Just("GET"), Just("POST"), Just("PUT"), Just("PATCH"), Just("DELETE")],
        kind in prop_oneof![Just("application/json"), Just(MERGE), Just(JSON), Just(APPLY), Just("")],
        body in value(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let client = with_widgets().await;
            client.post(WIDGETS, widget("a")).await.ok();
            let targets = [format!("/{}", path.join("/")), format!("{WIDGETS}/a"), WIDGETS.into(), format!("{WIDGETS}/a/status"), format!("{CRDS}/widgets.rig.test")];
            for target in targets {
                let reply = client.send(method, &format!("{target}?{query}"), &[("content-type", kind)], body.to_string()).await;
                assert!(reply.code.as_u16() >= 200);
            }
            client.get("/api/v1/namespaces/default").await.ok();
        });
    }
}
