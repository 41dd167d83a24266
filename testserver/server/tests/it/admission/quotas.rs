//! ResourceQuotas. The expected messages are those of a genuine server.

use kube_testserver::{AdmissionPlugin, ApiServer};
use serde_json::{Value, json};

use crate::client::{MERGE, TestClient};

const HOME: &str = "/api/v1/namespaces/default";

fn pod(name: &str, spec: Value) -> Value {
    let mut pod = json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    for (field, value) in spec.as_object().unwrap() {
        match field.as_str() {
            "resources" => pod["spec"]["containers"][0]["resources"] = value.clone(),
            _ => pod["spec"][field] = value.clone(),
        }
    }
    pod
}

async fn quota(client: &TestClient, name: &str, spec: Value) -> Value {
    let made = client
        .post(&format!("{HOME}/resourcequotas"), json!({"metadata": {"name": name}, "spec": spec}))
        .await
        .ok();
    assert_eq!(made["status"], json!({}), "as on creation");
    status(client, name).await
}

async fn status(client: &TestClient, name: &str) -> Value {
    client.get(&format!("{HOME}/resourcequotas/{name}")).await.ok()["status"].clone()
}

async fn used(client: &TestClient, name: &str) -> Value {
    status(client, name).await["used"].clone()
}

async fn create(client: &TestClient, plural: &str, object: Value) -> Result<Value, String> {
    let reply = client.post(&format!("{HOME}/{plural}"), object).await;
    if reply.code.is_success() { Ok(reply.ok()) } else { Err(reply.refused(403, "Forbidden")) }
}

#[tokio::test]
async fn pods_are_counted_and_more_are_refused() {
    let client = TestClient::new();
    let status = quota(&client, "q", json!({"hard": {"pods": "1"}})).await;
    assert_eq!(status, json!({"hard": {"pods": "1"}, "used": {"pods": "0"}}));
    create(&client, "pods", pod("a", json!({}))).await.unwrap();
    assert_eq!(used(&client, "q").await, json!({"pods": "1"}));
    let why = "pods \"b\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1";
    assert_eq!(create(&client, "pods", pod("b", json!({}))).await.unwrap_err(), why);
    assert_eq!(create(&client, "pods?dryRun=All", pod("b", json!({}))).await.unwrap_err(), why);

    client
        .send(
            "PATCH",
            &format!("{HOME}/pods/a/status"),
            &[("content-type", MERGE)],
            r#"{"status": {"phase": "Succeeded"}}"#,
        )
        .await
        .ok();
    assert_eq!(used(&client, "q").await, json!({"pods": "0"}), "a finished pod uses nothing");
    create(&client, "pods", pod("b", json!({}))).await.unwrap();
    client.delete(&format!("{HOME}/pods/b")).await.ok();
    assert_eq!(used(&client, "q").await, json!({"pods": "0"}));
    create(&client, "pods?dryRun=All", pod("c", json!({}))).await.unwrap();
    assert_eq!(used(&client, "q").await, json!({"pods": "0"}), "a dry run uses nothing");
}

#[tokio::test]
async fn requests_and_limits_are_added() {
    let client = TestClient::new();
    quota(&client, "q", json!({"hard": {"requests.cpu": "1", "limits.memory": "1Gi", "cpu": "2"}})).await;
    assert_eq!(
        create(&client, "pods", pod("a", json!({}))).await.unwrap_err(),
        "pods \"a\" is forbidden: failed quota: q: must specify cpu for: c; limits.memory for: c; requests.cpu for: c"
    );
    let of = |cpu: &str, memory: &str| json!({"resources": {"requests": {"cpu": cpu}, "limits": {"memory": memory}}});
    create(&client, "pods", pod("a", of("600m", "100Mi"))).await.unwrap();
    assert_eq!(
        used(&client, "q").await,
        json!({"cpu": "600m", "limits.memory": "100Mi", "requests.cpu": "600m"})
    );
    assert_eq!(
        create(&client, "pods", pod("b", of("600m", "1000Mi"))).await.unwrap_err(),
        "pods \"b\" is forbidden: exceeded quota: q, requested: limits.memory=1000Mi,requests.cpu=600m, used: \
         limits.memory=100Mi,requests.cpu=600m, limited: limits.memory=1Gi,requests.cpu=1"
    );
    let mut larger_first = pod("b", of("1m", "1Mi"));
    larger_first["spec"]["initContainers"] =
        json!([{"name": "z", "image": "i", "resources": of("100m", "10Mi")["resources"]}]);
    create(&client, "pods", larger_first).await.unwrap();
    assert_eq!(
        used(&client, "q").await,
        json!({"cpu": "700m", "limits.memory": "110Mi", "requests.cpu": "700m"})
    );
}

#[tokio::test]
async fn objects_are_counted() {
    let client = TestClient::new();
    create(&client, "configmaps", json!({"metadata": {"name": "before"}})).await.unwrap();
    let hard = json!({"configmaps": "2", "count/configmaps": "2", "count/jobs.batch": "0", "services": "2", "services.nodeports": "1",
        "services.loadbalancers": "0", "a.b/c": "1", "resourcequotas": "2"});
    let status = quota(&client, "q", json!({"hard": hard})).await;
    let expected = json!({"configmaps": "1", "count/configmaps": "1", "count/jobs.batch": "0", "services": "1",
        "services.nodeports": "0", "services.loadbalancers": "0", "resourcequotas": "1"});
    assert_eq!(status, json!({"hard": hard, "used": expected}));
    create(&client, "configmaps", json!({"metadata": {"name": "a"}})).await.unwrap();
    assert_eq!(
        create(&client, "configmaps", json!({"metadata": {"name": "a"}})).await.unwrap_err(),
        "configmaps \"a\" is forbidden: exceeded quota: q, requested: configmaps=1,count/configmaps=1, used: \
         configmaps=2,count/configmaps=2, limited: configmaps=2,count/configmaps=2"
    );
    let service = json!({"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": [{"port": 1}]}});
    create(&client, "services", service).await.unwrap();
    let change = async |spec: Value| {
        let body = json!({"spec": spec}).to_string();
        client.send("PATCH", &format!("{HOME}/services/s"), &[("content-type", MERGE)], body).await
    };
    let two = json!({"ports": [{"port": 1, "name": "a"}, {"port": 2, "name": "b"}]});
    assert_eq!(
        change(two).await.refused(403, "Forbidden"),
        "services \"s\" is forbidden: exceeded quota: q, requested: services.nodeports=1, used: services.nodeports=1, \
         limited: services.nodeports=1"
    );
    let why = change(json!({"type": "LoadBalancer"})).await.refused(403, "Forbidden");
    assert!(why.contains("requested: services.loadbalancers=1, used: services.loadbalancers=0"), "{why}");
    change(json!({"type": "ClusterIP", "ports": [{"port": 1, "nodePort": null}]})).await.ok();
    assert_eq!(used(&client, "q").await["services.nodeports"], "0");
    let job = json!({"metadata": {"name": "j"}, "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}});
    let why = client.post("/apis/batch/v1/namespaces/default/jobs", job).await.refused(403, "Forbidden");
    assert_eq!(
        why,
        "jobs.batch \"j\" is forbidden: exceeded quota: q, requested: count/jobs.batch=1, used: count/jobs.batch=0, limited: \
         count/jobs.batch=0"
    );
}

#[tokio::test]
async fn storage_is_counted_by_class() {
    let client = TestClient::new();
    let class = |name: &str| format!("gold.storageclass.storage.k8s.io/{name}");
    let hard = json!({"requests.storage": "5Gi", class("requests.storage"): "2Gi", class("persistentvolumeclaims"): "1"});
    quota(&client, "q", json!({"hard": hard})).await;
    let claim = |name: &str, size: &str, class: &str| {
        json!({"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "resources": {"requests": {"storage": size}}}})
    };
    create(&client, "persistentvolumeclaims", claim("a", "1Gi", "gold")).await.unwrap();
    let why = create(&client, "persistentvolumeclaims", claim("b", "1Gi", "gold")).await.unwrap_err();
    assert!(
        why.contains(&format!(
            "requested: {0}=1, used: {0}=1, limited: {0}=1",
            class("persistentvolumeclaims")
        )),
        "{why}"
    );
    let why = create(&client, "persistentvolumeclaims", claim("b", "9Gi", "tin")).await.unwrap_err();
    assert!(
        why.ends_with(
            "requested: requests.storage=9Gi, used: requests.storage=1Gi, limited: requests.storage=5Gi"
        ),
        "{why}"
    );
    create(&client, "persistentvolumeclaims", claim("b", "4Gi", "tin")).await.unwrap();
    let used = used(&client, "q").await;
    assert_eq!((&used["requests.storage"], &used[class("requests.storage")]), (&json!("5Gi"), &json!("1Gi")));
}

#[tokio::test]
async fn scopes_select_pods() {
    let client = TestClient::new();
    let limited = json!({"resources": {"requests": {"cpu": "1m"}}});
    for (name, spec) in [
        ("best", json!({"hard": {"pods": "1"}, "scopes": ["BestEffort"]})),
        ("rest", json!({"hard": {"pods": "1", "cpu": "1"}, "scopes": ["NotBestEffort"]})),
        ("ends", json!({"hard": {"pods": "0"}, "scopes": ["Terminating"]})),
        ("runs", json!({"hard": {"pods": "9"}, "scopes": ["NotTerminating"]})),
        (
            "high",
            json!({"hard": {"pods": "0"}, "scopeSelector": {"matchExpressions":
            [{"scopeName": "PriorityClass", "operator": "In", "values": ["system-cluster-critical"]}]}}),
        ),
    ] {
        quota(&client, name, spec).await;
    }
    create(&client, "pods", pod("a", json!({}))).await.unwrap();
    create(&client, "pods", pod("b", limited.clone())).await.unwrap();
    for (spec, quota) in [
        (json!({}), "best"),
        (limited, "rest"),
        (json!({"activeDeadlineSeconds": 5000}), "best"),
        (
            json!({"priorityClassName": "system-cluster-critical", "resources": {"requests": {"cpu": "1m"}}}),
            "high",
        ),
    ] {
        let why = create(&client, "pods", pod("c", spec)).await.unwrap_err();
        assert!(why.contains(&format!("exceeded quota: {quota},")), "{why}");
    }
    let why = create(&client, "pods", pod("c", json!({"resources": {"requests": {"memory": "1"}}})))
        .await
        .unwrap_err();
    assert_eq!(why, "pods \"c\" is forbidden: failed quota: rest: must specify cpu for: c");
    assert_eq!(used(&client, "runs").await, json!({"pods": "2"}));
    assert_eq!(used(&client, "ends").await, json!({"pods": "0"}));
}

#[tokio::test]
async fn a_changed_quota_counts_again_and_its_status_cannot_be_forged() {
    let client = TestClient::new();
    create(&client, "pods", pod("a", json!({}))).await.unwrap();
    quota(&client, "q", json!({"hard": {"pods": "3"}})).await;
    let at = format!("{HOME}/resourcequotas/q");
    let patch = async |path: &str, body: &str| {
        client.send("PATCH", path, &[("content-type", MERGE)], body.to_owned()).await
    };
    patch(&at, r#"{"spec": {"hard": {"pods": null, "configmaps": "4"}}}"#).await.ok();
    assert_eq!(status(&client, "q").await, json!({"hard": {"configmaps": "4"}, "used": {"configmaps": "0"}}));
    patch(&format!("{at}/status"), r#"{"status": {"used": {"configmaps": "9"}}}"#).await.ok();
    assert_eq!(used(&client, "q").await, json!({"configmaps": "0"}));
    let why = patch(&at, r#"{"spec": {"scopes": ["BestEffort"]}}"#).await.refused(422, "Invalid");
    assert!(why.contains("field is immutable"), "{why}");
}

#[tokio::test]
async fn sums_survive_a_restore() {
    let client = TestClient::new();
    quota(&client, "q", json!({"hard": {"pods": "2"}})).await;
    create(&client, "pods", pod("a", json!({}))).await.unwrap();
    let copy = TestClient::new();
    copy.api.restore(client.api.snapshot()).unwrap();
    assert_eq!(copy.api.snapshot(), client.api.snapshot());
    create(&copy, "pods", pod("b", json!({}))).await.unwrap();
    assert_eq!(used(&copy, "q").await, json!({"pods": "2"}));
    create(&copy, "pods", pod("c", json!({}))).await.unwrap_err();
}

#[cfg(feature = "workloads")]
#[tokio::test]
async fn a_replica_set_creates_no_more_pods_than_the_quota_permits() {
    let client = TestClient {
        api: ApiServer::builder().with(kube_testserver::BuiltInController::Workloads).service().unwrap(),
    };
    quota(&client, "q", json!({"hard": {"pods": "2"}})).await;
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": pod("", json!({}))["spec"]});
    let spec = json!({"replicas": 3, "selector": {"matchLabels": {"a": "b"}}, "template": template});
    let sets = "/apis/apps/v1/namespaces/default/replicasets";
    client.post(sets, json!({"metadata": {"name": "web"}, "spec": spec})).await.ok();
    let set = client.get(&format!("{sets}/web")).await.ok();
    assert_eq!(set["status"]["replicas"], 2);
    let why = set["status"]["conditions"][0]["message"].as_str().unwrap();
    assert!(why.ends_with("exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2"), "{why}");
    client
        .send(
            "PATCH",
            &format!("{HOME}/resourcequotas/q"),
            &[("content-type", MERGE)],
            r#"{"spec": {"hard": {"pods": "5"}}}"#,
        )
        .await
        .ok();
    client.api.advance(std::time::Duration::from_secs(2));
    assert_eq!(used(&client, "q").await, json!({"pods": "3"}));
}

#[tokio::test]
async fn quotas_that_cannot_be_counted_are_refused() {
    for (spec, field, message) in [
        (
            json!({"hard": {"bogus": "1"}}),
            "spec.hard[bogus]",
            "Invalid value: \"bogus\": must be a standard resource type or fully qualified",
        ),
        (
            json!({"hard": {"pods": "-1"}}),
            "spec.hard[pods]",
            "Invalid value: \"-1\": must be greater than or equal to 0",
        ),
        (
            json!({"hard": {"pods": "1500m"}}),
            "spec.hard[pods]",
            "Invalid value: \"1500m\": must be an integer",
        ),
        (
            json!({"hard": {"pods": "1"}, "scopes": ["Foo"]}),
            "spec.scopes",
            "Invalid value: [\"Foo\"]: unsupported scope",
        ),
        (
            json!({"hard": {"pods": "1"}, "scopes": ["BestEffort", "NotBestEffort"]}),
            "spec.scopes",
            "Invalid value: [\"BestEffort\",\"NotBestEffort\"]: conflicting scopes",
        ),
        (
            json!({"hard": {"cpu": "1"}, "scopes": ["BestEffort"]}),
            "spec.scopes",
            "Invalid value: [\"BestEffort\"]: unsupported scope applied to resource",
        ),
        (
            json!({"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In"}]}}),
            "spec.scopeSelector.matchExpressions.values",
            "Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
        ),
        (
            json!({"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Foo"}]}}),
            "spec.scopeSelector.matchExpressions.operator",
            "Invalid value: \"Foo\": not a valid selector operator",
        ),
    ] {
        let refused = TestClient::new()
            .post(&format!("{HOME}/resourcequotas"), json!({"metadata": {"name": "q"}, "spec": spec}))
            .await;
        let cause = &refused.body["details"]["causes"][0];
        assert_eq!((&cause["field"], &cause["message"]), (&json!(field), &json!(message)));
        refused.refused(422, "Invalid");
    }
}

#[tokio::test]
async fn without_the_plugin_quotas_are_counted_and_not_enforced() {
    let api =
        ApiServer::builder().disable_admission_plugin(AdmissionPlugin::ResourceQuota).service().unwrap();
    let client = TestClient { api };
    quota(&client, "q", json!({"hard": {"pods": "0"}})).await;
    create(&client, "pods", pod("a", json!({}))).await.unwrap();
    assert_eq!(used(&client, "q").await, json!({"pods": "1"}));
}
