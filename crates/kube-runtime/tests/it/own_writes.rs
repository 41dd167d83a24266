//! The next reconcile of an object sees what the last one wrote, in each form of cache; and own changes may trigger nothing.

use crate::{
    common::{
        ApiExt, config_maps, eventually, labelled, named, owned, server, spawn_outputs, wait_for_change,
    },
    layers::lagging,
};
use futures::{FutureExt, future::BoxFuture};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::{Api, Client, core::reconcile::ReconcileMark};
use kube_core::{
    Resource, ResourceExt,
    params::{DeleteParams, Patch, PatchParams},
    reconcile::{Observed, ReconcileObserver, observe_thread},
};
use kube_runtime::{
    Config, Controller,
    controller::{Action, Related},
    finalizer::{self, Event, finalizer},
    reflector::{self, ObjectRef, Store},
    watcher,
};
use kube_testserver::{ApiServer, Fault, Match};
use serde_json::json;
use std::{
    future::{Future, ready},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::time::{Instant, sleep};

const LAG: Duration = Duration::from_secs(5);

type Logged = Arc<Mutex<Vec<String>>>;

fn config() -> Config {
    Config::default().wait_for_own_writes(true)
}

fn secrets(client: &Client) -> Api<Secret> {
    Api::default_namespaced(client.clone())
}

/// How many times something was logged.
fn count(log: &Logged, what: &str) -> usize {
    log.lock().unwrap().iter().filter(|entry| *entry == what).count()
}

/// Creates a child whenever the store shows none.
struct Creator {
    secrets: Api<Secret>,
    store: Store<Secret>,
    /// The labels of the child.
    label: (&'static str, &'static str),
    log: Logged,
}

async fn create_one(owner: Arc<ConfigMap>, creator: Arc<Creator>) -> Result<Action, kube_client::Error> {
    creator.log.lock().unwrap().push("reconcile".to_owned());
    if creator.store.owned_by(&*owner).is_empty() {
        let number = count(&creator.log, "create");
        let mut child: Secret = owned(&format!("{}-{number}", owner.name_any()), &*owner);
        child.metadata.labels = labelled::<Secret>("", creator.label).metadata.labels;
        creator.secrets.add(child).await;
        creator.log.lock().unwrap().push("create".to_owned());
    }
    Ok(Action::requeue(Duration::from_secs(1)))
}

#[tokio::test(start_paused = true)]
async fn a_child_is_not_created_twice_because_the_first_is_not_visible_yet() {
    for waits in [false, true] {
        let (server, client) = server();
        config_maps(&client).add(named("owner")).await;
        let late = lagging(&server, LAG);
        let (store, writer) = reflector::store::<Secret>();
        let log = Logged::default();
        let creator = Creator { secrets: secrets(&client), store, label: ("of", "owner"), log: log.clone() };
        let output = Controller::new(config_maps(&client), watcher::Config::default())
            .owns_related(Related::api(secrets(&late), watcher::Config::default()).store(writer))
            .with_config(Config::default().wait_for_own_writes(waits))
            .run(create_one, wait_for_change, creator.into());
        let _outputs = spawn_outputs(output);
        sleep(Duration::from_secs(30)).await;
        let created = count(&log, "create");
        assert!(if waits { created == 1 } else { created > 1 }, "waits: {waits}, created: {created}");
        assert!(count(&log, "reconcile") > 10, "it goes on");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_watch_never_shows_is_not_waited_for() {
    for (selector, expected) in [("of=owner", 10), ("of!=owner", 28)] {
        let (server, client) = server();
        config_maps(&client).add(named("owner")).await;
        let (late, log) = (lagging(&server, Duration::from_secs(3600)), Logged::default());
        let (store, _writer) = reflector::store::<Secret>(); // empty for ever
        let creator = Creator { secrets: secrets(&client), store, label: ("of", "owner"), log: log.clone() };
        let output = Controller::new(config_maps(&client), watcher::Config::default())
            .owns(secrets(&late), watcher::Config::default().labels(selector))
            .with_config(config())
            .run(create_one, wait_for_change, creator.into());
        let _outputs = spawn_outputs(output);
        sleep(Duration::from_secs(30)).await;
        let reconciles = count(&log, "reconcile");
        match selector {
            "of=owner" => assert!(reconciles <= 4, "each waits for 10 s: {reconciles}"),
            _ => assert!(reconciles >= expected, "none waits: {reconciles}"),
        }
    }
}

/// Creates a Secret in each reconcile, which is requeued after a second.
fn creating(secrets: Api<Secret>, log: &Logged) -> impl FnMut(Arc<ConfigMap>, Arc<()>) -> Created + use<> {
    let log = log.clone();
    move |_owner, _context| {
        let (log, secrets) = (log.clone(), secrets.clone());
        Box::pin(async move {
            let number = log.lock().unwrap().len();
            log.lock().unwrap().push("reconcile".to_owned());
            secrets.add(named(&format!("s-{number}"))).await;
            Ok(Action::requeue(Duration::from_secs(1)))
        })
    }
}

type Created = std::pin::Pin<Box<dyn Future<Output = Result<Action, kube_client::Error>> + Send>>;

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_refused_is_waited_for_once_until_it_works() {
    for stores in [false, true] {
        let (server, client) = server();
        config_maps(&client).add(named("owner")).await;
        let refused = server.fault(Match::kind::<Secret>().verb("list"), Fault::status(403, "Forbidden"));
        let log = Logged::default();
        let related = Related::api(secrets(&client), watcher::Config::default());
        let (store, writer) = reflector::store::<Secret>();
        let related = if stores { related.store(writer) } else { related };
        let output = Controller::new(config_maps(&client), watcher::Config::default())
            .owns_related(related)
            .with_config(config())
            .run(creating(secrets(&client), &log), wait_for_change, Arc::new(()));
        let _outputs = spawn_outputs(output);
        sleep(Duration::from_secs(60)).await;
        let reconciles = count(&log, "reconcile");
        assert!(
            (35..50).contains(&reconciles),
            "one wait of 10 s, and one for the first lists: {reconciles}"
        );
        refused.remove();
        sleep(Duration::from_secs(60)).await;
        assert!(count(&log, "reconcile") > reconciles + 50);
        assert_eq!(store.is_ready(), stores);
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_to_another_cluster_is_not_waited_for_in_the_watches_of_this_one() {
    let client_of = |address: &str, server: &ApiServer| {
        let config = kube_client::Config::new(address.parse().unwrap());
        Client::with_transport(&config, server.clone()).unwrap()
    };
    let ((here, _), (there, _)) = (server(), server());
    let (client, other) = (client_of("http://here", &here), client_of("http://there", &there));
    config_maps(&client).add(named("owner")).await;
    for number in 0..200 {
        secrets(&other).add(named(&format!("earlier-{number}"))).await; // its versions are ahead
    }
    let (log, (_store, writer)) = (Logged::default(), reflector::store::<Secret>());
    let output = Controller::new(config_maps(&client), watcher::Config::default())
        .owns_related(Related::api(secrets(&client), watcher::Config::default()).store(writer))
        .watches_related(Related::metadata(secrets(&client), watcher::Config::default()), |_| None)
        .with_config(config())
        .run(creating(secrets(&other), &log), wait_for_change, Arc::new(()));
    let _outputs = spawn_outputs(output);
    sleep(Duration::from_secs(30)).await;
    let reconciles = count(&log, "reconcile");
    assert!(reconciles >= 28, "none waits: {reconciles}");
}

#[tokio::test(start_paused = true)]
async fn a_watch_without_a_store_has_to_pass_the_write() {
    let (server, client) = server();
    config_maps(&client).add(named("owner")).await;
    let late = lagging(&server, LAG);
    let (log, start) = (Logged::default(), Instant::now());
    let reconcile = {
        let (log, secrets) = (log.clone(), secrets(&client));
        move |_owner: Arc<ConfigMap>, _: Arc<()>| {
            let (log, secrets) = (log.clone(), secrets.clone());
            Box::pin(async move {
                let number = log.lock().unwrap().len();
                log.lock().unwrap().push(start.elapsed().as_secs().to_string());
                secrets.add(named(&format!("unrelated-{number}"))).await;
                Ok::<_, kube_client::Error>(Action::requeue(Duration::from_secs(1)))
            })
        }
    };
    let output = Controller::new(config_maps(&client), watcher::Config::default())
        .owns(secrets(&late), watcher::Config::default())
        .with_config(config())
        .run(reconcile, wait_for_change, Arc::new(()));
    let _outputs = spawn_outputs(output);
    sleep(Duration::from_secs(14)).await;
    assert_eq!(*log.lock().unwrap(), ["0", "5", "10"]);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_and_a_recreation_are_seen() {
    let (server, client) = server();
    let owner = config_maps(&client).add(named("owner")).await;
    secrets(&client).add(owned("child", &owner)).await;
    let (store, writer) = reflector::store::<Secret>();
    let (seen, api) = (Arc::new(Mutex::new(Vec::new())), secrets(&client));
    let (store_of_reconciles, log) = (store.clone(), Arc::clone(&seen));
    let reconcile = move |owner: Arc<ConfigMap>, _: Arc<()>| {
        let (store, api, log) = (store_of_reconciles.clone(), api.clone(), Arc::clone(&log));
        Box::pin(async move {
            let uids: Vec<_> = store.owned_by(&*owner).iter().filter_map(|child| child.uid()).collect();
            let run = {
                let mut log = log.lock().unwrap();
                log.push(uids);
                log.len()
            };
            match run {
                1 => drop(api.delete("child", &DeleteParams::default()).await?),
                2 => drop(api.add(owned("child", &*owner)).await),
                3 => {
                    // The end of an object whose creation is not visible yet is not taken for granted.
                    api.delete("child", &DeleteParams::default()).await?;
                    api.add(owned("child", &*owner)).await;
                    api.add(owned("short-lived", &*owner)).await;
                    api.delete("short-lived", &DeleteParams::default()).await?;
                }
                _ => {}
            }
            Ok::<_, kube_client::Error>(Action::requeue(Duration::from_secs(1)))
        })
    };
    let output = Controller::new(config_maps(&client), watcher::Config::default())
        .owns_related(Related::api(secrets(&lagging(&server, LAG)), watcher::Config::default()).store(writer))
        // The last writes of the third reconcile become visible one after the other, 5 s apart.
        .with_config(config().write_wait(Duration::from_secs(60)))
        .run(reconcile, wait_for_change, Arc::new(()));
    let _outputs = spawn_outputs(output);
    eventually(|| async { seen.lock().unwrap().len() >= 4 }).await;
    let last = secrets(&client).get("child").await.unwrap().uid().unwrap();
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen.iter().map(Vec::len).collect::<Vec<_>>()[..4], [1, 0, 1, 1], "{seen:?}");
    assert_ne!(seen[0], seen[2]);
    assert_eq!(seen[3], [last], "the one that was recreated");
}

/// Counts in an annotation of its own object, up to 3, by several writes of each reconcile that does.
async fn count_up(
    object: Arc<ConfigMap>,
    context: Arc<(Api<ConfigMap>, Logged)>,
) -> Result<Action, kube_client::Error> {
    let (api, log) = &*context;
    log.lock().unwrap().push("reconcile".to_owned());
    let count: u32 = object.annotations().get("count").map_or(0, |count| count.parse().unwrap());
    if count < 3 {
        for annotation in ["other", "count"] {
            let patch = json!({ "metadata": { "annotations": { annotation: (count + 1).to_string() } } });
            api.patch(&object.name_any(), &PatchParams::default(), &Patch::Merge(patch)).await?;
        }
    }
    Ok(Action::await_change())
}

#[tokio::test(start_paused = true)]
async fn a_change_that_the_reconcile_made_triggers_nothing_if_own_writes_are_skipped() {
    for (skips, expected) in [(false, [4, 5]), (true, [1, 2])] {
        for lag in [Duration::ZERO, Duration::from_secs(2)] {
            let (server, client) = server();
            let (maps, log) = (config_maps(&client), Logged::default());
            maps.add(named("a")).await;
            let settings = if skips { config().skip_own_writes() } else { config() };
            let watched = if lag.is_zero() { client.clone() } else { lagging(&server, lag) };
            let output = Controller::new(config_maps(&watched), watcher::Config::default())
                .with_config(settings)
                .run(count_up, wait_for_change, Arc::new((maps.clone(), log.clone())));
            let _outputs = spawn_outputs(output);
            sleep(Duration::from_secs(60)).await;
            assert_eq!(count(&log, "reconcile"), expected[0], "skips: {skips}, lag: {lag:?}");
            if skips {
                let patch = json!({ "metadata": { "annotations": { "count": "3" } } });
                maps.merge("a", patch).await;
            } else {
                maps.touch("a", "by another").await;
            }
            sleep(Duration::from_secs(60)).await;
            assert_eq!(count(&log, "reconcile"), expected[1], "a change by another: {skips}, lag: {lag:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn changes_of_children_that_the_reconcile_made_are_skipped_and_those_of_others_are_not() {
    let (server, client) = server();
    config_maps(&client).add(named("owner")).await;
    let (store, writer) = reflector::store::<Secret>();
    let log = Logged::default();
    let reconcile = {
        let (log, secrets, store) = (log.clone(), secrets(&client), store.clone());
        move |owner: Arc<ConfigMap>, _: Arc<()>| {
            let (log, secrets, store) = (log.clone(), secrets.clone(), store.clone());
            Box::pin(async move {
                log.lock().unwrap().push("reconcile".to_owned());
                if store.owned_by(&*owner).is_empty() {
                    secrets.add(owned("child", &*owner)).await;
                    secrets.touch("child", "own").await;
                }
                Ok::<_, kube_client::Error>(Action::await_change())
            })
        }
    };
    let watched = secrets(&lagging(&server, Duration::from_secs(1)));
    let output = Controller::new(config_maps(&client), watcher::Config::default())
        .owns_related(Related::api(watched, watcher::Config::default()).store(writer))
        .with_config(config().skip_own_writes())
        .run(reconcile, wait_for_change, Arc::new(()));
    let _outputs = spawn_outputs(output);
    for (step, expected) in [1, 2, 3].into_iter().enumerate() {
        sleep(Duration::from_secs(20)).await;
        assert_eq!(count(&log, "reconcile"), expected, "step {step}");
        match step {
            0 => drop(secrets(&client).touch("child", "by another").await),
            1 => secrets(&client).remove("child").await, // it is created again
            _ => {}
        }
    }
}

/// Logs each reconcile, and what the finalizer calls.
fn finalizing(
    maps: &Api<ConfigMap>,
    log: &Logged,
) -> impl FnMut(
    Arc<ConfigMap>,
    Arc<()>,
) -> BoxFuture<'static, Result<Action, finalizer::Error<kube_client::Error>>>
+ use<> {
    let (maps, log) = (maps.clone(), log.clone());
    move |map, _| {
        let (maps, log) = (maps.clone(), log.clone());
        async move {
            log.lock().unwrap().push("reconcile".to_owned());
            finalizer(&maps, "example.com/cleanup", map, |event| {
                let what = if matches!(event, Event::Apply(_)) { "apply" } else { "cleanup" };
                log.lock().unwrap().push(what.to_owned());
                ready(Ok::<_, kube_client::Error>(Action::await_change()))
            })
            .await
        }
        .boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_goes_on_where_own_writes_are_skipped() {
    let (_server, client) = server();
    let (maps, log) = (config_maps(&client), Logged::default());
    maps.add(named("a")).await;
    let reconcile = finalizing(&maps, &log);
    let output = Controller::new(maps.clone(), watcher::Config::default())
        .with_config(config().skip_own_writes())
        .run(reconcile, wait_for_change, Arc::new(()));
    let _outputs = spawn_outputs(output);
    eventually(|| async { count(&log, "apply") == 1 }).await;
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    eventually(|| async { count(&log, "cleanup") == 1 && maps.get_opt("a").await.unwrap().is_none() }).await;
    assert_eq!(count(&log, "apply"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_does_not_patch_again_and_again_where_nothing_waits_for_its_own_writes() {
    let (server, client) = server();
    let (maps, log) = (config_maps(&client), Logged::default());
    maps.add(named("a")).await;
    let reconcile = finalizing(&maps, &log);
    let output = Controller::new(config_maps(&lagging(&server, LAG)), watcher::Config::default())
        .with_config(Config::default().skip_own_writes().write_wait(Duration::ZERO))
        .run(reconcile, wait_for_change, Arc::new(()));
    let _outputs = spawn_outputs(output);
    sleep(Duration::from_secs(60)).await;
    let reconciles = count(&log, "reconcile");
    assert!((2..20).contains(&reconciles), "{reconciles} reconciles");
}

#[tokio::test(start_paused = true)]
async fn the_debounce_of_a_change_during_a_reconcile_begins_with_the_change() {
    let (_server, client) = server();
    let (maps, log, start) = (config_maps(&client), Logged::default(), Instant::now());
    maps.add(named("a")).await;
    let seen = log.clone();
    let reconcile = move |_: Arc<ConfigMap>, _: Arc<()>| {
        let log = seen.clone();
        Box::pin(async move {
            log.lock().unwrap().push(format!("{}", start.elapsed().as_secs()));
            sleep(Duration::from_secs(30)).await;
            Ok::<_, kube_client::Error>(Action::await_change())
        })
    };
    let output = Controller::new(maps.clone(), watcher::Config::default())
        .with_config(config().skip_own_writes().debounce(Duration::from_secs(10)))
        .run(reconcile, wait_for_change, Arc::new(()));
    let _outputs = spawn_outputs(output);
    sleep(Duration::from_secs(15)).await;
    maps.touch("a", "by another").await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(*log.lock().unwrap(), ["10", "40"], "as soon as the first has ended");
}

/// The reads and writes of reconciles.
#[derive(Default)]
struct Log(Logged);

impl ReconcileObserver for Log {
    fn observe(&self, reconcile: &ReconcileMark, what: &Observed<'_>) {
        let text = match what {
            Observed::Started { reason, attempt, object } => {
                let (_, name) = object.object.as_ref().unwrap();
                let has_version = object.resource_version.is_some();
                format!("started with {}/{name}, {has_version}: {reason}, attempt {attempt}", object.plural)
            }
            Observed::Ended { outcome } => format!("ended: {outcome}"),
            Observed::Requested { method, uri } => format!("{method} {}", uri.path()),
            Observed::Wrote(write) => format!("wrote {}/{}", write.plural, write.name),
            Observed::Read(read) => match &read.object {
                Some((_, name)) => {
                    format!("read {}/{name}, {}", read.plural, read.resource_version.is_some())
                }
                None => format!("read {}", read.plural),
            },
            _ => return,
        };
        self.0.lock().unwrap().push(format!("{reconcile}: {text}"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_is_told_what_reconciles_read_and_write() {
    let (_server, client) = server();
    let maps = config_maps(&client);
    maps.add(named("a")).await;
    let log = Arc::new(Log::default());
    let controller = Controller::new(maps.clone(), watcher::Config::default())
        .with_config(Config::default().name("readers").observe_reconciles(log.clone()));
    let store = controller.store();
    let reconcile = {
        let store = store.clone();
        move |_map: Arc<ConfigMap>, maps: Arc<Api<ConfigMap>>| {
            let store = store.clone();
            Box::pin(async move {
                drop(store.get(&ObjectRef::new("a").within("default")));
                drop(store.get(&ObjectRef::new("missing").within("default")));
                drop(store.state());
                maps.add(named("b")).await;
                Ok::<_, kube_client::Error>(Action::await_change())
            })
        }
    };
    let mut outputs = spawn_outputs(controller.run(reconcile, wait_for_change, Arc::new(maps)));
    crate::common::expect_next(&mut outputs.items).await;
    drop(store.state()); // nobody's
    let seen = log.0.lock().unwrap().clone();
    let expected = [
        "started with configmaps/a, true: object updated, attempt 1",
        "read configmaps/a, true",
        "read configmaps/missing, false",
        "read configmaps",
        "POST /api/v1/namespaces/default/configmaps",
        "wrote configmaps/b",
        "ended: success",
    ];
    let expected = expected.map(|what| format!("the reconcile of default/a in readers: {what}"));
    assert_eq!(seen[..7], expected);
}

struct Panics;

impl ReconcileObserver for Panics {
    fn observe(&self, reconcile: &ReconcileMark, what: &Observed<'_>) {
        assert!(!matches!(what, Observed::Started { .. }) || reconcile.name() != "a", "of the observer");
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_that_panics_ends_no_controller() {
    let (_server, client) = server();
    let maps = config_maps(&client);
    maps.add(named("a")).await;
    maps.add(named("b")).await;
    let controller = Controller::new(maps, watcher::Config::default())
        .with_config(Config::default().observe_reconciles(Arc::new(Panics)));
    let reconcile = |_: Arc<ConfigMap>, _: Arc<()>| {
        Box::pin(async { Ok::<_, kube_client::Error>(Action::await_change()) })
    };
    let mut outputs = spawn_outputs(controller.run(reconcile, wait_for_change, Arc::new(())));
    crate::common::expect_next(&mut outputs.items).await;
    crate::common::expect_next(&mut outputs.items).await;
}

#[tokio::test(start_paused = true)]
async fn the_observer_of_a_thread_is_told_how_each_reconcile_ends() {
    let (_server, client) = server();
    let maps = config_maps(&client);
    maps.add(named("a")).await;
    let log = Arc::new(Log::default());
    assert!(observe_thread(Some(log.clone())).is_none());
    let reconcile = |_: Arc<ConfigMap>, tries: Arc<AtomicUsize>| {
        Box::pin(async move {
            match tries.fetch_add(1, Ordering::Relaxed) {
                0 => Err(std::fmt::Error),
                _ => Ok(Action::requeue(Duration::from_secs(60))),
            }
        })
    };
    let output = Controller::new(maps, watcher::Config::default());
    let output = output.run(reconcile, |_, _, _| Action::retry(), Arc::new(AtomicUsize::new(0)));
    let mut outputs = spawn_outputs(output);
    crate::common::expect_next(&mut outputs.items).await;
    crate::common::expect_next(&mut outputs.items).await;
    assert!(observe_thread(None).is_some());
    let expected = [
        "started with configmaps/a, true: object updated, attempt 1",
        "ended: error",
        "started with configmaps/a, true: error policy requested retry, attempt 2",
        "ended: requeue_after",
    ];
    let expected = expected.map(|what| format!("the reconcile of default/a in configmap: {what}"));
    assert_eq!(log.0.lock().unwrap()[..], expected);
}

/// A controller that asks for nothing keeps running requests without a mark.
#[tokio::test(start_paused = true)]
async fn without_the_option_there_is_no_scope() {
    let (_server, client) = server();
    config_maps(&client).add(named("a")).await;
    let seen = Logged::default();
    let log = seen.clone();
    let reconcile = move |object: Arc<ConfigMap>, _: Arc<()>| {
        let log = log.clone();
        Box::pin(async move {
            assert!(object.meta().uid.is_some());
            let scope = kube_client::reconcile::ReconcileScope::current();
            log.lock().unwrap().push(format!("{:?}", scope.mark().map(ToString::to_string)));
            Ok::<_, kube_client::Error>(Action::await_change())
        })
    };
    let output = Controller::new(config_maps(&client), watcher::Config::default());
    let mut outputs = spawn_outputs(output.run(reconcile, wait_for_change, Arc::new(())));
    crate::common::expect_next(&mut outputs.items).await;
    assert_eq!(*seen.lock().unwrap(), ["None"]);
}
