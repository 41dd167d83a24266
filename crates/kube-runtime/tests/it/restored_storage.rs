//! A server whose storage is restored from a backup while a watcher runs.

use crate::common::{
    ApiExt, assert_idle, config_maps, eventually, expect_next, in_namespaces, named, server, wait_for_change,
};
use futures::{FutureExt, StreamExt, future::BoxFuture, stream};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::{Api, Client};
use kube_core::ResourceExt;
use kube_runtime::{
    Controller, WatchStreamExt,
    controller::{Action, Related},
    predicates, reflector,
    reflector::{ObjectRef, Store},
    watcher::{Config, watcher},
};
use kube_testserver::{Fault, FaultResponse, Match};
use std::{
    convert::Infallible,
    pin::pin,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::sleep;

/// The objects in the store after the server was restored to a backup with only the object `a`.
async fn after_a_restore(
    config: Config,
    after_restore: impl AsyncFnOnce(&kube_testserver::ApiServer),
) -> Vec<String> {
    let (server, client) = server();
    let api = config_maps(&client);
    api.add(named("a")).await;
    let backup = server.resource_version();
    let (store, writer) = reflector::store::<ConfigMap>();
    let filling = watcher(api.clone(), config).default_backoff().reflect(writer).for_each(|_| async {});
    let filling = tokio::spawn(filling);
    store.wait_until_ready().await.unwrap();
    for name in ["b", "c", "d"] {
        api.add(named(name)).await;
    }
    api.remove("a").await;
    eventually(async || store.len() == 3).await;
    sleep(Duration::from_secs(20)).await;
    server.rewind(backup).unwrap();
    after_restore(&server).await;
    // Nothing changes on the server: only the version check can notice the restore.
    eventually(async || store.len() == 1).await;
    api.add(named("new")).await;
    eventually(async || store.len() == 2).await;
    filling.abort();
    let mut names: Vec<_> = store.state().iter().map(|object| object.name_any()).collect();
    names.sort();
    names
}

#[tokio::test(start_paused = true)]
async fn a_restored_storage_is_noticed_without_changes() {
    for config in [Config::default(), Config::default().any_semantic(), Config::default().streaming_lists()] {
        assert_eq!(after_a_restore(config, async |_| {}).await, ["a", "new"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_restored_storage_is_noticed_after_an_outage() {
    let names = after_a_restore(Config::default(), async |server| {
        let outage = [server.fault(Match::any(), Fault::Reset)];
        sleep(Duration::from_secs(40)).await;
        outage.iter().for_each(|rule| rule.remove());
    });
    assert_eq!(names.await, ["a", "new"]);
}

/// A genuine server refuses requests until it has read the roles of its users.
#[tokio::test(start_paused = true)]
async fn a_restored_storage_is_noticed_after_initial_refusals() {
    for refusals in [1, 3] {
        let names = after_a_restore(Config::default(), async |server| {
            server.fault(Match::list::<ConfigMap>().times(refusals), FaultResponse::status(403, "Forbidden"));
        });
        assert_eq!(names.await, ["a", "new"], "{refusals} refusals");
    }
}

#[tokio::test(start_paused = true)]
async fn a_restart_without_a_restore_causes_no_relist() {
    let (server, client) = server();
    let api = config_maps(&client);
    api.add(named("a")).await;
    let mut events =
        pin!(watcher(api.clone(), Config::default()).map(|event| event.map(|it| it.to_string())));
    for expected in ["Init", "InitApply(default/a)", "InitDone"] {
        assert_eq!(expect_next(&mut events).await.unwrap(), expected);
    }
    assert_idle(&mut events).await;
    server.end_watches();
    assert_idle(&mut events).await;
    api.add(named("b")).await;
    assert_eq!(expect_next(&mut events).await.unwrap(), "Apply(default/b)");
}

/// A store, and what fills it.
type Filled<K> = (Store<K>, BoxFuture<'static, ()>);

fn touched<K: ResourceExt>(object: &K) -> Option<String> {
    object.annotations().get("touched").cloned()
}

/// How the watch notices that the storage was restored.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sign {
    /// Another object had a higher version.
    LowerVersion,
    /// Its version has expired.
    Expired,
    /// None: its version has expired, and meanwhile the versions have passed the one that it had.
    ExpiredAndPassed,
}

/// The storage goes back, and `a` is written again and gets the version that it had.
async fn shows_what_was_written_again(fill: impl Fn(Client) -> Filled<ConfigMap>) {
    for sign in [Sign::LowerVersion, Sign::Expired, Sign::ExpiredAndPassed] {
        let (server, client) = server();
        let maps = config_maps(&client);
        maps.add(named("a")).await;
        maps.add(named("b")).await;
        let backup = server.resource_version();
        let before = maps.touch("a", "before").await;
        maps.touch("b", "1").await;
        maps.touch("b", "2").await;
        let (store, filling) = fill(client.clone());
        let filling = tokio::spawn(filling);
        store.wait_until_ready().await.unwrap();
        let shown = || store.get(&ObjectRef::new("a").within("default")).and_then(|map| touched(&*map));
        eventually(async || shown().as_deref() == Some("before")).await;
        let expired = sign != Sign::LowerVersion;
        let fault = expired.then(|| server.fault(Match::watch::<ConfigMap>().times(1), Fault::Expired));
        let passed = sign == Sign::ExpiredAndPassed;
        let no_lists = passed.then(|| server.fault(Match::list::<ConfigMap>(), Fault::Reset));
        server.rewind(backup).unwrap();
        let again = maps.touch("a", "again").await;
        if let Some(no_lists) = no_lists {
            for value in ["3", "4", "5", "6"] {
                maps.touch("b", value).await;
            }
            no_lists.remove();
        }
        assert_eq!((again.resource_version(), again.uid()), (before.resource_version(), before.uid()));
        eventually(async || shown().as_deref() == Some("again")).await;
        assert!(fault.is_none_or(|fault| fault.hits() <= 1 && (!passed || fault.hits() == 1)), "{sign:?}");
        filling.abort();
    }
}

fn configs() -> [Config; 3] {
    [Config::default(), Config::default().page_size(1), Config::default().streaming_lists()]
}

#[tokio::test(start_paused = true)]
async fn a_store_shows_what_is_written_again_with_the_same_version() {
    for config in configs() {
        shows_what_was_written_again(|client| {
            let (store, writer) = reflector::store();
            let events = watcher(config_maps(&client), config.clone()).reflect(writer);
            (store, events.for_each(|_| async {}).boxed())
        })
        .await;
    }
    shows_what_was_written_again(|client| {
        let (store, writer) = reflector::store();
        let watch =
            move |namespace: &str| watcher(Api::namespaced(client.clone(), namespace), Config::default());
        let events = reflector::reflect_namespaces(writer, stream::iter([["default"]]), watch);
        (store, events.for_each(|_| async {}).boxed())
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn so_does_a_store_that_watches() {
    for config in configs() {
        shows_what_was_written_again(|client| {
            let (store, writer) = reflector::store();
            (store, writer.watch(config_maps(&client), config.clone()).for_each(|_| async {}).boxed())
        })
        .await;
    }
}

#[cfg(feature = "compact-cache")]
#[tokio::test(start_paused = true)]
async fn so_does_a_compact_store() {
    for config in configs() {
        shows_what_was_written_again(|client| {
            let (store, writer) = reflector::compact_store();
            (store, writer.watch(config_maps(&client), config.clone()).for_each(|_| async {}).boxed())
        })
        .await;
    }
}

/// Runs the controller, and returns its store. Checks in the end that it has reconciled what was written again.
fn reconciling(controller: Controller<ConfigMap>) -> Filled<ConfigMap> {
    let (store, seen) = (controller.store(), Arc::new(Mutex::new(Vec::new())));
    let output = controller.run(
        async |map: Arc<ConfigMap>, seen: Arc<Mutex<Vec<_>>>| {
            seen.lock().unwrap().push(touched(&*map).unwrap_or_default());
            Ok::<_, Infallible>(Action::await_change())
        },
        wait_for_change,
        seen,
    );
    (store, output.for_each(|_| async {}).boxed())
}

#[tokio::test(start_paused = true)]
async fn the_store_of_a_controller_shows_it() {
    for config in configs() {
        let own = |client: Client| reconciling(Controller::new(config_maps(&client), config.clone()));
        shows_what_was_written_again(own).await;
        let by_namespace = |client| reconciling(in_namespaces(client, ["default"], config.clone()));
        shows_what_was_written_again(by_namespace).await;
        #[cfg(feature = "compact-cache")]
        {
            let config = config.compact_cache();
            let own = |client: Client| reconciling(Controller::new(config_maps(&client), config.clone()));
            shows_what_was_written_again(own).await;
            let by_namespace = |client| reconciling(in_namespaces(client, ["default"], config.clone()));
            shows_what_was_written_again(by_namespace).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn so_does_a_store_of_related_objects() {
    let secrets = |client: &Client| Api::<Secret>::all(client.clone());
    shows_what_was_written_again(|client| {
        let (store, writer) = reflector::store::<ConfigMap>();
        let controller = Controller::new(secrets(&client), Config::default())
            .owns_related(Related::api(config_maps(&client), Config::default()).store(writer));
        (store, never_reconciling(controller))
    })
    .await;
    #[cfg(feature = "compact-cache")]
    shows_what_was_written_again(|client| {
        let (store, writer) = reflector::compact_store::<ConfigMap>();
        let controller = Controller::new(secrets(&client), Config::default())
            .owns_related(Related::metadata(config_maps(&client), Config::default()).compact_store(writer));
        (store, never_reconciling(controller))
    })
    .await;
}

fn never_reconciling(controller: Controller<Secret>) -> BoxFuture<'static, ()> {
    let reconcile = async |_, _| Ok::<_, Infallible>(Action::await_change());
    controller.run(reconcile, wait_for_change, Arc::new(())).for_each(|_| async {}).boxed()
}

/// A filter has seen the same property in the other history.
#[tokio::test(start_paused = true)]
async fn a_controller_reconciles_what_is_written_again_with_the_same_property() {
    const VERSION: fn(&ConfigMap) -> Option<u64> = predicates::resource_version::<ConfigMap>;
    let controllers: [fn(Client) -> Controller<ConfigMap>; 4] = [
        |client| Controller::new(config_maps(&client), Config::default()),
        |client| Controller::new(config_maps(&client), Config::default()).filter(VERSION),
        |client| in_namespaces(client, ["default"], Config::default()).filter(VERSION),
        |client| {
            let (store, writer) = reflector::store();
            let events = watcher(config_maps(&client), Config::default()).reflect(writer).applied_objects();
            Controller::for_stream(events.predicate_filter(VERSION, Default::default()), store)
        },
    ];
    for controller in controllers {
        let (server, client) = server();
        let maps = config_maps(&client);
        maps.add(named("a")).await;
        let backup = server.resource_version();
        maps.touch("a", "before").await;
        maps.add(named("b")).await;
        let seen = Arc::new(Mutex::new(Vec::new()));
        let output = controller(client).run(
            async |map: Arc<ConfigMap>, seen: Arc<Mutex<Vec<_>>>| {
                seen.lock().unwrap().extend(touched(&*map));
                Ok::<_, Infallible>(Action::await_change())
            },
            wait_for_change,
            Arc::clone(&seen),
        );
        let running = tokio::spawn(output.for_each(|_| async {}));
        let last = || seen.lock().unwrap().last().cloned();
        eventually(async || last().as_deref() == Some("before")).await;
        server.rewind(backup).unwrap();
        maps.touch("a", "again").await;
        eventually(async || last().as_deref() == Some("again")).await;
        running.abort();
    }
}
