//! Controllers that run while their kind is served.

use crate::manager::{Log, logging, maps, run, seconds, server_with};
use futures::FutureExt;
use k8s_openapi::{
    api::core::v1::Secret, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube_client::{
    Api, Client,
    api::{DeleteParams, PostParams},
};
use kube_core::{CustomResourceExt, Resource, ResourceExt, crd::merge_crds};
use kube_operator::{
    health::Probe,
    manager::{Manager, ManagerError, Restart, ServedController, ServedVersions},
    manifests::Manifests,
};
use kube_runtime::{
    Controller,
    controller::{Action, Related},
    watcher,
};
use kube_testserver::{Fault, Match};
use std::{
    convert::Infallible,
    future::pending,
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};
use tokio::time::{sleep, timeout};
use tower::ServiceExt;

mod v1 {
    #[derive(
        kube_derive::CustomResource,
        Clone,
        Debug,
        Default,
        serde::Deserialize,
        serde::Serialize,
        schemars::JsonSchema,
    )]
    #[kube(group = "example.com", version = "v1", kind = "Leaf", plural = "leaves", namespaced, crates(kube_core = kube_core))]
    pub(super) struct LeafSpec {}
}

mod v1beta1 {
    #[derive(
        kube_derive::CustomResource,
        Clone,
        Debug,
        Default,
        serde::Deserialize,
        serde::Serialize,
        schemars::JsonSchema,
    )]
    #[kube(group = "example.com", version = "v1beta1", kind = "Leaf", plural = "leaves", namespaced, crates(kube_core = kube_core))]
    pub(super) struct LeafSpec {}
}

use v1::Leaf;

const DEFINITION: &str = "leaves.example.com";

async fn define(client: &Client, definition: &CustomResourceDefinition) {
    Api::all(client.clone()).create(&PostParams::default(), definition).await.unwrap();
}

async fn undefine(client: &Client) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.delete(DEFINITION, &DeleteParams::default()).await.unwrap();
    while definitions.get_opt(DEFINITION).await.unwrap().is_some() {
        sleep(seconds(1)).await;
    }
}

async fn add_leaf(client: &Client, name: &str) {
    let leaf = Leaf::new(name, v1::LeafSpec::default());
    Api::<Leaf>::default_namespaced(client.clone()).create(&PostParams::default(), &leaf).await.unwrap();
}

/// A controller that logs `VERSION NAME`, and a second later `end NAME`.
fn leaves<K>(client: &Client, log: &Log) -> impl Fn() -> ServedController<K> + Send + use<K>
where
    K: Resource<DynamicType = ()>
        + Clone
        + serde::de::DeserializeOwned
        + std::fmt::Debug
        + Send
        + Sync
        + 'static,
{
    let (client, log) = (client.clone(), log.clone());
    move || {
        log.add(format!("make {}", K::version(&())));
        let controller = Controller::new(Api::<K>::all(client.clone()), watcher::Config::default());
        let reconcile = async |leaf: Arc<K>, log: Arc<Log>| {
            log.add(format!("{} {}", K::version(&()), leaf.name_any()));
            sleep(seconds(1)).await;
            log.add(format!("end {}", leaf.name_any()));
            Ok::<_, Infallible>(Action::await_change())
        };
        ServedController::new(controller, reconcile, Arc::new(log.clone()))
    }
}

/// A manager that runs them while their kind is served.
fn with_leaves(client: &Client, log: &Log) -> Manager {
    Manager::new(client.clone()).while_served::<Leaf>("leaves", leaves::<Leaf>(client, log))
}

#[tokio::test(start_paused = true)]
async fn a_controller_runs_while_its_kind_is_served_any_number_of_times() {
    let (_server, client) = server_with(&["a"]).await;
    let log = Log::default();
    let manager =
        with_leaves(&client, &log).controller("maps", maps(&client), logging("map"), Arc::new(log.clone()));
    let health = manager.health().clone();
    assert_eq!(log.take(), ["make v1"], "for its permissions");
    let (stop, running) = run(manager);
    sleep(seconds(30)).await;
    assert_eq!(log.take(), ["map a"], "the rest works");
    let probe = async |path: &str| {
        let request = http::Request::get(path).body(axum::body::Body::empty()).unwrap();
        let response = health.router().oneshot(request).await.unwrap();
        let code = response.status().as_u16();
        let body = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
        (code, String::from_utf8(body.to_vec()).unwrap())
    };
    let (code, _) = probe("/readyz").await;
    assert_eq!(code, 200, "a missing kind does not take the webhooks of others away");
    let (_, body) = probe("/readyz/served-kinds").await;
    assert_eq!(body, "ok\nLeaf.example.com is missing for 30 s: the server does not serve it");
    for round in 0..3 {
        define(&client, &Leaf::crd()).await;
        sleep(seconds(15)).await;
        assert_eq!(probe("/readyz/served-kinds").await, (200, "ok".to_owned()));
        assert_eq!(probe("/readyz/controller-leaves").await.0, 200);
        add_leaf(&client, "b").await;
        sleep(seconds(5)).await;
        let expected = ["v1 b", "end b"].map(str::to_owned);
        let entries = log.take();
        assert_eq!(entries[usize::from(round > 0)..], expected, "round {round}: {entries:?}");
        undefine(&client).await;
        sleep(seconds(15)).await;
        assert_eq!(probe("/readyz/controller-leaves").await.0, 404, "its checks end with it");
        assert_eq!(log.take(), [""; 0]);
    }
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn running_reconciles_finish_when_the_definition_is_deleted() {
    let (_server, client) = server_with(&[]).await;
    let log = Log::default();
    define(&client, &Leaf::crd()).await;
    let (stop, running) = run(with_leaves(&client, &log));
    sleep(seconds(15)).await;
    add_leaf(&client, "b").await;
    while log.count("v1 b") == 0 {
        tokio::time::advance(std::time::Duration::from_millis(10)).await;
    }
    undefine(&client).await;
    define(&client, &Leaf::crd()).await;
    sleep(seconds(15)).await;
    assert_eq!(log.count("end b"), 1);
    add_leaf(&client, "c").await;
    sleep(seconds(5)).await;
    assert_eq!((log.count("end c"), log.count("v1 c")), (1, 1), "one controller runs");
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// With the real clock and several threads.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_reconcile_that_blocks_is_waited_for_when_its_kind_returns() {
    let (_server, client) = server_with(&[]).await;
    let (log, (open, gate)) = (Log::default(), mpsc::channel::<()>());
    define(&client, &Leaf::crd()).await;
    let make = {
        let (client, log, gate) = (client.clone(), log.clone(), Arc::new(Mutex::new(Some(gate))));
        move || {
            let gate = gate.clone();
            let reconcile = move |_: Arc<Leaf>, log: Arc<Log>| {
                let gate = gate.lock().unwrap().take();
                async move {
                    log.add("begins");
                    if let Some(gate) = gate {
                        gate.recv().unwrap();
                        log.add("ends");
                    }
                    Ok::<_, Infallible>(Action::await_change())
                }
            };
            let controller = Controller::new(Api::<Leaf>::all(client.clone()), watcher::Config::default());
            ServedController::new(controller, reconcile, Arc::new(log.clone()))
        }
    };
    add_leaf(&client, "a").await;
    let manager = Manager::new(client.clone()).while_served::<Leaf>("leaves", make);
    let (stop, running) = run(manager.grace_period(Duration::from_millis(300)));
    let logs = async |expected: &[&str]| {
        while log.entries() != expected {
            sleep(Duration::from_millis(10)).await;
        }
    };
    logs(&["begins"]).await;
    undefine(&client).await;
    sleep(seconds(6)).await; // it is noticed, and the reconcile is aborted
    define(&client, &Leaf::crd()).await;
    add_leaf(&client, "b").await;
    sleep(seconds(3)).await;
    assert_eq!(log.entries(), ["begins"], "the former one still runs");
    open.send(()).unwrap();
    timeout(seconds(20), logs(&["begins", "ends", "begins"])).await.expect("the controller runs again");
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_hangs_does_not_keep_the_kind_away_when_it_returns() {
    let (_server, client) = server_with(&["a"]).await;
    let log = Log::default();
    define(&client, &Leaf::crd()).await;
    let make = {
        let (client, log) = (client.clone(), log.clone());
        move || {
            let reconcile = async |leaf: Arc<Leaf>, log: Arc<Log>| {
                log.add(leaf.name_any());
                if leaf.name_any() == "hangs" && log.count("hangs") == 1 {
                    pending::<()>().await;
                }
                Ok::<_, Infallible>(Action::await_change())
            };
            let controller = Controller::new(Api::<Leaf>::all(client.clone()), watcher::Config::default());
            ServedController::new(controller, reconcile, Arc::new(log.clone()))
        }
    };
    let manager = Manager::new(client.clone())
        .while_served::<Leaf>("leaves", make)
        .controller("maps", maps(&client), logging("map"), Arc::new(log.clone()))
        .grace_period(seconds(20));
    let (stop, running) = run(manager);
    sleep(seconds(15)).await;
    add_leaf(&client, "hangs").await;
    sleep(seconds(5)).await;
    assert_eq!((log.count("hangs"), log.count("map a")), (1, 1));
    undefine(&client).await;
    sleep(seconds(5)).await; // it is noticed
    define(&client, &Leaf::crd()).await;
    add_leaf(&client, "other").await;
    sleep(seconds(5)).await;
    assert_eq!(log.count("other"), 0, "the former one has yet to end");
    sleep(seconds(40)).await;
    assert_eq!(log.count("other"), 1, "the controller runs again");
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_optional_kind_that_cannot_be_listed_does_not_take_the_readiness_of_the_rest() {
    let (server, client) = server_with(&["a"]).await;
    let log = Log::default();
    let forbidden = server.fault(Match::kind::<Leaf>(), Fault::status(403, "Forbidden"));
    let manager =
        with_leaves(&client, &log).controller("maps", maps(&client), logging("map"), Arc::new(log.clone()));
    let health = manager.health().clone();
    let (stop, running) = run(manager);
    sleep(seconds(15)).await;
    define(&client, &Leaf::crd()).await;
    let note = || {
        let report = health.report().now_or_never().unwrap();
        let check = report.iter().find(|it| it.endpoint == "readyz" && it.check == "controller-leaves")?;
        Some((check.state, check.message.clone()))
    };
    for _ in 0..120 {
        sleep(seconds(1)).await;
        let request = http::Request::get("/readyz").body(axum::body::Body::empty()).unwrap();
        assert_eq!(health.router().oneshot(request).await.unwrap().status(), 200);
    }
    assert_eq!(note(), Some(("ok", Some("the caches are not in sync".to_owned()))));
    forbidden.remove();
    sleep(seconds(60)).await;
    assert_eq!(note(), Some(("ok", None)));
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_kind_of_another_version_or_of_which_nothing_is_known_is_not_called_missing() {
    let (server, client) = server_with(&[]).await;
    define(&client, &v1beta1::Leaf::crd()).await;
    let fault = server.fault(Match::path("/apis").verb("get"), Fault::status(503, "ServiceUnavailable"));
    let manager = with_leaves(&client, &Log::default());
    let health = manager.health().clone();
    let (stop, running) = run(manager);
    let note = || {
        let report = health.report().now_or_never().unwrap();
        report.iter().find(|it| it.check == "served-kinds").and_then(|it| it.message.clone()).unwrap()
    };
    sleep(seconds(40)).await;
    assert_eq!(
        note(),
        "Leaf.example.com is not known for 40 s: the server has not said yet which kinds it serves"
    );
    fault.remove();
    sleep(seconds(40)).await;
    let text = note();
    assert!(
        text.starts_with("Leaf.example.com cannot be used for ")
            && text.ends_with(" s: the server serves it in v1beta1 only, this program knows v1"),
        "{text}"
    );
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_name_of_a_controller_that_waits_for_its_kind_is_taken() {
    let (_server, client) = server_with(&["a"]).await;
    let log = Log::default();
    let manager = with_leaves(&client, &log);
    let handle = manager.handle();
    let (_stop, running) = run(manager);
    sleep(seconds(15)).await;
    handle.add("leaves", maps(&client), logging("map"), Arc::new(log.clone()));
    let error = tokio::time::timeout(seconds(5), running).await.expect("at once").unwrap().unwrap_err();
    assert!(matches!(error, ManagerError::DuplicateName(name) if &*name == "leaves"));
}

#[tokio::test(start_paused = true)]
async fn the_newest_served_version_runs_and_its_loss_starts_another() {
    let (_server, client) = server_with(&[]).await;
    let log = Log::default();
    let versions = ServedVersions::of::<v1beta1::Leaf>(leaves::<v1beta1::Leaf>(&client, &log))
        .or::<Leaf>(leaves::<Leaf>(&client, &log));
    let (stop, running) = run(Manager::new(client.clone()).while_any_served("leaves", versions));
    let both = merge_crds(vec![v1beta1::Leaf::crd(), Leaf::crd()], "v1").unwrap();
    define(&client, &both).await;
    add_leaf(&client, "b").await;
    sleep(seconds(15)).await;
    assert_eq!((log.count("v1 b"), log.count("v1beta1 b")), (1, 0));
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let mut only_beta = definitions.get(DEFINITION).await.unwrap();
    for version in &mut only_beta.spec.versions {
        version.served = version.name == "v1beta1";
    }
    definitions.replace(DEFINITION, &PostParams::default(), &only_beta).await.unwrap();
    sleep(seconds(15)).await;
    assert_eq!((log.count("v1 b"), log.count("v1beta1 b")), (1, 1), "v1 is not served any more");
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn names_and_panics_are_errors_as_those_of_other_parts() {
    let (_server, client) = server_with(&[]).await;
    let log = Log::default();
    let manager = with_leaves(&client, &log)
        .component("leaves", Restart::Never, async |_| pending::<Result<(), Infallible>>().await);
    let error = manager.run_until(pending()).await.unwrap_err();
    assert!(matches!(error, ManagerError::DuplicateName(name) if &*name == "leaves"));

    let (mut calls, make) = (0, leaves::<Leaf>(&client, &log));
    let manager = Manager::new(client.clone()).while_served::<Leaf>("leaves", move || {
        calls += 1;
        assert!(calls < 2, "on purpose");
        make()
    });
    let (_stop, running) = run(manager);
    define(&client, &Leaf::crd()).await;
    sleep(seconds(15)).await;
    undefine(&client).await;
    sleep(seconds(15)).await;
    define(&client, &Leaf::crd()).await;
    let error = running.await.unwrap().unwrap_err();
    let text = error.to_string();
    assert!(text.contains("leaves (while its kind is served)") && text.contains("panic"), "{text}");
}

#[tokio::test]
async fn the_roles_have_what_kinds_that_come_and_go_need() {
    let (_server, client) = server_with(&[]).await;
    let roles = |manager: &Manager| Manifests::new("operator", manager).granted().to_yaml("operator");
    let mut manager = Manager::new(client.clone());
    assert!(!roles(&manager).contains("apiservices"), "of a manager without them");
    let kinds = manager.served_kinds();
    let related = Related::metadata(Api::<Secret>::all(client.clone()), watcher::Config::default());
    let controller = maps(&client).owns_related(related.if_served(&kinds));
    let log = Arc::new(Log::default());
    let manager = manager.while_served::<Leaf>("leaves", leaves::<Leaf>(&client, &log)).controller(
        "maps",
        controller,
        logging("map"),
        log,
    );
    let roles = roles(&manager);
    for plural in ["customresourcedefinitions", "apiservices", "secrets", "leaves"] {
        assert!(roles.contains(plural), "{plural} in {roles}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_manager_stops_while_a_kind_is_missing_and_during_a_start() {
    for wait in [0, 1, 30] {
        let (_server, client) = server_with(&[]).await;
        let manager = with_leaves(&client, &Log::default());
        let (stop, running) = run(manager);
        sleep(seconds(wait)).await;
        stop.cancel();
        running.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn related_kinds_share_the_watch_of_definitions_and_the_page_shows_all() {
    let (server, _) = server_with(&["a"]).await;
    let requests = Arc::new(Mutex::new(Vec::new()));
    let sent = Arc::clone(&requests);
    let counting = tower::service_fn(move |request: http::Request<kube_client::client::Body>| {
        sent.lock().unwrap().push(request.uri().to_string());
        server.clone().oneshot(request)
    });
    let client = Client::new(counting, "default");
    let log = Log::default();
    let mut manager = Manager::new(client.clone()).serve_metrics(([127, 0, 0, 1], 0));
    let kinds = manager.served_kinds();
    let related = Related::metadata(Api::<Leaf>::all(client.clone()), watcher::Config::default());
    let secrets = Related::metadata(Api::<Secret>::all(client.clone()), watcher::Config::default());
    let controller =
        maps(&client).owns_related(related.if_served(&kinds)).owns_related(secrets.if_served(&kinds));
    let manager = manager.controller("maps", controller, logging("map"), Arc::new(log.clone()));
    let (health, handle) = (manager.health().clone(), manager.handle());
    let (stop, running) = run(manager);
    sleep(seconds(20)).await;
    assert_eq!(log.count("map a"), 1);
    let watches = |plural: &str| {
        let requests = requests.lock().unwrap();
        requests.iter().filter(|uri| uri.contains(plural) && uri.contains("watch=")).count()
    };
    assert_eq!((watches("customresourcedefinitions"), watches("apiservices")), (1, 1));
    tokio::time::resume(); // sockets
    let address = handle.metrics_address().await.unwrap();
    let page =
        Client::try_from(kube_client::Config::new(format!("http://{address}").parse().unwrap())).unwrap();
    let get = http::Request::get("/debug/controllers?format=json").body(Vec::new()).unwrap();
    let page: serde_json::Value = page.request(get).await.unwrap();
    let shown = |at: usize| (page["kinds"][at]["name"].clone(), page["kinds"][at]["state"].clone());
    assert_eq!(shown(0), ("Leaf.example.com".into(), "missing".into()), "{page}");
    assert_eq!(shown(1), ("Secret".into(), "served".into()), "{page}");
    let kinds = kinds.snapshot();
    let states: Vec<_> = kinds.iter().map(|kind| (kind.name.as_str(), kind.state)).collect();
    assert_eq!(states, [("Leaf.example.com", "missing"), ("Secret", "served")]);
    let report = health.report().now_or_never().unwrap();
    let check = report.iter().find(|check| check.check == "served-kinds").unwrap();
    assert_eq!(check.state, "ok");
    assert!(check.message.as_deref().is_some_and(|note| note.contains("Leaf.example.com is missing for")));
    health.remove(Probe::Ready, "served-kinds");
    stop.cancel();
    running.await.unwrap().unwrap();
}
