//! Managers whose parts hang, panic or are slow, at the start, while they run, and at the stop.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::{StreamExt, future::pending};
use http::Request;
use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{ConfigMap, Secret},
};
use kube_client::{Api, Client};
use kube_operator::{
    health::Health,
    leader_election::{self, LeaderElector},
    manager::{Manager, Restart},
    sharding,
};
use kube_runtime::{Config, controller::Action, watcher};
use kube_testserver::{Fault, Match};
use tokio::{
    sync::Notify,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::manager::{Log, component, logging, maps, run, seconds, server_with};

/// Status and text of `/readyz?verbose`.
async fn readiness(health: &Health) -> (u16, String) {
    probe(health, "/readyz?verbose").await
}

/// Status and text of a probe.
async fn probe(health: &Health, path: &str) -> (u16, String) {
    let request = Request::get(path).body(axum::body::Body::empty()).unwrap();
    let response = health.router().oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    let body = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

/// The holder that the Lease names.
async fn holder(client: &Client, name: &str) -> Option<String> {
    let lease = Api::<Lease>::default_namespaced(client.clone()).get(name).await.unwrap();
    lease.spec.unwrap().holder_identity.filter(|holder| !holder.is_empty())
}

fn forever(_: CancellationToken) -> futures::future::Pending<Result<(), Infallible>> {
    pending()
}

/// A component that ends this long after it was told to.
fn slow(
    limit: Duration,
) -> impl FnMut(CancellationToken) -> futures::future::BoxFuture<'static, Result<(), Infallible>> + Send {
    move |stop| {
        Box::pin(async move {
            stop.cancelled().await;
            sleep(limit).await;
            Ok(())
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_panics_ends_the_manager_which_gives_the_lease_up() {
    let (_server, client) = server_with(&["a"]).await;
    let log = Log::default();
    let manager = Manager::new(client.clone())
        .leader_election("operator", "default")
        .before_leading(|| async { panic!("no table") })
        .controller("maps", maps(&client), logging("reconciled"), Arc::new(log.clone()));
    let error = timeout(seconds(60), manager.run_until(pending())).await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "the hook before_leading failed: it panicked: no table");
    assert_eq!(holder(&client, "operator").await, None);
    assert_eq!(log.take(), [] as [String; 0]);
}

#[tokio::test(start_paused = true)]
async fn without_replicas_a_hook_that_panics_is_an_error_and_what_has_started_stops() {
    let (_server, client) = server_with(&[]).await;
    for sharded in [false, true] {
        let log = Log::default();
        let mut manager = Manager::new(client.clone())
            .component("component", Restart::Never, component(&log, "component"))
            .before_leading(|| async {
                sleep(seconds(1)).await;
                panic!("no table")
            });
        if sharded {
            manager = manager.sharding(sharding::Config::new("operator", "default"));
        }
        let running = tokio::spawn(manager.run_until(pending()));
        let error = timeout(seconds(60), running).await.unwrap().expect("no panic").unwrap_err();
        assert_eq!(error.to_string(), "the hook before_leading failed: it panicked: no table");
        assert_eq!(log.take(), ["component starts", "component ends"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_candidate_whose_preparation_panics_lets_another_one_lead_and_tries_again_later() {
    let (_server, client) = server_with(&["a"]).await;
    let log = Log::default();
    let broken = Arc::new(AtomicBool::new(true));
    let start = |name: &'static str| {
        let config = leader_election::Config::new("operator", "default").identity(name);
        let elector = LeaderElector::start(client.clone(), config).unwrap();
        let (attempts, broken) = (log.clone(), Arc::clone(&broken));
        let assignments = elector.assignments(move || {
            let (attempts, broken) = (attempts.clone(), Arc::clone(&broken));
            async move {
                attempts.add(format!("{name} prepares"));
                assert!(name != "first" || !broken.load(Ordering::Relaxed), "no table");
            }
        });
        let controller = maps(&client).assigned_by(assignments);
        let output = controller.run(logging(name), |_, _, _| Action::retry(), Arc::new(log.clone()));
        (elector, tokio::spawn(output.for_each(async |_| ())))
    };
    let (first, first_output) = start("first");
    sleep(Duration::from_millis(500)).await; // it competes again after 0.8 s at the earliest
    assert_eq!(log.take(), ["first prepares"]);
    assert!(!first.is_leader());
    let (second, second_output) = start("second");
    sleep(seconds(10)).await;
    assert_eq!(log.take(), ["second prepares", "second a"]);
    second_output.abort();
    second.release().await;
    sleep(seconds(120)).await;
    let attempts = log.take().len();
    assert!((3..15).contains(&attempts), "{attempts} attempts in 2 minutes");
    broken.store(false, Ordering::Relaxed);
    sleep(seconds(60)).await;
    assert_eq!(log.take(), ["first prepares", "first a"]);
    assert!(first.is_leader());
    first_output.abort();
    timeout(seconds(10), first.release()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn readiness_fails_until_the_start_has_finished_and_while_the_manager_stops() {
    let (_server, client) = server_with(&[]).await;
    let prepared = Arc::new(Notify::new());
    let waiting = Arc::clone(&prepared);
    let manager = Manager::new(client)
        .component("slow", Restart::Never, slow(seconds(5)))
        .before_leading(move || waiting.clone().notified_owned());
    let health = manager.health().clone();
    let (stop, running) = run(manager);
    sleep(seconds(1)).await;
    let (status, text) = readiness(&health).await;
    assert_eq!((status, text.contains("[-]manager failed")), (500, true), "{text}");
    prepared.notify_one();
    sleep(seconds(1)).await;
    let (status, text) = readiness(&health).await;
    assert_eq!((status, text.contains("[+]manager ok")), (200, true), "{text}");
    stop.cancel();
    sleep(seconds(1)).await;
    assert_eq!(readiness(&health).await.0, 500);
    running.await.unwrap().unwrap();
    assert_eq!(readiness(&health).await.0, 500);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_during_the_start_stops_what_has_started() {
    let (_server, client) = server_with(&[]).await;
    let log = Log::default();
    let manager = Manager::new(client)
        .component("component", Restart::Never, component(&log, "component"))
        .before_leading(pending);
    let (stop, running) = run(manager);
    sleep(seconds(60)).await;
    stop.cancel();
    timeout(seconds(2), running).await.unwrap().unwrap().unwrap();
    assert_eq!(log.take(), ["component starts", "component ends"]);
}

#[tokio::test(start_paused = true)]
async fn a_component_that_fails_during_the_start_ends_the_manager() {
    let (_server, client) = server_with(&[]).await;
    let manager = Manager::new(client)
        .component("disk", Restart::Never, |_| std::future::ready(Err("no disk")))
        .before_leading(pending);
    let error = timeout(seconds(5), manager.run_until(pending())).await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "disk failed: no disk");
}

#[tokio::test(start_paused = true)]
async fn a_slow_phase_leaves_time_to_the_later_ones() {
    let (_server, client) = server_with(&[]).await;
    let log = Log::default();
    let manager = Manager::new(client)
        .leader_component("stubborn", Restart::Never, forever)
        .component("component", Restart::Never, component(&log, "component"))
        .grace_period(seconds(20));
    let (stop, running) = run(manager);
    sleep(seconds(5)).await;
    stop.cancel();
    let stopped = Instant::now();
    let error = running.await.unwrap().unwrap_err();
    assert_eq!(error.to_string(), "stubborn did not stop within the grace period of 20s");
    assert_eq!(log.take(), ["component starts", "component ends"]);
    assert!(stopped.elapsed() >= seconds(15) && stopped.elapsed() < seconds(20), "{:?}", stopped.elapsed());
}

/// With the real clock and several threads, because the component blocks one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_component_that_blocks_its_thread_does_not_delay_the_end() {
    let (_server, client) = server_with(&[]).await;
    let manager = Manager::new(client)
        .component("blocking", Restart::Never, |stop: CancellationToken| async move {
            stop.cancelled().await;
            std::thread::sleep(seconds(3)); // it cannot be aborted
            Ok::<_, Infallible>(())
        })
        .grace_period(Duration::from_millis(500));
    let (stop, running) = run(manager);
    sleep(Duration::from_millis(100)).await;
    stop.cancel();
    let error =
        timeout(seconds(2), running).await.expect("the end of the grace period").unwrap().unwrap_err();
    assert_eq!(error.to_string(), "blocking did not stop within the grace period of 500ms");
}

#[tokio::test(start_paused = true)]
async fn the_release_of_the_lease_is_within_the_grace_period() {
    for sharded in [false, true] {
        let (server, client) = server_with(&[]).await;
        let manager = Manager::new(client)
            .component("quick", Restart::Never, slow(Duration::ZERO))
            .grace_period(seconds(3));
        let manager = match sharded {
            true => manager.sharding(sharding::Config::new("operator", "default")),
            false => manager.leader_election("operator", "default"),
        };
        let (stop, running) = run(manager);
        sleep(seconds(5)).await;
        server.fault(Match::resource("coordination.k8s.io", "leases"), Fault::Stall);
        stop.cancel();
        timeout(seconds(3), running).await.expect("the grace period").unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn the_lease_expires_when_work_of_the_leader_was_aborted() {
    let (_server, client) = server_with(&["a"]).await;
    let replica =
        || Manager::new(client.clone()).leader_election("operator", "default").grace_period(seconds(2));
    let stuck = |_: Arc<ConfigMap>, _| pending::<Result<Action, Infallible>>();
    for manager in [
        replica().controller("maps", maps(&client), stuck, Arc::new(())),
        replica().leader_component("maps", Restart::Never, forever),
    ] {
        let (stop, running) = run(manager);
        while holder_or_none(&client).await.is_none() {
            sleep(seconds(1)).await;
        }
        sleep(seconds(5)).await;
        stop.cancel();
        let error = running.await.unwrap().unwrap_err();
        assert_eq!(error.to_string(), "maps did not stop within the grace period of 2s");
        let holder = holder(&client, "operator").await;
        assert!(holder.is_some(), "what was aborted may still run: another replica has to wait");
        let next = LeaderElector::start(client.clone(), leader_election::Config::new("operator", "default"))
            .unwrap();
        sleep(seconds(10)).await;
        assert!(!next.is_leader());
        timeout(seconds(8), next.wait_for_leadership()).await.expect("it is not renewed").unwrap();
        next.release().await;
    }
}

async fn holder_or_none(client: &Client) -> Option<String> {
    let lease = Api::<Lease>::default_namespaced(client.clone()).get_opt("operator").await.unwrap();
    lease?.spec?.holder_identity.filter(|holder| !holder.is_empty())
}

#[tokio::test(start_paused = true)]
async fn a_member_whose_work_was_aborted_does_not_leave() {
    let (_server, client) = server_with(&[]).await;
    let manager = Manager::new(client.clone())
        .sharding(sharding::Config::new("operator", "default").identity("a"))
        .leader_component("stubborn", Restart::Never, forever)
        .grace_period(seconds(2));
    let (stop, running) = run(manager);
    sleep(seconds(30)).await;
    stop.cancel();
    running.await.unwrap().unwrap_err();
    sleep(seconds(5)).await;
    let leases = Api::<Lease>::default_namespaced(client).list(&Default::default()).await.unwrap();
    let holders: Vec<_> = leases.items.into_iter().filter_map(|lease| lease.spec?.holder_identity).collect();
    assert_eq!(holders, ["a"]);
}

#[tokio::test(start_paused = true)]
async fn the_lease_expires_when_the_manager_is_dropped() {
    let (_server, client) = server_with(&[]).await;
    let (_stop, running) = run(Manager::new(client.clone()).leader_election("operator", "default"));
    sleep(seconds(5)).await;
    running.abort();
    sleep(seconds(5)).await;
    assert!(holder(&client, "operator").await.is_some(), "what was aborted may still run");
    let next = LeaderElector::start(client, leader_election::Config::new("operator", "default")).unwrap();
    timeout(seconds(18), next.wait_for_leadership()).await.expect("it is not renewed").unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_longest_grace_period_is_no_overflow() {
    let (_server, client) = server_with(&[]).await;
    let manager = Manager::new(client)
        .leader_election("operator", "default")
        .component("slow", Restart::Never, slow(seconds(3600)))
        .grace_period(Duration::MAX);
    let (stop, running) = run(manager);
    sleep(seconds(5)).await;
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn without_a_grace_period_everything_is_aborted_and_named() {
    let (_server, client) = server_with(&[]).await;
    let manager = Manager::new(client)
        .component("slow", Restart::Never, slow(seconds(3600)))
        .grace_period(Duration::ZERO);
    let (stop, running) = run(manager);
    sleep(seconds(5)).await;
    stop.cancel();
    let error = timeout(seconds(1), running).await.unwrap().unwrap().unwrap_err();
    assert_eq!(error.to_string(), "slow did not stop within the grace period of 0ns");
}

#[tokio::test(start_paused = true)]
async fn the_reason_of_a_failed_initial_sync_is_kept() {
    let (server, client) = server_with(&["a"]).await;
    server.fault(Match::kind::<Secret>(), Fault::status(403, "Forbidden"));
    let config = Config::default().initial_sync_timeout(seconds(60)).fail_without_initial_sync();
    let controller = maps(&client)
        .with_config(config)
        .owns(Api::<Secret>::all(client.clone()), watcher::Config::default());
    let slow = |_: Arc<ConfigMap>, _| async {
        sleep(seconds(120)).await; // it still runs when the controller fails, and then succeeds
        Ok::<_, Infallible>(Action::await_change())
    };
    let manager = Manager::new(client).controller("maps", controller, slow, Arc::new(()));
    let error = timeout(seconds(300), manager.run_until(pending())).await.unwrap().unwrap_err();
    assert!(error.to_string().contains("the initial sync is not complete after 60s"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn caches_with_different_selectors_are_separate() {
    let (_server, client) = server_with(&["a", "b"]).await;
    let api = || Api::<ConfigMap>::default_namespaced(client.clone());
    let mut manager = Manager::new(client.clone());
    let all = manager.cache(api(), watcher::Config::default());
    let one = manager.cache(api(), watcher::Config::default().fields("metadata.name=a"));
    let none = manager.cache(api(), watcher::Config::default().labels("app=web"));
    let (stop, running) = run(manager);
    sleep(seconds(5)).await;
    assert!(!running.is_finished(), "{:?}", running.await);
    assert_eq!((all.len(), one.len(), none.len()), (2, 1, 0));
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn caches_of_two_clusters_and_of_two_types_are_separate() {
    let (_one, client) = server_with(&["a"]).await;
    let (_two, other) = server_with(&["a", "b"]).await;
    let mut manager = Manager::new(client.clone());
    let here = manager.cache(Api::<ConfigMap>::all(client.clone()), watcher::Config::default());
    let there = manager.cache(Api::<ConfigMap>::all(other.clone()), watcher::Config::default());
    let again = manager.cache(Api::<ConfigMap>::all(other), watcher::Config::default());
    let metadata: kube_runtime::reflector::Store<kube_core::PartialObjectMeta<ConfigMap>> =
        manager.cache(Api::all(client), watcher::Config::default());
    let (stop, running) = run(manager);
    sleep(seconds(5)).await;
    assert!(!running.is_finished(), "{:?}", running.await);
    assert_eq!((here.len(), there.len(), again.len(), metadata.len()), (1, 2, 2, 1));
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// Whichever features this crate has: that of the watcher's configuration counts.
#[tokio::test(start_paused = true)]
async fn compact_and_other_caches_of_one_collection_are_separate() {
    let (_server, client) = server_with(&["a", "b"]).await;
    let api = || Api::<ConfigMap>::default_namespaced(client.clone());
    let mut manager = Manager::new(client.clone());
    let decoded = manager.cache(api(), watcher::Config::default());
    let compact = manager.cache(api(), watcher::Config::default().compact_cache());
    let (stop, running) = run(manager);
    sleep(seconds(5)).await;
    assert!(!running.is_finished(), "{:?}", running.await);
    assert_eq!((decoded.len(), compact.len()), (2, 2));
    let name = kube_runtime::reflector::ObjectRef::new("a").within("default");
    assert_eq!(compact.get(&name), decoded.get(&name));
    let debug = format!("{compact:?}");
    assert!(debug.contains("compact: true"), "{debug}");
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn readiness_waits_for_the_caches() {
    let (server, client) = server_with(&["a"]).await;
    let fault = server.fault(Match::kind::<Secret>(), Fault::status(403, "Forbidden"));
    let mut manager = Manager::new(client.clone());
    let _maps = manager.cache(Api::<ConfigMap>::all(client.clone()), watcher::Config::default());
    let _secrets = manager
        .cache(Api::<Secret>::namespaced(client, "default"), watcher::Config::default().labels("app=web"));
    let health = manager.health().clone();
    let (stop, running) = run(manager);
    sleep(seconds(5)).await;
    let (status, text) = readiness(&health).await;
    assert_eq!(status, 500);
    for line in [
        "[+]cache of /api/v1/configmaps ok",
        "[-]cache of /api/v1/namespaces/default/secrets with labels app=web failed",
    ] {
        assert!(text.contains(line), "{line} in {text}");
    }
    fault.remove();
    sleep(seconds(60)).await;
    let (status, text) = readiness(&health).await;
    assert_eq!(status, 200, "{text}");
    stop.cancel();
    running.await.unwrap().unwrap();
}

/// Panics after a second.
fn broken<T: Send + 'static>() -> impl futures::Stream<Item = T> + Send {
    futures::stream::once(async {
        sleep(seconds(1)).await;
        panic!("no more")
    })
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_panics_does_not_stop_the_manager_and_liveness_names_it() {
    let (_server, client) = server_with(&["a"]).await;
    let log = Arc::new(Log::default());
    let controller = maps(&client).reconcile_all_on(broken());
    let manager =
        Manager::new(client.clone()).controller("maps", controller, logging("saw"), Arc::clone(&log));
    let health = manager.health().clone();
    let (stop, running) = run(manager);
    sleep(Duration::from_millis(500)).await;
    assert_eq!(probe(&health, "/livez?verbose").await.0, 200);
    sleep(seconds(60)).await;
    crate::manager::add(&client, "b").await;
    sleep(seconds(1)).await;
    assert_eq!(log.take(), ["saw a", "saw b"]);
    assert_eq!(probe(&health, "/livez?verbose").await.0, 500);
    stop.cancel();
    running.await.unwrap().unwrap();
}

struct Unprintable;

impl std::error::Error for Unprintable {}

impl std::fmt::Display for Unprintable {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("no message")
    }
}

impl std::fmt::Debug for Unprintable {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        panic!("no message")
    }
}

#[tokio::test(start_paused = true)]
async fn a_component_whose_error_cannot_be_printed_is_started_again() {
    let (_server, client) = server_with(&[]).await;
    let (starts, counted) =
        (Arc::new(std::sync::atomic::AtomicUsize::new(0)), tracing_subscriber::registry());
    // A subscriber that formats what it is told.
    let _guard = tracing::subscriber::set_default(tracing_subscriber::layer::SubscriberExt::with(
        counted,
        tracing_subscriber::fmt::layer().with_writer(std::io::sink),
    ));
    let count = Arc::clone(&starts);
    let component = move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        std::future::ready(Err::<(), _>(Box::new(Unprintable) as Box<dyn std::error::Error + Send + Sync>))
    };
    let (stop, running) = run(Manager::new(client).component("broken", Restart::Always, component));
    sleep(seconds(60)).await;
    assert!(starts.load(Ordering::Relaxed) > 3);
    stop.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_future_that_panics_stops_the_manager_in_order() {
    let (_server, client) = server_with(&[]).await;
    let log = Log::default();
    let manager = Manager::new(client).component("component", Restart::Never, component(&log, "component"));
    let error = manager
        .run_until(async {
            sleep(seconds(1)).await;
            panic!("no signal")
        })
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), "the shutdown future of the manager failed: it panicked: no signal");
    assert_eq!(log.take(), ["component starts", "component ends"]);
}
