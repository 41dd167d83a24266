use serde_json::{Value, json};

use crate::rig::*;

fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap()).collect()
}

async fn with_config_maps(count: usize) -> Rig {
    let rig = Rig::new();
    for i in 0..count {
        let mut object = config_map(&format!("c{i}"));
        object["metadata"]["labels"] = json!({"parity": if i % 2 == 0 { "even" } else { "odd" }});
        rig.post(CONFIG_MAPS, object).await.ok();
    }
    rig
}

#[tokio::test(start_paused = true)]
async fn pages_show_one_state_however_it_changes_meanwhile() {
    let rig = with_config_maps(5).await;
    let first = rig.get(&format!("{CONFIG_MAPS}?limit=2")).await.ok();
    assert_eq!((names(&first), &first["metadata"]["remainingItemCount"]), (vec!["c0", "c1"], &json!(3)));
    rig.delete(&format!("{CONFIG_MAPS}/c3")).await.ok();
    rig.post(CONFIG_MAPS, config_map("c2x")).await.ok();
    let token = first["metadata"]["continue"].as_str().unwrap();
    let second = rig.get(&format!("{CONFIG_MAPS}?limit=2&continue={token}")).await.ok();
    assert_eq!(names(&second), ["c2", "c3"]);
    assert_eq!(second["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    let token = second["metadata"]["continue"].as_str().unwrap();
    let third = rig.get(&format!("{CONFIG_MAPS}?limit=2&continue={token}")).await.ok();
    assert_eq!((names(&third), third["metadata"].get("continue")), (vec!["c4"], None));
    assert_eq!(names(&rig.get(CONFIG_MAPS).await.ok()), ["c0", "c1", "c2", "c2x", "c4"]);
}

#[tokio::test(start_paused = true)]
async fn an_expired_token_offers_a_way_on() {
    let rig = with_config_maps(3).await;
    let first = rig.get(&format!("{CONFIG_MAPS}?limit=1")).await.ok();
    let token = first["metadata"]["continue"].as_str().unwrap();
    rig.post(CONFIG_MAPS, config_map("c0x")).await.ok();
    rig.api.compact();
    let reply = rig.get(&format!("{CONFIG_MAPS}?limit=5&continue={token}")).await;
    let resume = reply.body["metadata"]["continue"].as_str().unwrap().to_string();
    reply.refused(410, "Expired");
    let rest = rig.get(&format!("{CONFIG_MAPS}?limit=5&continue={resume}")).await.ok();
    assert_eq!(names(&rest), ["c0x", "c1", "c2"]);
}

#[tokio::test(start_paused = true)]
async fn old_and_future_versions() {
    let rig = with_config_maps(2).await;
    let then = rig.api.resource_version();
    rig.delete(&format!("{CONFIG_MAPS}/c0")).await.ok();
    let exact =
        rig.get(&format!("{CONFIG_MAPS}?resourceVersion={then}&resourceVersionMatch=Exact")).await.ok();
    assert_eq!(
        (names(&exact), &exact["metadata"]["resourceVersion"]),
        (vec!["c0", "c1"], &json!(then.to_string()))
    );
    for present in
        ["resourceVersion=0".into(), format!("resourceVersion={then}&resourceVersionMatch=NotOlderThan")]
    {
        assert_eq!(names(&rig.get(&format!("{CONFIG_MAPS}?{present}")).await.ok()), ["c1"]);
    }
    let future = rig.get(&format!("{CONFIG_MAPS}?resourceVersion=99999")).await;
    assert_eq!(future.headers["retry-after"], "1");
    assert_eq!(future.body["details"]["causes"][0]["reason"], "ResourceVersionTooLarge");
    future.refused(504, "Timeout");
    rig.api.compact();
    rig.get(&format!("{CONFIG_MAPS}?resourceVersion={then}&resourceVersionMatch=Exact"))
        .await
        .refused(410, "Expired");
}

#[tokio::test(start_paused = true)]
async fn selectors_select() {
    let rig = with_config_maps(4).await;
    let list = async |query: &str| rig.get(&format!("{CONFIG_MAPS}?{query}")).await;
    assert_eq!(names(&list("labelSelector=parity%3Deven").await.ok()), ["c0", "c2"]);
    assert_eq!(names(&list("labelSelector=parity+in+(odd),!x").await.ok()), ["c1", "c3"]);
    assert_eq!(names(&list("fieldSelector=metadata.name%3Dc1").await.ok()), ["c1"]);
    assert_eq!(names(&list("fieldSelector=metadata.namespace!%3Ddefault").await.ok()), Vec::<&str>::new());
    let page = list("labelSelector=parity%3Deven&limit=1").await.ok();
    assert!(page["metadata"]["continue"].is_string() && page["metadata"].get("remainingItemCount").is_none());
    assert_eq!(
        list("fieldSelector=data.k%3Dv").await.refused(400, "BadRequest"),
        "\"data.k\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
    );
    list("labelSelector=%3D").await.refused(400, "BadRequest");
}

#[tokio::test(start_paused = true)]
async fn items_of_built_in_lists_have_no_type_and_those_of_custom_ones_do() {
    let rig = with_widgets().await;
    rig.post(CONFIG_MAPS, config_map("a")).await.ok();
    rig.post(WIDGETS, widget("a")).await.ok();
    let list = rig.get(CONFIG_MAPS).await.ok();
    assert_eq!((&list["kind"], list["items"][0].get("kind")), (&json!("ConfigMapList"), None));
    let list = rig.get("/apis/rig.test/v1/widgets").await.ok();
    assert_eq!((&list["kind"], &list["items"][0]["kind"]), (&json!("WidgetList"), &json!("Widget")));
    assert_eq!(list["metadata"]["continue"], "");
    assert_eq!(rig.get("/apis/rig.test/v1/namespaces/other/widgets").await.ok()["items"], json!([]));
}
