//! Undecodable objects: named by errors, not treated as deleted, and without delay for other objects.

use crate::scripted_server::*;
use bytes::Bytes;
use futures::{
    StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Api, Client};
use kube_core::ResourceExt;
use kube_runtime::{
    WatchStreamExt, conditions, reflector,
    wait::await_condition,
    watcher::{Config, watch_object, watcher},
};
use std::{io, pin::pin, time::Duration};
use tokio::time::{sleep, timeout};

fn api(client: Client) -> Api<ConfigMap> {
    Api::default_namespaced(client)
}

#[tokio::test(start_paused = true)]
async fn every_undecodable_object_of_a_list_is_named_before_init_done() {
    let names: Vec<String> = (0..15).map(|i| format!("bad-{i}")).collect();
    let mut items: Vec<_> = names.iter().map(|name| undecodable(name, "5")).collect();
    items.push(object("a", "7"));
    let (client, _) = scripted_server(move |_, _| list("10", &items), |_, _| watch_response(&[], idle()));
    let mut items = Vec::new();
    let mut events = pin!(events(client, Config::default()));
    while let Ok(Some(item)) = timeout(Duration::from_secs(5), events.next()).await {
        items.push(item.map_or_else(|error| chain(&error), |event| event.to_string()));
    }
    assert_eq!(
        (&items[0], &items[1], &items[3]),
        (&"Init".into(), &"InitApply(a)".into(), &"InitDone".into())
    );
    let unnamed: Vec<_> = names.iter().filter(|name| !items[2].contains(*name)).collect();
    assert!(unnamed.is_empty(), "not named: {unnamed:?} in {}", items[2]);
    assert_eq!(items.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn an_undecodable_object_is_not_absent() {
    // It is listed, then changed, then relisted after an expired version.
    let expired =
        || event("ERROR", serde_json::json!({ "kind": "Status", "code": 410, "reason": "Expired" }));
    let (client, log) = scripted_server(
        |before, _| list(["10", "12"][before], &[undecodable("a", "7")]),
        move |before, _| match before {
            0 => watch_response(&[event("MODIFIED", undecodable("a", "11")), expired()], end_of_stream()),
            _ => watch_response(&[], idle()),
        },
    );
    let mut states = pin!(watch_object(api(client), "a"));
    let mut errors = 0;
    while let Ok(Some(state)) = timeout(Duration::from_secs(60), states.next()).await {
        assert!(state.is_err(), "{state:?}");
        errors += 1;
    }
    assert_eq!((log.lists().len(), errors), (2, 4), "two lists, a change, and the expiry");
}

#[tokio::test(start_paused = true)]
async fn an_undecodable_object_is_not_deleted() {
    let (client, _) =
        scripted_server(|_, _| list("10", &[undecodable("a", "7")]), |_, _| watch_response(&[], idle()));
    let waiting = await_condition(api(client), "a", conditions::is_deleted("a"));
    let error = timeout(Duration::from_secs(60), waiting).await.unwrap().unwrap_err();
    assert!(chain(&error).contains("cannot be decoded: a: "), "{}", chain(&error));
}

#[tokio::test(start_paused = true)]
async fn watch_object_reports_the_deletion_of_an_undecodable_object() {
    let deleted = event("DELETED", undecodable("a", "11"));
    let (client, log) = scripted_server(
        |_, _| list("10", &[object("a", "7")]),
        move |before, _| {
            if before == 0 {
                watch_response(std::slice::from_ref(&deleted), idle())
            } else {
                watch_response(&[], idle())
            }
        },
    );
    let mut states = pin!(watch_object(api(client), "a").map_ok(|state| state.map(|it| it.name_any())));
    assert_eq!(states.try_next().await.unwrap(), Some(Some("a".into())));
    assert_eq!(states.try_next().await.unwrap(), Some(None));
    assert_eq!(log.lists().len(), 1, "without a relist");
}

/// No public event can tell which object was deleted, so the watcher relists.
#[tokio::test(start_paused = true)]
async fn an_undecodable_deletion_in_a_streaming_list_removes_the_object_from_the_store() {
    let (client, _) = scripted_watches(|before, _| {
        let first =
            [event("ADDED", object("a", "7")), event("DELETED", undecodable("a", "8")), bookmark("9", true)];
        let relist = [event("ADDED", object("b", "6")), bookmark("9", true)];
        watch_response(if before == 0 { &first } else { &relist }, idle())
    });
    let (store, writer) = reflector::store();
    let config = Config::default().streaming_lists();
    let filling = tokio::spawn(watcher(api(client), config).reflect(writer).for_each(|_| async {}));
    timeout(Duration::from_secs(60), store.wait_until_ready()).await.unwrap().unwrap();
    sleep(Duration::from_secs(60)).await;
    let names: Vec<_> = store.state().iter().map(|object| object.name_any()).collect();
    assert_eq!(names, ["b"]);
    filling.abort();
}

fn unreadable_line() -> BoxStream<'static, io::Result<Bytes>> {
    stream::iter([Ok("{garbled\n".into())]).chain(idle()).boxed()
}

/// The event in the line is unknown, so the watch is resumed from the version before it.
#[tokio::test(start_paused = true)]
async fn the_event_in_an_unreadable_line_is_requested_again() {
    let (client, log) = scripted_watches(|before, query| {
        assert!(query.contains("resourceVersion=10"), "{query}");
        let added = event("ADDED", object("b", "11"));
        if before == 0 { watch_response(&[], unreadable_line()) } else { watch_response(&[added], idle()) }
    });
    let items = items_within(5, events(client, Config::default())).await;
    assert!(items[3].starts_with("the watch failed"), "{items:?}");
    assert_eq!(items[4..], ["Apply(b)"]);
    assert_eq!(log.lists().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn await_condition_survives_an_unreadable_line() {
    let (client, _) = scripted_watches(|before, _| {
        let added = event("ADDED", object("b", "11"));
        if before == 0 { watch_response(&[], unreadable_line()) } else { watch_response(&[added], idle()) }
    });
    let is_b = |it: Option<&ConfigMap>| it.is_some_and(|it| it.name_any() == "b");
    let waiting = await_condition(api(client), "b", is_b);
    assert!(timeout(Duration::from_secs(60), waiting).await.unwrap().unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_line_that_stays_unreadable_causes_a_relist() {
    let (client, log) = scripted_watches(|_, _| watch_response(&[], unreadable_line()));
    items_within(600, events(client, Config::default())).await;
    let (lists, watches) = (log.lists().len(), log.watches().len());
    assert!((2..=4).contains(&lists), "{lists} lists");
    assert!((15..150).contains(&watches), "{watches} watches");
}

#[tokio::test(start_paused = true)]
async fn an_object_in_an_unreadable_line_of_a_streaming_list_is_not_absent() {
    let (client, _) = scripted_watches(|_, query| {
        let streaming = query.contains("sendInitialEvents=true");
        let end = stream::iter([Ok(format!("{}\n", bookmark("9", true)).into())]);
        if streaming {
            watch_response(&[], unreadable_line().take(1).chain(end).chain(idle()).boxed())
        } else {
            watch_response(&[], idle())
        }
    });
    let items = items_within(60, events(client, Config::default().streaming_lists())).await;
    assert!(items[1].starts_with("the watch failed"), "{items:?}");
    assert_eq!(
        (&*items[0], &items[2..]),
        ("Init", &["Init", "InitApply(a)", "InitDone"].map(String::from)[..])
    );
}

fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {}", chain(source)))
}
