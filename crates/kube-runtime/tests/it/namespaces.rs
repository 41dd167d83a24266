//! Several namespaces as one stream and one store.

use crate::common::{ApiExt, assert_idle, expect_next, named, server};
use futures::{StreamExt, channel::mpsc, stream};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube_client::{Api, Client};
use kube_core::params::PostParams;
use kube_runtime::{
    Controller, WatchStreamExt,
    controller::Action,
    reflector::{self, ObjectRef, Store, reflect_namespaces},
    watcher::{self, Config, Event, watcher},
};
use kube_testserver::{ApiServer, Fault, Match};
use std::{pin::Pin, time::Duration};

type Told = Pin<Box<dyn futures::Stream<Item = String> + Send>>;

/// A server with the namespaces `a`, `b` and `c`.
async fn world() -> (ApiServer, Client) {
    let (server, client) = server();
    for namespace in ["a", "b", "c"] {
        Api::all(client.clone())
            .create(&PostParams::default(), &named::<Namespace>(namespace))
            .await
            .unwrap();
    }
    (server, client)
}

fn maps(client: &Client, namespace: &str) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), namespace)
}

fn watched(
    client: &Client,
    namespaces: impl futures::Stream<Item = Vec<&'static str>> + Send + 'static,
) -> (Store<ConfigMap>, Told) {
    let (store, writer) = reflector::store();
    let client = client.clone();
    let events = reflect_namespaces(writer, namespaces, move |namespace| {
        watcher(maps(&client, namespace), Config::default()).default_backoff()
    });
    let told = events.map(|event: watcher::Result<Event<ConfigMap>>| {
        event.map_or_else(|_| "error".to_owned(), |event| event.to_string())
    });
    (store, told.boxed())
}

/// The next so many items, sorted.
async fn next(told: &mut Told, count: usize) -> Vec<String> {
    let mut items = Vec::new();
    for _ in 0..count {
        items.push(expect_next(told).await);
    }
    items.sort();
    items
}

#[tokio::test(start_paused = true)]
async fn are_one_list_and_then_changes() {
    let (_server, client) = world().await;
    for namespace in ["a", "b", "c"] {
        maps(&client, namespace).add(named("one")).await;
    }
    let (store, mut told) = watched(&client, stream::iter([vec!["a", "b"]]));
    assert_eq!(next(&mut told, 4).await, ["Init", "InitApply(a/one)", "InitApply(b/one)", "InitDone"]);
    maps(&client, "c").add(named("elsewhere")).await;
    maps(&client, "b").touch("one", "1").await;
    maps(&client, "a").remove("one").await;
    assert_eq!(next(&mut told, 2).await, ["Apply(b/one)", "Delete(a/one)"]);
    assert_eq!(store.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn one_that_is_forbidden_holds_up_nobody() {
    let (server, client) = world().await;
    for namespace in ["a", "b"] {
        maps(&client, namespace).add(named("one")).await;
    }
    let forbidden = server.fault(Match::list::<ConfigMap>().namespace("b"), Fault::status(403, "Forbidden"));
    let (store, mut told) = watched(&client, stream::iter([vec!["a", "b"]]));
    let first = next(&mut told, 4).await;
    assert_eq!(first, ["Init", "InitApply(a/one)", "InitDone", "error"]);
    assert!(store.is_ready());
    forbidden.remove();
    while expect_next(&mut told).await != "Apply(b/one)" {}
    assert_eq!(store.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn one_that_is_down_is_waited_for_but_not_for_ever() {
    let (server, client) = world().await;
    server.fault(Match::list::<ConfigMap>().namespace("b"), Fault::status(500, "InternalError"));
    let (store, mut told) = watched(&client, stream::iter([vec!["a", "b"]]));
    let start = tokio::time::Instant::now();
    while expect_next(&mut told).await != "InitDone" {}
    assert_eq!(start.elapsed(), Duration::from_secs(30));
    assert!(store.is_ready());
}

#[tokio::test(start_paused = true)]
async fn one_that_lists_again_leaves_the_others_alone() {
    let (server, client) = world().await;
    for namespace in ["a", "b"] {
        for name in ["stays", "goes"] {
            maps(&client, namespace).add(named(name)).await;
        }
    }
    let (store, mut told) = watched(&client, stream::iter([vec!["a", "b"]]));
    next(&mut told, 6).await;
    assert_idle(&mut told).await;
    let away =
        server.fault(Match::watch::<ConfigMap>().namespace("a"), Fault::status(503, "ServiceUnavailable"));
    server.end_watches();
    while expect_next(&mut told).await != "error" {}
    maps(&client, "a").remove("goes").await;
    server.compact();
    away.remove();
    while expect_next(&mut told).await != "Delete(a/goes)" {}
    let gone = ObjectRef::new("goes").within("a");
    assert!(store.get(&gone).is_none() && store.len() == 3);
    assert_idle(&mut told).await;
}

#[tokio::test(start_paused = true)]
async fn may_come_and_go() {
    let (_server, client) = world().await;
    for namespace in ["a", "b", "c"] {
        maps(&client, namespace).add(named("one")).await;
    }
    let (change, changes) = mpsc::unbounded();
    let (store, mut told) = watched(&client, changes);
    change.unbounded_send(vec!["a"]).unwrap();
    assert_eq!(next(&mut told, 3).await, ["Init", "InitApply(a/one)", "InitDone"]);
    change.unbounded_send(vec!["a", "b"]).unwrap();
    assert_eq!(next(&mut told, 1).await, ["Apply(b/one)"]);
    change.unbounded_send(vec!["b"]).unwrap();
    assert_eq!(next(&mut told, 1).await, ["Delete(a/one)"]);
    maps(&client, "a").touch("one", "1").await;
    assert_idle(&mut told).await;
    change.unbounded_send(vec!["b", "a"]).unwrap();
    assert_eq!(next(&mut told, 1).await, ["Apply(a/one)"]);
    assert_eq!(store.len(), 2);
    drop(change);
    maps(&client, "b").remove("one").await;
    assert_eq!(next(&mut told, 1).await, ["Delete(b/one)"], "the last list stays");
}

#[tokio::test(start_paused = true)]
async fn writes_in_each_can_be_waited_for() {
    let (_server, client) = world().await;
    let (store, told) = watched(&client, stream::iter([vec!["a", "b"]]));
    let filling = tokio::spawn(told.for_each(|_| async {}));
    for round in 0..20 {
        for namespace in ["a", "b"] {
            let written = maps(&client, namespace).add(named(&format!("n{round}"))).await;
            let cached = tokio::time::timeout(Duration::from_secs(5), store.wait_for(&written)).await;
            assert_eq!(cached.unwrap().unwrap().unwrap().metadata.uid, written.metadata.uid);
        }
    }
    filling.abort();
}

#[tokio::test(start_paused = true)]
async fn a_write_to_what_was_deleted_in_a_gap_is_not_waited_for_for_ever() {
    for by_events in [false, true] {
        let (server, client) = world().await;
        for namespace in ["a", "b"] {
            maps(&client, namespace).add(named("one")).await;
        }
        let (store, filling) = if by_events {
            let (store, told) = watched(&client, stream::iter([vec!["a", "b"]]));
            (store, tokio::spawn(told.for_each(|_| async {})))
        } else {
            let controller = Controller::for_namespaces(client.clone(), ["a", "b"], Config::default());
            let nothing = async |_, _| Ok::<_, std::convert::Infallible>(Action::await_change());
            let store = controller.store();
            let output = controller.run(nothing, |_, _, _| Action::retry(), std::sync::Arc::new(()));
            (store, tokio::spawn(output.for_each(|_| async {})))
        };
        store.wait_until_ready().await.unwrap();
        for _ in 0..2 {
            let away = server
                .fault(Match::watch::<ConfigMap>().namespace("a"), Fault::status(503, "ServiceUnavailable"));
            server.end_watches();
            tokio::time::sleep(Duration::from_secs(1)).await;
            let written = maps(&client, "a").add(named("gone")).await;
            let waiting = tokio::spawn({
                let store = store.clone();
                async move { store.wait_for(&written).await }
            });
            tokio::task::yield_now().await;
            maps(&client, "a").remove("gone").await;
            server.compact();
            away.remove();
            if by_events {
                // The first list may have been requested before: only the next one is known not to.
                tokio::time::sleep(Duration::from_secs(30)).await;
                server.end_watches();
                server.fault(Match::watch::<ConfigMap>().namespace("a").times(1), Fault::Expired);
            }
            let cached = tokio::time::timeout(Duration::from_secs(60), waiting).await;
            assert!(cached.expect("the list counts").unwrap().unwrap().is_none());
        }
        filling.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_to_a_namespace_that_is_not_watched_is_an_error() {
    let (_server, client) = world().await;
    let (change, changes) = mpsc::unbounded();
    let (store, told) = watched(&client, changes);
    let filling = tokio::spawn(told.for_each(|_| async {}));
    change.unbounded_send(vec!["a", "b"]).unwrap();
    store.wait_until_ready().await.unwrap();
    let elsewhere = maps(&client, "c").add(named("one")).await;
    let waiting = tokio::time::timeout(Duration::from_secs(60), store.wait_for(&elsewhere)).await;
    let error = waiting.expect("nothing will ever bring it").unwrap_err();
    assert!(error.to_string().contains("\"c\" is not watched"), "{error}");
    let mut later = maps(&client, "b").add(named("one")).await;
    later.metadata.resource_version = Some("1000000".into());
    let (waiting, leave) = tokio::join!(store.wait_for(&later), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        change.unbounded_send(vec!["a"]).unwrap();
    });
    let () = leave;
    assert!(waiting.unwrap_err().to_string().contains("\"b\" is not watched"));
    filling.abort();
}

#[tokio::test(start_paused = true)]
async fn ends_when_the_namespaces_and_every_watch_have_ended() {
    let list = |namespace: &str| {
        let events = [Event::<ConfigMap>::Init, Event::InitDone].map(Ok);
        let late = if namespace == "a" { 1 } else { 5 };
        let end = stream::once(tokio::time::sleep(Duration::from_secs(late))).filter_map(async |()| None);
        stream::iter(events).chain(end)
    };
    for namespaces in [vec![vec!["a", "b"]], vec![vec!["a"]], vec![vec![]], vec![]] {
        let (store, writer) = reflector::store();
        let events = reflect_namespaces(writer, stream::iter(namespaces), list);
        let ended = tokio::time::timeout(Duration::from_secs(3600), events.count()).await;
        assert!(ended.is_ok(), "its last watch has ended");
        let mut written: ConfigMap = named("x");
        written.metadata.resource_version = Some("5".into());
        assert!(store.wait_for(&written).await.is_err(), "and the writer is gone");
    }
}
