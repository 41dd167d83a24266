//! Objects that cannot be decoded: reported with their name, never treated as deleted, and never blocking other objects.

use crate::script::*;
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
async fn every_undecodable_object_of_a_list_is_named_before_its_end() {
    let names: Vec<String> = (0..15).map(|i| format!("bad-{i}")).collect();
    let mut items: Vec<_> = names.iter().map(|name| undecodable(name, "5")).collect();
    items.push(object("a", "7"));
    let (client, _) = scripted_by(move |_, _| list("10", &items), |_, _| lines(&[], silence()));
    let mut told = Vec::new();
    let mut events = pin!(events(client, Config::default()));
    while let Ok(Some(item)) = timeout(Duration::from_secs(5), events.next()).await {
        told.push(item.map_or_else(|error| chain(&error), |event| event.to_string()));
    }
    assert_eq!((&told[0], &told[1], &told[3]), (&"Init".into(), &"InitApply(a)".into(), &"InitDone".into()));
    let unnamed: Vec<_> = names.iter().filter(|name| !told[2].contains(*name)).collect();
    assert!(unnamed.is_empty(), "not named: {unnamed:?} in {}", told[2]);
    assert_eq!(told.len(), 4);
}

#[tokio::test(start_paused = true)]
async fn an_undecodable_object_is_not_absent() {
    // At first it is listed, then changed, then relisted after an expired version.
    let expired =
        || event("ERROR", serde_json::json!({ "kind": "Status", "code": 410, "reason": "Expired" }));
    let (client, log) = scripted_by(
        |_, _| list("10", &[undecodable("a", "7")]),
        move |before, _| match before {
            0 => lines(&[event("MODIFIED", undecodable("a", "11")), expired()], closed()),
            _ => lines(&[], silence()),
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
async fn an_undecodable_object_that_lives_is_not_deleted() {
    let (client, _) = scripted_by(|_, _| list("10", &[undecodable("a", "7")]), |_, _| lines(&[], silence()));
    let waiting = await_condition(api(client), "a", conditions::is_deleted("a"));
    let error = timeout(Duration::from_secs(60), waiting).await.unwrap().unwrap_err();
    assert!(chain(&error).contains("cannot be decoded: a: "), "{}", chain(&error));
}

#[tokio::test(start_paused = true)]
async fn the_deletion_of_an_undecodable_object_is_one_by_name() {
    let gone = event("DELETED", undecodable("a", "11"));
    let (client, log) = scripted_by(
        |_, _| list("10", &[object("a", "7")]),
        move |before, _| {
            if before == 0 { lines(std::slice::from_ref(&gone), silence()) } else { lines(&[], silence()) }
        },
    );
    let mut states = pin!(watch_object(api(client), "a").map_ok(|state| state.map(|it| it.name_any())));
    assert_eq!(states.try_next().await.unwrap(), Some(Some("a".into())));
    assert_eq!(states.try_next().await.unwrap(), Some(None));
    assert_eq!(log.lists().len(), 1, "nobody had to ask again");
}

/// The user of plain events cannot be told which object it was: a list without it tells.
#[tokio::test(start_paused = true)]
async fn an_undecodable_deletion_leaves_no_ghost_in_a_streamed_store() {
    let (client, _) = scripted(|before, _| {
        let first =
            [event("ADDED", object("a", "7")), event("DELETED", undecodable("a", "8")), bookmark("9", true)];
        let lasting = [event("ADDED", object("b", "6")), bookmark("9", true)];
        lines(if before == 0 { &first } else { &lasting }, silence())
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

fn garbled() -> BoxStream<'static, io::Result<Bytes>> {
    stream::iter([Ok("{garbled\n".into())]).chain(silence()).boxed()
}

/// Nobody knows what was in it, so it is asked for again.
#[tokio::test(start_paused = true)]
async fn what_an_unreadable_line_told_is_not_lost() {
    let (client, log) = scripted(|before, query| {
        assert!(query.contains("resourceVersion=10"), "{query}");
        let added = event("ADDED", object("b", "11"));
        if before == 0 { lines(&[], garbled()) } else { lines(&[added], silence()) }
    });
    let told = during(5, events(client, Config::default())).await;
    assert!(told[3].starts_with("the watch failed"), "{told:?}");
    assert_eq!(told[4..], ["Apply(b)"]);
    assert_eq!(log.lists().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_an_object_sits_out_an_unreadable_line() {
    let (client, _) = scripted(|before, _| {
        let added = event("ADDED", object("b", "11"));
        if before == 0 { lines(&[], garbled()) } else { lines(&[added], silence()) }
    });
    let is_b = |it: Option<&ConfigMap>| it.is_some_and(|it| it.name_any() == "b");
    let waiting = await_condition(api(client), "b", is_b);
    assert!(timeout(Duration::from_secs(60), waiting).await.unwrap().unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_line_that_stays_unreadable_leads_to_a_list() {
    let (client, log) = scripted(|_, _| lines(&[], garbled()));
    during(600, events(client, Config::default())).await;
    let (lists, watches) = (log.lists().len(), log.watches().len());
    assert!((2..=4).contains(&lists), "{lists} lists");
    assert!((15..150).contains(&watches), "{watches} watches");
}

#[tokio::test(start_paused = true)]
async fn an_object_in_an_unreadable_line_of_a_streaming_list_is_not_absent() {
    let (client, _) = scripted(|_, query| {
        let streaming = query.contains("sendInitialEvents=true");
        let end = stream::iter([Ok(format!("{}\n", bookmark("9", true)).into())]);
        if streaming {
            lines(&[], garbled().take(1).chain(end).chain(silence()).boxed())
        } else {
            lines(&[], silence())
        }
    });
    let told = during(60, events(client, Config::default().streaming_lists())).await;
    assert!(told[1].starts_with("the watch failed"), "{told:?}");
    assert_eq!(
        (&*told[0], &told[2..]),
        ("Init", &["Init", "InitApply(a)", "InitDone"].map(String::from)[..])
    );
}

fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {}", chain(source)))
}
