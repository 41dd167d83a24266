use serde_json::json;

use crate::rig::*;

const GROUP: &str = "/apis/authorization.k8s.io/v1";

#[tokio::test(start_paused = true)]
async fn everyone_may_do_everything() {
    let rig = Rig::new();
    let access = format!("{GROUP}/selfsubjectaccessreviews");
    let question = json!({"spec": {"resourceAttributes": {"verb": "delete", "resource": "pods"}}});
    let reply = rig.post(&access, question).await;
    assert_eq!(reply.code, 201);
    assert_eq!(reply.ok()["status"], json!({"allowed": true}));
    rig.post(&access, json!({"spec": {}})).await.refused(422, "Invalid");
    let rules = format!("{GROUP}/selfsubjectrulesreviews");
    let reply = rig.post(&rules, json!({"spec": {"namespace": "default"}})).await.ok();
    assert_eq!(reply["status"]["resourceRules"][0]["verbs"], json!(["*"]));
    rig.post(&rules, json!({"spec": {}})).await.refused(400, "BadRequest");
    assert_eq!(rig.get(&access).await.code, 405, "nothing is stored");
}

#[tokio::test(start_paused = true)]
async fn nobody_is_anybody() {
    let rig = Rig::new();
    let me = rig.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", json!({})).await.ok();
    assert_eq!(me["status"]["userInfo"]["username"], "system:anonymous");
}

#[tokio::test(start_paused = true)]
async fn a_pod_is_bound_once() {
    let rig = Rig::new();
    let pods = "/api/v1/namespaces/default/pods";
    let pod = json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    rig.post(pods, pod).await.ok();
    let binding = |node: &str| json!({"metadata": {"name": "a", "annotations": {"x": "y"}}, "target": {"kind": "Node", "name": node}});
    assert_eq!(rig.post(&format!("{pods}/a/binding"), binding("")).await.code, 500);
    let of_another = json!({"metadata": {"name": "b"}, "target": {"name": "n"}});
    rig.post(&format!("{pods}/b/binding"), of_another.clone()).await.refused(404, "NotFound");
    rig.post(&format!("{pods}/a/binding"), of_another).await.refused(400, "BadRequest");
    rig.post(&format!("{pods}/a/binding?dryRun=All"), binding("n")).await.ok();
    assert_eq!(rig.post(&format!("{pods}/a/binding"), binding("n")).await.ok()["status"], "Success");
    let bound = rig.get(&format!("{pods}/a")).await.ok();
    assert_eq!(
        (&bound["spec"]["nodeName"], &bound["metadata"]["annotations"]["x"]),
        (&json!("n"), &json!("y"))
    );
    assert_eq!(bound["status"]["conditions"][0]["type"], "PodScheduled");
    let message = rig.post(&format!("{pods}/a/binding"), binding("n")).await.refused(409, "Conflict");
    assert!(message.contains("pod a is already assigned to node \"n\""), "{message}");
}
