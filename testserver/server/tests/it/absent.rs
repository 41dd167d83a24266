//! What clients see of a feature that the server was built without.

use serde_json::json;

use crate::client::*;

#[cfg(not(feature = "tables"))]
#[tokio::test]
async fn a_table_is_the_next_accepted_representation() {
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let client = TestClient::new();
    client.post(CONFIG_MAPS, config_map("a")).await.ok();
    let list = client.get_as(&format!("{table},application/json"), CONFIG_MAPS).await.ok();
    assert_eq!(
        (&list["kind"], &list["items"][0]["metadata"]["name"]),
        (&json!("ConfigMapList"), &json!("a"))
    );
    client.get_as(table, CONFIG_MAPS).await.refused(406, "NotAcceptable");
}

#[cfg(not(feature = "shell"))]
#[tokio::test]
async fn a_command_is_not_found_unless_a_script_runs_it() {
    use crate::pods::channels::{Channels, V5, with_pod};

    let (server, _) = with_pod(&["main"]).await;
    let path = "web/exec?command=sh&command=-c&command=true&stdout=1";
    let [.., status] = Channels::open(&server, V5, path).await.rest().await;
    assert!(status.contains("exec: \\\"sh\\\": executable file not found in $PATH"), "{status}");
    server.api().kubelet().on_exec(async |_| 0);
    let [.., status] = Channels::open(&server, V5, path).await.rest().await;
    assert_eq!(status, r#"{"metadata":{},"status":"Success"}"#);
    server.shutdown().await;
}

#[cfg(not(feature = "spdy"))]
#[tokio::test]
async fn spdy_is_refused() {
    use crate::pods::channels::{Channels, PODS, with_pod};

    let (server, client) = with_pod(&["main"]).await;
    let headers = [
        ("connection", "Upgrade"),
        ("upgrade", "SPDY/3.1"),
        ("x-stream-protocol-version", "v4.channel.k8s.io"),
    ];
    let path = format!("{PODS}/web/exec?command=true&stdout=1");
    let reply = client.send("POST", &path, &headers, "").await;
    assert_eq!(reply.refused(400, "BadRequest"), "Upgrade request required");
    let tunnel = Channels::try_open(&server, "SPDY/3.1+portforward.k8s.io", "web/portforward?ports=80").await;
    let Err((code, status)) = tunnel else { panic!("a tunnel was opened") };
    assert_eq!(code, 400);
    assert!(status["message"].as_str().unwrap().contains("SPDY/3.1+portforward.k8s.io"), "{status}");
    server.shutdown().await;
}

#[cfg(not(feature = "descriptions"))]
#[tokio::test]
async fn documents_of_built_in_kinds_have_no_descriptions() {
    let client = TestClient::new();
    let document = client.get("/openapi/v3/api/v1").await.ok();
    let pod = &document["components"]["schemas"]["io.k8s.api.core.v1.Pod"];
    assert!(pod["properties"]["spec"].is_object());
    assert!(!pod.to_string().contains("description"), "{pod}");
}

#[cfg(not(feature = "cel"))]
#[tokio::test]
async fn expressions_are_refused() {
    const MISSING: &str = "built without the feature \"cel\" of kube-testserver";
    let client = TestClient::new();
    let mut ruled = widgets();
    let schema = &mut ruled["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    schema["properties"]["spec"]["x-kubernetes-validations"] = json!([{"rule": "has(self.color)"}]);
    let message = client.post(CRDS, ruled).await.refused(422, "Invalid");
    assert!(message.contains("openAPIV3Schema.properties[spec].x-kubernetes-validations"), "{message}");
    assert!(message.contains(MISSING), "{message}");
    client.post(CRDS, widgets()).await.ok();

    let rules =
        json!([{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]);
    let policy = json!({"metadata": {"name": "p"}, "spec": {"matchConstraints": {"resourceRules": rules},
        "validations": [{"expression": "true"}]}});
    let policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
    let message = client.post(policies, policy).await.refused(422, "Invalid");
    assert!(message.contains("spec.validations[0].expression") && message.contains(MISSING), "{message}");
}
