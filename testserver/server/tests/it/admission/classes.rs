//! Priority, runtime and default classes.

use kube_testserver::{AdmissionPlugin, ApiServer};
use serde_json::{Value, json};

use crate::client::TestClient;

const PODS: &str = "/api/v1/namespaces/default/pods";
const CLASSES: &str = "/apis/scheduling.k8s.io/v1/priorityclasses";
const STORAGE: &str = "/apis/storage.k8s.io/v1/storageclasses";
const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";

fn pod(name: &str, spec: &Value) -> Value {
    let mut pod = json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    for (field, value) in spec.as_object().unwrap() {
        pod["spec"][field] = value.clone();
    }
    pod
}

fn priority(pod: &Value) -> (&Value, &Value, &Value) {
    let spec = &pod["spec"];
    (&spec["priorityClassName"], &spec["priority"], &spec["preemptionPolicy"])
}

#[tokio::test]
async fn pods_get_the_priority_of_their_class() {
    let client = TestClient::new();
    client
        .post(CLASSES, json!({"metadata": {"name": "calm"}, "value": 8, "preemptionPolicy": "Never"}))
        .await
        .ok();
    let plain = client.post(PODS, pod("plain", &json!({}))).await.ok();
    assert_eq!(priority(&plain), (&Value::Null, &json!(0), &json!("PreemptLowerPriority")));
    let system =
        client.post(PODS, pod("system", &json!({"priorityClassName": "system-node-critical"}))).await.ok();
    assert_eq!(system["spec"]["priority"], 2_000_001_000);
    let calm =
        client.post(PODS, pod("calm", &json!({"priorityClassName": "calm", "priority": 8}))).await.ok();
    assert_eq!(priority(&calm), (&json!("calm"), &json!(8), &json!("Never")));

    client
        .post(CLASSES, json!({"metadata": {"name": "usual"}, "value": 3, "globalDefault": true}))
        .await
        .ok();
    let usual = client.post(PODS, pod("usual", &json!({}))).await.ok();
    assert_eq!(priority(&usual), (&json!("usual"), &json!(3), &json!("PreemptLowerPriority")));
    let second = json!({"metadata": {"name": "other"}, "value": 3, "globalDefault": true});
    let why = client.post(CLASSES, second).await.refused(403, "Forbidden");
    assert_eq!(
        why,
        "priorityclasses.scheduling.k8s.io \"other\" is forbidden: PriorityClass usual is already marked as default. \
         Only one default can exist"
    );
    client
        .send(
            "PATCH",
            &format!("{CLASSES}/usual"),
            &[("content-type", crate::client::MERGE)],
            r#"{"description":"d"}"#,
        )
        .await
        .ok();
}

#[tokio::test]
async fn a_priority_that_is_not_of_the_class_is_refused() {
    let client = TestClient::new();
    for (spec, why) in [
        (json!({"priorityClassName": "none"}), "no PriorityClass with name none was found"),
        (
            json!({"priority": 5}),
            "the integer value of priority (5) must not be provided in pod spec; priority admission controller computed \
             0 from the given PriorityClass name",
        ),
        (
            json!({"preemptionPolicy": "Never"}),
            "the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission \
             controller computed PreemptLowerPriority from the given PriorityClass name",
        ),
    ] {
        let refused = client.post(PODS, pod("p", &spec)).await.refused(403, "Forbidden");
        assert_eq!(refused, format!("pods \"p\" is forbidden: {why}"));
    }
}

#[tokio::test]
async fn classes_of_the_system_are_reserved() {
    let client = TestClient::new();
    let why = client.delete(&format!("{CLASSES}/system-node-critical")).await.refused(403, "Forbidden");
    assert!(why.ends_with("this is a system priority class and cannot be deleted"), "{why}");
    for (name, value, field) in [("system-x", 9, "metadata.name"), ("large", 1_000_000_001, "value")] {
        let refused = client.post(CLASSES, json!({"metadata": {"name": name}, "value": value})).await;
        assert_eq!(refused.body["details"]["causes"][0]["field"], field);
        refused.refused(422, "Invalid");
    }
}

#[cfg(feature = "workloads")]
#[tokio::test]
async fn a_replica_set_reports_that_its_pods_are_refused_and_tries_again() {
    let api = ApiServer::builder().with(kube_testserver::BuiltInController::Workloads).service().unwrap();
    let client = TestClient { api };
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": pod("", &json!({"priorityClassName": "late"}))["spec"]});
    let spec = json!({"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": template});
    let sets = "/apis/apps/v1/namespaces/default/replicasets";
    client.post(sets, json!({"metadata": {"name": "web"}, "spec": spec})).await.ok();
    let status = client.get(&format!("{sets}/web")).await.ok()["status"].clone();
    let condition = &status["conditions"][0];
    assert_eq!(
        (&condition["type"], &condition["reason"]),
        (&json!("ReplicaFailure"), &json!("FailedCreate"))
    );
    assert!(condition["message"].as_str().unwrap().ends_with("no PriorityClass with name late was found"));
    assert_eq!(status["replicas"], 0);
    let before = client.api.resource_version();
    client.api.advance(std::time::Duration::from_secs(3));
    assert_eq!(client.api.resource_version(), before, "a repeated refusal changes nothing");

    client.post(CLASSES, json!({"metadata": {"name": "late"}, "value": 1})).await.ok();
    client.api.advance(std::time::Duration::from_secs(3));
    let status = client.get(&format!("{sets}/web")).await.ok()["status"].clone();
    assert_eq!((&status["replicas"], &status["conditions"]), (&json!(2), &Value::Null));
}

/// The waits between attempts belong to an object, not to its name.
#[cfg(feature = "workloads")]
#[tokio::test(start_paused = true)]
async fn a_new_replica_set_does_not_wait_for_a_former_one() {
    let api = ApiServer::builder().with(kube_testserver::BuiltInController::Workloads).service().unwrap();
    let client = TestClient { api };
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": pod("", &json!({"priorityClassName": "late"}))["spec"]});
    let spec = json!({"selector": {"matchLabels": {"a": "b"}}, "template": template});
    let sets = "/apis/apps/v1/namespaces/default/replicasets";
    let set = json!({"metadata": {"name": "web"}, "spec": spec});
    client.post(sets, set.clone()).await.ok();
    for power in 0..8 {
        client.api.advance(std::time::Duration::from_secs(1 << power));
        client.get(sets).await.ok();
    }
    client.delete(&format!("{sets}/web")).await.ok();
    client.post(sets, set).await.ok();
    client.post(CLASSES, json!({"metadata": {"name": "late"}, "value": 1})).await.ok();
    client.api.advance(std::time::Duration::from_secs(1));
    assert_eq!(client.get(&format!("{sets}/web")).await.ok()["status"]["replicas"], 1);
}

async fn class_of(client: &TestClient, name: &str, spec: Value) -> Value {
    let mut claim = json!({"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}}}});
    for (field, value) in spec.as_object().unwrap() {
        claim["spec"][field] = value.clone();
    }
    client.post(CLAIMS, claim).await.ok()["spec"]["storageClassName"].clone()
}

#[tokio::test]
async fn claims_without_a_class_get_the_newest_default() {
    let client = TestClient::new();
    let class = |name: &str, default: &str| {
        let annotations = json!({"storageclass.kubernetes.io/is-default-class": default});
        json!({"metadata": {"name": name, "annotations": annotations}, "provisioner": "x/y"})
    };
    client.post(STORAGE, class("no", "false")).await.ok();
    assert_eq!(class_of(&client, "a", json!({})).await, Value::Null);
    client.post(STORAGE, class("old", "true")).await.ok();
    assert_eq!(class_of(&client, "b", json!({})).await, "old");
    assert_eq!(class_of(&client, "c", json!({"storageClassName": ""})).await, "", "no class is a choice");
    assert_eq!(class_of(&client, "d", json!({"storageClassName": "x"})).await, "x");
    client.api.advance(std::time::Duration::from_secs(1));
    client.post(STORAGE, class("new", "true")).await.ok();
    assert_eq!(class_of(&client, "e", json!({})).await, "new");
}

#[tokio::test]
async fn a_plugin_that_is_switched_off_does_nothing() {
    let builder = ApiServer::builder()
        .disable_admission_plugin(AdmissionPlugin::Priority)
        .disable_admission_plugin(AdmissionPlugin::DefaultStorageClass);
    let client = TestClient { api: builder.service().unwrap() };
    let odd = client.post(PODS, pod("odd", &json!({"priorityClassName": "none", "priority": 7}))).await.ok();
    assert_eq!(priority(&odd), (&json!("none"), &json!(7), &Value::Null));
    let annotations = json!({"storageclass.kubernetes.io/is-default-class": "true"});
    client
        .post(STORAGE, json!({"metadata": {"name": "s", "annotations": annotations}, "provisioner": "p"}))
        .await
        .ok();
    assert_eq!(class_of(&client, "a", json!({})).await, Value::Null);
}

#[tokio::test]
async fn ingresses_without_a_class_get_the_newest_default() {
    const GROUP: &str = "/apis/networking.k8s.io/v1";
    let client = TestClient::new();
    let class = |name: &str| {
        let annotations = json!({"ingressclass.kubernetes.io/is-default-class": "true"});
        json!({"metadata": {"name": name, "annotations": annotations}, "spec": {"controller": "x.y/z"}})
    };
    let class_of = async |name: &str, class: Value, annotations: Value| {
        let backend = json!({"service": {"name": "s", "port": {"number": 80}}});
        let ingress = json!({"metadata": {"name": name, "annotations": annotations},
            "spec": {"defaultBackend": backend, "ingressClassName": class}});
        let made = client.post(&format!("{GROUP}/namespaces/default/ingresses"), ingress).await.ok();
        made["spec"]["ingressClassName"].clone()
    };
    assert_eq!(class_of("a", Value::Null, json!({})).await, Value::Null);
    client.post(&format!("{GROUP}/ingressclasses"), class("old")).await.ok();
    assert_eq!(class_of("b", Value::Null, json!({})).await, "old");
    assert_eq!(class_of("c", json!("own"), json!({})).await, "own");
    assert_eq!(class_of("d", Value::Null, json!({"kubernetes.io/ingress.class": "q"})).await, Value::Null);
    client.api.advance(std::time::Duration::from_secs(1));
    client.post(&format!("{GROUP}/ingressclasses"), class("new")).await.ok();
    assert_eq!(class_of("e", Value::Null, json!({})).await, "new");
}

#[tokio::test]
async fn pods_get_overhead_and_nodes_of_their_runtime_class() {
    const CLASSES: &str = "/apis/node.k8s.io/v1/runtimeclasses";
    let client = TestClient::new();
    let runtime = |name: &str| json!({"metadata": {"name": name}, "handler": "h"});
    client.post(CLASSES, runtime("plain")).await.ok();
    let mut heavy = runtime("heavy");
    heavy["overhead"] = json!({"podFixed": {"cpu": "10m", "memory": "1Mi"}});
    client.post(CLASSES, heavy).await.ok();
    let mut placed = runtime("placed");
    placed["scheduling"] =
        json!({"nodeSelector": {"a": "b"}, "tolerations": [{"key": "k", "operator": "Exists"}]});
    client.post(CLASSES, placed).await.ok();

    let same = json!({"cpu": "10m", "memory": "1024Ki"});
    for (name, own) in [("without", Value::Null), ("same", same)] {
        let made =
            client.post(PODS, pod(name, &json!({"runtimeClassName": "heavy", "overhead": own}))).await.ok();
        assert_eq!(made["spec"]["overhead"], json!({"cpu": "10m", "memory": "1Mi"}));
    }
    let spec = json!({"runtimeClassName": "placed", "nodeSelector": {"c": "d"}});
    let made = client.post(PODS, pod("placed", &spec)).await.ok();
    assert_eq!(made["spec"]["nodeSelector"], json!({"a": "b", "c": "d"}));
    let tolerated: Vec<&Value> =
        made["spec"]["tolerations"].as_array().unwrap().iter().map(|t| &t["key"]).collect();
    assert_eq!(tolerated, ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "k"]);

    let orphan = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
    for (spec, why) in [
        (json!({"runtimeClassName": "nope"}), "pod rejected: RuntimeClass \"nope\" not found"),
        (
            json!({"runtimeClassName": "heavy", "overhead": {"cpu": "11m"}}),
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
        ),
        (json!({"runtimeClassName": "plain", "overhead": {"cpu": "11m"}}), orphan),
        (json!({"overhead": {"cpu": "11m"}}), orphan),
        (
            json!({"runtimeClassName": "placed", "nodeSelector": {"a": "x"}}),
            "conflict: runtimeClass.scheduling.nodeSelector[a] = b; pod.spec.nodeSelector[a] = x",
        ),
    ] {
        let refused = client.post(PODS, pod("p", &spec)).await.refused(403, "Forbidden");
        assert_eq!(refused, format!("pods \"p\" is forbidden: {why}"));
    }
}
