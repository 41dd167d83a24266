//! Shared caches of managers: what waits for them, what shows them, and what stays after they were removed.

use crate::{
    layers::lagging,
    manager::{Log, logging, maps, run, seconds, server_with},
};
use futures::future::pending;
use http::Request;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::{Api, Client};
use kube_operator::{health::Health, manager::Manager};
use kube_runtime::{
    Config, Controller, controller::Action, controller::ProgressLimits, reflector::Store, watcher,
};
use kube_testserver::{Fault, Match};
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::time::{sleep, timeout};
use tower::ServiceExt;

/// A reconciler that logs how many secrets the cache has.
async fn count(_: Arc<ConfigMap>, context: Arc<(Log, Store<Secret>)>) -> Result<Action, Infallible> {
    context.0.add(format!("{} secrets", context.1.len()));
    Ok(Action::await_change())
}

async fn add_secret(client: &Client) {
    add_secret_named(client, "s").await;
}

async fn add_secret_named(client: &Client, name: &str) {
    let mut secret = Secret::default();
    secret.metadata.name = Some(name.to_owned());
    Api::<Secret>::default_namespaced(client.clone()).create(&Default::default(), &secret).await.unwrap();
}

/// Creates a secret if the cache has none, in each second.
async fn create_one(
    _: Arc<ConfigMap>,
    context: Arc<(Log, Client, Store<Secret>)>,
) -> Result<Action, Infallible> {
    let (log, client, secrets) = &*context;
    if secrets.is_empty() {
        add_secret_named(client, &format!("s-{}", log.count("created"))).await;
        log.add("created");
    }
    log.add("reconciled");
    Ok(Action::requeue(seconds(1)))
}

#[tokio::test(start_paused = true)]
async fn a_controller_of_a_manager_sees_its_own_writes_unless_it_chooses_otherwise() {
    for waits in [true, false] {
        let (server, client) = server_with(&["a"]).await;
        let late = lagging(&server, seconds(5));
        let (log, mut manager) = (Log::default(), Manager::new(late.clone()));
        let secrets = manager.cache(Api::<Secret>::all(late), watcher::Config::default());
        let controller = match waits {
            true => maps(&client), // the default
            false => maps(&client).with_config(Config::default().wait_for_own_writes(false)),
        };
        let context = Arc::new((log.clone(), client, secrets));
        let (stop, running) = run(manager.controller("maps", controller, create_one, context));
        sleep(seconds(60)).await;
        let created = log.count("created");
        assert!(if waits { created == 1 } else { created > 1 }, "waits: {waits}, created: {created}");
        assert!(log.count("reconciled") > 10, "it goes on");
        stop.cancel();
        running.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn no_controller_reconciles_before_the_caches_are_in_sync() {
    let (server, client) = server_with(&["a"]).await;
    add_secret(&client).await;
    let fault = server.fault(Match::kind::<Secret>(), Fault::status(403, "Forbidden"));
    let (log, mut manager) = (Log::default(), Manager::new(client.clone()));
    let secrets = manager.cache(Api::<Secret>::all(client.clone()), watcher::Config::default());
    let handle = manager.handle();
    let manager = manager.controller("maps", maps(&client), count, Arc::new((log.clone(), secrets.clone())));
    let (stop, running) = run(manager);
    sleep(seconds(10)).await;
    handle.add("later", maps(&client), count, Arc::new((log.clone(), secrets)));
    sleep(seconds(300)).await;
    assert_eq!(log.take(), [] as [String; 0], "nothing is reconciled against an empty store");
    fault.remove();
    sleep(seconds(60)).await;
    assert_eq!(log.take(), ["1 secrets", "1 secrets"]);
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_is_not_in_sync_ends_a_controller_that_fails_without_it() {
    let (server, client) = server_with(&["a"]).await;
    server.fault(Match::kind::<Secret>(), Fault::status(403, "Forbidden"));
    let mut manager = Manager::new(client.clone());
    let _secrets = manager.cache(Api::<Secret>::all(client.clone()), watcher::Config::default());
    let config = Config::default().initial_sync_timeout(seconds(60)).fail_without_initial_sync();
    let controller = maps(&client).with_config(config);
    let manager = manager.controller("maps", controller, logging("reconciled"), Arc::new(Log::default()));
    let error = timeout(seconds(300), manager.run_until(pending())).await.unwrap().unwrap_err().to_string();
    for part in ["not complete after 60s", "cache of /api/v1/secrets (last error: ", "403"] {
        assert!(error.contains(part), "{part} in {error}");
    }
}

/// Status and text of `/livez?verbose`.
async fn liveness(health: &Health) -> (u16, String) {
    let request = Request::get("/livez?verbose").body(axum::body::Body::empty()).unwrap();
    let response = health.router().oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let body = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test(start_paused = true)]
async fn liveness_shows_a_cache_whose_watch_does_nothing() {
    let (_server, client) = server_with(&["a"]).await;
    let mut manager = Manager::new(client.clone());
    let _maps = manager.cache(Api::<ConfigMap>::all(client), watcher::Config::default());
    // No watch is that fast: a bookmark arrives after a minute at the earliest.
    let manager = manager.progress_limits(ProgressLimits::default().watch(Duration::from_millis(1)));
    let health = manager.health().clone();
    let (stop, running) = run(manager);
    sleep(seconds(5)).await;
    let (status, text) = liveness(&health).await;
    assert_eq!(status, 500, "{text}");
    assert!(text.contains("[-]cache of /api/v1/configmaps failed"), "{text}");
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn controllers_go_on_with_the_last_state_of_a_cache_that_was_removed() {
    let (_server, client) = server_with(&["a"]).await;
    let api = || Api::<ConfigMap>::default_namespaced(client.clone());
    let configs = [watcher::Config::default(), watcher::Config::default().compact_cache()];
    for config in configs {
        let (log, mut manager) = (Log::default(), Manager::new(client.clone()));
        let store = manager.cache(api(), config.clone());
        let shared = Controller::for_shared_stream(store.subscribe().unwrap(), store.clone());
        let again = async |map: Arc<ConfigMap>, log: Arc<Log>| {
            log.add(map.metadata.name.clone().unwrap_or_default());
            Ok::<_, Infallible>(Action::requeue(seconds(60)))
        };
        let manager = manager.controller("shared", shared, again, Arc::new(log.clone()));
        let handle = manager.handle();
        let (stop, running) = run(manager);
        sleep(seconds(5)).await;
        timeout(seconds(5), handle.remove_cache(&api(), &config)).await.unwrap();
        assert_eq!(log.take(), ["a"]);
        sleep(seconds(90)).await;
        assert!(!running.is_finished(), "{:?}", running.await);
        assert_eq!(log.take(), ["a"], "its requeue");
        stop.cancel();
        running.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_cache_that_is_removed_before_its_first_list_holds_no_controller_back() {
    let (server, client) = server_with(&["a"]).await;
    server.fault(Match::kind::<Secret>(), Fault::status(403, "Forbidden"));
    let (log, mut manager) = (Log::default(), Manager::new(client.clone()));
    let api = Api::<Secret>::all(client.clone());
    let _secrets = manager.cache(api.clone(), watcher::Config::default());
    let handle = manager.handle();
    let manager = manager.controller("maps", maps(&client), logging("reconciled"), Arc::new(log.clone()));
    let (stop, running) = run(manager);
    sleep(seconds(5)).await;
    assert_eq!(log.take(), [] as [String; 0]);
    handle.remove_cache(&api, &watcher::Config::default()).await;
    sleep(seconds(5)).await;
    assert_eq!(log.take(), ["reconciled a"]);
    stop.cancel();
    running.await.unwrap().unwrap();
}
