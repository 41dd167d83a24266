//! One controller for several namespaces.

use crate::{
    common::{
        ApiExt, Outputs, assert_idle, expect_next, in_namespaces, labelled, named, owned, server,
        spawn_outputs, wait_for_change,
    },
    layers::delayed,
};
use futures::{StreamExt, channel::mpsc};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube_client::{Api, Client};
use kube_core::{ApiResource, DynamicObject, PartialObjectMeta, ResourceExt, params::PostParams};
use kube_runtime::{
    Controller, WatchStreamExt,
    controller::{Action, Own, Related},
    reflector::{self, ObjectRef, reflect_namespaces},
    watcher,
};
use kube_testserver::{ApiServer, Fault, Match};
use std::{collections::BTreeSet, convert::Infallible, sync::Arc, time::Duration};
use tokio::time::{Instant, sleep};

const WATCHED: [&str; 2] = ["a", "b"];

/// A server with the namespaces `a`, `b` and `c`, each with a ConfigMap `one`.
async fn server_with_three_namespaces() -> (ApiServer, Client) {
    let (server, client) = server();
    for namespace in ["a", "b", "c"] {
        let spaces = Api::<Namespace>::all(client.clone());
        spaces.create(&PostParams::default(), &named(namespace)).await.unwrap();
        maps(&client, namespace).add(named("one")).await;
    }
    (server, client)
}

fn maps(client: &Client, namespace: &str) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), namespace)
}

fn all() -> watcher::Config {
    watcher::Config::default()
}

/// The metadata of Secrets in these namespaces.
fn secrets<'a>(
    client: &Client,
    namespaces: impl IntoIterator<Item = &'a str>,
) -> Related<Secret, PartialObjectMeta<Secret>> {
    Related::metadata(Api::all(client.clone()), all()).namespaces(namespaces)
}

fn controller(client: &Client) -> Controller<ConfigMap> {
    in_namespaces(client.clone(), WATCHED, all())
}

async fn nothing(_: Arc<ConfigMap>, _: Arc<()>) -> Result<Action, Infallible> {
    Ok(Action::await_change())
}

fn run(controller: Controller<ConfigMap>) -> Outputs {
    spawn_outputs(controller.run(nothing, wait_for_change, Arc::new(())))
}

#[tokio::test(start_paused = true)]
async fn only_objects_in_the_watched_namespaces_are_reconciled() {
    let (_server, client) = server_with_three_namespaces().await;
    let controller = controller(&client);
    let store = controller.store();
    let mut outputs = run(controller);
    assert_eq!(
        [expect_next(&mut outputs.items).await, expect_next(&mut outputs.items).await],
        ["done: one", "done: one"]
    );
    let shown: BTreeSet<_> = store.state().iter().map(|map| map.namespace().unwrap()).collect();
    assert_eq!(shown, WATCHED.map(str::to_owned).into());
    maps(&client, "c").touch("one", "1").await;
    assert_idle(&mut outputs.items).await;
    maps(&client, "b").touch("one", "1").await;
    assert_eq!(expect_next(&mut outputs.items).await, "done: one");
}

#[tokio::test(start_paused = true)]
async fn an_empty_list_of_child_namespaces_does_not_delay_reconciles() {
    let (_server, client) = server_with_three_namespaces().await;
    let start = Instant::now();
    let nowhere: [&str; 0] = [];
    let mut outputs = run(controller(&client).owns_related(secrets(&client, nowhere)));
    assert_eq!(expect_next(&mut outputs.items).await, "done: one");
    assert!(start.elapsed() < Duration::from_secs(1), "after {:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn owned_and_watched_objects_trigger_only_in_their_namespaces() {
    let (_server, client) = server_with_three_namespaces().await;
    let labelled_secrets = Api::<Secret>::all(client.clone());
    let controller = controller(&client).owns_related(secrets(&client, WATCHED)).watches_related(
        Related::api(labelled_secrets, all().labels("for=one")).namespaces(["a"]),
        |secret| secret.namespace().map(|namespace| ObjectRef::new("one").within(&namespace)),
    );
    let mut outputs = run(controller);
    for _ in WATCHED {
        expect_next(&mut outputs.items).await;
    }
    let secrets = |namespace| Api::<Secret>::namespaced(client.clone(), namespace);
    for namespace in ["a", "b"] {
        let owner = maps(&client, namespace).get("one").await.unwrap();
        secrets(namespace).add(owned("child", &owner)).await;
        assert_eq!(expect_next(&mut outputs.items).await, "done: one");
        secrets(namespace).remove("child").await;
        assert_eq!(expect_next(&mut outputs.items).await, "done: one");
    }
    for (namespace, triggers) in [("a", true), ("b", false)] {
        secrets(namespace).add(labelled("dependency", ("for", "one"))).await;
        if triggers {
            assert_eq!(expect_next(&mut outputs.items).await, "done: one");
        }
        assert_idle(&mut outputs.items).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_namespace_whose_watch_fails_does_not_delay_the_others() {
    let (server, client) = server_with_three_namespaces().await;
    server.fault(Match::watch::<ConfigMap>().namespace("b"), Fault::status(500, "InternalError"));
    let mut outputs = run(controller(&client).trigger_backoff(NeverRetry));
    let mut first = [
        expect_next(&mut outputs.items).await,
        expect_next(&mut outputs.items).await,
        expect_next(&mut outputs.items).await,
    ];
    first.sort();
    assert_eq!(first, ["a watch of the controller failed", "done: one", "done: one"]);
    for round in 0..10 {
        let start = Instant::now();
        maps(&client, "a").touch("one", &round.to_string()).await;
        assert_eq!(expect_next(&mut outputs.items).await, "done: one");
        assert!(start.elapsed() < Duration::from_secs(1), "after {:?}", start.elapsed());
    }
}

/// A backoff longer than any test.
struct NeverRetry;

impl Iterator for NeverRetry {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(Duration::from_secs(1_000_000))
    }
}

impl kube_runtime::utils::Backoff for NeverRetry {
    fn reset(&mut self) {}
}

#[tokio::test(start_paused = true)]
async fn dynamic_kinds_are_supported_in_several_namespaces() {
    let (_server, client) = server_with_three_namespaces().await;
    let (map, secret) = (ApiResource::erase::<ConfigMap>(&()), ApiResource::erase::<Secret>(&()));
    let kind = map.clone();
    let (maps_api, secrets_api) = (
        Api::<DynamicObject>::all_with(client.clone(), &map),
        Api::<DynamicObject>::all_with(client.clone(), &secret),
    );
    let owned_secrets = Related::metadata_with(secrets_api.clone(), secret.clone(), all());
    let controller = Controller::for_own(Own::api_with(maps_api, map, all()).namespaces(WATCHED))
        .owns_related(owned_secrets.namespaces(WATCHED))
        .watches_related(Related::api_with(secrets_api, secret, all()).namespaces(WATCHED), move |secret| {
            let named = secret.annotations().get("for")?;
            Some(ObjectRef::new_with(named, kind.clone()).within(&secret.namespace()?))
        });
    let output = controller.run(
        async |_, _| Ok::<_, Infallible>(Action::await_change()),
        wait_for_change,
        Arc::new(()),
    );
    let mut done = output.map(|item| item.unwrap().0.namespace.unwrap()).boxed();
    let mut first = [expect_next(&mut done).await, expect_next(&mut done).await];
    first.sort();
    assert_eq!(first, WATCHED);
    let owner = maps(&client, "b").get("one").await.unwrap();
    let secrets = |namespace| Api::<Secret>::namespaced(client.clone(), namespace);
    secrets("b").add(owned("child", &owner)).await;
    assert_eq!(expect_next(&mut done).await, "b");
    let mut dependency: Secret = named("dependency");
    dependency.annotations_mut().insert("for".to_owned(), "one".to_owned());
    secrets("a").add(dependency).await;
    assert_eq!(expect_next(&mut done).await, "a");
    assert_idle(&mut done).await;
}

#[tokio::test(start_paused = true)]
async fn namespaces_can_be_added_and_removed_at_run_time() {
    let (_server, client) = server_with_three_namespaces().await;
    let (lists, children_lists) = (mpsc::unbounded(), mpsc::unbounded());
    let only = |namespaces: &[&'static str]| {
        for lists in [&lists.0, &children_lists.0] {
            lists.unbounded_send(namespaces.to_vec()).unwrap();
        }
    };
    let (store, writer) = reflector::store::<ConfigMap>();
    let (_, children) = reflector::store::<PartialObjectMeta<Secret>>();
    let (map_client, child_client) = (client.clone(), client.clone());
    let maps_stream = reflect_namespaces(writer, lists.1, move |namespace| {
        watcher(Api::namespaced(map_client.clone(), namespace), all()).default_backoff()
    });
    let children_stream = reflect_namespaces(children, children_lists.1, move |namespace| {
        watcher(Api::namespaced(child_client.clone(), namespace), all()).default_backoff()
    });
    only(&["a"]);
    let controller = Controller::for_stream(maps_stream.applied_objects(), store.clone())
        .owns_stream(children_stream.touched_objects());
    let mut outputs = run(controller);
    assert_eq!(expect_next(&mut outputs.items).await, "done: one");

    only(&["a", "b"]);
    assert_eq!(expect_next(&mut outputs.items).await, "done: one");
    assert_idle(&mut outputs.items).await;
    assert_eq!(store.len(), 2);
    let owner = maps(&client, "b").get("one").await.unwrap();
    let secrets = Api::<Secret>::namespaced(client.clone(), "b");
    secrets.add(owned("child", &owner)).await;
    assert_eq!(expect_next(&mut outputs.items).await, "done: one");

    only(&["b"]);
    assert_idle(&mut outputs.items).await;
    assert_eq!(store.len(), 1);
    maps(&client, "a").touch("one", "1").await;
    assert_idle(&mut outputs.items).await;
    secrets.remove("child").await;
    assert_eq!(expect_next(&mut outputs.items).await, "done: one");
}

#[tokio::test(start_paused = true)]
async fn objects_are_reconciled_once_more_after_all_namespaces_have_listed_their_children() {
    let (server, client) = server();
    let namespaces: Vec<String> = (0..8).map(|n| format!("n{n}")).collect();
    for namespace in &namespaces {
        let spaces = Api::<Namespace>::all(client.clone());
        spaces.create(&PostParams::default(), &named(namespace)).await.unwrap();
        maps(&client, namespace).add(named("one")).await;
    }
    for forbidden in [None, Some("n3")] {
        // The lists of Secrets complete one second apart; the first after the initial reconciles.
        let slow = delayed(&server, |path| {
            let number: u64 = path.split("/n").nth(2).and_then(|rest| rest[..1].parse().ok()).unwrap_or(0);
            Duration::from_secs(if path.contains("secrets") { 7 + number } else { 0 })
        });
        let refused = forbidden.map(|namespace| {
            server.fault(Match::list::<Secret>().namespace(namespace), Fault::status(403, "Forbidden"))
        });
        let secrets = secrets(&slow, namespaces.iter().map(String::as_str));
        let controller = in_namespaces(slow, namespaces.clone(), all()).owns_related(secrets);
        let mut outputs = run(controller);
        sleep(Duration::from_secs(60)).await;
        let mut done = 0;
        while let Ok(item) = outputs.items.try_recv() {
            done += usize::from(item.starts_with("done: "));
        }
        assert_eq!(done, 2 * namespaces.len(), "once at the start and once after all have listed");
        drop(refused);
    }
}
