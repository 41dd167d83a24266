//! Objects that cannot be decoded, in a store and behind a controller: their last readable states stay until they are proven to
//! be gone.

use crate::{
    common::{eventually, expect_next, spawn_outputs, wait_for_change},
    script::{Answer, closed, event, lines, list, object, scripted_by, silence, undecodable},
};
use futures::{StreamExt, channel::mpsc, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::{Api, Client};
use kube_core::ResourceExt;
use kube_runtime::{
    Controller, WatchStreamExt,
    controller::Action,
    reflector::{self, ObjectRef, Store},
    watcher::{self, Config, watcher},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::{Instant, sleep};

fn maps(client: Client) -> Api<ConfigMap> {
    Api::default_namespaced(client)
}

fn expired() -> Value {
    event("ERROR", json!({ "kind": "Status", "code": 410, "reason": "Expired" }))
}

/// The objects of a store with their versions.
fn shown(store: &Store<ConfigMap>) -> BTreeMap<String, String> {
    store.state().iter().map(|map| (map.name_any(), map.resource_version().unwrap())).collect()
}

fn states<const N: usize>(states: [(&str, &str); N]) -> BTreeMap<String, String> {
    states.map(|(name, version)| (name.to_owned(), version.to_owned())).into()
}

/// A server that lists these one after the other, and whose watches bring what is sent.
fn server(lists: Vec<(&'static str, Vec<Value>)>) -> (Client, mpsc::UnboundedSender<Value>) {
    let (send, sent) = mpsc::unbounded::<Value>();
    let sent = Arc::new(tokio::sync::Mutex::new(sent));
    let lists = Mutex::new(lists.into_iter());
    let last = Mutex::new(None);
    let (client, _log) = scripted_by(
        move |_, query| {
            let mut last = last.lock().unwrap();
            if !query.contains("limit=1&") && !query.ends_with("limit=1") {
                *last = lists.lock().unwrap().next().or(last.take());
            }
            let (version, items) = last.clone().expect("there was a list before");
            list(version, &items)
        },
        move |_, _| watch(Arc::clone(&sent)),
    );
    (client, send)
}

fn watch(sent: Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<Value>>>) -> Answer {
    let line = move |sent: Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<Value>>>| async move {
        let next = sent.lock().await.next().await;
        next.map(|value| (Ok(format!("{value}\n").into()), Arc::clone(&sent)))
    };
    lines(&[], stream::unfold(sent, line).boxed())
}

#[tokio::test(start_paused = true)]
async fn the_last_readable_state_stays_through_changes_and_lists_until_the_object_is_gone() {
    let (client, send) = server(vec![
        ("10", vec![object("a", "1"), object("b", "2"), object("c", "3")]),
        ("20", vec![undecodable("a", "11"), undecodable("new", "13"), object("b", "12")]),
        ("30", vec![object("b", "12")]),
    ]);
    let controller = Controller::new(maps(client), Config::default());
    let store = controller.store();
    let output = controller.run(nothing, wait_for_change, Arc::new(()));
    let mut outputs = spawn_outputs(output);
    for _ in 0..3 {
        assert!(expect_next(&mut outputs.items).await.starts_with("done: "));
    }
    send.unbounded_send(event("MODIFIED", undecodable("a", "11"))).unwrap();
    send.unbounded_send(event("MODIFIED", object("b", "12"))).unwrap();
    eventually(async || shown(&store)["b"] == "12").await;
    assert_eq!(shown(&store), states([("a", "1"), ("b", "12"), ("c", "3")]));
    send.unbounded_send(expired()).unwrap();
    eventually(async || !shown(&store).contains_key("c")).await;
    assert_eq!(
        shown(&store),
        states([("a", "1"), ("b", "12")]),
        "what is there and cannot be read is not gone"
    );
    send.unbounded_send(expired()).unwrap();
    eventually(async || !shown(&store).contains_key("a")).await;
    assert_eq!(shown(&store), states([("b", "12")]));
}

#[tokio::test(start_paused = true)]
async fn every_one_of_many_is_an_error_of_the_controller_by_name() {
    let names: Vec<String> = (0..15).map(|n| format!("bad-{n}")).collect();
    let items = names.iter().map(|name| undecodable(name, "5")).chain([object("good", "6")]).collect();
    let (client, _send) = server(vec![("10", items)]);
    let told = Arc::new(Mutex::new(String::new()));
    let listener = Arc::clone(&told);
    let output = Controller::new(maps(client), Config::default()).run(nothing, wait_for_change, Arc::new(()));
    let task = tokio::spawn(output.for_each(move |item| {
        let mut told = listener.lock().unwrap();
        let mut error = item.as_ref().err().map(|error| error as &dyn std::error::Error);
        while let Some(cause) = error {
            *told += &format!("{cause} ");
            error = cause.source();
        }
        std::future::ready(())
    }));
    sleep(Duration::from_secs(5)).await;
    task.abort();
    let told = told.lock().unwrap();
    let unnamed: Vec<_> = names.iter().filter(|name| !told.contains(*name)).collect();
    assert!(unnamed.is_empty(), "{unnamed:?}");
}

#[tokio::test(start_paused = true)]
async fn its_deletion_is_told_with_the_last_readable_state() {
    let (client, send) =
        server(vec![("10", vec![object("a", "1"), object("b", "2")]), ("20", vec![object("b", "2")])]);
    let (store, writer) = reflector::store_shared(4);
    let mut subscriber = store.subscribe().unwrap();
    let events = watcher(maps(client), Config::default()).reflect(writer);
    let mut told =
        events.map(|item| item.map_or_else(|_| "error".to_owned(), |event| event.to_string())).boxed();
    for expected in ["Init", "InitApply(a)", "InitApply(b)", "InitDone"] {
        assert_eq!(expect_next(&mut told).await, expected);
    }
    assert_eq!(
        [expect_next(&mut subscriber).await.name_any(), expect_next(&mut subscriber).await.name_any()],
        ["a", "b"]
    );
    send.unbounded_send(event("DELETED", undecodable("a", "11"))).unwrap();
    assert_eq!([expect_next(&mut told).await, expect_next(&mut told).await], ["Delete(a)", "error"]);
    assert_eq!(shown(&store), states([("b", "2")]));
    assert_eq!(expect_next(&mut subscriber).await.resource_version().as_deref(), Some("1"));
}

#[tokio::test(start_paused = true)]
async fn a_deletion_within_a_streaming_list_leaves_no_ghost() {
    let streaming = |query: &str| query.contains("sendInitialEvents=true");
    let (client, _log) = scripted_by(
        |_, _| list("10", &[]),
        move |_, query| {
            let end = crate::script::bookmark("20", true);
            let all = [
                event("ADDED", object("a", "5")),
                event("ADDED", object("b", "6")),
                event("DELETED", undecodable("a", "11")),
                end,
            ];
            if streaming(query) { lines(&all, silence()) } else { lines(&[], closed()) }
        },
    );
    let controller = Controller::new(maps(client), Config::default().streaming_lists());
    let store = controller.store();
    let _outputs = spawn_outputs(controller.run(nothing, wait_for_change, Arc::new(())));
    store.wait_until_ready().await.unwrap();
    assert_eq!(shown(&store), states([("b", "6")]));
}

async fn nothing(_: Arc<ConfigMap>, _: Arc<()>) -> Result<Action, Infallible> {
    Ok(Action::await_change())
}

#[tokio::test(start_paused = true)]
async fn it_costs_those_behind_it_no_wait() {
    for own_stream in [false, true] {
        let (client, send) = server(vec![("10", vec![object("good", "1")])]);
        let controller = if own_stream {
            let (store, writer) = reflector::store();
            let changes = watcher(maps(client), Config::default()).reflect(writer).applied_objects();
            Controller::for_stream(changes, store)
        } else {
            Controller::new(maps(client), Config::default())
        };
        let store = controller.store();
        let _outputs = spawn_outputs(controller.run(nothing, wait_for_change, Arc::new(())));
        eventually(async || store.is_ready()).await;
        let start = Instant::now();
        for round in 0..5 {
            send.unbounded_send(event("MODIFIED", undecodable("bad", &format!("{}", 20 + 2 * round))))
                .unwrap();
            send.unbounded_send(event("MODIFIED", object("good", &format!("{}", 21 + 2 * round)))).unwrap();
        }
        eventually(async || shown(&store)["good"] == "29").await;
        assert!(start.elapsed() < Duration::from_secs(1), "after {:?}", start.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn in_one_of_several_namespaces_it_stays_too() {
    let (client, send) = server(vec![
        ("10", vec![in_shop(object("a", "1")), in_shop(object("c", "3"))]),
        ("20", vec![in_shop(undecodable("a", "11"))]),
    ]);
    let controller = Controller::<ConfigMap>::for_namespaces(client, ["shop"], watcher::Config::default());
    let store = controller.store();
    let _outputs = spawn_outputs(controller.run(nothing, wait_for_change, Arc::new(())));
    eventually(async || store.len() == 2).await;
    send.unbounded_send(expired()).unwrap();
    eventually(async || store.len() == 1).await;
    assert!(store.get(&ObjectRef::new("a").within("shop")).is_some());
    send.unbounded_send(event("DELETED", in_shop(undecodable("a", "21")))).unwrap();
    eventually(async || store.is_empty()).await;
}

fn in_shop(mut object: Value) -> Value {
    object["metadata"]["namespace"] = json!("shop");
    object
}
