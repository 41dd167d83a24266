//! Fair lanes: one tenant does not delay the others, and what monitors show of them.

use crate::{
    common::{
        ApiExt, config_maps, labelled, named, owned, server, set_subscriber, spawn_outputs, wait_for_change,
    },
    layers::gated,
};
use futures::{Stream, StreamExt, stream};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::Api;
use kube_core::ResourceExt;
use kube_runtime::{
    Config, Controller,
    controller::{Action, Error, ProgressLimits, RunnerError},
    reflector::{self, Store, store::Writer},
    watcher::{self, Event},
};
use std::{
    convert::Infallible,
    io,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::{Instant, sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);

fn object(namespace: &str, name: &str) -> ConfigMap {
    let mut object: ConfigMap = named(name);
    object.metadata.namespace = Some(namespace.to_owned());
    object.metadata.uid = Some(format!("{namespace}-{name}"));
    object
}

/// `noisy/0` to `noisy/COUNT`, then one in each of two other namespaces.
fn objects(count: usize) -> Vec<ConfigMap> {
    let noisy = (0..count).map(|number| object("noisy", &number.to_string()));
    noisy.chain([object("quiet", "a"), object("calm", "a")]).collect()
}

fn filled(objects: &[ConfigMap]) -> (Store<ConfigMap>, Writer<ConfigMap>) {
    let (store, mut writer) = reflector::store();
    writer.apply_watcher_event(&Event::Init);
    objects.iter().for_each(|object| writer.apply_watcher_event(&Event::InitApply(object.clone())));
    writer.apply_watcher_event(&Event::InitDone);
    (store, writer)
}

/// A controller of these objects, each of which is triggered once at the start.
fn controller(objects: Vec<ConfigMap>, config: Config) -> (Controller<ConfigMap>, Writer<ConfigMap>) {
    let (store, writer) = filled(&objects);
    let triggers = stream::iter(objects.into_iter().map(Ok)).chain(stream::pending());
    (Controller::for_stream(triggers, store).with_config(config), writer)
}

/// A reconcile of a second. The output has when each one has ended.
fn run(controller: Controller<ConfigMap>) -> impl Stream<Item = (u64, String)> {
    let began = Instant::now();
    let reconcile = async |_, _| {
        sleep(SECOND).await;
        Ok::<_, Infallible>(Action::await_change())
    };
    controller.run(reconcile, wait_for_change, Arc::new(())).filter_map(move |item| {
        let ended = match item {
            Ok((object, _)) => Some((began.elapsed().as_secs(), object.namespace.unwrap_or_default())),
            Err(Error::ObjectNotFound(_)) => None,
            Err(error) => panic!("{error}"),
        };
        std::future::ready(ended)
    })
}

#[tokio::test(start_paused = true)]
async fn a_namespace_with_many_objects_does_not_delay_the_others() {
    let config = Config::default().concurrency(2);
    let ends_of_others = async |config: Config| {
        let (controller, _writer) = controller(objects(100), config);
        let ends = run(controller).filter(|(_, namespace)| std::future::ready(namespace != "noisy"));
        ends.take(2).map(|(end, _)| end).collect::<Vec<_>>().await
    };
    assert_eq!(
        ends_of_others(config.clone().fair_by_namespace()).await,
        [2, 3],
        "after those that ran before they came"
    );
    assert_eq!(ends_of_others(config).await, [51, 51], "the control: in one line");
}

#[tokio::test(start_paused = true)]
async fn a_lane_at_its_limit_leaves_workers_to_the_others_and_is_not_stalled() {
    let config = Config::default().concurrency(10).fair_by_namespace().lane_concurrency(2);
    let (controller, _writer) = controller(objects(100), config);
    let monitor = controller.monitor();
    let mut ends = Box::pin(run(controller));
    let first: Vec<_> = ends.by_ref().take(4).collect().await;
    assert!(first.iter().all(|(end, _)| *end == 1), "{first:?}");
    assert_eq!(first.iter().filter(|(_, namespace)| namespace == "noisy").count(), 2);
    assert!(timeout(SECOND / 2, ends.next()).await.is_err());
    let snapshot = monitor.snapshot();
    assert_eq!((snapshot.active, snapshot.queue.lanes, snapshot.queue.changes), (2, 1, 96));
    let [lane] = &snapshot.lanes[..] else { panic!("{:?}", snapshot.lanes) };
    assert_eq!((lane.name.as_deref(), lane.running), (Some("noisy"), 2));
    let json = serde_json::to_value(&snapshot).unwrap();
    assert!(json["lanes"][0]["oldest_due_seconds"].as_f64().is_some_and(|age| age >= 1.0), "{json}");
    // Objects of that lane wait for it, not for a worker: a restart would not help.
    let limits = ProgressLimits::default().queue(Duration::from_millis(1));
    assert_eq!(monitor.progress(&limits), Ok(()));
    let rest: Vec<_> = ends.by_ref().take(98).collect().await;
    assert_eq!(rest.last().map(|(end, _)| *end), Some(50));
    assert!(timeout(SECOND, ends.next()).await.is_err());
    let snapshot = monitor.snapshot();
    assert_eq!((snapshot.queue.lanes, snapshot.lanes.len()), (0, 0), "{snapshot:?}");
    let json = serde_json::to_value(&snapshot).unwrap();
    assert!(json.get("lanes").is_none() && json["queue"].get("lanes").is_none(), "{json}");
}

#[tokio::test(start_paused = true)]
async fn requeues_are_fair_and_running_reconciles_finish_at_a_shutdown() {
    let config = Config::default().concurrency(1).fair_by_namespace();
    let (controller, _writer) = controller(objects(3), config);
    let runs = Arc::new(Mutex::new(Vec::new()));
    let stop = Box::pin(sleep(30 * SECOND + SECOND / 2));
    let reconcile = async |object: Arc<ConfigMap>, runs: Arc<Mutex<Vec<String>>>| {
        sleep(SECOND).await;
        runs.lock().unwrap().push(object.namespace().unwrap_or_default());
        Ok::<_, Infallible>(Action::requeue(Duration::from_millis(10)))
    };
    let output = controller.graceful_shutdown_on(stop).run(reconcile, wait_for_change, Arc::clone(&runs));
    assert_eq!(output.count().await, 31, "the one that ran at the shutdown finishes");
    let of_each = |namespace: &str| runs.lock().unwrap().iter().filter(|run| *run == namespace).count();
    let counts = ["noisy", "quiet", "calm"].map(of_each);
    assert!(counts.iter().all(|count| (9..=12).contains(count)), "{counts:?}");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_deleted_or_changes_its_tenant_while_it_waits_stays_in_its_lane() {
    let tenant = |object: &mut ConfigMap, tenant: &str| {
        object.labels_mut().insert("tenant".to_owned(), tenant.to_owned());
    };
    let mut all = objects(4);
    all.iter_mut().for_each(|object| tenant(object, "red"));
    let config =
        Config::default().concurrency(1).fair_by(|object| object.labels.as_ref()?.get("tenant").cloned());
    let (controller, mut writer) = controller(all.clone(), config);
    let monitor = controller.monitor();
    let mut ends = Box::pin(run(controller));
    assert!(timeout(SECOND / 2, ends.next()).await.is_err(), "the first one runs");
    let lanes = || monitor.snapshot().lanes.into_iter().map(|lane| (lane.name, lane.due)).collect::<Vec<_>>();
    assert_eq!(lanes(), [(Some("red".to_owned()), 5)]);
    tenant(&mut all[1], "blue");
    writer.apply_watcher_event(&Event::Apply(all[1].clone()));
    writer.apply_watcher_event(&Event::Delete(all[2].clone()));
    // Now the controller sees a gone object in the lane: no reconcile, and nothing hangs.
    let mut rest = Vec::new();
    while let Ok(Some((end, _))) = timeout(2 * SECOND, ends.next()).await {
        rest.push(end);
        assert!(lanes().iter().all(|(name, _)| name.as_deref() == Some("red")), "{:?}", lanes());
    }
    assert_eq!(rest, [1, 2, 3, 4, 5]);
    assert_eq!(monitor.snapshot().queue.lanes, 0);
}

#[tokio::test(start_paused = true)]
async fn objects_whose_children_are_listed_first_are_in_their_lanes_all_the_same() {
    let (server, client) = server();
    let (maps, secrets) = (config_maps(&client), Api::<Secret>::default_namespaced(client.clone()));
    for number in 0..21 {
        let (name, tenant) = (format!("owner-{number:02}"), if number < 20 { "noisy" } else { "quiet" });
        let owner = maps.add(labelled(&name, ("tenant", tenant))).await;
        secrets.add(owned(&name, &owner)).await;
    }
    let (late, gate) = gated(&server, "configmaps");
    gate.send_replace(false);
    let config =
        Config::default().concurrency(2).fair_by(|object| object.labels.as_ref()?.get("tenant").cloned());
    let controller = Controller::new(config_maps(&late), watcher::Config::default())
        .owns(secrets, watcher::Config::default())
        .with_config(config);
    let started = Arc::new(Mutex::new(Vec::new()));
    let reconcile = async |object: Arc<ConfigMap>, started: Arc<Mutex<Vec<String>>>| {
        started.lock().unwrap().push(object.name_any());
        sleep(SECOND).await;
        Ok::<_, Infallible>(Action::await_change())
    };
    let _outputs = spawn_outputs(controller.run(reconcile, wait_for_change, Arc::clone(&started)));
    sleep(5 * SECOND).await;
    gate.send_replace(true);
    sleep(30 * SECOND).await;
    let started = started.lock().unwrap();
    assert_eq!(started.len(), 21, "each once: {started:?}");
    let quiet = started.iter().position(|name| name == "owner-20");
    assert!(quiet.is_some_and(|at| at < 4), "{started:?}");
}

#[tokio::test(start_paused = true)]
async fn settings_that_contradict_each_other_are_one_error_and_the_end() {
    for (config, setting) in [
        (Config::default().fair_by_namespace(), "Config::concurrency with 1 or more"),
        (
            Config::default().concurrency(5).fair_by(|_| None).concurrency(0),
            "Config::concurrency with 1 or more",
        ),
        (
            Config::default().concurrency(5).lane_concurrency(2),
            "Config::fair_by or Config::fair_by_namespace",
        ),
    ] {
        let (controller, _writer) = controller(objects(1), config);
        let reconcile = async |_, _| Ok::<_, Infallible>(Action::await_change());
        let output: Vec<_> = controller.run(reconcile, wait_for_change, Arc::new(())).collect().await;
        let [Err(error)] = &output[..] else { panic!("{output:?}") };
        assert!(matches!(error, Error::RunnerError(RunnerError::InvalidConfig { .. })));
        let text = error.to_string();
        assert!(text.contains("invalid: Config::") && text.ends_with(setting), "{text}");
    }
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_function_that_panics_is_logged_once_and_its_objects_are_reconciled() {
    let log = Log::default();
    let written = log.clone();
    let subscriber = tracing_subscriber::fmt().with_writer(move || written.clone()).finish();
    let _guard = set_subscriber(subscriber);
    let config = Config::default()
        .concurrency(2)
        .fair_by(|object| -> String { panic!("no tenant in {:?}", object.name) });
    let (controller, _writer) = controller(objects(5), config);
    assert_eq!(run(controller).take(7).count().await, 7);
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert_eq!(log.matches("fair_by panicked").count(), 1, "{log}");
    assert!(log.contains("no tenant in") && log.contains("0.noisy"), "{log}");
}

/// 1000 tenants of whom each has one object, and one that changes 500 objects twice a second: workers are too few for all of its changes.
#[tokio::test(start_paused = true)]
async fn a_tenant_that_changes_all_the_time_does_not_delay_the_others() {
    const TENANTS: usize = 1000;
    const WORK: Duration = Duration::from_millis(10);
    let longest_wait = async |config: Config, is_noisy: bool| {
        let others = (0..TENANTS).map(|tenant| object(&format!("tenant-{tenant}"), "a"));
        let noisy = (0..500).map(|number| object("noisy", &number.to_string()));
        let (store, _writer) = filled(&others.clone().chain(noisy.clone()).collect::<Vec<_>>());
        let every = |period: Duration, objects: Vec<ConfigMap>| {
            stream::iter(objects.into_iter().cycle()).then(move |object| async move {
                sleep(period).await;
                Ok::<_, watcher::Error>(object)
            })
        };
        let changes = every(Duration::from_millis(5), others.collect()).boxed();
        let changes = match is_noisy {
            true => stream::select(changes, every(Duration::from_millis(1), noisy.collect())).boxed(),
            false => changes,
        };
        let controller = Controller::for_stream(changes, store).with_config(config);
        let monitor = controller.monitor();
        let waits = Arc::new(Mutex::new(Vec::new()));
        let reconcile = move |object: Arc<ConfigMap>, waits: Arc<Mutex<Vec<Duration>>>| {
            let monitor = monitor.clone();
            async move {
                if object.namespace().as_deref() != Some("noisy") {
                    let running = monitor.snapshot().running;
                    let own = running.iter().find(|it| it.namespace == object.namespace());
                    waits.lock().unwrap().extend(own.map(|it| it.waited + WORK));
                }
                sleep(WORK).await;
                Ok::<_, Infallible>(Action::await_change())
            }
        };
        let output = controller.run(reconcile, wait_for_change, Arc::clone(&waits));
        drop(timeout(10 * SECOND, output.count()).await);
        let mut waits = waits.lock().unwrap().clone();
        waits.sort_unstable();
        assert!(waits.len() > 1500, "{}", waits.len());
        waits[waits.len() * 99 / 100]
    };
    let config = Config::default().concurrency(8);
    let fair = config.clone().fair_by_namespace();
    let (idle, noisy) = (longest_wait(fair.clone(), false).await, longest_wait(fair, true).await);
    assert!(noisy <= 2 * idle, "p99 {noisy:?}, and {idle:?} without the noisy tenant");
    let one_line = longest_wait(config, true).await;
    assert!(one_line > 10 * idle, "the control: in one line, p99 is {one_line:?}");
}

#[cfg(feature = "metrics")]
#[tokio::test(start_paused = true)]
async fn the_metrics_of_lanes_have_no_label_of_a_tenant_and_are_zero_at_the_end() {
    let recorder = metrics_util::debugging::DebuggingRecorder::new();
    let recorded = recorder.snapshotter();
    let _guard = metrics::set_default_local_recorder(&recorder);
    let config = Config::default().concurrency(1).fair_by_namespace().name("lanes-metrics");
    let (controller, _writer) = controller(objects(10), config);
    let mut ends = Box::pin(run(controller));
    assert!(timeout(SECOND / 2, ends.next()).await.is_err());
    let values = || {
        kube_runtime::metrics::refresh();
        let metrics = recorded.snapshot().into_vec().into_iter();
        let lanes = metrics.filter(|(key, ..)| key.key().name().starts_with("kube_runtime_queue_"));
        let mut values: Vec<_> = lanes
            .map(|(key, _, _, value)| {
                let labels: Vec<_> = key.key().labels().map(|label| label.key().to_owned()).collect();
                assert_eq!(labels, ["controller"]);
                let metrics_util::debugging::DebugValue::Gauge(value) = value else { panic!("{value:?}") };
                (key.key().name().to_owned(), value.into_inner())
            })
            .collect();
        values.sort_by(|one, other| one.0.cmp(&other.0));
        values.into_iter().map(|(_, value)| value).collect::<Vec<_>>()
    };
    assert_eq!(values(), [9.0, 3.0, 0.5], "the deepest lane, the lanes, the longest wait");
    assert_eq!(ends.by_ref().take(12).count().await, 12);
    assert!(timeout(SECOND, ends.next()).await.is_err());
    assert_eq!(values(), [0.0; 3]);
    drop(ends);
    assert_eq!(values(), [0.0; 3]);
}
