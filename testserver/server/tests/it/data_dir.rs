//! What a data directory, a snapshot and a rewind keep, and how the controllers go on afterwards.

use std::path::Path;

use kube_testserver::{Builder, BuiltInController, TestServer, User};
use serde_json::{Value, json};

use crate::client::*;

const NAMESPACES: &str = "/api/v1/namespaces";

fn open(builder: Builder, dir: &Path) -> TestClient {
    TestClient { api: builder.data(dir).service().unwrap() }
}

/// A server without these controllers: what they would do is left undone.
fn idle() -> Builder {
    TestServer::builder()
        .without(BuiltInController::GarbageCollection)
        .without(BuiltInController::NamespaceDeletion)
}

/// Leaves a terminating namespace with contents, a dependent without owner, and an owner that is deleted in the foreground.
async fn leave_cascades(client: &TestClient) {
    client.post(NAMESPACES, json!({"metadata": {"name": "left"}})).await.ok();
    client.post("/api/v1/namespaces/left/configmaps", config_map("in-it")).await.ok();
    client.delete(&format!("{NAMESPACES}/left")).await.ok();
    let owner = client.post(CONFIG_MAPS, config_map("owner")).await.ok();
    let owned = |name: &str, uid: &Value| {
        let mut map = config_map(name);
        map["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
            "uid": uid, "blockOwnerDeletion": true}]);
        map
    };
    client.post(CONFIG_MAPS, owned("orphan", &json!("gone"))).await.ok();
    client.post(CONFIG_MAPS, owned("dependent", &owner["metadata"]["uid"])).await.ok();
    client
        .delete_with(&format!("{CONFIG_MAPS}/owner"), json!({"propagationPolicy": "Foreground"}))
        .await
        .ok();
    for path in
        [format!("{NAMESPACES}/left"), format!("{CONFIG_MAPS}/orphan"), format!("{CONFIG_MAPS}/owner")]
    {
        client.get(&path).await.ok();
    }
}

async fn assert_cascades_ended(client: &TestClient) {
    for path in [
        format!("{NAMESPACES}/left"),
        "/api/v1/namespaces/left/configmaps/in-it".into(),
        format!("{CONFIG_MAPS}/orphan"),
        format!("{CONFIG_MAPS}/owner"),
        format!("{CONFIG_MAPS}/dependent"),
    ] {
        client.get(&path).await.refused(404, "NotFound");
    }
}

#[tokio::test]
async fn a_restart_finishes_the_cascades_that_were_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let client = open(idle(), dir.path());
    leave_cascades(&client).await;
    drop(client);
    assert_cascades_ended(&open(TestServer::builder(), dir.path())).await;
}

#[tokio::test]
async fn a_restored_snapshot_finishes_its_cascades() {
    let cut_off = TestClient { api: idle().service().unwrap() };
    leave_cascades(&cut_off).await;
    let client = TestClient::new();
    client.api.restore(cut_off.api.snapshot()).unwrap();
    assert_cascades_ended(&client).await;
}

#[tokio::test]
async fn a_rewind_into_a_cascade_finishes_it() {
    let client = TestClient::new();
    client.post(NAMESPACES, json!({"metadata": {"name": "left"}})).await.ok();
    client.post("/api/v1/namespaces/left/configmaps", config_map("in-it")).await.ok();
    let before = client.api.resource_version();
    client.delete(&format!("{NAMESPACES}/left")).await.ok();
    // The first change is the mark on the namespace, before its contents are deleted.
    client.api.rewind(before + 1).unwrap();
    client.get(&format!("{NAMESPACES}/left")).await.refused(404, "NotFound");
    client.get("/api/v1/namespaces/left/configmaps/in-it").await.refused(404, "NotFound");
}

#[tokio::test]
async fn a_terminating_definition_is_removed_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let client = open(idle(), dir.path());
    client.post(CRDS, widgets()).await.ok();
    let mut held = widget("held");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    client.post(WIDGETS, held).await.ok();
    let crd = format!("{CRDS}/widgets.rig.test");
    client.delete(&crd).await.ok();
    drop(client);

    let client = open(idle(), dir.path());
    client.get(&crd).await.ok();
    client.patch(MERGE, &format!("{WIDGETS}/held"), json!({"metadata": {"finalizers": null}})).await.ok();
    client.get(&crd).await.refused(404, "NotFound");
}

#[cfg(feature = "workloads")]
#[tokio::test]
async fn pods_move_on_after_a_restart() {
    const PODS: &str = "/api/v1/namespaces/default/pods";
    let dir = tempfile::tempdir().unwrap();
    let client = open(TestServer::builder(), dir.path());
    let pod =
        json!({"metadata": {"name": "alone"}, "spec": {"containers": [{"name": "main", "image": "i"}]}});
    client.post(PODS, pod).await.ok();
    let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": "i"}]}});
    let spec = json!({"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template});
    let deployment = json!({"metadata": {"name": "web"}, "spec": spec});
    client.post("/apis/apps/v1/namespaces/default/deployments", deployment).await.ok();
    drop(client);

    let with_pods =
        || TestServer::builder().with(BuiltInController::Kubelet).with(BuiltInController::Workloads);
    let client = open(with_pods(), dir.path());
    let pods = client.get(PODS).await.ok();
    let phases: Vec<_> =
        pods["items"].as_array().unwrap().iter().map(|pod| &pod["status"]["phase"]).collect();
    assert_eq!(phases, ["Running"; 3]);
    let settled = client.api.snapshot();
    drop(client);
    assert_eq!(open(with_pods(), dir.path()).api.snapshot(), settled, "a settled state stays as it is");
}

#[tokio::test]
async fn a_snapshot_keeps_the_resource_version_of_a_deletion() {
    let client = TestClient::new();
    client.post(CONFIG_MAPS, config_map("a")).await.ok();
    client.delete(&format!("{CONFIG_MAPS}/a")).await.ok();
    let copy = TestServer::builder().with_snapshot(client.api.snapshot()).service().unwrap();
    assert_eq!(copy.resource_version(), client.api.resource_version());
}

/// Also when the revision of the token exists again.
#[tokio::test]
async fn a_continue_token_expires_with_a_rewind() {
    let client = TestClient::new();
    let before = client.api.resource_version();
    for name in ["a", "b", "c"] {
        client.post(CONFIG_MAPS, config_map(name)).await.ok();
    }
    let page = client.get(&format!("{CONFIG_MAPS}?limit=1")).await.ok();
    let token = page["metadata"]["continue"].as_str().unwrap().to_string();
    let rest = format!("{CONFIG_MAPS}?limit=1&continue={token}");
    assert_eq!(client.get(&rest).await.ok()["items"][0]["metadata"]["name"], "b");
    client.api.rewind(before).unwrap();
    client.get(&rest).await.refused(410, "Expired");
    for name in ["d", "e", "f", "g"] {
        client.post(CONFIG_MAPS, config_map(name)).await.ok();
    }
    client.get(&rest).await.refused(410, "Expired");
}

/// The port, the credentials in the kubeconfig and the tokens of service accounts.
#[tokio::test]
async fn credentials_stay_valid_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let builder = || TestServer::builder().data(dir.path()).tls().with_user(User::new("ann").group("team"));
    let server = builder().start().await.unwrap();
    let (port, kubeconfig) = (server.addr().port(), server.kubeconfig());
    let client = TestClient { api: server.api() };
    client
        .post("/api/v1/namespaces/default/serviceaccounts", json!({"metadata": {"name": "robot"}}))
        .await
        .ok();
    let path = "/api/v1/namespaces/default/serviceaccounts/robot/token";
    let token = client.post(path, json!({"spec": {"expirationSeconds": 3600}})).await.ok();
    let token = token["status"]["token"].as_str().unwrap().to_string();
    drop(client);
    server.shutdown().await;

    let server = builder().port(port).start().await.unwrap();
    assert_eq!(server.kubeconfig(), kubeconfig);
    let client = TestClient { api: server.api() };
    let review = json!({"spec": {"token": token}});
    let review = client.post("/apis/authentication.k8s.io/v1/tokenreviews", review).await.ok();
    assert_eq!(review["status"]["user"]["username"], "system:serviceaccount:default:robot", "{review}");
    #[cfg(unix)]
    for name in ["state", "ca.crt", "ca.key", "sa.key", "users.json"] {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(dir.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[tokio::test]
async fn a_key_that_cannot_be_used_is_named() {
    let dir = tempfile::tempdir().unwrap();
    for (file, tls) in [("sa.key", false), ("ca.key", true), ("users.json", true)] {
        let server = TestServer::builder().data(dir.path()).tls().with_rbac().start().await.unwrap();
        server.shutdown().await;
        let path = dir.path().join(file);
        std::fs::write(&path, "damaged").unwrap();
        let builder = TestServer::builder().data(dir.path()).with_rbac();
        let error = if tls { builder.tls() } else { builder }.start().await.unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.starts_with(&format!("{} cannot be used: ", path.display())), "{cause}");
        assert!(cause.ends_with("; remove it to have a new one made"), "{cause}");
        std::fs::remove_file(&path).unwrap();
    }
}
