//! What a monitor shows of a controller.

use crate::{
    common::{
        ApiExt, TestError, config_maps, eventually, expect_next, in_namespaces, named, owned, server,
        spawn_outputs,
    },
    scripted_server,
};
use futures::{StreamExt, future::pending};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::{Api, Client};
use kube_core::ResourceExt;
use kube_runtime::{
    Config, Controller,
    controller::{Action, ControllerState, Monitor, ProgressLimits, Snapshot, Stalled, WatchState},
    watcher,
};
use kube_testserver::{Fault, Match};
use serde_json::json;
use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::time::{Instant, sleep, timeout};

fn controller(client: &Client, config: Config) -> (Controller<ConfigMap>, Monitor) {
    let controller = Controller::new(config_maps(client), watcher::Config::default()).with_config(config);
    let monitor = controller.monitor();
    (controller, monitor)
}

/// Succeeds, except for objects whose name says otherwise.
async fn by_name(map: Arc<ConfigMap>, _: Arc<()>) -> Result<Action, TestError> {
    match map.name_any().as_str() {
        "hangs" => pending().await,
        "fails" if !map.annotations().contains_key("touched") => Err(TestError("no")),
        "panics" => panic!("oh"),
        "again" => Ok(Action::requeue(Duration::from_secs(3600))),
        _ => Ok(Action::await_change()),
    }
}

#[tokio::test(start_paused = true)]
#[expect(clippy::too_many_lines, reason = "one run, and each part of its snapshots")]
async fn a_snapshot_shows_reconciles_queue_errors_watches_and_totals() {
    let (_server, client) = server();
    let api = config_maps(&client);
    for name in ["hangs", "fails", "panics", "again", "works"] {
        api.add(named(name)).await;
    }
    let (controller, monitor) = controller(&client, Config::default().name("shows"));
    let before = monitor.snapshot();
    assert_eq!(
        (before.state, before.synced, before.kind.as_str()),
        (ControllerState::NotStarted, false, "ConfigMap")
    );
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let output = controller.owns(secrets.clone(), watcher::Config::default()).run(
        by_name,
        |_, _, _| Action::requeue(Duration::from_secs(60)),
        Arc::new(()),
    );
    let mut outputs = spawn_outputs(output);
    for _ in 0..4 {
        expect_next(&mut outputs.items).await;
    }
    sleep(Duration::from_secs(3)).await;
    let snapshot = monitor.snapshot();
    assert_eq!(
        (snapshot.name.as_str(), snapshot.state, snapshot.synced),
        ("shows", ControllerState::Running, true)
    );
    assert_eq!((snapshot.objects, snapshot.active, snapshot.max_concurrent), (5, 1, None));
    assert_eq!(snapshot.queue.delayed, 3, "{:?}", snapshot.queue);
    let running = &snapshot.running[0];
    assert_eq!(
        (running.name.as_str(), running.namespace.as_deref(), running.attempt),
        ("hangs", Some("default"), 1)
    );
    assert_eq!((running.reason.as_str(), running.elapsed.as_secs()), ("object updated", 3));
    let mut failing: Vec<_> =
        snapshot.failing.iter().map(|it| (it.name.as_str(), it.outcome, it.message.as_str())).collect();
    failing.sort_unstable();
    assert_eq!(failing[0], ("fails", "error", "no"));
    assert!(
        failing[1].0 == "panics" && failing[1].1 == "panic" && failing[1].2.contains("oh"),
        "{failing:?}"
    );
    let totals = snapshot.totals;
    assert_eq!((totals.success, totals.requeue_after, totals.timeouts), (1, 1, 0));
    assert!(totals.panics > 1 && totals.error == totals.panics + 1, "panics are retried: {totals:?}");
    let watches: Vec<_> =
        snapshot.watches.iter().map(|it| (it.kind.as_str(), it.state, it.objects)).collect();
    assert_eq!(watches, [("ConfigMap", WatchState::Watching, 5), ("Secret", WatchState::Watching, 0)]);
    assert_eq!(snapshot.watches[0].namespace.as_deref(), Some("default"));

    let json = serde_json::to_value(&snapshot).unwrap();
    assert_eq!(json["running"][0]["elapsed_seconds"], json!(3.0));
    assert_eq!((&json["state"], &json["watches"][0]["state"]), (&json!("running"), &json!("watching")));

    // A recovered object fails no more, and a deleted one neither; changes are counted.
    let owner = api.touch("fails", "1").await;
    api.remove("panics").await;
    secrets.add(owned("child", &owner)).await;
    eventually(async || monitor.snapshot().failing.is_empty()).await;
    let snapshot = monitor.snapshot();
    assert_eq!((snapshot.watches[0].objects, snapshot.watches[1].objects), (4, 1));
    drop(outputs);
    eventually(async || monitor.snapshot().state == ControllerState::Stopped).await;
    let after = monitor.snapshot();
    assert_eq!((after.synced, after.active, after.objects, after.watches.len()), (false, 0, 0, 0));
    assert_eq!(monitor.progress(&ProgressLimits::default()), Ok(()));
}

/// Of a compact cache it is known when the object is reconciled.
#[tokio::test(start_paused = true)]
async fn what_cannot_be_decoded_is_failing() {
    let configs = [
        watcher::Config::default(),
        #[cfg(feature = "compact-cache")]
        watcher::Config::default().compact_cache(),
    ];
    for (index, config) in configs.into_iter().enumerate() {
        let mut bad = scripted_server::undecodable("bad", "5");
        bad["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
        bad["metadata"]["finalizers"] = json!(["example.com/clean-up"]);
        let (listed, readable) =
            ([bad, scripted_server::object("a", "7")], scripted_server::object("bad", "11"));
        let readable = scripted_server::event("MODIFIED", readable);
        let (client, _) = scripted_server::scripted_server(
            move |_, _| scripted_server::list("10", &listed),
            move |before, _| {
                if before == 0 {
                    let reset = scripted_server::error_after(60, std::io::ErrorKind::ConnectionReset);
                    return scripted_server::watch_response(&[], reset);
                }
                scripted_server::watch_response(std::slice::from_ref(&readable), scripted_server::idle())
            },
        );
        let controller = Controller::<ConfigMap>::new(config_maps(&client), config);
        let monitor = controller.monitor();
        let mut outputs = spawn_outputs(controller.run(by_name, |_, _, _| Action::retry(), Arc::new(())));
        sleep(Duration::from_secs(10)).await;
        let snapshot = monitor.snapshot();
        let [failing] = &snapshot.failing[..] else { panic!("{snapshot:?}") };
        assert_eq!((failing.name.as_str(), failing.outcome, failing.attempt), ("bad", "undecodable", 0));
        assert!(failing.message.starts_with("the ConfigMap cannot be decoded: "), "{failing:?}");
        if index == 0 {
            let error = snapshot.watches[0].last_error.as_deref().unwrap();
            assert!(error.starts_with("bad cannot be decoded: "), "{error}");
            let waits = "it is being deleted, and waits for its finalizers: example.com/clean-up";
            assert!(error.ends_with(waits) && failing.message.ends_with(waits), "{error}");
        }
        sleep(Duration::from_secs(120)).await;
        assert!(monitor.snapshot().failing.is_empty(), "it can be decoded now");
        outputs.items.close();
        outputs.task.abort();
    }
}

/// It fails for ever.
#[tokio::test(start_paused = true)]
async fn an_object_that_is_created_anew_has_not_failed_yet() {
    let (server, client) = server();
    let api = config_maps(&client);
    let (controller, monitor) = controller(&client, Config::default());
    let output = controller.run(
        async |_, _| Err::<Action, _>(TestError("no")),
        |_: Arc<ConfigMap>, _: &TestError, _| Action::retry(),
        Arc::new(()),
    );
    let mut outputs = spawn_outputs(output);
    let mut attempts = async |count: usize| {
        let start = Instant::now();
        for _ in 0..count {
            outputs.items.next().await.unwrap(); // the delays are longer than a minute
        }
        start.elapsed()
    };
    api.add(named("a")).await;
    let hour = timeout(Duration::from_secs(3600), attempts(1000)).await;
    assert!(hour.is_err(), "the delays have grown");
    let attempt = |snapshot: Snapshot| snapshot.failing.iter().map(|it| it.attempt).collect::<Vec<_>>();
    assert!(attempt(monitor.snapshot())[0] > 15);
    api.remove("a").await;
    eventually(async || monitor.snapshot().objects == 0).await;
    assert!(monitor.snapshot().failing.is_empty(), "it does not exist");
    api.add(named("a")).await;
    assert!(attempts(5).await < Duration::from_secs(1), "the delays are short again");
    assert_eq!(attempt(monitor.snapshot()), [5]);

    // The same without an event of the deletion.
    assert!(timeout(Duration::from_secs(3600), attempts(1000)).await.is_err());
    server.fault(Match::watch::<ConfigMap>().times(1), Fault::Expired);
    server.end_watches();
    api.remove("a").await;
    api.add(named("a")).await;
    assert!(attempts(5).await < Duration::from_secs(5));
    assert!(attempt(monitor.snapshot())[0] <= 5);
}

#[tokio::test(start_paused = true)]
async fn attempts_count_the_retries_in_a_row() {
    let (_server, client) = server();
    config_maps(&client).add(named("fails")).await;
    let (controller, monitor) = controller(&client, Config::default());
    let output = controller.run(by_name, |_, _, _| Action::retry(), Arc::new(()));
    let mut outputs = spawn_outputs(output);
    for attempt in 1..=4 {
        expect_next(&mut outputs.items).await;
        assert_eq!(monitor.snapshot().failing[0].attempt, attempt);
    }
    assert_eq!(monitor.snapshot().totals.retries, 4);
}

#[tokio::test(start_paused = true)]
async fn the_next_retry_of_a_failing_object_is_known() {
    let (_server, client) = server();
    let api = config_maps(&client);
    api.add(named("retried")).await;
    api.add(named("given-up")).await;
    let (controller, monitor) = controller(&client, Config::default());
    let policy = |map: Arc<ConfigMap>, _: &TestError, _| match map.metadata.name.as_deref() {
        Some("retried") => Action::requeue(Duration::from_secs(90)),
        _ => Action::await_change(),
    };
    let busy = Arc::new(AtomicBool::new(false));
    let reconcile = |_, busy: Arc<AtomicBool>| async move {
        if busy.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        Err::<Action, _>(TestError("no"))
    };
    let mut outputs = spawn_outputs(controller.run(reconcile, policy, Arc::clone(&busy)));
    expect_next(&mut outputs.items).await;
    expect_next(&mut outputs.items).await;
    let next = || {
        let failing = monitor.snapshot().failing.into_iter();
        failing.map(|it| (it.name, it.next_retry.map(|wait| wait.as_secs()))).collect::<BTreeMap<_, _>>()
    };
    sleep(Duration::from_secs(30)).await;
    assert_eq!(next(), BTreeMap::from([("given-up".into(), None), ("retried".into(), Some(60))]));
    let json = serde_json::to_value(monitor.snapshot()).unwrap();
    let shown = json["failing"].as_array().unwrap().iter().map(|it| it["next_retry_seconds"].is_number());
    assert_eq!(shown.filter(|shown| *shown).count(), 1, "{json}");
    busy.store(true, Ordering::SeqCst);
    sleep(Duration::from_secs(61)).await;
    assert_eq!(next()["retried"], None, "it runs");
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_runs_for_too_long_is_no_progress() {
    let (_server, client) = server();
    config_maps(&client).add(named("hangs")).await;
    let (controller, monitor) = controller(&client, Config::default().name("hanging").concurrency(1));
    let outputs = spawn_outputs(controller.run(by_name, |_, _, _| Action::retry(), Arc::new(())));
    eventually(async || monitor.snapshot().active == 1).await;
    config_maps(&client).add(named("works")).await;
    let limits = ProgressLimits::default().reconcile(Duration::from_secs(3600));
    sleep(Duration::from_secs(3590)).await;
    assert_eq!(monitor.progress(&limits), Ok(()), "an object is due, but no worker is free");
    assert!(monitor.snapshot().queue.oldest_due.is_some_and(|due| due > Duration::from_secs(3000)));
    sleep(Duration::from_secs(20)).await;
    let stalled = monitor.progress(&limits).unwrap_err();
    assert!(
        matches!(&stalled, Stalled::Reconcile { object, .. } if object == "default/hangs"),
        "{stalled:?}"
    );
    let expected = "the reconcile of default/hangs by controller hanging has been running for 36";
    assert!(stalled.to_string().starts_with(expected), "{stalled}");
    assert!(stalled.to_string().ends_with("but may for 3600s"), "{stalled}");
    drop(outputs);
}

#[tokio::test(start_paused = true)]
async fn an_output_that_is_not_polled_is_no_progress() {
    let (_server, client) = server();
    let api = config_maps(&client);
    api.add(named("again")).await;
    let (controller, monitor) = controller(&client, Config::default());
    let reconcile = |_, _| async { Ok::<_, Infallible>(Action::requeue(Duration::from_secs(10))) };
    let mut output = Box::pin(controller.run(reconcile, |_, _, _| Action::retry(), Arc::new(())));
    expect_next(&mut output).await.unwrap();
    assert!(futures::poll!(output.next()).is_pending());
    sleep(Duration::from_secs(100)).await;
    assert_eq!(monitor.progress(&ProgressLimits::default()), Ok(()));
    sleep(Duration::from_secs(60)).await;
    let stalled = monitor.progress(&ProgressLimits::default()).unwrap_err();
    assert!(matches!(stalled, Stalled::Queue { waiting, .. } if waiting.as_secs() == 150), "{stalled:?}");
    let watch_only = ProgressLimits::default().queue(Duration::MAX);
    sleep(Duration::from_secs(600)).await;
    let stalled = monitor.progress(&watch_only).unwrap_err();
    assert!(
        stalled
            .to_string()
            .starts_with("the watch of ConfigMap in namespace default of controller configmap"),
        "{stalled}"
    );
    assert_eq!(monitor.progress(&watch_only.watch(Duration::MAX)), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_healthy_idle_controller_makes_progress_for_ever() {
    let (_server, client) = server();
    let (controller, monitor) = controller(&client, Config::default());
    let outputs = spawn_outputs(controller.run(by_name, |_, _, _| Action::retry(), Arc::new(())));
    for _ in 0..100 {
        sleep(Duration::from_secs(97)).await;
        assert_eq!(monitor.progress(&ProgressLimits::default()), Ok(()));
    }
    let watch = &monitor.snapshot().watches[0];
    assert!(watch.restarts > 10 && watch.relists == 0 && watch.last_error.is_none(), "{watch:?}");
    drop(outputs);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_a_list_is_shown_and_is_no_stall() {
    let (_server, client) = server();
    let missing: kube_core::ApiResource = serde_json::from_value(json!({
        "group": "example.com", "version": "v1", "api_version": "example.com/v1", "kind": "Page", "plural": "pages",
    }))
    .unwrap();
    let pages: Api<kube_core::DynamicObject> = Api::default_namespaced_with(client.clone(), &missing);
    let (controller, monitor) = controller(&client, Config::default());
    let output = controller.owns_with(pages, missing, watcher::Config::default()).run(
        by_name,
        |_, _, _| Action::retry(),
        Arc::new(()),
    );
    let outputs = spawn_outputs(output);
    sleep(Duration::from_secs(7200)).await;
    assert!(!monitor.is_synced());
    assert_eq!(monitor.progress(&ProgressLimits::default()), Ok(()));
    let snapshot = monitor.snapshot();
    let watch = &snapshot.watches[1];
    assert_eq!(
        (snapshot.state, watch.kind.as_str(), watch.state),
        (ControllerState::Running, "Page", WatchState::BackingOff)
    );
    assert!(watch.last_error.as_deref().is_some_and(|error| error.contains("404")), "{watch:?}");
    drop(outputs);
}

#[tokio::test(start_paused = true)]
async fn each_namespace_has_a_watch_and_two_controllers_have_two_names() {
    let (_server, client) = server();
    let of = |namespaces: [&'static str; 2]| {
        let controller = in_namespaces::<ConfigMap>(client.clone(), namespaces, watcher::Config::default())
            .with_config(Config::default().name("two"));
        let monitor = controller.monitor();
        (spawn_outputs(controller.run(by_name, |_, _, _| Action::retry(), Arc::new(()))), monitor)
    };
    let (first, second) = (of(["a", "b"]), of(["a", "c"]));
    eventually(async || first.1.is_synced() && second.1.is_synced()).await;
    assert_eq!((first.1.name().as_str(), second.1.name().as_str()), ("two", "two-2"));
    let snapshot = second.1.snapshot();
    let namespaces: Vec<_> = snapshot.watches.iter().map(|watch| watch.namespace.as_deref()).collect();
    assert_eq!(namespaces, [Some("a"), Some("c")]);
    drop(first);
}
