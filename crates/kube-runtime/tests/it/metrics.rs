//! The metrics that a run of a controller records, compared with the table of `kube_runtime::metrics`.

use crate::common::{
    ApiExt, TestError, config_maps, eventually, expect_next, named, owned, server, spawn_outputs,
};
use futures::{StreamExt, future::pending};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::{Api, Client};
use kube_core::ResourceExt;
use kube_runtime::{
    Config, Controller,
    controller::{Action, ControllerState, Workers},
    metrics::refresh,
    watcher,
};
use metrics_util::{
    MetricKind,
    debugging::{DebugValue, DebuggingRecorder, Snapshotter},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};
use tokio::{sync::Mutex, time::sleep};

/// One test at a time: `refresh` sets the gauges of all controllers of the process, by the paused clock of its caller.
static ALONE: Mutex<()> = Mutex::const_new(());

/// The rows of the table: name, type and labels.
fn documented() -> BTreeSet<(String, String, Vec<String>)> {
    let rows =
        include_str!("../../src/metrics/mod.rs").lines().filter_map(|line| line.strip_prefix("//! | `"));
    let row = |row: &str| {
        let cells: Vec<_> = row.split('|').map(|cell| cell.trim().trim_end_matches('`')).collect();
        let labels = cells[2].split(", ").map(|label| label.trim_matches('`').to_owned()).collect();
        (cells[0].to_owned(), cells[1].to_owned(), sorted(labels))
    };
    rows.map(row).collect()
}

fn sorted(mut labels: Vec<String>) -> Vec<String> {
    labels.sort_unstable();
    labels
}

/// What was recorded since the last call: the recorder resets all values. Each metric has a description.
struct Recorded {
    kinds: BTreeSet<(String, String, Vec<String>)>,
    /// `name{label=value,...}`, with the labels in alphabetical order.
    values: BTreeMap<String, f64>,
}

fn recorded(snapshotter: &Snapshotter) -> Recorded {
    let mut recorded = Recorded { kinds: BTreeSet::new(), values: BTreeMap::new() };
    for (key, _unit, description, value) in snapshotter.snapshot().into_vec() {
        let name = key.key().name().to_owned();
        assert!(description.is_some(), "{name} has no description");
        let kind = match key.kind() {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        let labels = key.key().labels();
        let mut labels: Vec<_> =
            labels.map(|label| (label.key().to_owned(), label.value().to_owned())).collect();
        labels.sort_unstable();
        let shown: Vec<_> = labels.iter().map(|(label, value)| format!("{label}={value}")).collect();
        let value = match value {
            DebugValue::Counter(count) => count as f64,
            DebugValue::Gauge(value) => value.into_inner(),
            DebugValue::Histogram(values) => values.len() as f64,
        };
        recorded.values.insert(format!("{name}{{{}}}", shown.join(",")), value);
        recorded.kinds.insert((name, kind.into(), labels.into_iter().map(|(label, _)| label).collect()));
    }
    recorded
}

async fn by_name(map: Arc<ConfigMap>, _: Arc<()>) -> Result<Action, TestError> {
    match map.name_any().as_str() {
        "hangs" => pending().await,
        "slow" => {
            sleep(Duration::from_secs(60)).await;
            Ok(Action::await_change())
        }
        "fails" => Err(TestError("no")),
        "panics" => panic!("oh"),
        "retries" => Ok(Action::retry()),
        "later" => Ok(Action::requeue(Duration::from_secs(3600))),
        _ => Ok(Action::await_change()),
    }
}

fn controller(client: &Client, name: &str) -> Controller<ConfigMap> {
    let config = Config::default()
        .name(name)
        .timeout(Duration::from_secs(10))
        .backoff(Duration::from_secs(3600), Duration::from_secs(3600));
    Controller::new(config_maps(client), watcher::Config::default()).with_config(config)
}

#[tokio::test(start_paused = true)]
#[expect(clippy::too_many_lines, reason = "one run, and a table: one row for each metric")]
async fn the_table_of_metrics_is_what_a_run_records() {
    let _alone = ALONE.lock().await;
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let (_server, client) = server();
    let api = config_maps(&client);
    for name in ["fails", "panics", "retries", "later", "slow"] {
        api.add(named(name)).await;
    }
    let works = api.add(named("works")).await;
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let controller = controller(&client, "table");
    let monitor = controller.monitor();
    let output = controller.owns(secrets.clone(), watcher::Config::default()).run(
        by_name,
        |_, _, _| Action::await_change(),
        Arc::new(()),
    );

    let first = recorded(&snapshotter);
    for (name, value) in &first.values {
        let expected = if name.starts_with("controller_runtime_max") { f64::INFINITY } else { 0.0 };
        assert_eq!(*value, expected, "the first value of {name}, from before the first poll");
    }

    let mut outputs = spawn_outputs(output);
    for _ in 0..6 {
        expect_next(&mut outputs.items).await;
    }
    secrets.add(owned("child", &works)).await;
    assert_eq!(expect_next(&mut outputs.items).await, "done: works");
    api.touch("works", "1").await;
    assert_eq!(expect_next(&mut outputs.items).await, "done: works");
    kube_runtime::served::ServedKinds::new(client.clone()).kind::<ConfigMap>().next().await;
    refresh();
    let run = recorded(&snapshotter);
    assert_eq!(run.kinds, documented());

    let value = |metric: &str| {
        run.values.get(metric).copied().unwrap_or_else(|| panic!("{metric}: {:#?}", run.values))
    };
    for (metric, expected) in [
        ("controller_runtime_reconcile_total{controller=table,result=success}", 3.0),
        ("controller_runtime_reconcile_total{controller=table,result=requeue}", 1.0),
        ("controller_runtime_reconcile_total{controller=table,result=requeue_after}", 1.0),
        ("controller_runtime_reconcile_total{controller=table,result=error}", 3.0),
        ("controller_runtime_reconcile_errors_total{controller=table}", 3.0),
        ("controller_runtime_terminal_reconcile_errors_total{controller=table}", 1.0),
        ("controller_runtime_reconcile_panics_total{controller=table}", 1.0),
        ("controller_runtime_reconcile_timeouts_total{controller=table}", 1.0),
        ("controller_runtime_active_workers{controller=table}", 0.0),
        ("workqueue_adds_total{controller=table,name=table}", 12.0), // 6 listed, 2 changes, 4 requeues
        ("workqueue_retries_total{controller=table,name=table}", 3.0),
        ("workqueue_depth{controller=table,name=table,priority=0}", 0.0),
        ("kube_runtime_watch_events_total{controller=table,kind=ConfigMap,type=modified}", 1.0),
        ("kube_runtime_watch_events_total{controller=table,kind=Secret,type=added}", 1.0),
        ("kube_runtime_watch_objects{controller=table,kind=ConfigMap}", 6.0),
        ("kube_runtime_watch_objects{controller=table,kind=Secret}", 1.0),
        ("kube_runtime_store_objects{controller=table,kind=ConfigMap}", 6.0),
        ("kube_runtime_kind_served{kind=ConfigMap}", 1.0),
    ] {
        assert_eq!(value(metric), expected, "{metric}: {:#?}", run.values);
    }
    let received = monitor.snapshot().watches.iter().map(|watch| watch.received_bytes).collect::<Vec<_>>();
    assert!(received.iter().all(|bytes| (300..50_000).contains(bytes)), "{received:?}");
    for (kind, bytes) in ["ConfigMap", "Secret"].iter().zip(received) {
        let metric = format!("kube_runtime_watch_received_bytes_total{{controller=table,kind={kind}}}");
        assert_eq!(value(&metric), bytes as f64, "{metric}");
    }
    drop(outputs);
    eventually(async || monitor.snapshot().state == ControllerState::Stopped).await;
    let ended = recorded(&snapshotter).values;
    assert_eq!(ended["kube_runtime_watch_objects{controller=table,kind=Secret}"], -1.0, "0 again");
    assert_eq!(ended["kube_runtime_watch_objects{controller=table,kind=ConfigMap}"], -6.0);
}

#[tokio::test(start_paused = true)]
async fn times_grow_while_a_reconcile_hangs_and_a_watch_is_silent() {
    let _alone = ALONE.lock().await;
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let (_server, client) = server();
    config_maps(&client).add(named("hangs")).await;
    let output = Controller::new(config_maps(&client), watcher::Config::default())
        .with_config(Config::default().name("stuck").concurrency(1))
        .run(by_name, |_, _, _| Action::await_change(), Arc::new(()));
    let mut output = Box::pin(output);
    let polled = tokio::time::timeout(Duration::from_secs(500), output.next()).await;
    assert!(polled.is_err(), "it hangs");
    config_maps(&client).add(named("waits")).await;
    let polled = tokio::time::timeout(Duration::from_secs(100), output.next()).await;
    assert!(polled.is_err(), "no other worker");
    let values = recorded(&snapshotter).values;
    let longest = values["workqueue_longest_running_processor_seconds{controller=stuck,name=stuck}"];
    assert!((590.0..601.0).contains(&longest), "set without `refresh`: {longest}");
    assert_eq!(values["workqueue_unfinished_work_seconds{controller=stuck,name=stuck}"], longest);
    assert_eq!(values["controller_runtime_active_workers{controller=stuck}"], 1.0);
    assert_eq!(values["controller_runtime_max_concurrent_reconciles{controller=stuck}"], 1.0);
    assert_eq!(values["workqueue_depth{controller=stuck,name=stuck,priority=0}"], 1.0);
    let age = |values: &BTreeMap<String, f64>| values["kube_runtime_watch_last_event_age_seconds{controller=stuck,kind=ConfigMap}"];
    assert!(age(&values) <= 100.0, "{values:#?}");
    sleep(Duration::from_secs(1000)).await; // the output is not polled
    refresh();
    let values = recorded(&snapshotter).values;
    assert!(age(&values) >= 1000.0, "{values:#?}");
    drop(output);
    let values = recorded(&snapshotter).values;
    assert_eq!(values["workqueue_longest_running_processor_seconds{controller=stuck,name=stuck}"], 0.0);
    assert_eq!(values["kube_runtime_watch_objects{controller=stuck,kind=ConfigMap}"], -2.0, "0 again");
    assert_eq!(values["controller_runtime_max_concurrent_reconciles{controller=stuck}"], 0.0);
    assert_eq!(age(&values), 0.0);
}

#[tokio::test(start_paused = true)]
async fn controllers_of_one_name_have_time_series_of_their_own() {
    let _alone = ALONE.lock().await;
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let (_server, client) = server();
    config_maps(&client).add(named("works")).await;
    let run = || {
        spawn_outputs(controller(&client, "same").run(
            by_name,
            |_, _, _| Action::await_change(),
            Arc::new(()),
        ))
    };
    let (mut first, mut second) = (run(), run());
    expect_next(&mut first.items).await;
    expect_next(&mut second.items).await;
    config_maps(&client).touch("works", "1").await;
    expect_next(&mut first.items).await;
    expect_next(&mut second.items).await;
    let values = recorded(&snapshotter).values;
    for name in ["same", "same-2"] {
        assert_eq!(
            values[&format!("controller_runtime_reconcile_total{{controller={name},result=success}}")],
            2.0
        );
    }
}

/// One for each of many clusters, say.
#[tokio::test(start_paused = true)]
async fn controllers_of_one_name_that_share_workers_are_one_in_metrics() {
    let _alone = ALONE.lock().await;
    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let workers = Workers::new(4, 2);
    let run = async |cluster: &str, names: &[&str]| {
        let (server, client) = server();
        for name in names {
            config_maps(&client).add(named(name)).await;
        }
        let output = controller(&client, "members")
            .with_config(Config::default().name("members"))
            .share_workers(workers.lane(cluster))
            .run(by_name, |_, _, _| Action::await_change(), Arc::new(()));
        (server, spawn_outputs(output))
    };
    let (_east, mut east) = run("east", &["works", "hangs"]).await;
    let (_west, mut west) = run("west", &["works", "hangs", "later"]).await;
    expect_next(&mut east.items).await;
    expect_next(&mut west.items).await;
    expect_next(&mut west.items).await;
    sleep(Duration::from_secs(10)).await;
    // The recorder resets gauges that it has shown, so values are compared by what they have changed.
    let mut sums = BTreeMap::<String, f64>::new();
    let mut look = || {
        refresh();
        let values = recorded(&snapshotter).values;
        let added =
            |name: &str| name.contains("objects") || name.contains("active") || name.contains("depth");
        for (name, value) in values {
            let sum = sums.entry(name.clone()).or_default();
            *sum = if added(&name) { *sum + value } else { value };
        }
        sums.clone()
    };
    let values = look();
    let others: Vec<_> = values.keys().filter(|name| name.contains("members-")).collect();
    assert!(others.is_empty(), "no time series for each: {others:?}");
    let [active, limit, objects, listed] = [
        "controller_runtime_active_workers{controller=members}",
        "controller_runtime_max_concurrent_reconciles{controller=members}",
        "kube_runtime_store_objects{controller=members,kind=ConfigMap}",
        "kube_runtime_watch_objects{controller=members,kind=ConfigMap}",
    ];
    let longest = "workqueue_longest_running_processor_seconds{controller=members,name=members}";
    let unfinished = "workqueue_unfinished_work_seconds{controller=members,name=members}";
    let age = "kube_runtime_watch_last_event_age_seconds{controller=members,kind=ConfigMap}";
    let shown = |values: &BTreeMap<String, f64>| [active, limit, objects, listed].map(|name| values[name]);
    assert_eq!(shown(&values), [2.0, 4.0, 5.0, 5.0], "{values:#?}");
    assert_eq!((values[longest].round(), values[unfinished].round()), (10.0, 20.0));
    assert_eq!(values[age].round(), 10.0);

    drop(west);
    sleep(Duration::from_secs(1)).await;
    let values = look();
    assert_eq!(shown(&values), [1.0, 4.0, 2.0, 2.0], "what the one had is gone, what the other has stays");
    assert_eq!(values[unfinished], values[longest]);
    drop(east);
    sleep(Duration::from_secs(1)).await;
    let values = look();
    assert_eq!(shown(&values), [0.0; 4]);
    assert_eq!([values[longest], values[unfinished], values[age]], [0.0; 3]);
}
