//! Access and token reviews.

use serde_json::json;

use crate::client::*;

const GROUP: &str = "/apis/authorization.k8s.io/v1";

#[tokio::test(start_paused = true)]
async fn without_rbac_everything_is_allowed() {
    let client = TestClient::new();
    let access = format!("{GROUP}/selfsubjectaccessreviews");
    let question = json!({"spec": {"resourceAttributes": {"verb": "delete", "resource": "pods"}}});
    let reply = client.post(&access, question).await;
    assert_eq!(reply.code, 201);
    assert_eq!(reply.ok()["status"], json!({"allowed": true}));
    client.post(&access, json!({"spec": {}})).await.refused(422, "Invalid");
    let rules = format!("{GROUP}/selfsubjectrulesreviews");
    let reply = client.post(&rules, json!({"spec": {"namespace": "default"}})).await.ok();
    assert_eq!(reply["status"]["resourceRules"][0]["verbs"], json!(["*"]));
    client.post(&rules, json!({"spec": {}})).await.refused(400, "BadRequest");
    assert_eq!(client.get(&access).await.code, 405, "nothing is stored");
}

#[tokio::test(start_paused = true)]
async fn unknown_tokens_are_not_authenticated() {
    let client = TestClient::new();
    let me = client.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", json!({})).await.ok();
    let groups = json!(["system:masters", "system:authenticated"]);
    assert_eq!(me["status"]["userInfo"], json!({"username": "system:admin", "groups": groups}));
    let ann =
        [("impersonate-user", "ann"), ("impersonate-group", "readers"), ("content-type", "application/json")];
    let me = client.send("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", &ann, "{}").await.ok();
    let groups = json!(["readers", "system:authenticated"]);
    assert_eq!(me["status"]["userInfo"], json!({"username": "ann", "groups": groups}));
}

#[tokio::test(start_paused = true)]
async fn a_pod_is_bound_once() {
    let client = TestClient::new();
    let pods = "/api/v1/namespaces/default/pods";
    let pod = json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    client.post(pods, pod).await.ok();
    let binding = |node: &str| json!({"metadata": {"name": "a", "annotations": {"x": "y"}}, "target": {"kind": "Node", "name": node}});
    assert_eq!(client.post(&format!("{pods}/a/binding"), binding("")).await.code, 500);
    let of_another = json!({"metadata": {"name": "b"}, "target": {"name": "n"}});
    client.post(&format!("{pods}/b/binding"), of_another.clone()).await.refused(404, "NotFound");
    client.post(&format!("{pods}/a/binding"), of_another).await.refused(400, "BadRequest");
    client.post(&format!("{pods}/a/binding?dryRun=All"), binding("n")).await.ok();
    assert_eq!(client.post(&format!("{pods}/a/binding"), binding("n")).await.ok()["status"], "Success");
    let bound = client.get(&format!("{pods}/a")).await.ok();
    assert_eq!(
        (&bound["spec"]["nodeName"], &bound["metadata"]["annotations"]["x"]),
        (&json!("n"), &json!("y"))
    );
    assert_eq!(bound["status"]["conditions"][0]["type"], "PodScheduled");
    let message = client.post(&format!("{pods}/a/binding"), binding("n")).await.refused(409, "Conflict");
    assert!(message.contains("pod a is already assigned to node \"n\""), "{message}");
}
