//! Reconciling only once the store shows what the reconcile before wrote.

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

/// Counts its runs in an annotation of the object, by what it is given of the object.
struct Counting {
    api: Api<ConfigMap>,
    tells: bool,
    /// When which object was reconciled, and what it had counted.
    runs: Mutex<Vec<(u64, String, u32)>>,
    start: Instant,
}

impl Counting {
    fn new(client: &Client, tells: bool) -> Arc<Self> {
        Arc::new(Self { api: config_maps(client), tells, runs: Mutex::default(), start: Instant::now() })
    }

    fn counts_of(&self, name: &str) -> Vec<u32> {
        self.runs.lock().unwrap().iter().filter(|run| run.1 == name).map(|run| run.2).collect()
    }

    fn times_of(&self, name: &str) -> Vec<u64> {
        self.runs.lock().unwrap().iter().filter(|run| run.1 == name).map(|run| run.0).collect()
    }
}

async fn count(object: Arc<ConfigMap>, counting: Arc<Counting>) -> Result<Action, Infallible> {
    let name = object.name_any();
    let count = object.annotations().get("touched").map_or(0, |count| count.parse().unwrap());
    counting.runs.lock().unwrap().push((counting.start.elapsed().as_secs(), name.clone(), count));
    if name == "reader" || count == 4 {
        return Ok(Action::await_change());
    }
    let written = counting.api.touch(&name, &(count + 1).to_string()).await;
    let action = Action::await_change();
    Ok(if counting.tells { action.after_write(&written) } else { action })
}

fn asking_for<K: kube_core::Resource<DynamicType = ()> + 'static>(
    name: &'static str,
    every: Duration,
) -> impl futures::Stream<Item = ObjectRef<K>> + Send {
    stream::unfold((), move |()| async move {
        sleep(every).await;
        Some((ObjectRef::new(name).within("default"), ()))
    })
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_never_sees_the_state_before_its_predecessors_write() {
    for tells in [false, true] {
        let (server, client) = server();
        let api = config_maps(&client);
        for name in ["writer", "reader"] {
            api.add(named(name)).await;
        }
        let counting = Counting::new(&client, tells);
        let main = config_maps(&lagging(&server, Duration::from_secs(3)));
        let output = Controller::new(main, watcher::Config::default())
            .with_config(Config::default().concurrency(1))
            .reconcile_on(asking_for("writer", Duration::from_millis(500)))
            .reconcile_on(asking_for("reader", Duration::from_secs(1)))
            .run(count, wait_for_change, Arc::clone(&counting));
        let _outputs = spawn_outputs(output);
        sleep(Duration::from_secs(16)).await;
        let counts = counting.counts_of("writer");
        if tells {
            assert_eq!(counts[..5], [0, 1, 2, 3, 4], "each write was seen by the next run");
            assert!(counts[5..].iter().all(|count| *count == 4));
        } else {
            assert_eq!(counts[..2], [0, 0], "without a word the cache lags behind: {counts:?}");
        }
        // One that waits holds up nobody, not even where only one may run at a time.
        assert!(counting.times_of("reader").len() >= 14, "{:?}", counting.times_of("reader"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_never_shows_does_not_hold_the_object_for_ever() {
    for (config, again) in [
        (Config::default(), 11), // asked for at 1 s, the wait from 0 s on ends at 10 s: the next trigger is at 11 s
        (Config::default().write_wait(Duration::from_secs(4)), 4),
        (Config::default().write_wait(Duration::ZERO), 1),
    ] {
        let (server, client) = server();
        config_maps(&client).add(named("writer")).await;
        let counting = Counting::new(&client, true);
        let main = config_maps(&lagging(&server, Duration::from_secs(3600)));
        let output = Controller::new(main, watcher::Config::default())
            .with_config(config)
            .reconcile_on(asking_for("writer", Duration::from_secs(1)))
            .run(count, wait_for_change, Arc::clone(&counting));
        let _outputs = spawn_outputs(output);
        sleep(Duration::from_millis(14_500)).await;
        let second = counting.times_of("writer")[1];
        assert!((again - 1..=again).contains(&second), "at {second} s, not at {again} s");
    }
}

#[tokio::test(start_paused = true)]
async fn the_store_is_looked_at_again_where_no_event_says_so() {
    let (server, client) = server();
    config_maps(&client).add(named("writer")).await;
    let counting = Counting::new(&client, true);
    let (reader, writer) = reflector::store();
    let main = config_maps(&lagging(&server, Duration::from_secs(2)));
    // The first event of the object comes through, later ones only reach the store.
    let mut first = true;
    let changes = watcher::watcher(main, watcher::Config::default()).reflect(writer).applied_objects();
    let changes = changes.filter(move |_| ready(std::mem::take(&mut first)));
    let (ask, asked) = mpsc::unbounded();
    let output = Controller::for_stream(changes, reader).reconcile_on(asked).run(
        count,
        wait_for_change,
        Arc::clone(&counting),
    );
    let mut outputs = spawn_outputs(output);
    expect_next(&mut outputs.items).await;
    ask.unbounded_send(ObjectRef::new("writer").within("default")).unwrap();
    expect_next(&mut outputs.items).await;
    assert_eq!(counting.counts_of("writer"), [0, 1]);
    let second = counting.times_of("writer")[1];
    assert!((2..=4).contains(&second), "soon after the store had it, not after the longest wait: {second} s");
}

/// Deletes the object it is given and makes it anew, then counts on.
async fn replace(object: Arc<ConfigMap>, seen: Arc<Replacing>) -> Result<Action, Infallible> {
    let uid = object.uid().unwrap();
    seen.uids.lock().unwrap().push(uid);
    if seen.uids.lock().unwrap().len() > 3 {
        return Ok(Action::await_change());
    }
    seen.api.remove("one").await;
    let made = seen.api.add(named("one")).await;
    Ok(Action::requeue(Duration::ZERO).after_write(&made))
}

struct Replacing {
    api: Api<ConfigMap>,
    uids: Mutex<Vec<String>>,
}

#[tokio::test(start_paused = true)]
async fn an_object_made_anew_is_waited_for() {
    let (server, client) = server();
    let api = config_maps(&client);
    api.add(named("one")).await;
    let seen = Arc::new(Replacing { api, uids: Mutex::default() });
    let main = config_maps(&lagging(&server, Duration::from_secs(3)));
    let output = Controller::new(main, watcher::Config::default())
        .reconcile_on(asking_for("one", Duration::from_millis(500)))
        .run(replace, wait_for_change, Arc::clone(&seen));
    let _outputs = spawn_outputs(output);
    sleep(Duration::from_secs(60)).await;
    let uids = seen.uids.lock().unwrap().clone();
    let distinct: std::collections::BTreeSet<_> = uids[..4].iter().collect();
    assert_eq!(distinct.len(), 4, "none was given to a reconcile after it had been replaced: {uids:?}");
}

/// Writes a Secret of the same name, and says so by mistake.
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
async fn an_object_of_another_kind_and_the_same_name_is_not_waited_for() {
    let (_server, client) = server();
    config_maps(&client).add(named("one")).await;
    let [map, secret] = [ApiResource::erase::<ConfigMap>(&()), ApiResource::erase::<Secret>(&())];
    let secrets: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &secret);
    let runs = Arc::new(Mutex::new(Vec::new()));
    let main = Api::default_namespaced_with(client, &map);
    let told = Arc::clone(&runs);
    let output = Controller::<DynamicObject>::new_with(main, watcher::Config::default(), map).run(
        move |object, _: Arc<()>| write_another_kind(object, (secrets.clone(), Arc::clone(&told))),
        wait_for_change,
        Arc::new(()),
    );
    let running = tokio::spawn(output.for_each(|_| ready(())));
    sleep(Duration::from_millis(3500)).await;
    running.abort();
    assert_eq!(runs.lock().unwrap().len(), 4, "once a second");
}
