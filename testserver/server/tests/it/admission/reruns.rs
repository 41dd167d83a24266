//! A write runs again with each response of a webhook: what it generates, and its time, stay the same.

use std::time::Duration;

use kube_testserver::{ApiServer, BuiltInController, TestServer};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::client::{CRDS, TestClient, widgets};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";

/// Validating webhooks at an address where nobody responds, whose failures are ignored.
async fn ignore_failures(client: &TestClient, url: &str, rule: Value, names: &[&str]) {
    // Any certificate: without one, nothing is sent.
    let kubeconfig = TestServer::builder().tls().start().await.unwrap().kubeconfig();
    let bundle = kubeconfig.split_once("certificate-authority-data: ").unwrap().1;
    let bundle = bundle.lines().next().unwrap().trim_matches('"');
    let hook = |name: &&str| {
        json!({"name": format!("{name}.rig.test"), "clientConfig": {"url": url, "caBundle": bundle}, "failurePolicy": "Ignore",
            "timeoutSeconds": 3, "sideEffects": "None", "admissionReviewVersions": ["v1"], "rules": [rule]})
    };
    let hooks: Vec<Value> = names.iter().map(hook).collect();
    let configuration = json!({"metadata": {"name": "hooks"}, "webhooks": hooks});
    client.post(&format!("{GROUP}/validatingwebhookconfigurations"), configuration).await.ok();
}

fn rule(group: &str, resource: &str) -> Value {
    json!({"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource]})
}

#[tokio::test(start_paused = true)]
async fn the_volume_of_the_token_keeps_its_name() {
    let builder = ApiServer::builder().with(BuiltInController::ServiceAccounts);
    let client = TestClient { api: builder.service().unwrap() };
    ignore_failures(&client, "https://127.0.0.1:1/", rule("", "pods"), &["a", "b"]).await;
    let pod =
        json!({"metadata": {"generateName": "p-"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let pod = client.post("/api/v1/namespaces/default/pods", pod).await.ok();
    assert_eq!(pod["spec"]["volumes"][0]["name"], pod["spec"]["containers"][0]["volumeMounts"][0]["name"]);
}

#[tokio::test(start_paused = true)]
async fn a_slow_webhook_on_definitions_is_called_once() {
    let client = TestClient::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let api = client.api.clone();
    let calls = tokio::spawn(async move {
        for call in 0.. {
            let connection = listener.accept().await.unwrap();
            api.advance(Duration::from_secs(2));
            drop(connection);
            assert!(call < 2, "the review has changed with the time");
        }
    });
    let definitions = rule("apiextensions.k8s.io", "customresourcedefinitions");
    ignore_failures(&client, &url, definitions, &["a", "b"]).await;
    let created = client.post(CRDS, widgets()).await.ok();
    assert_eq!(created["status"]["conditions"][1]["status"], "True");
    assert!(!calls.is_finished());
}

/// As Kubernetes 1.37: the names are accepted after the write.
#[cfg(feature = "cel")]
#[tokio::test]
async fn policies_see_a_definition_before_its_names_are_accepted() {
    let client = TestClient::new();
    let rules = json!({"resourceRules": [rule("apiextensions.k8s.io", "customresourcedefinitions")]});
    let message = "object.status.acceptedNames.plural + '/' + object.status.storedVersions.join(',')";
    let validations = json!([{"expression": "false", "messageExpression": message}]);
    let policy =
        json!({"metadata": {"name": "p"}, "spec": {"matchConstraints": rules, "validations": validations}});
    client.post(&format!("{GROUP}/validatingadmissionpolicies"), policy).await.ok();
    let binding =
        json!({"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}});
    client.post(&format!("{GROUP}/validatingadmissionpolicybindings"), binding).await.ok();
    let why = client.post(CRDS, widgets()).await.refused(422, "Invalid");
    assert!(why.ends_with("denied request: /v1"), "{why}");
}
