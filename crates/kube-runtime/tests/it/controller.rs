//! The guarantees of a controller for the reconciles of one object.

use crate::common::{
    ApiExt, TestError, assert_idle, config_maps, eventually, expect_next, named, server, spawn_outputs,
    wait_for_change,
};
use futures::{StreamExt, channel::mpsc, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::ResourceExt;
use kube_runtime::{
    Config, Controller,
    controller::{Action, ReconcileRequest, applier},
    reflector::{self, ObjectRef},
    watcher::{self, Event},
};
use std::{
    collections::HashMap,
    convert::Infallible,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::time::{Instant, sleep, timeout};

fn controller(client: &kube_client::Client) -> Controller<ConfigMap> {
    Controller::new(config_maps(client), watcher::Config::default())
}

#[tokio::test(start_paused = true)]
async fn existing_new_and_changed_objects_are_reconciled() {
    let (_server, client) = server();
    let api = config_maps(&client);
    api.add(named("a")).await;
    let output = controller(&client).run(
        |_, _| async { Ok::<_, Infallible>(Action::await_change()) },
        wait_for_change,
        Arc::new(()),
    );
    let mut outputs = spawn_outputs(output);
    assert_eq!(expect_next(&mut outputs.items).await, "done: a");
    api.add(named("b")).await;
    assert_eq!(expect_next(&mut outputs.items).await, "done: b");
    api.touch("a", "1").await;
    assert_eq!(expect_next(&mut outputs.items).await, "done: a");
    assert_idle(&mut outputs.items).await;
}

#[tokio::test(start_paused = true)]
async fn one_object_is_never_reconciled_twice_at_once_and_no_change_is_lost() {
    #[derive(Default)]
    struct Seen {
        running: Mutex<HashMap<String, usize>>,
        last: Mutex<HashMap<String, String>>,
        runs: AtomicUsize,
    }
    let (_server, client) = server();
    let api = config_maps(&client);
    let seen = Arc::new(Seen::default());
    let output = controller(&client).run(
        |object: Arc<ConfigMap>, seen: Arc<Seen>| async move {
            let name = object.name_any();
            *seen.running.lock().unwrap().entry(name.clone()).or_default() += 1;
            assert_eq!(seen.running.lock().unwrap()[&name], 1, "two reconciles of {name} at once");
            sleep(Duration::from_millis(70)).await;
            *seen.running.lock().unwrap().get_mut(&name).unwrap() -= 1;
            let touched = object.annotations().get("touched").cloned().unwrap_or_default();
            seen.last.lock().unwrap().insert(name, touched);
            seen.runs.fetch_add(1, Ordering::Relaxed);
            Ok::<_, Infallible>(Action::await_change())
        },
        wait_for_change,
        Arc::clone(&seen),
    );
    let outputs = spawn_outputs(output);
    for name in ["a", "b", "c"] {
        api.add(named(name)).await;
    }
    for change in 0..40 {
        api.touch(["a", "b", "c"][change % 3], &change.to_string()).await;
        sleep(Duration::from_millis(11)).await;
    }
    let expected =
        HashMap::from([("a", "39"), ("b", "37"), ("c", "38")].map(|(k, v)| (k.to_owned(), v.to_owned())));
    eventually(async || *seen.last.lock().unwrap() == expected).await;
    let runs = seen.runs.load(Ordering::Relaxed);
    assert!(runs < 40, "changes in quick succession are merged: {runs}");
    assert!(!outputs.task.is_finished());
}

#[tokio::test(start_paused = true)]
async fn concurrency_is_limited() {
    let (_server, client) = server();
    let api = config_maps(&client);
    for name in 0..20 {
        api.add(named(&format!("n{name}"))).await;
    }
    #[derive(Default)]
    struct Load {
        now: AtomicUsize,
        peak: AtomicUsize,
    }
    let load = Arc::new(Load::default());
    let output = controller(&client).with_config(Config::default().concurrency(3)).run(
        |_, load: Arc<Load>| async move {
            let now = load.now.fetch_add(1, Ordering::SeqCst) + 1;
            load.peak.fetch_max(now, Ordering::SeqCst);
            sleep(Duration::from_millis(10)).await;
            load.now.fetch_sub(1, Ordering::SeqCst);
            Ok::<_, Infallible>(Action::await_change())
        },
        wait_for_change,
        Arc::clone(&load),
    );
    let mut outputs = spawn_outputs(output);
    for _ in 0..20 {
        expect_next(&mut outputs.items).await;
    }
    assert_eq!(load.peak.load(Ordering::SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn debounce_merges_a_burst_of_changes_into_one_reconcile() {
    let (_server, client) = server();
    let api = config_maps(&client);
    let config = Config::default().debounce(Duration::from_secs(1));
    let start = Instant::now();
    let output = controller(&client).with_config(config).run(
        |_, _| async { Ok::<_, Infallible>(Action::await_change()) },
        wait_for_change,
        Arc::new(()),
    );
    let mut outputs = spawn_outputs(output);
    api.add(named("a")).await;
    for change in 0..5 {
        sleep(Duration::from_millis(100)).await;
        api.touch("a", &change.to_string()).await;
    }
    assert_eq!(expect_next(&mut outputs.items).await, "done: a");
    assert_eq!(start.elapsed().as_secs(), 1);
    assert_idle(&mut outputs.items).await;
}

#[tokio::test(start_paused = true)]
async fn reconciler_and_error_policy_requeue_after_their_delays() {
    let (_server, client) = server();
    config_maps(&client).add(named("a")).await;
    let start = Instant::now();
    let (sender, mut times) = mpsc::unbounded();
    let output = controller(&client).run(
        move |_, count: Arc<AtomicUsize>| {
            let sender = sender.clone();
            async move {
                sender.unbounded_send(start.elapsed().as_secs()).unwrap();
                match count.fetch_add(1, Ordering::SeqCst) {
                    0 => Err(TestError("not yet")),
                    1 => Ok(Action::requeue(Duration::from_secs(10))),
                    2 => Ok(Action::requeue(Duration::MAX)),
                    _ => Ok(Action::await_change()),
                }
            }
        },
        |_, error, _| {
            assert_eq!(error.0, "not yet");
            Action::requeue(Duration::from_secs(5))
        },
        Arc::new(AtomicUsize::new(0)),
    );
    let mut outputs = spawn_outputs(output);
    let runs = [expect_next(&mut times).await, expect_next(&mut times).await, expect_next(&mut times).await];
    assert_eq!(runs, [0, 5, 15]);
    assert_eq!(expect_next(&mut outputs.items).await, "reconciler for object ConfigMap.v1./a.default failed");
    assert_idle(&mut times).await;
}

#[tokio::test(start_paused = true)]
async fn a_change_is_reconciled_before_a_later_requeue() {
    let (_server, client) = server();
    let api = config_maps(&client);
    api.add(named("a")).await;
    let output = controller(&client).run(
        |_, _| async { Ok::<_, Infallible>(Action::requeue(Duration::from_secs(3600))) },
        wait_for_change,
        Arc::new(()),
    );
    let mut outputs = spawn_outputs(output);
    expect_next(&mut outputs.items).await;
    api.touch("a", "1").await;
    expect_next(&mut outputs.items).await;
}

#[tokio::test(start_paused = true)]
async fn a_panic_affects_only_its_object() {
    let (_server, client) = server();
    let api = config_maps(&client);
    api.add(named("bad")).await;
    api.add(named("good")).await;
    let slow_retry = Config::default().backoff(Duration::from_secs(60), Duration::from_secs(60));
    let output = controller(&client).with_config(slow_retry).run(
        |object: Arc<ConfigMap>, _| async move {
            assert!(
                object.name_any() != "bad" || object.annotations().contains_key("touched"),
                "cannot reconcile"
            );
            Ok::<_, Infallible>(Action::await_change())
        },
        wait_for_change,
        Arc::new(()),
    );
    let mut outputs = spawn_outputs(output);
    let mut items = [expect_next(&mut outputs.items).await, expect_next(&mut outputs.items).await];
    items.sort();
    assert_eq!(items, ["done: good", "running reconcilers failed"]);
    api.touch("bad", "1").await;
    assert_eq!(expect_next(&mut outputs.items).await, "done: bad");
}

#[tokio::test(start_paused = true)]
async fn dropping_the_output_aborts_running_reconciles() {
    let (_server, client) = server();
    config_maps(&client).add(named("a")).await;
    let context = Arc::new(());
    let output = controller(&client).run(
        |_, context: Arc<()>| async move {
            std::future::pending::<()>().await;
            drop(context);
            Ok::<_, Infallible>(Action::await_change())
        },
        wait_for_change,
        Arc::clone(&context),
    );
    let mut output = Box::pin(output);
    assert!(timeout(Duration::from_secs(5), output.next()).await.is_err(), "the reconcile hangs");
    assert!(Arc::strong_count(&context) > 1);
    drop(output);
    eventually(async || Arc::strong_count(&context) == 1).await;
}

#[tokio::test(start_paused = true)]
async fn an_applier_reconciles_a_custom_queue_and_ends_with_it() {
    let (store, mut writer) = reflector::store::<ConfigMap>();
    for event in [Event::Init, Event::InitApply(named("a")), Event::InitDone] {
        writer.apply_watcher_event(&event);
    }
    let request =
        |name: &str| Ok::<_, watcher::Error>(ReconcileRequest::from(ObjectRef::<ConfigMap>::new(name)));
    let queue = stream::iter([request("a"), request("missing"), request("a")]);
    let mut output: Vec<_> = applier(
        |_, _| Box::pin(async { Ok::<_, Infallible>(Action::requeue(Duration::from_secs(1))) }),
        wait_for_change,
        Arc::new(()),
        store,
        queue,
        Config::default().debounce(Duration::from_millis(5)),
    )
    .map(|item| item.map_or_else(|error| error.to_string(), |(object, _)| object.to_string()))
    .collect()
    .await;
    output.sort();
    assert_eq!(output.len(), 2, "{output:?}");
    assert_eq!(output[0], "ConfigMap.v1./a");
    assert!(
        output[1].starts_with("tried to reconcile object ConfigMap.v1./missing that was not found"),
        "{output:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_request_that_joins_a_requeue_is_reconciled_although_the_queue_ends() {
    let (store, mut writer) = reflector::store::<ConfigMap>();
    for event in [Event::Init, Event::InitApply(named("a")), Event::InitDone] {
        writer.apply_watcher_event(&event);
    }
    // The first run is at 10 s and asks for another at 13 s. The second request, at 11 s, is due at 21 s. The queue ends at 12 s.
    let queue = stream::iter([0, 11]).then(|at| async move {
        sleep(Duration::from_secs(at)).await;
        Ok::<_, watcher::Error>(ReconcileRequest::from(ObjectRef::<ConfigMap>::new("a")))
    });
    let end = stream::once(sleep(Duration::from_secs(1))).filter_map(async |()| None);
    let runs = applier(
        |_, _| Box::pin(async { Ok::<_, Infallible>(Action::requeue(Duration::from_secs(3))) }),
        wait_for_change,
        Arc::new(()),
        store,
        queue.chain(end),
        Config::default().debounce(Duration::from_secs(10)),
    );
    assert_eq!(runs.count().await, 2);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_can_never_be_ready_ends_the_output_with_an_error() {
    let (store, writer) = reflector::store::<ConfigMap>();
    drop(writer);
    let output: Vec<_> = applier(
        |_, _| Box::pin(async { Ok::<_, Infallible>(Action::await_change()) }),
        wait_for_change,
        Arc::new(()),
        store,
        stream::pending::<Result<ReconcileRequest<ConfigMap>, watcher::Error>>(),
        Config::default(),
    )
    .collect()
    .await;
    assert!(matches!(output[..], [Err(kube_runtime::controller::Error::RunnerError(_))]), "{output:?}");
}
