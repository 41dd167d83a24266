//! Managers: start and stop order, failures, replicas, and the servers around them.

use std::{convert::Infallible, sync::Arc, time::Duration};

use parking_lot::Mutex;

use futures::future::pending;
use http::Request;
use http_body_util::BodyExt;
use k8s_openapi::{
    api::core::v1::{ConfigMap, Secret},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube_client::{
    Api, Client,
    api::{DeleteParams, ObjectMeta, PostParams},
    client::Body,
};
use kube_core::{CustomResourceExt, ResourceExt};
use kube_operator::{
    health::{Check, Probe},
    manager::{Manager, ManagerError, Restart},
    sharding,
};
use kube_runtime::{Controller, controller::Action, watcher};
use kube_testserver::ApiServer;
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tower::{ServiceExt, service_fn};

/// What happened, in order.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn add(&self, entry: impl Into<String>) {
        self.0.lock().push(entry.into());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock())
    }

    pub(crate) fn entries(&self) -> Vec<String> {
        self.0.lock().clone()
    }

    pub(crate) fn count(&self, entry: &str) -> usize {
        self.0.lock().iter().filter(|known| *known == entry).count()
    }
}

pub(crate) fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) async fn server_with(names: &[&str]) -> (ApiServer, Client) {
    let server = ApiServer::new();
    let client = Client::new(server.clone(), "default");
    for name in names {
        add(&client, name).await;
    }
    (server, client)
}

pub(crate) async fn add(client: &Client, name: &str) {
    let metadata = ObjectMeta { name: Some((*name).to_owned()), ..ObjectMeta::default() };
    let map = ConfigMap { metadata, ..ConfigMap::default() };
    Api::<ConfigMap>::default_namespaced(client.clone()).create(&PostParams::default(), &map).await.unwrap();
}

pub(crate) fn maps(client: &Client) -> Controller<ConfigMap> {
    Controller::new(Api::default_namespaced(client.clone()), watcher::Config::default())
}

/// A reconciler that logs `PREFIX NAME`.
pub(crate) fn logging(
    prefix: &'static str,
) -> impl Fn(Arc<ConfigMap>, Arc<Log>) -> futures::future::Ready<Result<Action, Infallible>> {
    move |map, log| {
        log.add(format!("{prefix} {}", map.name_any()));
        futures::future::ready(Ok(Action::await_change()))
    }
}

/// Runs until the token is cancelled.
pub(crate) fn run(manager: Manager) -> (CancellationToken, JoinHandle<Result<(), ManagerError>>) {
    let stop = CancellationToken::new();
    let stopped = stop.clone().cancelled_owned();
    (stop, tokio::spawn(manager.run_until(stopped)))
}

/// A component that logs its start and its end.
pub(crate) fn component(
    log: &Log,
    name: &'static str,
) -> impl FnMut(CancellationToken) -> futures::future::BoxFuture<'static, Result<(), Infallible>> + Send + use<>
{
    let log = log.clone();
    move |stop| {
        let log = log.clone();
        Box::pin(async move {
            log.add(format!("{name} starts"));
            stop.cancelled().await;
            sleep(seconds(1)).await;
            log.add(format!("{name} ends"));
            Ok(())
        })
    }
}

#[tokio::test(start_paused = true)]
async fn parts_start_in_order_and_stop_in_reverse() {
    let (_server, client) = server_with(&["a"]).await;
    let log = Log::default();
    let before = log.clone();
    let manager = Manager::new(client.clone())
        .leader_election("operator", "default")
        .before_leading(move || {
            let log = before.clone();
            async move { log.add("prepared") }
        })
        .component("component", Restart::Never, component(&log, "component"))
        .leader_component("leader", Restart::Never, component(&log, "leader"))
        .controller("maps", maps(&client), logging("reconciled"), Arc::new(log.clone()));
    let (stop, running) = run(manager);
    sleep(seconds(10)).await;
    let mut started = log.take();
    started[2..].sort(); // at the same time
    assert_eq!(started, ["component starts", "prepared", "leader starts", "reconciled a"]);
    stop.cancel();
    running.await.unwrap().unwrap();
    assert_eq!(log.take(), ["leader ends", "component ends"]);
}

#[tokio::test(start_paused = true)]
async fn the_first_failure_stops_everything_and_is_the_result() {
    let (_server, client) = server_with(&[]).await;
    let log = Log::default();
    let failing = async |_| {
        sleep(seconds(5)).await;
        Err("no disk")
    };
    let manager = Manager::new(client.clone())
        .component("other", Restart::Never, component(&log, "other"))
        .component("failing", Restart::Never, move |stop| {
            Box::pin(failing(stop)) as futures::future::BoxFuture<'static, Result<(), &str>>
        })
        .controller("maps", maps(&client), logging("reconciled"), Arc::new(log.clone()));
    let error = timeout(seconds(60), manager.run_until(pending())).await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "failing failed: no disk");
    assert_eq!(log.take(), ["other starts", "other ends"]);
}

#[tokio::test(start_paused = true)]
async fn a_component_that_ends_or_panics_has_failed() {
    let (_server, client) = server_with(&[]).await;
    let ends = Manager::new(client.clone()).component("a", Restart::Never, async |_| Ok::<_, Infallible>(()));
    let error = ends.run_until(pending()).await.unwrap_err();
    assert_eq!(error.to_string(), "a failed: it ended although it should run");
    let panics = Manager::new(client)
        .component("a", Restart::Never, async |_| -> Result<(), Infallible> { panic!("oh") });
    let error = panics.run_until(pending()).await.unwrap_err();
    assert_eq!(error.to_string(), "a failed: it panicked: oh");
}

#[tokio::test(start_paused = true)]
async fn a_component_is_started_again_more_and_more_slowly() {
    let (_server, client) = server_with(&[]).await;
    let log = Log::default();
    let starts = log.clone();
    let manager = Manager::new(client).component("a", Restart::Always, move |_| {
        starts.add("start");
        assert!(starts.count("start") != 2, "a panic is a failure, too");
        std::future::ready(Err("broken"))
    });
    let (stop, running) = run(manager);
    sleep(seconds(60)).await;
    let first = log.take().len();
    assert!((4..12).contains(&first), "{first} starts in the first minute");
    sleep(seconds(300)).await;
    let later = log.take().len();
    assert!((8..30).contains(&later), "{later} starts in the next five minutes");
    stop.cancel();
    timeout(seconds(1), running).await.unwrap().unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_does_not_stop_is_aborted_and_named() {
    let (_server, client) = server_with(&["a"]).await;
    let forever = |_| pending::<Result<(), Infallible>>();
    let log = Log::default();
    let manager = Manager::new(client.clone())
        .component("stubborn", Restart::Never, forever)
        .component("quick", Restart::Never, component(&log, "quick"))
        .controller("maps", maps(&client), |_, _| pending::<Result<Action, Infallible>>(), Arc::new(()))
        .grace_period(seconds(20));
    let (stop, running) = run(manager);
    sleep(seconds(5)).await;
    stop.cancel();
    let stopped = Instant::now();
    let error = running.await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "maps, stubborn did not stop within the grace period of 20s");
    assert_eq!(log.take(), ["quick starts", "quick ends"]);
    assert!(stopped.elapsed() < seconds(21), "{:?}", stopped.elapsed());
}

#[tokio::test(start_paused = true)]
async fn of_two_replicas_one_reconciles_and_the_other_takes_over() {
    let (_server, client) = server_with(&["a"]).await;
    let log = Log::default();
    let replica = |name: &'static str| {
        Manager::new(client.clone())
            .leader_election("operator", "default")
            .leader_component("leader", Restart::Never, component(&log, name))
            .controller("maps", maps(&client), logging(name), Arc::new(log.clone()))
    };
    let (stop, first) = run(replica("first"));
    sleep(seconds(10)).await;
    let (_stop, second) = run(replica("second"));
    sleep(seconds(30)).await;
    let mut entries = log.take();
    entries.sort();
    assert_eq!(entries, ["first a", "first starts"]);
    stop.cancel();
    first.await.unwrap().unwrap();
    let released = Instant::now();
    while log.count("second a") == 0 {
        assert!(released.elapsed() < seconds(5), "the Lease was released");
        sleep(Duration::from_millis(100)).await;
    }
    sleep(seconds(1)).await;
    let entries = log.take();
    assert_eq!(entries[0], "first ends", "before the second one leads: {entries:?}");
    second.abort();
}

#[tokio::test(start_paused = true)]
async fn with_sharding_a_leader_component_runs_in_one_replica() {
    let (_server, client) = server_with(&[]).await;
    let log = Log::default();
    let replica = |name: &'static str| {
        run(Manager::new(client.clone())
            .sharding(sharding::Config::new("operator", "default").identity(name))
            .leader_component("sweeper", Restart::Never, component(&log, name)))
    };
    let replicas = [replica("a"), replica("b"), replica("c")];
    sleep(seconds(60)).await;
    let mut running: Vec<String> = Vec::new();
    for entry in log.take() {
        match entry.split_once(' ').unwrap() {
            (name, "starts") => running.push(name.to_owned()),
            (name, _) => running.retain(|running| running != name),
        }
        assert!(running.len() <= 1, "{running:?} run at once");
    }
    assert_eq!(running.len(), 1);
    let owner = ["a", "b", "c"].iter().position(|name| *name == running[0]).unwrap();
    replicas[owner].0.cancel();
    sleep(seconds(60)).await;
    let entries = log.take();
    assert_eq!(entries.len(), 2, "{entries:?}");
    assert_eq!(entries[0], format!("{} ends", running[0]));
    assert!(entries[1].ends_with(" starts"));
}

#[tokio::test(start_paused = true)]
async fn controllers_are_added_and_removed_while_the_manager_runs() {
    let (_server, client) = server_with(&["a"]).await;
    let log = Arc::new(Log::default());
    let manager = Manager::new(client.clone());
    let handle = manager.handle();
    let (stop, running) = run(manager);
    handle.add("maps", maps(&client), logging("reconciled"), Arc::clone(&log));
    sleep(seconds(5)).await;
    assert_eq!(log.take(), ["reconciled a"]);
    timeout(seconds(5), handle.remove("maps")).await.unwrap();
    timeout(seconds(5), handle.remove("no such")).await.unwrap();
    add(&client, "b").await;
    sleep(seconds(5)).await;
    assert_eq!(log.take(), [] as [String; 0]);
    handle.add("maps", maps(&client), logging("again"), Arc::clone(&log));
    sleep(seconds(5)).await;
    assert_eq!(log.take(), ["again a", "again b"]);
    handle.add("maps", maps(&client), logging("twice"), Arc::clone(&log));
    let error = timeout(seconds(5), running).await.unwrap().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "the manager has two controllers or components with the name maps");
    drop(stop);
    timeout(seconds(5), handle.remove("maps")).await.expect("the manager has ended");
}

struct Noted(Log);

impl kube_runtime::controller::Reconcile<ConfigMap> for Noted {
    type Error = Infallible;

    async fn reconcile(&self, map: Arc<ConfigMap>) -> Result<Action, Infallible> {
        self.0.add(format!("noted {}", map.name_any()));
        Ok(Action::await_change())
    }
}

#[tokio::test(start_paused = true)]
async fn reconcilers_and_components_are_added_and_removed_while_the_manager_runs() {
    let (_server, client) = server_with(&["a"]).await;
    let log = Log::default();
    let manager = Manager::new(client.clone()).leader_election("operator", "default");
    let handle = manager.handle();
    handle.add_reconciler("maps", maps(&client), Noted(log.clone())); // even before the start
    let (stop, running) = run(manager);
    sleep(seconds(5)).await;
    assert_eq!(log.take(), ["noted a"]);
    handle.add_component("everywhere", Restart::Never, component(&log, "everywhere"));
    handle.add_leader_component("leader", Restart::Always, component(&log, "leader"));
    sleep(seconds(5)).await;
    assert_eq!(log.take(), ["everywhere starts", "leader starts"]);
    for name in ["everywhere", "leader", "maps"] {
        timeout(seconds(5), handle.remove(name)).await.unwrap();
    }
    assert_eq!(log.take(), ["everywhere ends", "leader ends"]);
    handle.add_component("leader", Restart::Never, component(&log, "again"));
    sleep(seconds(5)).await;
    stop.cancel();
    running.await.unwrap().unwrap();
    assert_eq!(log.take(), ["again starts", "again ends"]);
}

#[test]
fn two_parts_with_one_name_are_an_error_before_anything_starts() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let (_server, client) = server_with(&[]).await;
        let log = Log::default();
        let manager = Manager::new(client.clone())
            .component("maps", Restart::Never, component(&log, "maps"))
            .controller("maps", maps(&client), logging("reconciled"), Arc::new(log.clone()));
        assert!(matches!(manager.run_until(pending()).await, Err(ManagerError::DuplicateName(name)) if &*name == "maps"));
        assert_eq!(log.take(), [] as [String; 0]);
    });
}

#[derive(
    kube_derive::CustomResource, Clone, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema,
)]
#[kube(group = "example.com", version = "v1", kind = "Note", namespaced, crates(kube_core = kube_core))]
struct NoteSpec {}

#[tokio::test(start_paused = true)]
async fn a_controller_is_removed_with_its_crd() {
    let (_server, client) = server_with(&[]).await;
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let manager = Manager::new(client.clone());
    let handle = manager.handle();
    let (stop, running) = run(manager);
    let removal = tokio::spawn({
        let handle = handle.clone();
        async move { handle.remove_with_crd("notes", "notes.example.com").await }
    });
    sleep(seconds(5)).await;
    crds.create(&PostParams::default(), &Note::crd()).await.unwrap();
    let notes = Controller::new(Api::<Note>::all(client.clone()), watcher::Config::default());
    handle.add("notes", notes, async |_, _| Ok::<_, Infallible>(Action::await_change()), Arc::new(()));
    sleep(seconds(5)).await;
    assert!(!removal.is_finished());
    crds.delete("notes.example.com", &DeleteParams::default()).await.unwrap();
    timeout(seconds(60), removal).await.unwrap().unwrap().unwrap();
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn controllers_share_the_watch_of_a_cache() {
    let (server, _) = server_with(&["a"]).await;
    let requests = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&requests);
    let client = Client::new(
        service_fn(move |request: Request<Body>| {
            *counted.lock() += usize::from(request.uri().path().ends_with("/configmaps"));
            server.clone().oneshot(request)
        }),
        "default",
    );
    let log = Log::default();
    let mut manager = Manager::new(client.clone());
    for (name, prefix) in [("one", "one"), ("two", "two")] {
        let store =
            manager.cache(Api::<ConfigMap>::default_namespaced(client.clone()), watcher::Config::default());
        let shared = Controller::for_shared_stream(store.subscribe().unwrap(), store);
        manager = manager.controller(name, shared, logging(prefix), Arc::new(log.clone()));
    }
    let (stop, running) = run(manager);
    sleep(seconds(10)).await;
    let mut entries = log.take();
    entries.sort();
    assert_eq!(entries, ["one a", "two a"]);
    assert_eq!(*requests.lock(), 1, "one streaming list, which goes on as the watch");
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn caches_are_added_and_removed_while_the_manager_runs() {
    let (_server, client) = server_with(&["a"]).await;
    let api = || Api::<ConfigMap>::default_namespaced(client.clone());
    let config = watcher::Config::default;
    let manager = Manager::new(client.clone());
    let handle = manager.handle();
    let (stop, running) = run(manager);
    let (store, same) = (handle.cache(api(), config()), handle.cache(api(), config()));
    sleep(seconds(5)).await;
    assert_eq!((store.len(), same.len()), (1, 1));
    timeout(seconds(5), handle.remove_cache(&api(), &config())).await.unwrap();
    timeout(seconds(5), handle.remove_cache(&api(), &config().labels("app=web")))
        .await
        .expect("no such cache");
    add(&client, "b").await;
    sleep(seconds(5)).await;
    assert_eq!(store.len(), 1, "it is not filled any more");
    let again = handle.cache(api(), config());
    sleep(seconds(5)).await;
    assert_eq!(again.len(), 2);
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// With the real clock, because the sockets are real.
#[tokio::test]
#[expect(clippy::too_many_lines, reason = "one manager, and each page that it serves")]
async fn metrics_health_and_the_debug_page_show_the_controllers() {
    // Tests of one process share the names of controllers and the metrics: no other test has these names.
    let (_server, client) = server_with(&["a"]).await;
    let mut manager = Manager::new(client.clone());
    let _secrets =
        manager.cache(Api::<Secret>::default_namespaced(client.clone()), watcher::Config::default());
    let manager = manager
        .serve_metrics(([127, 0, 0, 1], 0))
        .routes(axum::Router::new().route("/version", axum::routing::get(async || "1.2")))
        .routes(axum::Router::new().route("/about", axum::routing::get(async || "an operator")))
        .version("1.2.3")
        .leader_election("shown-operator", "default")
        .controller("shown", maps(&client), logging("reconciled"), Arc::new(Log::default()));
    manager.health().add(Probe::Live, Check::new("database", || Err("connection refused")));
    let handle = manager.handle();
    let (stop, running) = run(manager);
    let address = timeout(seconds(60), handle.metrics_address()).await.unwrap().expect("metrics are served");
    let get = async |path: &str| {
        let socket = tokio::net::TcpStream::connect(address).await.ok()?;
        let io = hyper_util::rt::TokioIo::new(socket);
        let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.ok()?;
        tokio::spawn(connection);
        let request = Request::get(path).header("host", "localhost").body(String::new()).unwrap();
        let response = sender.send_request(request).await.ok()?;
        let status = response.status().as_u16();
        let body = response.into_body().collect().await.ok()?.to_bytes();
        Some((status, String::from_utf8(body.to_vec()).unwrap()))
    };
    let reconciled = "controller_runtime_reconcile_total{controller=\"shown\",result=\"success\"} 1";
    let ready = async {
        while !get("/metrics").await.is_some_and(|(_, body)| body.contains(reconciled)) {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(seconds(60), ready).await.expect("the object is reconciled");
    let (status, body) = get("/readyz?verbose").await.unwrap();
    assert_eq!((status, body.contains("[+]controller-shown ok")), (200, true), "{body}");
    assert_eq!(get("/livez?exclude=database").await.unwrap().0, 200);
    for (path, text) in [("/version", "1.2"), ("/about", "an operator")] {
        assert_eq!(get(path).await.unwrap(), (200, text.to_owned()));
    }
    let (_, page) = get("/debug/controllers?format=json").await.unwrap();
    let page: serde_json::Value = serde_json::from_str(&page).unwrap();
    assert_eq!(page["controllers"][0]["name"], "shown");
    assert_eq!(page["process"]["version"], "1.2.3");
    let checks = page["health"].as_array().unwrap();
    let check = |name: &str| checks.iter().find(|check| check["check"] == name).unwrap().clone();
    assert_eq!(check("database")["message"], "connection refused");
    assert_eq!(
        (check("database")["state"].clone(), check("controller-shown")["state"].clone()),
        ("failed".into(), "ok".into())
    );
    assert!(page["process"]["uptime_seconds"].as_f64().is_some_and(|seconds| seconds > 0.0));
    #[cfg(target_os = "linux")]
    assert!(get("/metrics").await.unwrap().1.contains("\nprocess_resident_memory_bytes "));
    let cache = &page["caches"][0];
    assert_eq!(cache["name"], "cache of /api/v1/namespaces/default/secrets");
    assert_eq!(
        (&cache["watches"][0]["kind"], &cache["watches"][0]["synced"]),
        (&"Secret".into(), &true.into())
    );
    let relists = "kube_runtime_watch_relists_total{controller=\"cache of /api/v1/namespaces/default/secrets\",kind=\"Secret\"} 0";
    assert!(get("/metrics").await.unwrap().1.contains(relists));
    let replicas = &page["replicas"];
    assert_eq!((&replicas["leads"], &replicas["state"]), (&true.into(), &"leading".into()));
    assert_eq!(replicas["leader"], replicas["identity"]);
    assert!(
        get("/metrics")
            .await
            .unwrap()
            .1
            .contains("leader_election_master_status{name=\"shown-operator\",lease_namespace=\"default\"} 1")
    );
    let secrets = Api::<Secret>::default_namespaced(client.clone());
    timeout(seconds(30), handle.remove("shown")).await.unwrap();
    timeout(seconds(30), handle.remove_cache(&secrets, &watcher::Config::default())).await.unwrap();
    let (_, left) = get("/metrics").await.unwrap();
    for removed in ["\"shown\"", "\"cache of /api/v1/namespaces/default/secrets\""] {
        assert!(!left.contains(removed), "{removed} in {left}");
    }
    assert!(left.contains("leader_election_master_status"), "{left}");
    stop.cancel();
    timeout(seconds(30), running).await.unwrap().unwrap().unwrap();
    assert!(get("/livez").await.is_none(), "the server has stopped");
}
