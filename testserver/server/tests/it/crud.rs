//! Create, read, update and delete.

use serde_json::{Value, json};

use crate::client::*;

#[tokio::test(start_paused = true)]
async fn a_created_object_has_server_owned_fields() {
    let client = TestClient::new();
    let reply = client.post(CONFIG_MAPS, config_map("a")).await;
    assert_eq!(reply.code, 201);
    let created = reply.ok();
    let metadata = &created["metadata"];
    assert_eq!(metadata["namespace"], "default");
    assert_eq!(metadata["uid"].as_str().unwrap().len(), 36);
    assert!(metadata["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap() > 1);
    assert!(metadata["creationTimestamp"].as_str().unwrap().ends_with('Z'));
    let owner = &metadata["managedFields"][0];
    assert_eq!((&owner["manager"], &owner["operation"]), (&json!("rig"), &json!("Update")));
    assert_eq!(owner["fieldsV1"]["f:data"]["f:k"], json!({}));
    assert_eq!(client.get(&format!("{CONFIG_MAPS}/a")).await.ok(), created);
    client.post(CONFIG_MAPS, config_map("a")).await.refused(409, "AlreadyExists");
}

#[tokio::test(start_paused = true)]
async fn generated_names_are_new_each_time() {
    let client = TestClient::new();
    let object = json!({"metadata": {"generateName": "x-"}});
    let one = client.post(CONFIG_MAPS, object.clone()).await.ok();
    let two = client.post(CONFIG_MAPS, object).await.ok();
    assert!(one["metadata"]["name"].as_str().unwrap().starts_with("x-"));
    assert_ne!(one["metadata"]["name"], two["metadata"]["name"]);
}

#[tokio::test(start_paused = true)]
async fn an_update_with_an_outdated_resource_version_is_refused() {
    let client = with_widgets().await;
    let first = client.post(WIDGETS, widget("a")).await.ok();
    let path = format!("{WIDGETS}/a");
    let mut changed = first.clone();
    changed["spec"]["color"] = json!("blue");
    let second = client.put(&path, changed).await.ok();
    assert_eq!((&second["spec"]["color"], &second["metadata"]["generation"]), (&json!("blue"), &json!(2)));
    assert_ne!(first["metadata"]["resourceVersion"], second["metadata"]["resourceVersion"]);

    let mut stale = first.clone();
    stale["spec"]["color"] = json!("green");
    let message = client.put(&path, stale.clone()).await.refused(409, "Conflict");
    assert!(message.contains("the object has been modified"), "{message}");
    stale["metadata"]["resourceVersion"] = json!("");
    let message = client.put(&path, stale).await.refused(422, "Invalid");
    assert!(message.contains("must be specified for an update"), "{message}");

    let mut other = second.clone();
    other["metadata"]["uid"] = json!("00000000-0000-4000-8000-000000000000");
    client.put(&path, other).await.refused(409, "Conflict");
}

#[tokio::test(start_paused = true)]
async fn a_write_without_change_keeps_the_resource_version() {
    let client = with_widgets().await;
    let first = client.post(WIDGETS, widget("a")).await.ok();
    let path = format!("{WIDGETS}/a");
    let revision = client.api.resource_version();
    assert_eq!(client.put(&path, first.clone()).await.ok(), first);
    assert_eq!(client.patch(MERGE, &path, json!({"spec": {"color": "red"}})).await.ok(), first);
    assert_eq!(
        client.patch(MERGE, &path, json!({"metadata": {"uid": first["metadata"]["uid"]}})).await.ok(),
        first
    );
    assert_eq!(client.api.resource_version(), revision);
}

#[tokio::test(start_paused = true)]
async fn status_and_spec_are_written_separately() {
    let client = with_widgets().await;
    let mut object = widget("a");
    object["status"] = json!({"phase": "from-create"});
    let created = client.post(WIDGETS, object).await.ok();
    assert!(created.get("status").is_none());

    let mut both = created.clone();
    both["spec"]["color"] = json!("blue");
    both["status"] = json!({"phase": "ready"});
    let status = client.put(&format!("{WIDGETS}/a/status"), both.clone()).await.ok();
    assert_eq!((&status["spec"]["color"], &status["status"]["phase"]), (&json!("red"), &json!("ready")));
    assert_eq!(status["metadata"]["generation"], 1);
    let owners = status["metadata"]["managedFields"].as_array().unwrap();
    assert!(owners.iter().any(|entry| entry["subresource"] == "status"));

    both["metadata"]["resourceVersion"] = status["metadata"]["resourceVersion"].clone();
    both["status"] = json!({"phase": "ignored"});
    let main = client.put(&format!("{WIDGETS}/a"), both).await.ok();
    assert_eq!((&main["spec"]["color"], &main["status"]["phase"]), (&json!("blue"), &json!("ready")));
    assert_eq!(main["metadata"]["generation"], 2);
    let patch = json!({"status": {"phase": "patched"}});
    let patched = client.patch(MERGE, &format!("{WIDGETS}/a/status"), patch).await.ok();
    assert_eq!(patched["status"]["phase"], "patched");
}

#[tokio::test(start_paused = true)]
async fn scale_is_a_view_of_the_object() {
    let client = with_widgets().await;
    client.post(WIDGETS, widget("a")).await.ok();
    let path = format!("{WIDGETS}/a/scale");
    let scale = client.get(&path).await.ok();
    assert_eq!((&scale["kind"], &scale["spec"]["replicas"]), (&json!("Scale"), &json!(1)));
    let scale = client.patch(MERGE, &path, json!({"spec": {"replicas": 3}})).await.ok();
    assert_eq!(scale["spec"]["replicas"], 3);
    assert_eq!(client.get(&format!("{WIDGETS}/a")).await.ok()["spec"]["replicas"], 3);
    let mut stale = scale.clone();
    stale["metadata"]["resourceVersion"] = json!("1");
    client.put(&path, stale).await.refused(409, "Conflict");
    client.patch(MERGE, &path, json!({"spec": {"replicas": -1}})).await.refused(422, "Invalid");
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_returns_the_object_and_stores_nothing() {
    let client = TestClient::new();
    let before = client.api.resource_version();
    let created = client.post(&format!("{CONFIG_MAPS}?dryRun=All"), config_map("a")).await.ok();
    assert_eq!(created["data"]["k"], "v");
    assert!(created["metadata"]["uid"].is_string());
    client.get(&format!("{CONFIG_MAPS}/a")).await.refused(404, "NotFound");
    assert_eq!(client.api.resource_version(), before);
    client.post(CONFIG_MAPS, config_map("a")).await.ok();
    let path = format!("{CONFIG_MAPS}/a?dryRun=All");
    assert_eq!(client.patch(MERGE, &path, json!({"data": {"k": "w"}})).await.ok()["data"]["k"], "w");
    client.delete(&path).await.ok();
    assert_eq!(client.get(&format!("{CONFIG_MAPS}/a")).await.ok()["data"]["k"], "v");
}

#[tokio::test(start_paused = true)]
async fn some_kinds_are_created_by_a_put() {
    let client = TestClient::new();
    let lease = json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "me"}});
    let path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
    assert_eq!(client.put(path, lease).await.code, 201);
    client.put(&format!("{CONFIG_MAPS}/a"), config_map("a")).await.refused(404, "NotFound");
}

#[tokio::test]
async fn no_two_services_have_the_same_address_or_node_port() {
    let client = TestClient::new();
    let services = "/api/v1/namespaces/default/services";
    let node_port = |name: &str, port: Value| json!({"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": [{"port": 80, "nodePort": port}]}});
    let first = client.post(services, node_port("first", json!(30_080))).await.ok();
    let message = client.post(services, node_port("second", json!(30_080))).await.refused(422, "Invalid");
    assert!(
        message.contains("spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated"),
        "{message}"
    );
    let same = json!({"metadata": {"name": "same"}, "spec": {"clusterIP": first["spec"]["clusterIP"], "ports": [{"port": 80}]}});
    let message = client.post(services, same).await.refused(422, "Invalid");
    assert!(message.contains("provided IP is already allocated"), "{message}");
    // As many services as node ports: each gets its own.
    let mut seen = std::collections::HashSet::from([30_080]);
    for i in 0..300 {
        let made = client.post(services, node_port(&format!("s{i}"), Value::Null)).await.ok();
        assert!(seen.insert(made["spec"]["ports"][0]["nodePort"].as_u64().unwrap()));
    }
    client.delete(&format!("{services}/first")).await.ok();
    client.post(services, node_port("second", json!(30_080))).await.ok();
}

/// As on 1.37: only the storage refuses a version, so that a dry run passes and an invalid object is invalid first.
#[tokio::test(start_paused = true)]
async fn a_new_object_has_no_version() {
    let client = TestClient::new();
    let versioned = |name: &str, version: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "resourceVersion": version}});
    let reply = client.post(CONFIG_MAPS, versioned("a", "5")).await;
    assert_eq!((reply.code.as_u16(), &reply.body["reason"]), (500, &json!(null)));
    client.post(&format!("{CONFIG_MAPS}?dryRun=All"), versioned("a", "5")).await.ok();
    client.post(CONFIG_MAPS, versioned("A_", "5")).await.refused(422, "Invalid");
    client.post(CONFIG_MAPS, versioned("a", "0")).await.ok();
    client.post(CONFIG_MAPS, versioned("b", "abc")).await.ok();
    client
        .post(&format!("{CONFIG_MAPS}?dryRun=All"), versioned("b", "5"))
        .await
        .refused(409, "AlreadyExists");
}

/// As on 1.37: structs that Go holds by value are there, and a node keeps the status that it is created with.
#[tokio::test(start_paused = true)]
async fn a_node_is_created_with_its_status() {
    let client = TestClient::new();
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
        "status": {"nodeInfo": {"machineID": "m"}}});
    let status = &client.post("/api/v1/nodes", node).await.ok()["status"];
    assert_eq!(status["daemonEndpoints"], json!({"kubeletEndpoint": {"Port": 0}}));
    assert_eq!((&status["nodeInfo"]["machineID"], &status["nodeInfo"]["osImage"]), (&json!("m"), &json!("")));
}

/// As Kubernetes 1.37: these kinds and no others.
#[tokio::test(start_paused = true)]
async fn some_kinds_are_created_by_put() {
    let client = with_widgets().await;
    let put = async |path: &str, object: Value| {
        client.put(&format!("{path}?dryRun=All"), object).await.code.as_u16()
    };
    let named = |more: Value| {
        let mut object = json!({"metadata": {"name": "new"}});
        object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        object
    };
    let (core, rbac) = ("/api/v1/namespaces/default", "/apis/rbac.authorization.k8s.io/v1");
    let role = |kind: &str| {
        named(json!({"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "x"}}))
    };
    for (path, object) in [
        (format!("{core}/services/new"), named(json!({"spec": {"ports": [{"port": 80}]}}))),
        (format!("{core}/endpoints/new"), named(json!({}))),
        (format!("{core}/events/new"), named(json!({"involvedObject": {"namespace": "default"}}))),
        (format!("{core}/limitranges/new"), named(json!({"spec": {"limits": []}}))),
        (format!("{rbac}/namespaces/default/roles/new"), named(json!({}))),
        (format!("{rbac}/namespaces/default/rolebindings/new"), role("Role")),
        (format!("{rbac}/clusterroles/new"), named(json!({}))),
        (format!("{rbac}/clusterrolebindings/new"), role("ClusterRole")),
        ("/apis/coordination.k8s.io/v1/namespaces/default/leases/new".into(), named(json!({}))),
        ("/apis/node.k8s.io/v1/runtimeclasses/new".into(), named(json!({"handler": "a"}))),
    ] {
        assert_eq!(put(&path, object).await, 201, "{path}");
    }
    for path in [
        format!("{core}/secrets/new"),
        format!("{core}/configmaps/new"),
        format!("{core}/resourcequotas/new"),
        format!("{core}/serviceaccounts/new"),
        "/api/v1/namespaces/new".into(),
        "/api/v1/nodes/new".into(),
        "/apis/storage.k8s.io/v1/csidrivers/new".into(),
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets/new".into(),
        format!("{WIDGETS}/new"),
    ] {
        let widget = json!({"apiVersion": "rig.test/v1", "kind": "Widget"});
        let object = named(if path.starts_with(WIDGETS) { widget } else { json!({}) });
        assert_eq!(put(&path, object).await, 404, "{path}");
    }
    let made = client
        .put(
            &format!("{core}/services/web"),
            json!({"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}),
        )
        .await;
    assert!(made.ok()["spec"]["clusterIP"].as_str().unwrap().starts_with("10."));
}
