//! Admission policies review what the built-in controllers write, as service accounts. Users and words are those of Kubernetes 1.37.

use kube_testserver::{ApiServer, BuiltInController};
use serde_json::{Value, json};

use crate::client::TestClient;

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const CORE: &str = "/api/v1/namespaces/default";
const SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";

/// A server with controllers, and a bound policy `p` on creations and updates of a resource.
async fn with(plural: &str, group: &str, resource: &str, spec: Value) -> TestClient {
    let builder = ApiServer::builder().with(BuiltInController::Workloads).with(BuiltInController::Kubelet);
    let api = builder.with(BuiltInController::Endpoints).with(BuiltInController::Events).service().unwrap();
    let client = TestClient { api };
    let rule = json!({"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": [resource]});
    let mut policy =
        json!({"metadata": {"name": "p"}, "spec": {"matchConstraints": {"resourceRules": [rule]}}});
    for (field, value) in spec.as_object().unwrap() {
        policy["spec"][field] = value.clone();
    }
    client.post(&format!("{GROUP}/{plural}admissionpolicies"), policy).await.ok();
    let mut binding = json!({"metadata": {"name": "b"}, "spec": {"policyName": "p"}});
    if plural == "validating" {
        binding["spec"]["validationActions"] = json!(["Deny"]);
    }
    client.post(&format!("{GROUP}/{plural}admissionpolicybindings"), binding).await.ok();
    client
}

async fn denying_controllers(group: &str, resource: &str) -> TestClient {
    let user = "request.userInfo.username";
    let message = format!("'by ' + {user} + ' of ' + request.userInfo.groups.join(' ')");
    let validation = json!({"expression": format!("!{user}.startsWith('system:serviceaccount:')"), "messageExpression": message});
    with("validating", group, resource, json!({"validations": [validation]})).await
}

async fn create_set(client: &TestClient) {
    let labels = json!({"a": "b"});
    let template =
        json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"selector": {"matchLabels": labels}, "template": template});
    client.post(SETS, json!({"metadata": {"name": "web"}, "spec": spec})).await.ok();
}

#[tokio::test(start_paused = true)]
async fn a_policy_refuses_the_pods_of_a_replica_set() {
    let client = denying_controllers("", "pods").await;
    let pod = json!({"metadata": {"name": "own"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    client.post(&format!("{CORE}/pods"), pod).await.ok();
    create_set(&client).await;
    let status = client.get(&format!("{SETS}/web")).await.ok()["status"].take();
    let why = status["conditions"][0]["message"].as_str().expect("a condition").to_owned();
    let denied = "is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: \
                  by system:serviceaccount:kube-system:replicaset-controller of system:serviceaccounts \
                  system:serviceaccounts:kube-system system:authenticated";
    assert!(why.starts_with("pods \"web-") && why.ends_with(denied), "{why}");
    assert_eq!(status["replicas"], 0);
    // It is tried again.
    client.delete(&format!("{GROUP}/validatingadmissionpolicybindings/b")).await.ok();
    client.api.advance(std::time::Duration::from_secs(3));
    assert_eq!(client.get(&format!("{SETS}/web")).await.ok()["status"]["replicas"], 1);
}

#[tokio::test(start_paused = true)]
async fn each_controller_is_a_user_of_its_own() {
    for (group, resource, path, object, user) in [
        ("", "endpoints", "services", json!({"selector": {"a": "b"}, "ports": [{"port": 80}]}), None),
        (
            "",
            "pods",
            "replicationcontrollers",
            json!({"selector": {"a": "b"}, "template": {"metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "c", "image": "i"}]}}}),
            Some("replication-controller"),
        ),
    ] {
        let client = denying_controllers(group, resource).await;
        client
            .post(&format!("{CORE}/{path}"), json!({"metadata": {"name": "web"}, "spec": object}))
            .await
            .ok();
        match user {
            None => drop(client.get(&format!("{CORE}/endpoints/web")).await.refused(404, "NotFound")),
            Some(user) => {
                let events = client.get(&format!("{CORE}/events")).await.ok()["items"].to_string();
                assert!(events.contains(&format!("kube-system:{user} of")), "{events}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_mutating_policy_changes_the_pods_of_a_replica_set() {
    let expression = "Object{metadata: Object.metadata{annotations: {'by': request.userInfo.username}}}";
    let mutation =
        json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}});
    let spec = json!({"mutations": [mutation], "reinvocationPolicy": "Never"});
    let client = with("mutating", "", "pods", spec).await;
    create_set(&client).await;
    let pods = client.get(&format!("{CORE}/pods")).await.ok();
    let by = &pods["items"][0]["metadata"]["annotations"]["by"];
    assert_eq!(by, "system:serviceaccount:kube-system:replicaset-controller");
}
