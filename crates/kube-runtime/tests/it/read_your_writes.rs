//! Reconciles wait until the store shows what the previous reconcile wrote.

use crate::{
    common::{ApiExt, config_maps, expect_next, named, server, spawn_outputs, wait_for_change},
    layers::lagging,
};
use futures::{StreamExt, channel::mpsc, future::ready, stream};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::{Api, Client};
use kube_core::{
    ApiResource, DynamicObject, ResourceExt,
    params::{Patch, PatchParams},
};
use kube_runtime::{
    Config, Controller, WatchStreamExt,
    controller::Action,
    reflector::{self, ObjectRef},
    watcher,
};
use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::{Instant, sleep};

/// A reconciler that increments a counter in an annotation of the object it is called with.
struct Counter {
    api: Api<ConfigMap>,
    after_write: bool,
    /// For each run: the seconds since the start, the object, and its counter.
    runs: Mutex<Vec<(u64, String, u32)>>,
    start: Instant,
}

impl Counter {
    fn new(client: &Client, after_write: bool) -> Arc<Self> {
        Arc::new(Self {
            api: config_maps(client),
            after_write,
            runs: Mutex::default(),
            start: Instant::now(),
        })
    }

    fn counts_of(&self, name: &str) -> Vec<u32> {
        self.runs.lock().unwrap().iter().filter(|run| run.1 == name).map(|run| run.2).collect()
    }

    fn times_of(&self, name: &str) -> Vec<u64> {
        self.runs.lock().unwrap().iter().filter(|run| run.1 == name).map(|run| run.0).collect()
    }
}

async fn increment(object: Arc<ConfigMap>, counter: Arc<Counter>) -> Result<Action, Infallible> {
    let name = object.name_any();
    let count = object.annotations().get("touched").map_or(0, |count| count.parse().unwrap());
    counter.runs.lock().unwrap().push((counter.start.elapsed().as_secs(), name.clone(), count));
    if name == "reader" || count == 4 {
        return Ok(Action::await_change());
    }
    let written = counter.api.touch(&name, &(count + 1).to_string()).await;
    let action = Action::await_change();
    Ok(if counter.after_write { action.after_write(&written) } else { action })
}

fn periodic_trigger<K: kube_core::Resource<DynamicType = ()> + 'static>(
    name: &'static str,
    every: Duration,
) -> impl futures::Stream<Item = ObjectRef<K>> + Send {
    stream::unfold((), move |()| async move {
        sleep(every).await;
        Some((ObjectRef::new(name).within("default"), ()))
    })
}

#[tokio::test(start_paused = true)]
async fn with_after_write_a_reconcile_never_sees_the_state_before_the_previous_write() {
    for after_write in [false, true] {
        let (server, client) = server();
        let api = config_maps(&client);
        for name in ["writer", "reader"] {
            api.add(named(name)).await;
        }
        let counter = Counter::new(&client, after_write);
        let main = config_maps(&lagging(&server, Duration::from_secs(3)));
        let output = Controller::new(main, watcher::Config::default())
            .with_config(Config::default().concurrency(1))
            .reconcile_on(periodic_trigger("writer", Duration::from_millis(500)))
            .reconcile_on(periodic_trigger("reader", Duration::from_secs(1)))
            .run(increment, wait_for_change, Arc::clone(&counter));
        let _outputs = spawn_outputs(output);
        sleep(Duration::from_secs(16)).await;
        let counts = counter.counts_of("writer");
        if after_write {
            assert_eq!(counts[..5], [0, 1, 2, 3, 4], "each run sees the previous write");
            assert!(counts[5..].iter().all(|count| *count == 4));
        } else {
            assert_eq!(counts[..2], [0, 0], "without after_write the cache lags behind: {counts:?}");
        }
        // A waiting object does not delay others, even with a concurrency of 1.
        assert!(counter.times_of("reader").len() >= 14, "{:?}", counter.times_of("reader"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_the_store_never_shows_delays_the_object_only_for_write_wait() {
    for (config, second_run) in [
        (Config::default(), 11), // triggered at 1 s; the wait from 0 s ends at 10 s; the next trigger is at 11 s
        (Config::default().write_wait(Duration::from_secs(4)), 4),
        (Config::default().write_wait(Duration::ZERO), 1),
    ] {
        let (server, client) = server();
        config_maps(&client).add(named("writer")).await;
        let counter = Counter::new(&client, true);
        let main = config_maps(&lagging(&server, Duration::from_secs(3600)));
        let output = Controller::new(main, watcher::Config::default())
            .with_config(config)
            .reconcile_on(periodic_trigger("writer", Duration::from_secs(1)))
            .run(increment, wait_for_change, Arc::clone(&counter));
        let _outputs = spawn_outputs(output);
        sleep(Duration::from_millis(14_500)).await;
        let second = counter.times_of("writer")[1];
        assert!((second_run - 1..=second_run).contains(&second), "at {second} s, not at {second_run} s");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_when_the_store_has_the_write_even_without_a_trigger() {
    let (server, client) = server();
    config_maps(&client).add(named("writer")).await;
    let counter = Counter::new(&client, true);
    let (reader, writer) = reflector::store();
    let main = config_maps(&lagging(&server, Duration::from_secs(2)));
    // Only the first event of the object triggers; later ones only reach the store.
    let mut first = true;
    let changes = watcher::watcher(main, watcher::Config::default()).reflect(writer).applied_objects();
    let changes = changes.filter(move |_| ready(std::mem::take(&mut first)));
    let (sender, requests) = mpsc::unbounded();
    let output = Controller::for_stream(changes, reader).reconcile_on(requests).run(
        increment,
        wait_for_change,
        Arc::clone(&counter),
    );
    let mut outputs = spawn_outputs(output);
    expect_next(&mut outputs.items).await;
    sender.unbounded_send(ObjectRef::new("writer").within("default")).unwrap();
    expect_next(&mut outputs.items).await;
    assert_eq!(counter.counts_of("writer"), [0, 1]);
    let second = counter.times_of("writer")[1];
    assert!(
        (2..=4).contains(&second),
        "when the store has the write, not after the maximum wait: {second} s"
    );
}

/// A reconcile that deletes and recreates its object three times.
async fn recreate(object: Arc<ConfigMap>, state: Arc<Recreated>) -> Result<Action, Infallible> {
    let uid = object.uid().unwrap();
    state.uids.lock().unwrap().push(uid);
    if state.uids.lock().unwrap().len() > 3 {
        return Ok(Action::await_change());
    }
    state.api.remove("one").await;
    let recreated = state.api.add(named("one")).await;
    Ok(Action::requeue(Duration::ZERO).after_write(&recreated))
}

struct Recreated {
    api: Api<ConfigMap>,
    uids: Mutex<Vec<String>>,
}

#[tokio::test(start_paused = true)]
async fn the_next_reconcile_waits_for_a_recreated_object() {
    let (server, client) = server();
    let api = config_maps(&client);
    api.add(named("one")).await;
    let state = Arc::new(Recreated { api, uids: Mutex::default() });
    let main = config_maps(&lagging(&server, Duration::from_secs(3)));
    let output = Controller::new(main, watcher::Config::default())
        .reconcile_on(periodic_trigger("one", Duration::from_millis(500)))
        .run(recreate, wait_for_change, Arc::clone(&state));
    let _outputs = spawn_outputs(output);
    sleep(Duration::from_secs(60)).await;
    let uids = state.uids.lock().unwrap().clone();
    let distinct: std::collections::BTreeSet<_> = uids[..4].iter().collect();
    assert_eq!(distinct.len(), 4, "no reconcile gets an object that was already recreated: {uids:?}");
}

/// A reconcile that passes an object of another kind to `after_write`.
async fn write_another_kind(
    object: Arc<DynamicObject>,
    (secrets, runs): (Api<DynamicObject>, Arc<Mutex<Vec<Instant>>>),
) -> Result<Action, Infallible> {
    runs.lock().unwrap().push(Instant::now());
    let kind = ApiResource::erase::<Secret>(&());
    let secret = DynamicObject::new(&object.name_any(), &kind);
    let patch = PatchParams::apply("test").force();
    let written = secrets.patch(&object.name_any(), &patch, &Patch::Apply(&secret)).await.unwrap();
    Ok(Action::requeue(Duration::from_secs(1)).after_write(&written))
}

#[tokio::test(start_paused = true)]
async fn after_write_ignores_an_object_of_another_kind() {
    let (_server, client) = server();
    config_maps(&client).add(named("one")).await;
    let [map, secret] = [ApiResource::erase::<ConfigMap>(&()), ApiResource::erase::<Secret>(&())];
    let secrets: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &secret);
    let runs = Arc::new(Mutex::new(Vec::new()));
    let main = Api::default_namespaced_with(client, &map);
    let reconciler_runs = Arc::clone(&runs);
    let output = Controller::<DynamicObject>::new_with(main, watcher::Config::default(), map).run(
        move |object, _: Arc<()>| write_another_kind(object, (secrets.clone(), Arc::clone(&reconciler_runs))),
        wait_for_change,
        Arc::new(()),
    );
    let running = tokio::spawn(output.for_each(|_| ready(())));
    sleep(Duration::from_millis(3500)).await;
    running.abort();
    assert_eq!(runs.lock().unwrap().len(), 4, "once a second");
}
