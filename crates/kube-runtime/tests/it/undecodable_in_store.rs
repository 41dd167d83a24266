//! Undecodable objects in a store and in a controller: their last readable states are retained until they are deleted.

use crate::{
    common::{eventually, expect_next, in_namespaces, spawn_outputs, wait_for_change},
    scripted_server::{
        ScriptedResponse, end_of_stream, event, idle, list, object, scripted_server, undecodable,
        watch_response,
    },
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

/// The names and versions of the objects in a store.
fn stored(store: &Store<ConfigMap>) -> BTreeMap<String, String> {
    store.state().iter().map(|map| (map.name_any(), map.resource_version().unwrap())).collect()
}

fn states<const N: usize>(states: [(&str, &str); N]) -> BTreeMap<String, String> {
    states.map(|(name, version)| (name.to_owned(), version.to_owned())).into()
}

/// A server with a sequence of lists, and watches that receive what is sent to the returned channel.
fn server(lists: Vec<(&'static str, Vec<Value>)>) -> (Client, mpsc::UnboundedSender<Value>) {
    let (send, sent) = mpsc::unbounded::<Value>();
    let sent = Arc::new(tokio::sync::Mutex::new(sent));
    let lists = Mutex::new(lists.into_iter());
    let last = Mutex::new(None);
    let (client, _log) = scripted_server(
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

fn watch(sent: Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<Value>>>) -> ScriptedResponse {
    let line = move |sent: Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<Value>>>| async move {
        let next = sent.lock().await.next().await;
        next.map(|value| (Ok(format!("{value}\n").into()), Arc::clone(&sent)))
    };
    watch_response(&[], stream::unfold(sent, line).boxed())
}

#[tokio::test(start_paused = true)]
async fn the_last_readable_state_is_retained_until_the_object_is_deleted() {
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
    eventually(async || stored(&store)["b"] == "12").await;
    assert_eq!(stored(&store), states([("a", "1"), ("b", "12"), ("c", "3")]));
    send.unbounded_send(expired()).unwrap();
    eventually(async || !stored(&store).contains_key("c")).await;
    assert_eq!(stored(&store), states([("a", "1"), ("b", "12")]), "an undecodable object is not deleted");
    send.unbounded_send(expired()).unwrap();
    eventually(async || !stored(&store).contains_key("a")).await;
    assert_eq!(stored(&store), states([("b", "12")]));
}

#[tokio::test(start_paused = true)]
async fn a_controller_reports_every_undecodable_object_by_name() {
    let names: Vec<String> = (0..15).map(|n| format!("bad-{n}")).collect();
    let items = names.iter().map(|name| undecodable(name, "5")).chain([object("good", "6")]).collect();
    let (client, _send) = server(vec![("10", items)]);
    let messages = Arc::new(Mutex::new(String::new()));
    let recorder = Arc::clone(&messages);
    let output = Controller::new(maps(client), Config::default()).run(nothing, wait_for_change, Arc::new(()));
    let task = tokio::spawn(output.for_each(move |item| {
        let mut messages = recorder.lock().unwrap();
        let mut error = item.as_ref().err().map(|error| error as &dyn std::error::Error);
        while let Some(cause) = error {
            *messages += &format!("{cause} ");
            error = cause.source();
        }
        std::future::ready(())
    }));
    sleep(Duration::from_secs(5)).await;
    task.abort();
    let messages = messages.lock().unwrap();
    let unnamed: Vec<_> = names.iter().filter(|name| !messages.contains(*name)).collect();
    assert!(unnamed.is_empty(), "{unnamed:?}");
}

#[tokio::test(start_paused = true)]
async fn a_deletion_is_reported_with_the_last_readable_state() {
    let (client, send) =
        server(vec![("10", vec![object("a", "1"), object("b", "2")]), ("20", vec![object("b", "2")])]);
    let (store, writer) = reflector::store_shared(4);
    let mut subscriber = store.subscribe().unwrap();
    let events = watcher(maps(client), Config::default()).reflect(writer);
    let mut items =
        events.map(|item| item.map_or_else(|_| "error".to_owned(), |event| event.to_string())).boxed();
    for expected in ["Init", "InitApply(a)", "InitApply(b)", "InitDone"] {
        assert_eq!(expect_next(&mut items).await, expected);
    }
    assert_eq!(
        [expect_next(&mut subscriber).await.name_any(), expect_next(&mut subscriber).await.name_any()],
        ["a", "b"]
    );
    send.unbounded_send(event("DELETED", undecodable("a", "11"))).unwrap();
    assert_eq!([expect_next(&mut items).await, expect_next(&mut items).await], ["Delete(a)", "error"]);
    assert_eq!(stored(&store), states([("b", "2")]));
    assert_eq!(expect_next(&mut subscriber).await.resource_version().as_deref(), Some("1"));
}

#[tokio::test(start_paused = true)]
async fn an_undecodable_deletion_within_a_streaming_list_removes_the_object() {
    let streaming = |query: &str| query.contains("sendInitialEvents=true");
    let (client, _log) = scripted_server(
        |_, _| list("10", &[]),
        move |_, query| {
            let end = crate::scripted_server::bookmark("20", true);
            let all = [
                event("ADDED", object("a", "5")),
                event("ADDED", object("b", "6")),
                event("DELETED", undecodable("a", "11")),
                end,
            ];
            if streaming(query) { watch_response(&all, idle()) } else { watch_response(&[], end_of_stream()) }
        },
    );
    let controller = Controller::new(maps(client), Config::default().streaming_lists());
    let store = controller.store();
    let _outputs = spawn_outputs(controller.run(nothing, wait_for_change, Arc::new(())));
    store.wait_until_ready().await.unwrap();
    assert_eq!(stored(&store), states([("b", "6")]));
}

async fn nothing(_: Arc<ConfigMap>, _: Arc<()>) -> Result<Action, Infallible> {
    Ok(Action::await_change())
}

#[tokio::test(start_paused = true)]
async fn an_undecodable_object_causes_no_wait_for_later_events() {
    for by_stream in [false, true] {
        let (client, send) = server(vec![("10", vec![object("good", "1")])]);
        let controller = if by_stream {
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
        eventually(async || stored(&store)["good"] == "29").await;
        assert!(start.elapsed() < Duration::from_secs(1), "after {:?}", start.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_readable_state_is_retained_with_several_namespaces() {
    let (client, send) = server(vec![
        ("10", vec![in_shop(object("a", "1")), in_shop(object("c", "3"))]),
        ("20", vec![in_shop(undecodable("a", "11"))]),
    ]);
    let controller = in_namespaces::<ConfigMap>(client, ["shop"], watcher::Config::default());
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
