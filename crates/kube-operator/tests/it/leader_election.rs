//! Electors and the controllers of leaders, against slow and hanging servers.

use crate::{
    common::{ApiExt, assert_idle, config_maps, expect_next, named, server, spawn_outputs, wait_for_change},
    layers::{counted, gated},
};
use futures::{FutureExt, StreamExt, channel::mpsc};
use k8s_openapi::api::{coordination::v1::Lease, core::v1::ConfigMap};
use kube_client::{Api, Client, client::Body};
use kube_core::ResourceExt;
use kube_operator::leader_election::{Config, LeaderElector, State};
use kube_runtime::{Controller, controller::Action, watcher};
use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::Notify,
    time::{Instant, sleep},
};
use tower::ServiceExt;

/// What an elector may need beyond its durations, because requests and timers take a few polls.
const TOLERANCE: Duration = Duration::from_millis(50);

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn elector(client: &Client, identity: &str) -> LeaderElector {
    let config = Config::new("operator", "default").identity(identity);
    LeaderElector::start(client.clone(), config).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_server_hangs_stops_leading_at_its_renew_deadline() {
    let (server, _) = server();
    let (client, gate) = gated(&server, "leases");
    let elector = elector(&client, "a");
    elector.wait_for_leadership().await.unwrap();
    sleep(seconds(60)).await;
    assert!(elector.is_leader(), "renewals go on");
    let hangs = Instant::now();
    gate.send_replace(false);
    elector.lost_leadership().await;
    // The last renewal was sent up to a retry period before.
    let led = hangs.elapsed();
    assert!(led >= seconds(8) && led <= seconds(10) + TOLERANCE, "{led:?}");
    assert!(!elector.is_leader());
    sleep(TOLERANCE).await;
    assert!(matches!(elector.state(), State::Standby { .. }));
    gate.send_replace(true);
    elector.wait_for_leadership().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_times_of_a_lease_move_with_paused_time() {
    let (_server, client) = server();
    let elector = elector(&client, "a");
    elector.wait_for_leadership().await.unwrap();
    sleep(seconds(3600)).await;
    let lease: Lease = Api::default_namespaced(client).get("operator").await.unwrap();
    let spec = lease.spec.unwrap();
    let led = spec.renew_time.unwrap().0.duration_since(spec.acquire_time.unwrap().0);
    assert!((3590..=3601).contains(&led.as_secs()), "{led:?}");
}

/// The Lease of the new cluster has another holder, and the leadership of the old one was renewed just now.
#[tokio::test(start_paused = true)]
async fn a_leader_of_one_cluster_leads_no_other() {
    let ((old, _), (new, in_new)) = (server(), server());
    let servers = [("old", old), ("new", new)];
    let transport = tower::service_fn(move |request: http::Request<Body>| {
        let host = request.uri().host().unwrap();
        let server = servers.iter().find(|(name, _)| *name == host).unwrap().1.clone();
        server.oneshot(request)
    });
    let config = |host: &str| kube_client::Config::new(format!("https://{host}").parse().unwrap());
    let client = Client::with_transport(&config("old"), transport).unwrap();
    let (moved, other) = (elector(&client, "a"), elector(&in_new, "b"));
    moved.wait_for_leadership().await.unwrap();
    other.wait_for_leadership().await.unwrap();
    client.set_credentials(config("new")).await.unwrap();
    tokio::time::timeout(TOLERANCE, moved.lost_leadership()).await.expect("at once");
    sleep(seconds(60)).await;
    assert!(!moved.is_leader() && other.is_leader());
    assert_eq!(moved.state(), State::Standby { holder: Some("b".into()) });
    other.release().await;
    tokio::time::timeout(seconds(5), moved.wait_for_leadership()).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_release_during_a_request_that_hangs_takes_half_a_renew_deadline_at_most() {
    let (server, _) = server();
    let (client, gate) = gated(&server, "leases");
    let elector = elector(&client, "a");
    elector.wait_for_leadership().await.unwrap();
    gate.send_replace(false);
    sleep(seconds(3)).await; // a renewal hangs
    let released = Instant::now();
    elector.release().await;
    assert!(released.elapsed() <= seconds(5) + TOLERANCE, "{:?}", released.elapsed());
    assert_eq!(elector.state(), State::Stopped);
    assert!(elector.wait_for_leadership().await.is_err());
    assert!(elector.lost_leadership().now_or_never().is_some());
}

#[tokio::test(start_paused = true)]
async fn an_elector_that_is_dropped_gives_its_lease_up() {
    let (_server, client) = server();
    let first = elector(&client, "a");
    first.wait_for_leadership().await.unwrap();
    let second = elector(&client, "b");
    sleep(seconds(60)).await;
    assert_eq!(second.state(), State::Standby { holder: Some("a".into()) });
    drop(first);
    let dropped = Instant::now();
    second.wait_for_leadership().await.unwrap();
    assert!(dropped.elapsed() <= seconds(2) + TOLERANCE, "{:?}", dropped.elapsed());
}

/// A controller of ConfigMaps that runs while its elector leads; the names of the reconciles that it starts.
fn replica(
    client: &Client,
    elector: &LeaderElector,
    length: Duration,
) -> (mpsc::UnboundedReceiver<String>, crate::common::Outputs) {
    let (send, started) = mpsc::unbounded();
    let prepared = send.clone();
    let assignments = elector.assignments(move || {
        let prepared = prepared.clone();
        async move {
            sleep(seconds(1)).await;
            prepared.unbounded_send("prepared".to_owned()).unwrap();
        }
    });
    let output =
        Controller::new(config_maps(client), watcher::Config::default()).assigned_by(assignments).run(
            move |object: Arc<ConfigMap>, send: Arc<mpsc::UnboundedSender<String>>| async move {
                send.unbounded_send(object.name_any()).unwrap();
                sleep(length).await;
                Ok::<_, Infallible>(Action::await_change())
            },
            wait_for_change,
            Arc::new(send),
        );
    (started, spawn_outputs(output))
}

#[tokio::test(start_paused = true)]
async fn a_standby_takes_over_with_a_filled_cache_after_its_preparation() {
    let (server, client) = server();
    for name in ["a", "b"] {
        config_maps(&client).add(named(name)).await;
    }
    let first = elector(&client, "first");
    first.wait_for_leadership().await.unwrap();
    let (mut first_started, mut first_outputs) = replica(&client, &first, Duration::ZERO);
    for expected in ["prepared", "a", "b"] {
        assert_eq!(expect_next(&mut first_started).await, expected);
    }
    let (requests, sent) = counted(&server);
    let second = elector(&client, "second");
    let (mut second_started, _second_outputs) = replica(&requests, &second, Duration::ZERO);
    assert_idle(&mut second_started).await;
    config_maps(&client).touch("b", "1").await;
    assert_eq!(expect_next(&mut first_started).await, "b");
    assert_idle(&mut second_started).await;

    let before = sent.lock().unwrap().len();
    first_outputs.task.abort();
    first.release().await;
    for expected in ["prepared", "a", "b"] {
        assert_eq!(expect_next(&mut second_started).await, expected);
    }
    assert_eq!(sent.lock().unwrap()[before..], [] as [String; 0], "neither a list nor a watch");
    assert!(first_outputs.items.next().now_or_never().is_some());
}

#[tokio::test(start_paused = true)]
async fn the_reconciles_of_a_lost_leader_are_cancelled_before_another_leads() {
    let (server, client) = server();
    config_maps(&client).add(named("a")).await;
    let (cut_off, gate) = gated(&server, "leases");
    let first = elector(&cut_off, "first");
    first.wait_for_leadership().await.unwrap();
    let (mut started, mut outputs) = replica(&client, &first, seconds(3600));
    assert_eq!(expect_next(&mut started).await, "prepared");
    assert_eq!(expect_next(&mut started).await, "a");
    let second = elector(&client, "second");
    let led_by_second = second.wait_for_leadership();
    tokio::pin!(led_by_second);
    gate.send_replace(false);
    let cut = Instant::now();
    tokio::select! {
        _ = &mut led_by_second => panic!("the first one still reconciles"),
        error = expect_next(&mut outputs.items) => assert_eq!(error, "running reconcilers failed"),
    }
    assert!(cut.elapsed() > seconds(10), "it had time to finish");
    led_by_second.await.unwrap();
    // Led again, it goes on.
    second.release().await;
    gate.send_replace(true);
    assert_eq!(expect_next(&mut started).await, "prepared");
    assert_eq!(expect_next(&mut started).await, "a");
}

#[tokio::test(start_paused = true)]
async fn a_preparation_ends_with_the_leadership() {
    let (_server, client) = server();
    let elector = elector(&client, "a");
    let held = Arc::new(());
    let inside = Arc::clone(&held);
    let assignments = elector.assignments(move || {
        let inside = Arc::clone(&inside);
        async move {
            let _inside = inside;
            std::future::pending().await
        }
    });
    elector.wait_for_leadership().await.unwrap();
    sleep(seconds(1)).await;
    assert_eq!(Arc::strong_count(&held), 3);
    elector.release().await;
    sleep(seconds(1)).await;
    assert_eq!(Arc::strong_count(&held), 1, "the task has ended");
    drop(assignments);
}

#[tokio::test(start_paused = true)]
async fn assignments_that_are_not_used_keep_no_elector() {
    let (_server, client) = server();
    let elector = elector(&client, "a");
    drop(elector.assignments(async || ()));
    elector.wait_for_leadership().await.unwrap();
    drop(elector);
    sleep(seconds(1)).await;
    let lease = Api::<Lease>::default_namespaced(client).get("operator").await.unwrap();
    assert_eq!(lease.spec.unwrap().holder_identity, None, "given up by the last handle");
}

#[tokio::test(start_paused = true)]
async fn an_output_that_is_kept_and_not_polled_freezes_no_other_controller() {
    let (server, client) = server();
    config_maps(&client).add(named("a")).await;
    let (cut_off, gate) = gated(&server, "leases");
    let elector = elector(&cut_off, "first");
    let assignments = elector.assignments(async || {});
    let controller = || {
        Controller::new(config_maps(&client), watcher::Config::default())
            .assigned_by(assignments.clone())
            .run(async |_, _| Ok::<_, Infallible>(Action::await_change()), wait_for_change, Arc::new(()))
    };
    let mut kept = Box::pin(controller());
    assert!(expect_next(&mut kept).await.is_ok());
    let mut polled = spawn_outputs(controller());
    assert_eq!(expect_next(&mut polled.items).await, "done: a");
    // The request that hangs at the end of the leadership is confirmed at once, or is given up.
    for longer in [Duration::ZERO, seconds(8)] {
        gate.send_replace(false);
        elector.lost_leadership().await;
        sleep(longer).await;
        gate.send_replace(true);
        assert_eq!(expect_next(&mut polled.items).await, "done: a", "assigned again");
        assert!(elector.is_leader());
        config_maps(&client).touch("a", &format!("{longer:?}")).await;
        assert_eq!(expect_next(&mut polled.items).await, "done: a");
        assert_idle(&mut polled.items).await;
    }
    drop(kept);
}

/// A process that does not run for a minute, and a reconcile that is polled first when it runs again.
#[tokio::test(start_paused = true)]
async fn a_reconcile_is_not_polled_after_the_lease_has_expired() {
    let (_server, client) = server();
    config_maps(&client).add(named("a")).await;
    let elector = elector(&client, "first");
    let (late, started) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let (counted, leader, notify) = (Arc::clone(&late), elector.clone(), Arc::clone(&started));
    let output = Controller::new(config_maps(&client), watcher::Config::default())
        .assigned_by(elector.assignments(async || {}))
        .run(
            move |_, _| {
                let (late, leader, started) = (Arc::clone(&counted), leader.clone(), Arc::clone(&notify));
                async move {
                    started.notify_one();
                    for _ in 0..10_000 {
                        tokio::task::yield_now().await;
                        late.fetch_add(usize::from(!leader.is_leader()), Ordering::Relaxed);
                    }
                    Ok::<_, Infallible>(Action::await_change())
                }
            },
            wait_for_change,
            Arc::new(()),
        );
    let mut outputs = spawn_outputs(output);
    started.notified().await;
    tokio::time::advance(seconds(60)).await;
    expect_next(&mut outputs.items).await;
    assert_eq!(late.load(Ordering::Relaxed), 0, "polls after the lease has expired");
}
