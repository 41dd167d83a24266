//! Events are one kind under two names: what is written as one is there as the other.

use serde_json::json;

use crate::rig::{MERGE, Rig};

const CORE: &str = "/api/v1/namespaces/default/events";
const NEW: &str = "/apis/events.k8s.io/v1/namespaces/default/events";

#[tokio::test]
async fn what_is_written_as_one_is_read_watched_and_selected_as_the_other() {
    let rig = Rig::new();
    let mut watch = rig.watch(&format!("{NEW}?watch=1")).await;
    let about = json!({"kind": "Pod", "name": "p", "namespace": "default"});
    let old = json!({"metadata": {"name": "a"}, "involvedObject": about, "reason": "R", "message": "m", "type": "Normal"});
    let made = rig.post(CORE, old).await.ok();
    let shown = rig.get(&format!("{NEW}/a")).await.ok();
    assert_eq!(
        (&shown["apiVersion"], &shown["note"], &shown["regarding"]),
        (&json!("events.k8s.io/v1"), &json!("m"), &about)
    );
    assert_eq!(shown["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"]);
    assert!(
        shown["message"].is_null()
            && shown["involvedObject"].is_null()
            && shown["reportingController"].is_null()
    );
    let event = watch.next().await.unwrap();
    assert_eq!((&event["type"], &event["object"]), (&json!("ADDED"), &shown));

    let new = json!({"metadata": {"name": "b"}, "regarding": about, "reason": "R", "note": "n", "type": "Warning", "action": "A",
        "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "x.io/c", "reportingInstance": "i"});
    rig.post(NEW, new).await.ok();
    let shown = rig.get(&format!("{CORE}/b")).await.ok();
    assert_eq!(
        (&shown["message"], &shown["reportingComponent"], &shown["source"]),
        (&json!("n"), &json!("x.io/c"), &json!({}))
    );
    let named = async |path: String| {
        let list = rig.get(&path).await.ok();
        let items = list["items"].as_array().unwrap().iter();
        items.map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(named(format!("{CORE}?fieldSelector=involvedObject.name=p")).await, ["a", "b"]);
    assert_eq!(
        named(format!("{NEW}?fieldSelector=regarding.name=p,reportingController=x.io/c")).await,
        ["b"]
    );
    rig.get(&format!("{NEW}?fieldSelector=involvedObject.name=p")).await.refused(400, "BadRequest");

    rig.patch(MERGE, &format!("{NEW}/a"), json!({"note": "changed"})).await.ok();
    assert_eq!(rig.get(&format!("{CORE}/a")).await.ok()["message"], "changed");
    rig.delete(&format!("{NEW}/a")).await.ok();
    rig.get(&format!("{CORE}/a")).await.refused(404, "NotFound");
    let columns = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let cells = async |path: &str| rig.get_as(columns, path).await.ok()["rows"][0]["cells"].clone();
    assert_eq!(cells(NEW).await, cells(CORE).await);
}

/// Nothing is kept twice, and either name finds it again.
#[tokio::test]
async fn both_are_one_in_snapshots_and_in_a_data_directory() {
    let dir = tempfile::tempdir().unwrap();
    let open = || Rig { api: kube_testserver::TestServer::builder().data(dir.path()).service().unwrap() };
    let rig = open();
    let event = json!({"metadata": {"name": "a"}, "regarding": {"kind": "Pod", "name": "p", "namespace": "default"}, "reason": "R",
        "note": "n", "type": "Normal", "action": "A", "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "x.io/c", "reportingInstance": "i"});
    rig.post(NEW, event).await.ok();
    rig.post(CORE, json!({"metadata": {"name": "b"}, "involvedObject": {"namespace": "default"}})).await.ok();
    rig.patch(MERGE, &format!("{CORE}/a"), json!({"count": 2})).await.ok();
    rig.delete(&format!("{NEW}/b")).await.ok();
    let snapshot = rig.api.snapshot();
    assert_eq!(snapshot.matches("kind: Event").count(), 1);
    drop(rig);
    let again = open();
    assert_eq!(again.api.snapshot(), snapshot);
    assert_eq!(again.get(&format!("{NEW}/a")).await.ok()["deprecatedCount"], 2);
    let copy = Rig::new();
    copy.api.restore(snapshot.as_str()).unwrap();
    assert_eq!(copy.get(&format!("{NEW}/a")).await.ok(), again.get(&format!("{NEW}/a")).await.ok());
}
