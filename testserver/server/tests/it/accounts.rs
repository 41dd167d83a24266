//! Service accounts and their tokens.

use std::time::Duration;

use kube_testserver::{AdmissionPlugin, ApiServer, BuiltInController, TestServer};
use serde_json::{Value, json};

use crate::client::{MERGE, TestClient};

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";

fn client() -> TestClient {
    TestClient { api: ApiServer::builder().with(BuiltInController::ServiceAccounts).service().unwrap() }
}

async fn token(client: &TestClient, spec: Value) -> Value {
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec});
    client.post(&format!("{ACCOUNTS}/default/token"), request).await.ok()
}

async fn review(client: &TestClient, token: &str, audiences: Value) -> Value {
    let spec = json!({"token": token, "audiences": audiences});
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec});
    client.post(REVIEWS, review).await.ok()["status"].take()
}

#[tokio::test]
async fn every_namespace_has_a_service_account_and_the_ca() {
    let server = TestServer::builder().with(BuiltInController::ServiceAccounts).tls().start().await.unwrap();
    let client = TestClient { api: server.api() };
    client.post("/api/v1/namespaces", json!({"metadata": {"name": "new"}})).await.ok();
    for namespace in ["default", "kube-system", "new"] {
        let path = format!("/api/v1/namespaces/{namespace}");
        client.get(&format!("{path}/serviceaccounts/default")).await.ok();
        let map = client.get(&format!("{path}/configmaps/kube-root-ca.crt")).await.ok();
        assert!(map["data"]["ca.crt"].as_str().unwrap().starts_with("-----BEGIN CERTIFICATE-----"), "{map}");
    }
    client.delete(&format!("{ACCOUNTS}/default")).await.ok();
    client.get(&format!("{ACCOUNTS}/default")).await.ok();
    let path = "/api/v1/namespaces/default/configmaps/kube-root-ca.crt";
    let published = client.get(path).await.ok();
    client.patch(MERGE, path, json!({"data": {"ca.crt": "", "more": "x"}})).await.ok();
    assert_eq!(client.get(path).await.ok()["data"], published["data"]);
    client.delete("/api/v1/namespaces/new").await.ok();
    client.get("/api/v1/namespaces/new").await.refused(404, "NotFound");
    server.shutdown().await;
}

const PODS: &str = "/api/v1/namespaces/default/pods";

fn pod(name: &str, spec: Value) -> Value {
    let mut pod = json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    pod["spec"].as_object_mut().unwrap().extend(spec.as_object().cloned().unwrap());
    pod
}

#[tokio::test]
async fn pods_get_the_token_of_their_account() {
    let client = client();
    let made = client.post(PODS, pod("plain", json!({}))).await.ok();
    assert_eq!(
        (&made["spec"]["serviceAccountName"], &made["spec"]["serviceAccount"]),
        (&json!("default"), &json!("default"))
    );
    let volume = &made["spec"]["volumes"][0];
    let name = volume["name"].as_str().unwrap();
    assert!(name.starts_with("kube-api-access-") && name.len() == 21, "{name}");
    // As recorded from 1.37.
    let sources = json!([
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
    ]);
    assert_eq!(volume["projected"], json!({"sources": sources, "defaultMode": 420}));
    let mount =
        json!({"name": name, "readOnly": true, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"});
    assert_eq!(made["spec"]["containers"][0]["volumeMounts"], json!([mount]));

    let account = json!({"metadata": {"name": "shy"}, "automountServiceAccountToken": false, "imagePullSecrets": [{"name": "reg"}]});
    client.post(ACCOUNTS, account).await.ok();
    for (name, spec, mounted, pull) in [
        ("a", json!({"serviceAccountName": "shy"}), false, "reg"),
        ("b", json!({"serviceAccount": "shy", "imagePullSecrets": [{"name": "own"}]}), false, "own"),
        ("c", json!({"serviceAccountName": "shy", "automountServiceAccountToken": true}), true, "reg"),
    ] {
        let spec = client.post(PODS, pod(name, spec)).await.ok()["spec"].take();
        assert_eq!(spec["serviceAccountName"], "shy");
        assert_eq!(
            (spec["volumes"].is_array(), &spec["imagePullSecrets"]),
            (mounted, &json!([{"name": pull}]))
        );
    }
    let off = client.post(PODS, pod("off", json!({"automountServiceAccountToken": false}))).await.ok();
    assert_eq!(
        (&off["spec"]["serviceAccountName"], &off["spec"]["volumes"]),
        (&json!("default"), &Value::Null)
    );
    let why =
        client.post(PODS, pod("p", json!({"serviceAccountName": "nope"}))).await.refused(403, "Forbidden");
    assert_eq!(
        why,
        "pods \"p\" is forbidden: error looking up service account default/nope: serviceaccount \"nope\" not found"
    );
}

#[tokio::test]
async fn pods_get_no_token_where_nobody_creates_accounts() {
    let bare = TestClient { api: ApiServer::new() };
    let switched_off = ApiServer::builder()
        .with(BuiltInController::ServiceAccounts)
        .disable_admission_plugin(AdmissionPlugin::ServiceAccount);
    for client in [bare, TestClient { api: switched_off.service().unwrap() }] {
        let made = client.post(PODS, pod("p", json!({"serviceAccountName": "nope"}))).await.ok();
        assert_eq!(made["spec"]["volumes"], Value::Null);
        assert_eq!(
            client.post(PODS, pod("q", json!({}))).await.ok()["spec"]["serviceAccountName"],
            Value::Null
        );
    }
}

#[tokio::test]
async fn a_token_authenticates_its_account() {
    let client = client();
    let given = token(&client, json!({})).await;
    assert_eq!(
        (&given["spec"]["expirationSeconds"], &given["spec"]["audiences"]),
        (&json!(3600), &json!(["https://kubernetes.default.svc"]))
    );
    let text = given["status"]["token"].as_str().unwrap();
    let status = review(&client, text, Value::Null).await;
    assert_eq!(
        (&status["authenticated"], &status["user"]["username"]),
        (&json!(true), &json!("system:serviceaccount:default:default"))
    );
    let groups = json!(["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]);
    assert_eq!(status["user"]["groups"], groups);
    let status = review(&client, text, json!(["other"])).await;
    assert!(
        status["authenticated"].is_null() && status["error"].as_str().unwrap().contains("[\"other\"]"),
        "{status}"
    );
    let status = review(&client, &format!("{text}x"), Value::Null).await;
    assert_eq!(status["error"], "invalid bearer token");
}

#[tokio::test]
async fn a_token_expires_and_ends_with_its_bound_object() {
    let client = client();
    let short = token(&client, json!({"expirationSeconds": 600})).await["status"]["token"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(review(&client, &short, Value::Null).await["authenticated"], true);
    client.api.advance(Duration::from_secs(601));
    assert_eq!(review(&client, &short, Value::Null).await["error"], "invalid bearer token");

    let pods = "/api/v1/namespaces/default/pods";
    client
        .post(pods, json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}))
        .await
        .ok();
    let bound = json!({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p"}});
    let bound = token(&client, bound).await["status"]["token"].as_str().unwrap().to_owned();
    let status = review(&client, &bound, Value::Null).await;
    assert_eq!(status["user"]["extra"]["authentication.kubernetes.io/pod-name"], json!(["p"]));
    client.delete(&format!("{pods}/p")).await.ok();
    assert_eq!(review(&client, &bound, Value::Null).await["error"], "invalid bearer token");
}

#[tokio::test]
async fn invalid_token_requests_are_refused() {
    let client = client();
    let refused =
        client.post(&format!("{ACCOUNTS}/default/token"), json!({"spec": {"expirationSeconds": 5}})).await;
    let why = refused.refused(422, "Invalid");
    assert!(
        why.ends_with(
            "spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes"
        ),
        "{why}"
    );
    let missing =
        client.post(&format!("{ACCOUNTS}/nobody/token"), json!({"spec": {}})).await.refused(404, "NotFound");
    assert_eq!(missing, "serviceaccounts \"nobody\" not found");
    let bound = json!({"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "none"}}});
    let why = client.post(&format!("{ACCOUNTS}/default/token"), bound).await.refused(404, "NotFound");
    assert_eq!(why, "pods \"none\" not found");
}

#[tokio::test]
async fn service_accounts_have_the_permissions_of_their_roles() {
    let builder = ApiServer::builder().with(BuiltInController::ServiceAccounts).with_rbac();
    let server = builder.start().await.unwrap();
    let client = TestClient { api: server.api() };
    let text = token(&client, json!({})).await["status"]["token"].as_str().unwrap().to_owned();
    let bearer = format!("Bearer {text}");
    let headers = [("authorization", bearer.as_str())];
    let get = || client.send("GET", "/api/v1/namespaces/default/pods", &headers, "");
    let why = get().await.refused(403, "Forbidden");
    assert!(why.contains("system:serviceaccount:default:default"), "{why}");
    let role = json!({"metadata": {"name": "view"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "default"}]});
    client.post("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", role).await.ok();
    get().await.ok();
    server.shutdown().await;
}
