//! Watching a server without faults.

use crate::common::{ApiExt, assert_idle, config_maps, expect_next, labelled, named, server};
use futures::{FutureExt, Stream, StreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::{Api, client::Prune};
use kube_core::{PartialObjectMeta, ResourceExt};
use kube_runtime::{
    WatchStreamExt, reflector,
    reflector::ObjectRef,
    watcher::{Config, Error, Event, watch_object, watcher},
};
use std::{pin::pin, sync::Arc};

/// Events as strings; `error` for errors.
fn to_strings(
    events: impl Stream<Item = Result<Event<ConfigMap>, Error>> + Send,
) -> impl Stream<Item = String> + Send {
    events.map(|event| event.map_or_else(|_| "error".to_owned(), |event| event.to_string()))
}

async fn expect(events: &mut (impl Stream<Item = String> + Unpin), expected: &[&str]) {
    for expected in expected {
        assert_eq!(expect_next(events).await, *expected);
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_is_followed_by_changes() {
    let (_server, client) = server();
    let api = config_maps(&client);
    api.add(named("a")).await;
    let mut events = pin!(to_strings(watcher(api.clone(), Config::default())));
    expect(&mut events, &["Init", "InitApply(default/a)", "InitDone"]).await;
    api.add(named("b")).await;
    api.touch("b", "1").await;
    api.remove("a").await;
    expect(&mut events, &["Apply(default/b)", "Apply(default/b)", "Delete(default/a)"]).await;
}

#[tokio::test(start_paused = true)]
async fn lists_and_watches_skip_what_the_api_and_the_configuration_prune() {
    let (_server, client) = server();
    let api = config_maps(&client);
    api.add(labelled("listed", ("app", "web"))).await;
    let pruned = api.clone().prune(Prune::default().managed_fields());
    let labels = Prune::default().path(["metadata", "labels"]);
    for (config, changed) in [(Config::default(), "a"), (Config::default().streaming_lists(), "b")] {
        let mut objects = pin!(watcher(pruned.clone(), config.prune(labels.clone())).applied_objects());
        let listed = expect_next(&mut objects).await.unwrap().metadata;
        assert_eq!((listed.managed_fields, listed.labels), (None, None));
        while objects.next().now_or_never().is_some() {} // the rest of the list
        api.add(labelled(changed, ("app", "web"))).await;
        let watched = expect_next(&mut objects).await.unwrap().metadata;
        assert_eq!(
            (watched.name.as_deref(), watched.managed_fields, watched.labels),
            (Some(changed), None, None)
        );
    }
    let whole = api.get("listed").await.unwrap().metadata;
    assert!(whole.managed_fields.is_some() && whole.labels.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_list_is_read_page_by_page() {
    let (_server, client) = server();
    let api = config_maps(&client);
    for name in ["a", "b", "c", "d", "e"] {
        api.add(named(name)).await;
    }
    let mut events = pin!(to_strings(watcher(api, Config::default().page_size(2))));
    assert_eq!(expect_next(&mut events).await, "Init");
    for name in ["a", "b", "c", "d", "e"] {
        assert_eq!(expect_next(&mut events).await, format!("InitApply(default/{name})"));
    }
    expect(&mut events, &["InitDone"]).await;
}

#[tokio::test(start_paused = true)]
async fn an_expired_continue_token_restarts_the_list_without_pages() {
    let (server, client) = server();
    let api = config_maps(&client);
    for name in ["a", "b", "c", "d", "e", "f"] {
        api.add(named(name)).await;
    }
    let mut events = pin!(to_strings(watcher(api.clone(), Config::default().page_size(1))));
    expect(&mut events, &["Init", "InitApply(default/a)"]).await;
    api.add(named("g")).await;
    server.compact();
    // One page may have been prefetched.
    let mut prefetched = 0;
    while expect_next(&mut events).await != "Init" {
        prefetched += 1;
    }
    assert!(prefetched <= 1, "{prefetched}");
    for name in ["a", "b", "c", "d", "e", "f", "g"] {
        expect(&mut events, &[&format!("InitApply(default/{name})")]).await;
    }
    expect(&mut events, &["InitDone"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_streaming_list_is_followed_by_changes() {
    let (_server, client) = server();
    let api = config_maps(&client);
    api.add(named("a")).await;
    api.add(named("b")).await;
    let mut events = pin!(to_strings(watcher(api.clone(), Config::default().streaming_lists())));
    expect(&mut events, &["Init", "InitApply(default/a)", "InitApply(default/b)", "InitDone"]).await;
    api.add(named("c")).await;
    expect(&mut events, &["Apply(default/c)"]).await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_no_longer_matches_the_selector_is_deleted() {
    let (_server, client) = server();
    let api = config_maps(&client);
    api.add(labelled("in", ("app", "web"))).await;
    api.add(named("out")).await;
    let mut events = pin!(to_strings(watcher(api.clone(), Config::default().labels("app=web"))));
    expect(&mut events, &["Init", "InitApply(default/in)", "InitDone"]).await;
    let mut moved = api.get("in").await.unwrap();
    moved.labels_mut().clear();
    api.replace("in", &Default::default(), &moved).await.unwrap();
    expect(&mut events, &["Delete(default/in)"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ended_resumes_without_a_relist() {
    let (server, client) = server();
    let api = config_maps(&client);
    let mut events = pin!(to_strings(watcher(api.clone(), Config::default())));
    expect(&mut events, &["Init", "InitDone"]).await;
    api.add(named("a")).await;
    expect(&mut events, &["Apply(default/a)"]).await;
    server.end_watches();
    api.add(named("b")).await;
    expect(&mut events, &["Apply(default/b)"]).await;
}

#[tokio::test(start_paused = true)]
async fn an_expired_history_causes_a_relist() {
    let (server, client) = server();
    let api = config_maps(&client);
    api.add(named("a")).await;
    let mut events = pin!(to_strings(watcher(api.clone(), Config::default().disable_bookmarks())));
    expect(&mut events, &["Init", "InitApply(default/a)", "InitDone"]).await;
    assert_idle(&mut events).await;
    server.end_watches();
    Api::<Secret>::default_namespaced(client).add(named("of-another-kind")).await;
    api.remove("a").await;
    server.compact();
    expect(&mut events, &["error", "Init", "InitDone"]).await;
}

#[tokio::test(start_paused = true)]
async fn a_reflector_keeps_the_store_equal_to_the_server() {
    let (server, client) = server();
    let api = config_maps(&client);
    let (store, writer) = reflector::store();
    let mut events = pin!(reflector(writer, watcher(api.clone(), Config::default())).applied_objects());
    api.add(named("a")).await;
    assert_eq!(expect_next(&mut events).await.unwrap().name_any(), "a");
    api.add(named("b")).await;
    assert_eq!(expect_next(&mut events).await.unwrap().name_any(), "b");
    let before = store.get(&ObjectRef::new("a").within("default")).unwrap();

    server.end_watches();
    api.remove("b").await;
    api.add(named("c")).await;
    server.compact();
    loop {
        match expect_next(&mut events).await {
            Ok(object) if object.name_any() == "c" => break,
            Ok(_) | Err(_) => {}
        }
    }
    assert_idle(&mut events).await;
    let mut names: Vec<_> = store.state().iter().map(|object| object.name_any()).collect();
    names.sort();
    assert_eq!(names, ["a", "c"]);
    let after = store.get(&ObjectRef::new("a").within("default")).unwrap();
    assert!(Arc::ptr_eq(&before, &after), "an unchanged object keeps its Arc");
}

#[tokio::test(start_paused = true)]
async fn metadata_can_be_watched_alone() {
    let (_server, client) = server();
    config_maps(&client).add(labelled("a", ("app", "web"))).await;
    let api: Api<PartialObjectMeta<ConfigMap>> = Api::default_namespaced(client);
    let mut objects = pin!(watcher(api, Config::default()).applied_objects());
    let object = expect_next(&mut objects).await.unwrap();
    assert_eq!(object.labels().get("app").map(String::as_str), Some("web"));
    assert_eq!(object.types.unwrap().kind, "PartialObjectMetadata");
}

#[tokio::test(start_paused = true)]
async fn watch_object_reports_creation_and_deletion() {
    let (_server, client) = server();
    let api = config_maps(&client);
    api.add(named("other")).await;
    let mut states = pin!(watch_object(api.clone(), "a").map(|state| state.unwrap().map(|it| it.name_any())));
    assert_eq!(expect_next(&mut states).await, None);
    api.add(named("a")).await;
    assert_eq!(expect_next(&mut states).await.as_deref(), Some("a"));
    api.remove("a").await;
    assert_eq!(expect_next(&mut states).await, None);
}
