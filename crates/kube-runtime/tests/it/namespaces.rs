//! Several namespaces in one stream and one store.

use crate::common::{ApiExt, assert_idle, expect_next, in_namespaces, named, server};
use futures::{StreamExt, channel::mpsc, stream};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube_client::{Api, Client};
use kube_core::params::PostParams;
use kube_runtime::{
    WatchStreamExt,
    controller::Action,
    reflector::{self, ObjectRef, Store, reflect_namespaces},
    watcher::{self, Config, Event, watcher},
};
use kube_testserver::{ApiServer, Fault, Match};
use std::{pin::Pin, time::Duration};

type Items = Pin<Box<dyn futures::Stream<Item = String> + Send>>;

/// A server with the namespaces `a`, `b` and `c`.
async fn server_with_namespaces() -> (ApiServer, Client) {
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
) -> (Store<ConfigMap>, Items) {
    let (store, writer) = reflector::store();
    let client = client.clone();
    let events = reflect_namespaces(writer, namespaces, move |namespace| {
        watcher(maps(&client, namespace), Config::default()).default_backoff()
    });
    let items = events.map(|event: watcher::Result<Event<ConfigMap>>| {
        event.map_or_else(|_| "error".to_owned(), |event| event.to_string())
    });
    (store, items.boxed())
}

/// The next `count` items, sorted.
async fn next(items: &mut Items, count: usize) -> Vec<String> {
    let mut received = Vec::new();
    for _ in 0..count {
        received.push(expect_next(items).await);
    }
    received.sort();
    received
}

#[tokio::test(start_paused = true)]
async fn namespaces_are_one_list_followed_by_changes() {
    let (_server, client) = server_with_namespaces().await;
    for namespace in ["a", "b", "c"] {
        maps(&client, namespace).add(named("one")).await;
    }
    let (store, mut items) = watched(&client, stream::iter([vec!["a", "b"]]));
    assert_eq!(next(&mut items, 4).await, ["Init", "InitApply(a/one)", "InitApply(b/one)", "InitDone"]);
    maps(&client, "c").add(named("elsewhere")).await;
    maps(&client, "b").touch("one", "1").await;
    maps(&client, "a").remove("one").await;
    assert_eq!(next(&mut items, 2).await, ["Apply(b/one)", "Delete(a/one)"]);
    assert_eq!(store.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_namespace_does_not_delay_the_others() {
    let (server, client) = server_with_namespaces().await;
    for namespace in ["a", "b"] {
        maps(&client, namespace).add(named("one")).await;
    }
    let forbidden = server.fault(Match::list::<ConfigMap>().namespace("b"), Fault::status(403, "Forbidden"));
    let (store, mut items) = watched(&client, stream::iter([vec!["a", "b"]]));
    let first = next(&mut items, 4).await;
    assert_eq!(first, ["Init", "InitApply(a/one)", "InitDone", "error"]);
    assert!(store.is_ready());
    forbidden.remove();
    while expect_next(&mut items).await != "Apply(b/one)" {}
    assert_eq!(store.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_failing_namespace_delays_the_sync_until_the_timeout() {
    let (server, client) = server_with_namespaces().await;
    server.fault(Match::list::<ConfigMap>().namespace("b"), Fault::status(500, "InternalError"));
    let (store, mut items) = watched(&client, stream::iter([vec!["a", "b"]]));
    let start = tokio::time::Instant::now();
    while expect_next(&mut items).await != "InitDone" {}
    assert_eq!(start.elapsed(), Duration::from_secs(30));
    assert!(store.is_ready());
}

#[tokio::test(start_paused = true)]
async fn a_relist_of_one_namespace_does_not_change_the_others() {
    let (server, client) = server_with_namespaces().await;
    for namespace in ["a", "b"] {
        for name in ["stays", "goes"] {
            maps(&client, namespace).add(named(name)).await;
        }
    }
    let (store, mut items) = watched(&client, stream::iter([vec!["a", "b"]]));
    next(&mut items, 6).await;
    assert_idle(&mut items).await;
    let outage =
        server.fault(Match::watch::<ConfigMap>().namespace("a"), Fault::status(503, "ServiceUnavailable"));
    server.end_watches();
    while expect_next(&mut items).await != "error" {}
    maps(&client, "a").remove("goes").await;
    server.compact();
    outage.remove();
    while expect_next(&mut items).await != "Delete(a/goes)" {}
    let deleted = ObjectRef::new("goes").within("a");
    assert!(store.get(&deleted).is_none() && store.len() == 3);
    assert_idle(&mut items).await;
}

#[tokio::test(start_paused = true)]
async fn namespaces_can_be_added_and_removed() {
    let (_server, client) = server_with_namespaces().await;
    for namespace in ["a", "b", "c"] {
        maps(&client, namespace).add(named("one")).await;
    }
    let (change, changes) = mpsc::unbounded();
    let (store, mut items) = watched(&client, changes);
    change.unbounded_send(vec!["a"]).unwrap();
    assert_eq!(next(&mut items, 3).await, ["Init", "InitApply(a/one)", "InitDone"]);
    change.unbounded_send(vec!["a", "b"]).unwrap();
    assert_eq!(next(&mut items, 1).await, ["Apply(b/one)"]);
    change.unbounded_send(vec!["b"]).unwrap();
    assert_eq!(next(&mut items, 1).await, ["Delete(a/one)"]);
    maps(&client, "a").touch("one", "1").await;
    assert_idle(&mut items).await;
    change.unbounded_send(vec!["b", "a"]).unwrap();
    assert_eq!(next(&mut items, 1).await, ["Apply(a/one)"]);
    assert_eq!(store.len(), 2);
    drop(change);
    maps(&client, "b").remove("one").await;
    assert_eq!(next(&mut items, 1).await, ["Delete(b/one)"], "the last list of namespaces stays in effect");
}

#[tokio::test(start_paused = true)]
async fn writes_in_each_namespace_can_be_awaited() {
    let (_server, client) = server_with_namespaces().await;
    let (store, items) = watched(&client, stream::iter([vec!["a", "b"]]));
    let filling = tokio::spawn(items.for_each(|_| async {}));
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
async fn a_wait_for_an_object_deleted_in_a_gap_ends() {
    for by_events in [false, true] {
        let (server, client) = server_with_namespaces().await;
        for namespace in ["a", "b"] {
            maps(&client, namespace).add(named("one")).await;
        }
        let (store, filling) = if by_events {
            let (store, items) = watched(&client, stream::iter([vec!["a", "b"]]));
            (store, tokio::spawn(items.for_each(|_| async {})))
        } else {
            let controller = in_namespaces(client.clone(), ["a", "b"], Config::default());
            let nothing = async |_, _| Ok::<_, std::convert::Infallible>(Action::await_change());
            let store = controller.store();
            let output = controller.run(nothing, |_, _, _| Action::retry(), std::sync::Arc::new(()));
            (store, tokio::spawn(output.for_each(|_| async {})))
        };
        store.wait_until_ready().await.unwrap();
        for _ in 0..2 {
            let outage = server
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
            outage.remove();
            if by_events {
                // The first list may have been requested before the wait began. The next one was not.
                tokio::time::sleep(Duration::from_secs(30)).await;
                server.end_watches();
                server.fault(Match::watch::<ConfigMap>().namespace("a").times(1), Fault::Expired);
            }
            let cached = tokio::time::timeout(Duration::from_secs(60), waiting).await;
            assert!(cached.expect("the list ends the wait").unwrap().unwrap().is_none());
        }
        filling.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_to_a_namespace_that_is_not_watched_is_an_error() {
    let (_server, client) = server_with_namespaces().await;
    let (change, changes) = mpsc::unbounded();
    let (store, items) = watched(&client, changes);
    let filling = tokio::spawn(items.for_each(|_| async {}));
    change.unbounded_send(vec!["a", "b"]).unwrap();
    store.wait_until_ready().await.unwrap();
    let elsewhere = maps(&client, "c").add(named("one")).await;
    let waiting = tokio::time::timeout(Duration::from_secs(60), store.wait_for(&elsewhere)).await;
    let error = waiting.expect("the wait fails instead of hanging").unwrap_err();
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
async fn the_stream_ends_when_the_namespaces_and_all_watches_have_ended() {
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
        assert!(store.wait_for(&written).await.is_err(), "the writer was dropped");
    }
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_added_does_not_prolong_the_initial_sync() {
    let (store, writer) = reflector::store::<ConfigMap>();
    let added = async {
        tokio::time::sleep(Duration::from_secs(20)).await;
        vec!["a", "b", "c"]
    };
    let namespaces = stream::iter([vec!["a", "b"]]).chain(stream::once(added)).boxed();
    let events = reflect_namespaces(writer, namespaces, |namespace| {
        let listed = if namespace == "a" { vec![Ok(Event::Init), Ok(Event::InitDone)] } else { Vec::new() };
        stream::iter(listed).chain(stream::pending())
    });
    let start = tokio::time::Instant::now();
    let mut events = std::pin::pin!(events);
    while !store.is_ready() {
        events.next().await.unwrap().unwrap();
    }
    assert_eq!(start.elapsed(), Duration::from_secs(30));
}
