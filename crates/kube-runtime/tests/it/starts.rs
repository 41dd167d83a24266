//! When reconciles start, to the millisecond, and which requests survive the end of all triggers.

use crate::common::{ApiExt, config_maps, named, wait_for_change};
use futures::{Stream, StreamExt, stream};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::{Api, Client};
use kube_runtime::{
    Config, Controller,
    controller::Action,
    reflector::{self, Store, store::Writer},
    watcher::{self, Event},
};
use kube_testserver::{ApiServer, Fault, Match};
use std::{
    convert::Infallible,
    future::ready,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::{Instant, sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);

fn object(version: &str) -> ConfigMap {
    let mut object: ConfigMap = named("a");
    object.metadata.uid = Some("u".into());
    object.metadata.resource_version = Some(version.into());
    object
}

/// A store that shows the object.
fn filled() -> (Store<ConfigMap>, Writer<ConfigMap>) {
    let (store, mut writer) = reflector::store();
    for event in [Event::Init, Event::InitApply(object("1")), Event::InitDone] {
        writer.apply_watcher_event(&event);
    }
    (store, writer)
}

struct Runs {
    starts: Mutex<Vec<Duration>>,
    action: Box<dyn Fn(usize) -> Action + Send + Sync>,
}

/// Runs until the output ends, at most for an hour. Returns when the reconciles started; `action` is called with their number.
async fn starts(
    controller: Controller<ConfigMap>,
    action: impl Fn(usize) -> Action + Send + Sync + 'static,
) -> Vec<Duration> {
    let began = Instant::now();
    let runs = Arc::new(Runs { starts: Mutex::default(), action: Box::new(action) });
    let reconcile = |_, runs: Arc<Runs>| {
        let mut starts = runs.starts.lock().unwrap();
        starts.push(began.elapsed());
        ready(Ok::<_, Infallible>((runs.action)(starts.len())))
    };
    let output = controller.run(reconcile, wait_for_change, Arc::clone(&runs));
    drop(timeout(3600 * SECOND, output.count()).await);
    runs.starts.lock().unwrap().clone()
}

/// A change of the object after each of these times.
fn changes(after: &'static [Duration]) -> impl Stream<Item = watcher::Result<ConfigMap>> + Send {
    stream::iter(after).then(async |after| {
        sleep(*after).await;
        Ok(object("1"))
    })
}

#[tokio::test(start_paused = true)]
async fn a_requeue_is_on_time() {
    let (store, _writer) = filled();
    let controller = Controller::for_stream(changes(&[Duration::ZERO]).chain(stream::pending()), store);
    let again = |run| if run < 4 { Action::requeue(SECOND / 10) } else { Action::await_change() };
    assert_eq!(starts(controller, again).await, [0, 100, 200, 300].map(Duration::from_millis));
}

#[tokio::test(start_paused = true)]
async fn the_first_reconcile_starts_when_all_lists_are_complete() {
    let server = ApiServer::new();
    let client = Client::new(server.clone(), "default");
    config_maps(&client).add(named("a")).await;
    let _delay = server.fault(Match::list::<Secret>(), Fault::Delay(2 * SECOND));
    let controller = Controller::new(config_maps(&client), watcher::Config::default())
        .owns(Api::<Secret>::all(client), watcher::Config::default());
    let starts = starts(controller, |_| Action::await_change()).await;
    assert!(matches!(starts[..], [first] if (2 * SECOND..3 * SECOND).contains(&first)), "{starts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_request_before_the_store_is_ready_survives_the_end_of_the_triggers() {
    let (store, mut writer) = reflector::store();
    let controller = Controller::for_stream(changes(&[Duration::ZERO]), store)
        .with_config(Config::default().debounce(10 * SECOND));
    let fill = async move {
        sleep(5 * SECOND).await;
        for event in [Event::Init, Event::InitApply(object("1")), Event::InitDone] {
            writer.apply_watcher_event(&event);
        }
        writer
    };
    let (starts, _writer) = tokio::join!(starts(controller, |_| Action::requeue(SECOND)), fill);
    assert_eq!(starts, [10 * SECOND], "and the requeue is dropped, so that the output ends");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_waits_for_a_write_survives_the_end_of_the_triggers() {
    let (store, _writer) = filled();
    let controller = Controller::for_stream(changes(&[Duration::ZERO, SECOND]), store)
        .with_config(Config::default().write_wait(10 * SECOND));
    let action = |run| match run {
        1 => Action::await_change().after_write(&object("2")),
        _ => Action::await_change(),
    };
    assert_eq!(starts(controller, action).await, [0, 10].map(Duration::from_secs));
}

#[tokio::test(start_paused = true)]
async fn a_requeue_of_an_object_that_was_deleted_meanwhile_is_no_error() {
    let (store, mut writer) = filled();
    let controller = Controller::for_stream(changes(&[Duration::ZERO]).chain(stream::pending()), store);
    let reconcile = async |_, _| Ok::<_, Infallible>(Action::requeue(2 * SECOND));
    let mut output = controller.run(reconcile, wait_for_change, Arc::new(())).boxed();
    assert!(output.next().await.is_some_and(|first| first.is_ok()));
    writer.apply_watcher_event(&Event::Delete(object("2")));
    let after = timeout(60 * SECOND, output.next()).await;
    assert!(after.is_err(), "{after:?}");
}
