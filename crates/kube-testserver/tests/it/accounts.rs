//! Service accounts and their tokens.

use std::time::Duration;

use kube_testserver::{ApiServer, BuiltInController, TestServer};
use serde_json::{Value, json};

use crate::rig::Rig;

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";

fn rig() -> Rig {
    Rig { api: ApiServer::builder().with(BuiltInController::ServiceAccounts).service().unwrap() }
}

async fn token(rig: &Rig, spec: Value) -> Value {
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec});
    rig.post(&format!("{ACCOUNTS}/default/token"), request).await.ok()
}

async fn review(rig: &Rig, token: &str, audiences: Value) -> Value {
    let spec = json!({"token": token, "audiences": audiences});
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec});
    rig.post(REVIEWS, review).await.ok()["status"].take()
}

#[tokio::test]
async fn every_namespace_has_an_account_and_the_certificate_of_the_server() {
    let server = TestServer::builder().with(BuiltInController::ServiceAccounts).tls().start().await.unwrap();
    let rig = Rig { api: server.api() };
    rig.post("/api/v1/namespaces", json!({"metadata": {"name": "new"}})).await.ok();
    for namespace in ["default", "kube-system", "new"] {
        let path = format!("/api/v1/namespaces/{namespace}");
        rig.get(&format!("{path}/serviceaccounts/default")).await.ok();
        let map = rig.get(&format!("{path}/configmaps/kube-root-ca.crt")).await.ok();
        assert!(map["data"]["ca.crt"].as_str().unwrap().starts_with("-----BEGIN CERTIFICATE-----"), "{map}");
    }
    rig.delete(&format!("{ACCOUNTS}/default")).await.ok();
    rig.get(&format!("{ACCOUNTS}/default")).await.ok();
    rig.delete("/api/v1/namespaces/new").await.ok();
    rig.get("/api/v1/namespaces/new").await.refused(404, "NotFound");
    server.shutdown().await;
}

#[tokio::test]
async fn a_token_is_that_of_its_account() {
    let rig = rig();
    let given = token(&rig, json!({})).await;
    assert_eq!(
        (&given["spec"]["expirationSeconds"], &given["spec"]["audiences"]),
        (&json!(3600), &json!(["https://kubernetes.default.svc"]))
    );
    let text = given["status"]["token"].as_str().unwrap();
    let status = review(&rig, text, Value::Null).await;
    assert_eq!(
        (&status["authenticated"], &status["user"]["username"]),
        (&json!(true), &json!("system:serviceaccount:default:default"))
    );
    let groups = json!(["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]);
    assert_eq!(status["user"]["groups"], groups);
    let status = review(&rig, text, json!(["other"])).await;
    assert!(
        status["authenticated"].is_null() && status["error"].as_str().unwrap().contains("[\"other\"]"),
        "{status}"
    );
    let status = review(&rig, &format!("{text}x"), Value::Null).await;
    assert_eq!(status["error"], "invalid bearer token");
}

#[tokio::test]
async fn a_token_ends_with_its_time_and_with_what_it_is_bound_to() {
    let rig = rig();
    let short =
        token(&rig, json!({"expirationSeconds": 600})).await["status"]["token"].as_str().unwrap().to_owned();
    assert_eq!(review(&rig, &short, Value::Null).await["authenticated"], true);
    rig.api.advance(Duration::from_secs(601));
    assert_eq!(review(&rig, &short, Value::Null).await["error"], "invalid bearer token");

    let pods = "/api/v1/namespaces/default/pods";
    rig.post(pods, json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}))
        .await
        .ok();
    let bound = json!({"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p"}});
    let bound = token(&rig, bound).await["status"]["token"].as_str().unwrap().to_owned();
    let status = review(&rig, &bound, Value::Null).await;
    assert_eq!(status["user"]["extra"]["authentication.kubernetes.io/pod-name"], json!(["p"]));
    rig.delete(&format!("{pods}/p")).await.ok();
    assert_eq!(review(&rig, &bound, Value::Null).await["error"], "invalid bearer token");
}

#[tokio::test]
async fn requests_that_cannot_be_met_are_refused() {
    let rig = rig();
    let refused =
        rig.post(&format!("{ACCOUNTS}/default/token"), json!({"spec": {"expirationSeconds": 5}})).await;
    let why = refused.refused(422, "Invalid");
    assert!(
        why.ends_with(
            "spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes"
        ),
        "{why}"
    );
    let nobody =
        rig.post(&format!("{ACCOUNTS}/nobody/token"), json!({"spec": {}})).await.refused(404, "NotFound");
    assert_eq!(nobody, "serviceaccounts \"nobody\" not found");
    let bound = json!({"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "none"}}});
    let why = rig.post(&format!("{ACCOUNTS}/default/token"), bound).await.refused(404, "NotFound");
    assert_eq!(why, "pods \"none\" not found");
}

#[tokio::test]
async fn accounts_have_what_their_roles_allow() {
    let builder = ApiServer::builder().with(BuiltInController::ServiceAccounts).with_rbac();
    let server = builder.start().await.unwrap();
    let rig = Rig { api: server.api() };
    let text = token(&rig, json!({})).await["status"]["token"].as_str().unwrap().to_owned();
    let bearer = format!("Bearer {text}");
    let headers = [("authorization", bearer.as_str())];
    let get = || rig.send("GET", "/api/v1/namespaces/default/pods", &headers, "");
    let why = get().await.refused(403, "Forbidden");
    assert!(why.contains("system:serviceaccount:default:default"), "{why}");
    let role = json!({"metadata": {"name": "view"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "default"}]});
    rig.post("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", role).await.ok();
    get().await.ok();
    server.shutdown().await;
}
