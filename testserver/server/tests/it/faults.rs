//! Injected faults.

use std::time::Duration;

use http::{HeaderValue, header};
use http_body_util::{BodyExt, Full};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube_testserver::{ApiServer, Fault, FaultResponse, Match};
use serde_json::json;
use tokio::time::timeout;
use tower::ServiceExt;

use crate::client::*;

type Reply = std::io::Result<http::Response<kube_testserver::Body>>;

async fn call(api: &ApiServer, method: &str, path: &str, body: &str) -> Reply {
    let request = http::Request::builder().method(method).uri(path);
    api.clone().oneshot(request.body(Full::from(body.to_string())).unwrap()).await
}

async fn get(api: &ApiServer, path: &str) -> Reply {
    call(api, "GET", path, "").await
}

/// All bytes of a body, and whether it ended without an error.
async fn read(reply: Reply) -> (Vec<u8>, bool) {
    let (mut body, mut read) = (reply.unwrap().into_body(), Vec::new());
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => read.extend_from_slice(frame.data_ref().unwrap()),
            Err(_) => return (read, false),
        }
    }
    (read, true)
}

fn lines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

const WATCH: &str = "/api/v1/namespaces?watch=1&timeoutSeconds=1";

#[tokio::test(start_paused = true)]
async fn a_fault_response_replaces_the_servers() {
    let api = ApiServer::new();
    let answer = FaultResponse::status(429, "TooManyRequests")
        .retry_after(7)
        .header(header::WARNING, HeaderValue::from_static("299 - \"slow down\""));
    let rule = api.fault(Match::create::<ConfigMap>().times(1), answer);
    let refused = call(&api, "POST", CONFIG_MAPS, &config_map("a").to_string()).await.unwrap();
    assert_eq!((refused.status().as_u16(), refused.headers()["retry-after"].to_str().unwrap()), (429, "7"));
    assert_eq!(refused.headers()["warning"], "299 - \"slow down\"");
    let body = refused.into_body().collect().await.unwrap().to_bytes();
    let status: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&status["reason"], &status["code"]), (&json!("TooManyRequests"), &json!(429)));
    let created = call(&api, "POST", CONFIG_MAPS, &config_map("a").to_string()).await.unwrap();
    assert_eq!((created.status().as_u16(), rule.hits()), (201, 1));

    api.fault(Match::path("/version"), FaultResponse::status(500, "InternalError").body("<html>"));
    assert_eq!(read(get(&api, "/version").await).await, (b"<html>".to_vec(), true));
    api.clear_faults();
    assert_eq!(get(&api, "/version").await.unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn streams_end_and_break_after_their_lines() {
    let api = ApiServer::new();
    let whole = read(get(&api, WATCH).await).await;
    assert_eq!((lines(&whole.0), whole.1), (4, true));
    for (fault, complete, rest, well) in [
        (Fault::Cut.after(2), 2, false, true),
        (Fault::Cut, 0, false, true),
        (Fault::Reset.after(2), 2, false, false),
        (Fault::Truncate.after(1).after(1), 2, true, true),
        (Fault::Garbage.after(1), 4, false, true),
        (Fault::DropEvent.after(3), 3, false, true),
    ] {
        let rule = api.fault(Match::watch::<Namespace>(), fault.clone());
        let (bytes, ended_well) = read(get(&api, WATCH).await).await;
        let tail = bytes.last().is_some_and(|last| *last != b'\n');
        assert_eq!((lines(&bytes), tail, ended_well), (complete, rest, well), "{fault:?}");
        let is_json = bytes
            .split(|b| *b == b'\n')
            .filter(|l| !l.is_empty())
            .all(|l| serde_json::from_slice::<serde_json::Value>(l).is_ok());
        assert_eq!(
            is_json,
            !matches!(fault, Fault::After(..)) || !rest && !bytes.contains(&0xff),
            "{fault:?}"
        );
        rule.remove();
    }
}

#[tokio::test(start_paused = true)]
async fn other_responses_break_as_well() {
    let api = ApiServer::new();
    let whole = read(get(&api, "/api/v1/namespaces").await).await.0;
    let broken = async |fault: Fault| {
        api.clear_faults();
        api.fault(Match::list::<Namespace>(), fault);
        get(&api, "/api/v1/namespaces").await
    };
    assert_eq!(read(broken(Fault::Cut).await).await, (Vec::new(), true));
    assert_eq!(read(broken(Fault::Truncate).await).await, (whole[..whole.len() / 2].to_vec(), true));
    assert!(read(broken(Fault::Garbage).await).await.0.starts_with(&[0xff]));
    assert_eq!(broken(Fault::Reset).await.unwrap_err().kind(), std::io::ErrorKind::ConnectionReset);
    assert_eq!(broken(Fault::Expired).await.unwrap().status(), 410);
    assert_eq!(read(broken(Fault::DropEvent).await).await, (whole, true));
}

#[tokio::test(start_paused = true)]
async fn a_lost_response_follows_a_processed_request() {
    let client = TestClient::new();
    client.api.fault(Match::create::<ConfigMap>(), Fault::Lost);
    call(&client.api, "POST", CONFIG_MAPS, &config_map("a").to_string()).await.unwrap_err();
    client.get(&format!("{CONFIG_MAPS}/a")).await.ok();
}

#[tokio::test(start_paused = true)]
async fn responses_can_stall_and_be_delayed() {
    let api = ApiServer::new();
    let (hour, minute) = (Duration::from_secs(3600), Duration::from_secs(60));
    let stalled = api.fault(Match::get::<Namespace>(), Fault::Stall);
    timeout(hour, get(&api, "/api/v1/namespaces/default")).await.unwrap_err();
    stalled.remove();
    api.fault(Match::watch::<Namespace>().nth(1), Fault::Stall.after(2));
    let mut body = get(&api, WATCH).await.unwrap().into_body();
    for _ in 0..2 {
        body.frame().await.unwrap().unwrap();
    }
    assert!(timeout(hour, body.frame()).await.is_err());

    api.fault(Match::get::<Namespace>(), Fault::Delay(minute));
    let (start, slow) = (tokio::time::Instant::now(), get(&api, "/api/v1/namespaces/default"));
    assert_eq!(slow.await.unwrap().status(), 200);
    assert_eq!(start.elapsed().as_secs(), 60);
    let start = tokio::time::Instant::now();
    let slow = tokio::spawn({
        let api = api.clone();
        async move { get(&api, "/api/v1/namespaces/default").await.unwrap().status() }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    api.advance(minute);
    assert_eq!(slow.await.unwrap(), 200);
    assert_eq!(start.elapsed().as_secs(), 1, "the server's clock was advanced");
}

#[tokio::test(start_paused = true)]
async fn stale_reads_show_an_earlier_state() {
    let client = TestClient::new();
    let names = |list: serde_json::Value| -> Vec<String> {
        let items = list["items"].as_array().cloned().unwrap_or_default();
        items.iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_string()).collect()
    };
    client.post(CONFIG_MAPS, config_map("a")).await.ok();
    let then = client.api.resource_version();
    let mut changed = client.get(&format!("{CONFIG_MAPS}/a")).await.ok();
    changed["data"]["k"] = json!("new");
    client.put(&format!("{CONFIG_MAPS}/a"), changed).await.ok();
    client.post(CONFIG_MAPS, config_map("b")).await.ok();
    let stale = client.api.fault(Match::kind::<ConfigMap>(), Fault::Stale(then));
    assert_eq!(client.get(&format!("{CONFIG_MAPS}/a")).await.ok()["data"]["k"], "v");
    assert_eq!(client.get(&format!("{CONFIG_MAPS}/b")).await.code, 404);
    let list = client.get(CONFIG_MAPS).await.ok();
    assert_eq!(list["metadata"]["resourceVersion"], then.to_string());
    assert_eq!(names(list), ["a"]);
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?watch=1")).await;
    for expected in [("ADDED", "a"), ("MODIFIED", "a"), ("ADDED", "b")] {
        let event = watch.event().await;
        assert_eq!((event.0.as_str(), event.1.as_str()), expected);
    }
    client.api.compact();
    assert_eq!(client.get(CONFIG_MAPS).await.code, 410);
    assert_eq!(client.get(&format!("{CONFIG_MAPS}/a")).await.code, 410);
    stale.remove();
    assert_eq!(names(client.get(CONFIG_MAPS).await.ok()), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_rewind_drops_later_changes() {
    let client = with_widgets().await;
    client.post(WIDGETS, widget("kept")).await.ok();
    client.post(CONFIG_MAPS, config_map("changed")).await.ok();
    let backup = client.api.resource_version();
    let before = client.api.snapshot();

    client.patch(MERGE, &format!("{CONFIG_MAPS}/changed"), json!({"data": {"k": "later"}})).await.ok();
    client.post(CONFIG_MAPS, config_map("later")).await.ok();
    client.delete(&format!("{CRDS}/widgets.rig.test")).await.ok();
    assert_eq!(client.get(WIDGETS).await.code, 404);
    let now = client.api.resource_version();
    let mut watch = client.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={now}")).await;

    client.api.rewind(backup).unwrap();
    assert_eq!((client.api.resource_version(), client.api.snapshot()), (backup, before));
    assert!(watch.next().await.is_none(), "every watch ends");
    assert_eq!(client.get(&format!("{CONFIG_MAPS}/later")).await.code, 404);
    assert_eq!(client.get(&format!("{CONFIG_MAPS}/changed")).await.ok()["data"]["k"], "v");
    assert_eq!(client.get(&format!("{WIDGETS}/kept")).await.ok()["spec"]["color"], "red");

    // Revisions continue from the backup, and a watch from a future resourceVersion waits.
    let created = client.post(CONFIG_MAPS, config_map("next")).await.ok();
    assert_eq!(created["metadata"]["resourceVersion"], (backup + 1).to_string());
    let mut future = client.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={now}")).await;
    assert!(future.is_quiet().await);
    assert_eq!(client.api.rewind(backup - 1).unwrap_err().oldest, backup);

    // What was too old to be listed is the present again.
    client.api.advance(Duration::from_secs(600));
    client.api.rewind(backup).unwrap();
    client.get(&format!("{CONFIG_MAPS}?resourceVersion={backup}&resourceVersionMatch=Exact")).await.ok();

    let rule = client.api.fault(Match::list::<ConfigMap>().nth(1), Fault::Rewind(backup));
    assert_eq!(client.get(CONFIG_MAPS).await.ok()["metadata"]["resourceVersion"], backup.to_string());
    assert_eq!((rule.hits(), client.get(&format!("{CONFIG_MAPS}/next")).await.code.as_u16()), (1, 404));
}

/// Owner references work after a rewind.
#[tokio::test(start_paused = true)]
async fn garbage_is_collected_after_a_rewind() {
    let client = TestClient::new();
    let owner = client.post(CONFIG_MAPS, config_map("owner")).await.ok();
    let mut child = config_map("child");
    child["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}]);
    client.post(CONFIG_MAPS, child).await.ok();
    let backup = client.api.resource_version();
    client.delete(&format!("{CONFIG_MAPS}/owner")).await.ok();
    client.api.rewind(backup).unwrap();
    client.get(&format!("{CONFIG_MAPS}/child")).await.ok();
    client.delete(&format!("{CONFIG_MAPS}/owner")).await.ok();
    assert_eq!(client.get(&format!("{CONFIG_MAPS}/child")).await.code, 404);
}
