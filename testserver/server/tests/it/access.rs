//! Users, RBAC, impersonation and certificates.

use kube_testserver::{ApiServer, User};
use serde_json::{Value, json};

use crate::client::*;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1";

/// A server where `ann` has a token without permissions, and an administrator's client.
fn guarded() -> TestClient {
    let ann = User::new("ann").group("team").uid("7").extra("dept", "x").token("ann-token");
    TestClient { api: ApiServer::builder().with_user(ann).service().unwrap() }
}

async fn with(client: &TestClient, headers: &[(&str, &str)], path: &str) -> (u16, Value) {
    let reply = client.send("GET", path, headers, "").await;
    (reply.code.as_u16(), reply.body)
}

const ANN: (&str, &str) = ("authorization", "Bearer ann-token");

/// A Role and its binding to a user.
async fn grant(client: &TestClient, user: &str, rules: Value) {
    let base = format!("{RBAC}/namespaces/default");
    client.post(&format!("{base}/roles"), json!({"metadata": {"name": user}, "rules": rules})).await.ok();
    let binding = json!({"metadata": {"name": user},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": user},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]});
    client.post(&format!("{base}/rolebindings"), binding).await.ok();
}

#[tokio::test(start_paused = true)]
async fn credentials_identify_users() {
    let client = guarded();
    let (code, body) = with(&client, &[("authorization", "Bearer unknown")], "/healthz").await;
    assert_eq!(
        (code, &body["message"], &body["reason"]),
        (401, &json!("Unauthorized"), &json!("Unauthorized"))
    );
    let (code, body) = with(&client, &[ANN], CONFIG_MAPS).await;
    let refused = "configmaps is forbidden: User \"ann\" cannot list resource \"configmaps\" in API group \"\" in the \
                   namespace \"default\"";
    assert_eq!((code, body["message"].as_str().unwrap()), (403, refused));
    assert_eq!(body["details"], json!({"kind": "configmaps"}));
    for (path, message) in [
        (
            "/api/v1/nodes/n",
            "nodes \"n\" is forbidden: User \"ann\" cannot get resource \"nodes\" in API group \"\" at the cluster scope",
        ),
        (
            "/api/v1/namespaces/x",
            "namespaces \"x\" is forbidden: User \"ann\" cannot get resource \"namespaces\" in API group \"\" in the namespace \"x\"",
        ),
        (
            "/apis/apps/v1/namespaces/a/deployments/d/scale",
            "deployments.apps \"d\" is forbidden: User \"ann\" cannot get resource \"deployments/scale\" in API group \"apps\" in the namespace \"a\"",
        ),
        (
            "/apis/unknown.io/v1/things",
            "things.unknown.io is forbidden: User \"ann\" cannot list resource \"things\" in API group \"unknown.io\" at the cluster scope",
        ),
        ("/logs/x", "forbidden: User \"ann\" cannot get path \"/logs/x\""),
    ] {
        let (code, body) = with(&client, &[ANN], path).await;
        assert_eq!((code, body["message"].as_str().unwrap()), (403, message));
    }
    for path in ["/api", "/apis/apps/v1", "/version", "/healthz", "/openapi/v3"] {
        assert_eq!(with(&client, &[ANN], path).await.0, 200, "{path}");
    }
    let anonymous = TestClient { api: client.api.as_user(User::new("system:anonymous")) };
    assert_eq!(with(&anonymous, &[], "/version").await.0, 200);
    assert_eq!(with(&anonymous, &[], "/api").await.0, 403);
    assert_eq!(with(&client, &[], CONFIG_MAPS).await.0, 200, "the handle itself is an administrator");
}

#[tokio::test(start_paused = true)]
async fn permissions_follow_rbac_objects_at_once() {
    let client = guarded();
    let rules = json!([
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]},
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"], "resourceNames": ["s"]},
    ]);
    grant(&client, "ann", rules).await;
    let secrets = "/api/v1/namespaces/default/secrets";
    for (path, code) in [
        (CONFIG_MAPS.to_string(), 200),
        (format!("{CONFIG_MAPS}/a"), 403),
        ("/api/v1/configmaps".into(), 403),
        (format!("{secrets}/s"), 404),
        (format!("{secrets}/t"), 403),
        (secrets.into(), 403),
        (format!("{secrets}?fieldSelector=metadata.name=s"), 200),
    ] {
        assert_eq!(with(&client, &[ANN], &path).await.0, code, "{path}");
    }
    client.delete(&format!("{RBAC}/namespaces/default/rolebindings/ann")).await.ok();
    assert_eq!(with(&client, &[ANN], CONFIG_MAPS).await.0, 403);
}

#[tokio::test(start_paused = true)]
async fn an_administrator_may_impersonate_anyone() {
    let client = guarded();
    let me = async |headers: &[(&str, &str)]| {
        let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
        client.send("POST", path, headers, "{}").await.body["status"]["userInfo"].clone()
    };
    assert_eq!(
        me(&[ANN]).await,
        json!({"username": "ann", "uid": "7", "groups": ["team", "system:authenticated"], "extra": {"dept": ["x"]}})
    );
    let acting = [
        ("impersonate-user", "bob"),
        ("impersonate-group", "devs"),
        ("impersonate-uid", "9"),
        ("impersonate-extra-scopes", "dev"),
    ];
    assert_eq!(
        me(&acting).await,
        json!({"username": "bob", "uid": "9", "groups": ["devs", "system:authenticated"], "extra": {"scopes": ["dev"]}})
    );
    let (code, body) = with(&client, &[ANN, ("impersonate-user", "bob")], CONFIG_MAPS).await;
    let refused = "users \"bob\" is forbidden: User \"ann\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope";
    assert_eq!((code, body["message"].as_str().unwrap()), (403, refused));
    let users = json!([{"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"]}]);
    grant(&client, "ann", users).await;
    let account = ("impersonate-user", "system:serviceaccount:default:robot");
    let (code, body) = with(&client, &[ANN, account], CONFIG_MAPS).await;
    assert!(
        code == 403
            && body["message"]
                .as_str()
                .unwrap()
                .contains("User \"system:serviceaccount:default:robot\" cannot list"),
        "{body}"
    );
    for client in [&client, &TestClient::new()] {
        let (code, body) = with(client, &[("impersonate-group", "devs")], CONFIG_MAPS).await;
        assert_eq!((code, &body["reason"]), (400, &json!("BadRequest")));
        assert_eq!(
            body["message"],
            r#"requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"devs"}, Extra:map[string][]string(nil)} without impersonating a user name"#
        );
    }
}

#[tokio::test(start_paused = true)]
async fn access_reviews_agree_with_requests() {
    let client = guarded();
    grant(&client, "ann", json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}])).await;
    let ask = async |kind: &str, spec: Value| {
        client.post(&format!("{REVIEWS}/{kind}"), json!({"spec": spec})).await
    };
    let pods = |verb: &str| json!({"verb": verb, "resource": "pods", "namespace": "default"});
    let status = |body: Value| body["status"].clone();
    let yes = ask("subjectaccessreviews", json!({"user": "ann", "resourceAttributes": pods("get")})).await;
    let reason = "RBAC: allowed by RoleBinding \"ann/default\" of Role \"ann\" to User \"ann\"";
    assert_eq!(status(yes.ok()), json!({"allowed": true, "reason": reason}));
    let no = ask("subjectaccessreviews", json!({"user": "ann", "resourceAttributes": pods("list")})).await;
    assert_eq!(status(no.ok()), json!({"allowed": false}));
    let path = json!({"groups": ["system:authenticated"], "nonResourceAttributes": {"verb": "get", "path": "/healthz"}});
    assert_eq!(status(ask("subjectaccessreviews", path).await.ok())["allowed"], true);
    let message =
        ask("subjectaccessreviews", json!({"resourceAttributes": pods("get")})).await.refused(422, "Invalid");
    assert!(message.contains("at least one of user or group must be specified"), "{message}");
    let local = format!("{REVIEWS}/namespaces/default/localsubjectaccessreviews");
    let elsewhere = json!({"metadata": {"namespace": "default"}, "spec": {"user": "ann", "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "other"}}});
    assert!(
        client
            .post(&local, elsewhere)
            .await
            .refused(422, "Invalid")
            .contains("must match metadata.namespace")
    );
    let here = json!({"metadata": {"namespace": "default"}, "spec": {"user": "ann", "resourceAttributes": pods("get")}});
    assert_eq!(status(client.post(&local, here).await.ok())["allowed"], true);
    let mine = async |kind: &str, spec: Value| {
        let path = format!("{REVIEWS}/{kind}");
        client.send("POST", &path, &[ANN], json!({"spec": spec}).to_string()).await.ok()["status"].clone()
    };
    assert_eq!(
        mine("selfsubjectaccessreviews", json!({"resourceAttributes": pods("list")})).await,
        json!({"allowed": false})
    );
    let rules = mine("selfsubjectrulesreviews", json!({"namespace": "default"})).await;
    assert!(
        rules["resourceRules"]
            .as_array()
            .unwrap()
            .contains(&json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}))
    );
    assert!(rules["nonResourceRules"][0]["nonResourceURLs"].as_array().unwrap().contains(&json!("/healthz")));
    let token = async |token: &str| {
        client.post("/apis/authentication.k8s.io/v1/tokenreviews", json!({"spec": {"token": token}})).await
    };
    assert_eq!(token("ann-token").await.ok()["status"]["user"]["username"], "ann");
    assert_eq!(token("x").await.ok()["status"], json!({"user": {}, "error": "invalid bearer token"}));
    token("").await.refused(400, "BadRequest");
}

#[tokio::test(start_paused = true)]
async fn escalation_is_refused() {
    let client = guarded();
    let group = "rbac.authorization.k8s.io";
    grant(
        &client,
        "ann",
        json!([{"apiGroups": [group], "resources": ["roles", "rolebindings"], "verbs": ["create", "update", "get", "patch"]},
               {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]),
    )
    .await;
    let base = format!("{RBAC}/namespaces/default");
    let as_ann = async |path: &str, body: Value| {
        client
            .send(
                "POST",
                &format!("{base}/{path}"),
                &[ANN, ("content-type", "application/json")],
                body.to_string(),
            )
            .await
    };
    let role = |name: &str, verbs: &[&str]| json!({"metadata": {"name": name}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": verbs}]});
    as_ann("roles", role("same", &["get"])).await.ok();
    // Before anything else about the rules. Answers of Kubernetes 1.37.
    let mut invalid = role("more", &["delete"]);
    let without_verbs = json!({"apiGroups": [""], "resources": ["pods"], "verbs": []});
    invalid["rules"].as_array_mut().unwrap().push(without_verbs);
    as_ann("roles", invalid).await.refused(403, "Forbidden");
    as_ann("roles", role("a/b", &["delete"])).await.refused(403, "Forbidden");
    as_ann("roles", role("none", &[])).await.refused(422, "Invalid");
    let reference = json!({"apiGroup": group, "kind": "Other", "name": "x"});
    let why = as_ann("rolebindings", json!({"metadata": {"name": "b"}, "roleRef": reference})).await;
    assert_eq!(
        (why.code.as_u16(), &why.body["message"]),
        (500, &json!("unsupported role reference kind: \"Other\""))
    );
    let message = as_ann("roles", role("more", &["get", "delete"])).await.refused(403, "Forbidden");
    assert_eq!(
        message,
        "roles.rbac.authorization.k8s.io \"more\" is forbidden: user \"ann\" (groups=[\"team\" \"system:authenticated\"]) is \
         attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\"]}"
    );
    let binding = |name: &str, kind: &str, role: &str| json!({"metadata": {"name": name}, "roleRef": {"apiGroup": group, "kind": kind, "name": role}, "subjects": []});
    as_ann("rolebindings", binding("ok", "Role", "same")).await.ok();
    as_ann("rolebindings", binding("all", "ClusterRole", "cluster-admin")).await.refused(403, "Forbidden");
    let message =
        as_ann("rolebindings", binding("none", "ClusterRole", "none")).await.refused(404, "NotFound");
    assert_eq!(message, "rolebindings.rbac.authorization.k8s.io \"none\" not found");
    let patch = json!({"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]}).to_string();
    let reply =
        client.send("PATCH", &format!("{base}/roles/same"), &[ANN, ("content-type", MERGE)], patch).await;
    reply.refused(403, "Forbidden");
}

#[tokio::test(start_paused = true)]
async fn cluster_roles_are_aggregated() {
    let client = TestClient::new();
    let roles = format!("{RBAC}/clusterroles");
    let part = |name: &str, verb: &str| {
        json!({"metadata": {"name": name, "labels": {"part-of": "whole"}},
            "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": [verb]}]})
    };
    let whole = json!({"metadata": {"name": "whole"}, "rules": [],
        "aggregationRule": {"clusterRoleSelectors": [{"matchExpressions": [{"key": "part-of", "operator": "In", "values": ["whole"]}]}]}});
    client.post(&roles, whole).await.ok();
    let verbs = async || {
        let rules = client.get(&format!("{roles}/whole")).await.ok()["rules"].clone();
        rules
            .as_array()
            .into_iter()
            .flatten()
            .map(|r| r["verbs"][0].as_str().unwrap().to_string())
            .collect::<Vec<_>>()
    };
    assert!(verbs().await.is_empty());
    client.post(&roles, part("b", "list")).await.ok();
    client.post(&roles, part("a", "get")).await.ok();
    assert_eq!(verbs().await, ["get", "list"]);
    client.delete(&format!("{roles}/b")).await.ok();
    assert_eq!(verbs().await, ["get"]);
}

/// Without RBAC, credentials are ignored.
#[tokio::test(start_paused = true)]
async fn without_rbac_credentials_are_ignored() {
    let client = TestClient::new();
    let reply = client.send("GET", CONFIG_MAPS, &[("authorization", "Bearer unknown")], "").await;
    assert_eq!(reply.code, 200);
}

#[tokio::test(start_paused = true)]
async fn an_apply_patch_that_creates_needs_create_too() {
    let client = guarded();
    let rule = |verbs: Value| json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": verbs, "resourceNames": ["a"]}]);
    let apply = async |value: &str| {
        let headers = [ANN, ("content-type", "application/apply-patch+yaml")];
        let body = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"a"}},"data":{{"a":"{value}"}}}}"#
        );
        let reply = client.send("PATCH", &format!("{CONFIG_MAPS}/a?fieldManager=ann"), &headers, body).await;
        (reply.code.as_u16(), reply.body)
    };
    grant(&client, "ann", rule(json!(["patch"]))).await;
    let (code, body) = apply("1").await;
    assert_eq!((code, body["message"].as_str().unwrap()), (403, "configmaps \"a\" is forbidden: "));
    let role = format!("{RBAC}/namespaces/default/roles/ann");
    let patch = json!({"rules": rule(json!(["patch", "create"]))}).to_string();
    client.send("PATCH", &role, &[("content-type", "application/merge-patch+json")], patch).await;
    assert_eq!(apply("1").await.0, 201, "a rule with the name permits it");
    let patch = json!({"rules": rule(json!(["patch"]))}).to_string();
    client.send("PATCH", &role, &[("content-type", "application/merge-patch+json")], patch).await;
    assert_eq!(apply("2").await.0, 200, "only the creation needs it");
}
