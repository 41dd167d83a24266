//! Panics in user code become errors that name the object; other objects are not affected.

use crate::common::{
    ApiExt, TestError, assert_idle, config_maps, expect_next, in_namespaces, named, owned, server,
    wait_for_change,
};
use futures::{FutureExt, Stream, StreamExt, channel::mpsc};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube_client::{Api, Client};
use kube_core::{Resource, ResourceExt};
use kube_runtime::{
    Config, Controller, WatchStreamExt, applier,
    controller::{Action, Assigner, Assignment, Error, Reconcile},
    predicates,
    reflector::{self, Index, ObjectRef},
    watcher,
};
use kube_testserver::{Fault, Match};
use std::{
    error::Error as _,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use tokio::task::JoinHandle;

fn controller(client: &Client) -> Controller<ConfigMap> {
    Controller::new(config_maps(client), watcher::Config::default())
}

async fn nothing(_object: Arc<ConfigMap>, _context: Arc<()>) -> Result<Action, TestError> {
    Ok(Action::await_change())
}

/// Polls a controller's output in a task and forwards its items as text, errors with their causes.
struct OutputTexts {
    items: mpsc::UnboundedReceiver<String>,
    task: JoinHandle<()>,
}

impl OutputTexts {
    fn spawn<Q>(
        output: impl Stream<Item = Result<(ObjectRef<ConfigMap>, Action), Error<TestError, Q>>> + Send + 'static,
    ) -> Self
    where
        Q: std::error::Error + Send + 'static,
    {
        let (send, items) = mpsc::unbounded();
        let task = tokio::spawn(output.for_each(move |item| {
            let text = match item {
                Ok((object, _)) => format!("done: {}", object.name),
                Err(error) => {
                    let mut text = error.to_string();
                    let mut next = error.source();
                    while let Some(cause) = next {
                        text += &format!(": {cause}");
                        next = cause.source();
                    }
                    text
                }
            };
            send.unbounded_send(text).ok();
            std::future::ready(())
        }));
        Self { items, task }
    }

    async fn next(&mut self) -> String {
        expect_next(&mut self.items).await
    }

    async fn expect_error(&mut self, parts: &[&str]) {
        let text = self.next().await;
        assert!(parts.iter().all(|part| text.contains(part)), "{text}");
    }
}

impl Drop for OutputTexts {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn map_unless_bad(object: &impl ResourceExt) -> Vec<ObjectRef<ConfigMap>> {
    assert!(!object.name_any().starts_with("bad"), "cannot read it");
    vec![ObjectRef::new("a").within("default")]
}

#[tokio::test(start_paused = true)]
async fn a_panicking_mapper_is_an_error_of_the_related_object() {
    let (_server, client) = server();
    config_maps(&client).add(named("a")).await;
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    secrets.add(named("bad-at-the-start")).await;
    let controller = controller(&client)
        .watches(secrets.clone(), watcher::Config::default(), |secret| map_unless_bad(&secret));
    let mut output = OutputTexts::spawn(controller.run(nothing, wait_for_change, Arc::new(())));
    let mut first = [output.next().await, output.next().await];
    first.sort();
    assert_eq!(first[0], "done: a");
    assert!(first[1].contains("Secret.v1./bad-at-the-start.default"), "{first:?}");
    secrets.add(named("bad-later")).await;
    output.expect_error(&["mapper", "Secret.v1./bad-later.default", "cannot read it"]).await;
    secrets.add(named("good")).await;
    assert_eq!(output.next().await, "done: a");
}

#[tokio::test(start_paused = true)]
async fn a_panicking_mapper_of_a_custom_stream_is_an_error_of_the_related_object() {
    let (_server, client) = server();
    config_maps(&client).add(named("a")).await;
    for shared in [false, true] {
        let (send, secrets) = mpsc::unbounded::<Secret>();
        let controller = if shared {
            controller(&client)
                .watches_shared_stream(secrets.map(Arc::new), |secret| map_unless_bad(&*secret))
        } else {
            controller(&client).watches_stream(secrets.map(Ok), |secret| map_unless_bad(&secret))
        };
        let mut output = OutputTexts::spawn(controller.run(nothing, wait_for_change, Arc::new(())));
        assert_eq!(output.next().await, "done: a");
        for name in ["bad", "good"] {
            let mut secret: Secret = named(name);
            secret.metadata.namespace = Some("default".into());
            send.unbounded_send(secret).unwrap();
        }
        output.expect_error(&["mapper", "Secret.v1./bad.default", "cannot read it"]).await;
        assert_eq!(output.next().await, "done: a");
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_mapper_panic_the_objects_of_the_previous_mapping_are_reconciled() {
    let (_server, client) = server();
    config_maps(&client).add(named("a")).await;
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let controller = controller(&client).watches(secrets.clone(), watcher::Config::default(), |secret| {
        assert!(!secret.annotations().contains_key("touched"), "cannot read it");
        map_unless_bad(&secret)
    });
    let mut output = OutputTexts::spawn(controller.run(nothing, wait_for_change, Arc::new(())));
    assert_eq!(output.next().await, "done: a");
    secrets.add(named("good")).await;
    assert_eq!(output.next().await, "done: a");
    secrets.touch("good", "1").await;
    output.expect_error(&["mapper", "Secret.v1./good.default"]).await;
    assert_eq!(output.next().await, "done: a");
    secrets.remove("good").await;
    output.expect_error(&["mapper", "Secret.v1./good.default"]).await;
    assert_eq!(output.next().await, "done: a");
    assert_idle(&mut output.items).await;
}

#[tokio::test(start_paused = true)]
async fn a_panicking_predicate_is_an_error_and_the_object_passes() {
    let (_server, client) = server();
    let api = config_maps(&client);
    api.add(named("good")).await;
    let (reader, writer) = reflector::store();
    let changes = watcher(api.clone(), watcher::Config::default())
        .default_backoff()
        .reflect(writer)
        .applied_objects()
        .predicate_filter(
            |map: &ConfigMap| {
                assert!(map.name_any() != "bad", "cannot read it");
                predicates::labels(map)
            },
            Default::default(),
        );
    let controller = Controller::for_stream(changes, reader);
    let mut output = OutputTexts::spawn(controller.run(nothing, wait_for_change, Arc::new(())));
    assert_eq!(output.next().await, "done: good");
    api.add(named("bad")).await;
    output.expect_error(&["the predicate panicked for ConfigMap default/bad: cannot read it"]).await;
    assert_eq!(output.next().await, "done: bad");
    api.add(named("other")).await;
    assert_eq!(output.next().await, "done: other");
}

/// A reconcile future that panics when it is dropped.
struct PanicOnDrop {
    result: Poll<Result<Action, TestError>>,
}

impl Future for PanicOnDrop {
    type Output = Result<Action, TestError>;

    fn poll(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Self::Output> {
        std::mem::replace(&mut self.result, Poll::Pending)
    }
}

impl Drop for PanicOnDrop {
    fn drop(&mut self) {
        panic!("panics on drop");
    }
}

fn panic_on_drop(object: &ConfigMap) -> PanicOnDrop {
    PanicOnDrop {
        result: match object.name_any().as_str() {
            "done" => Poll::Ready(Ok(Action::await_change())),
            "failed" => Poll::Ready(Err(TestError("no"))),
            _ => Poll::Pending,
        },
    }
}

const PANIC_ON_DROP_CASES: [(&str, &str); 3] =
    [("done", "panics on drop"), ("failed", "panics on drop"), ("slow", "timed out after 10s")];

fn config() -> Config {
    Config::default()
        .timeout(Duration::from_secs(10))
        .backoff(Duration::from_secs(3600), Duration::from_secs(3600))
}

struct PanicOnDropReconciler;

impl Reconcile<ConfigMap> for PanicOnDropReconciler {
    type Error = TestError;

    fn reconcile(&self, object: Arc<ConfigMap>) -> impl Future<Output = Result<Action, TestError>> + Send {
        assert!(object.name_any() != "sync", "before the first poll");
        panic_on_drop(&object)
    }
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_panics_on_drop_is_an_error_of_the_object() {
    let (_server, client) = server();
    for (name, _) in PANIC_ON_DROP_CASES {
        config_maps(&client).add(named(name)).await;
    }
    let by_function = controller(&client).with_config(config()).run(
        |object, _| panic_on_drop(&object),
        wait_for_change,
        Arc::new(()),
    );
    let by_type = controller(&client).with_config(config()).run_with(PanicOnDropReconciler);
    for mut output in [OutputTexts::spawn(by_function), OutputTexts::spawn(by_type)] {
        for (name, text) in PANIC_ON_DROP_CASES {
            output.expect_error(&[&format!("ConfigMap.v1./{name}.default"), text]).await;
        }
        assert_idle(&mut output.items).await;
        assert!(!output.task.is_finished());
    }
}

#[tokio::test(start_paused = true)]
async fn in_an_applier_a_reconcile_that_panics_on_drop_is_an_error_of_the_object() {
    let (store, mut writer) = reflector::store::<ConfigMap>();
    let maps = PANIC_ON_DROP_CASES.map(|(name, _)| named::<ConfigMap>(name));
    let requests =
        maps.iter().map(|map| Ok::<_, TestError>(ObjectRef::from_obj_with(map, ()))).collect::<Vec<_>>();
    writer.apply_watcher_event(&watcher::Event::Init);
    for map in maps {
        writer.apply_watcher_event(&watcher::Event::InitApply(map));
    }
    writer.apply_watcher_event(&watcher::Event::InitDone);
    let results = applier(
        |object: Arc<ConfigMap>, _| panic_on_drop(&object),
        wait_for_change,
        Arc::new(()),
        store,
        futures::stream::iter(requests),
        config(),
    );
    let mut results = std::pin::pin!(results);
    for (name, text) in PANIC_ON_DROP_CASES {
        let error = expect_next(&mut results).await.unwrap_err();
        let cause = error.source().unwrap().to_string();
        assert!(cause.contains(name) && cause.contains(text), "{cause}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_before_the_first_poll_is_an_error_of_the_object() {
    let (_server, client) = server();
    config_maps(&client).add(named("sync")).await;
    let mut output =
        OutputTexts::spawn(controller(&client).with_config(config()).run_with(PanicOnDropReconciler));
    output.expect_error(&["ConfigMap.v1./sync.default", "before the first poll"]).await;
    assert_idle(&mut output.items).await;
}

#[tokio::test(start_paused = true)]
async fn a_panicking_mapper_does_not_affect_owner_triggers() {
    let (_server, client) = server();
    let owner = config_maps(&client).add(named("a")).await;
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let controller = controller(&client).owns(secrets.clone(), watcher::Config::default()).watches(
        secrets.clone(),
        watcher::Config::default(),
        |_| -> Vec<ObjectRef<ConfigMap>> { panic!("always") },
    );
    let mut output = OutputTexts::spawn(controller.run(nothing, wait_for_change, Arc::new(())));
    assert_eq!(output.next().await, "done: a");
    secrets.add(owned("child", &owner)).await;
    let mut both = [output.next().await, output.next().await];
    both.sort();
    assert_eq!(both[0], "done: a");
    assert!(both[1].contains("always"), "{both:?}");
    drop(owner.object_ref(&()));
}

#[tokio::test(start_paused = true)]
async fn a_panicking_index_over_several_namespaces_is_an_error_of_the_object() {
    let (_server, client) = server();
    let api = config_maps(&client);
    api.add(named("bad")).await;
    let index = Index::new(|map: &ConfigMap| {
        assert!(map.name_any() == "good", "cannot read it");
        Some(map.name_any())
    });
    let namespaces = ["default", "other"];
    let controller = in_namespaces(client.clone(), namespaces, watcher::Config::default());
    let mut output =
        OutputTexts::spawn(controller.with_index(&index).run(nothing, wait_for_change, Arc::new(())));
    output.expect_error(&["index", "ConfigMap.v1./bad.default", "cannot read it"]).await;
    assert_eq!(output.next().await, "done: bad");
    api.add(named("good")).await;
    assert_eq!(output.next().await, "done: good");
    api.touch("bad", "1").await;
    output.expect_error(&["index", "ConfigMap.v1./bad.default", "cannot read it"]).await;
    assert_eq!(output.next().await, "done: bad");
    assert_idle(&mut output.items).await;
}

#[tokio::test(start_paused = true)]
async fn a_panicking_index_is_an_error_of_the_object() {
    let (_server, client) = server();
    let api = config_maps(&client);
    for name in ["bad", "good"] {
        api.add(named(name)).await;
    }
    let index = Index::new(|map: &ConfigMap| {
        assert!(map.name_any() != "bad", "cannot read it");
        [map.name_any()]
    });
    let controller = controller(&client).with_index(&index);
    let store = controller.store();
    let mut output = OutputTexts::spawn(controller.run(nothing, wait_for_change, Arc::new(())));
    let mut first = [output.next().await, output.next().await, output.next().await];
    first.sort();
    assert_eq!(first[..2], ["done: bad", "done: good"]);
    assert!(first[2].contains("index") && first[2].contains("ConfigMap.v1./bad.default"), "{first:?}");
    assert_eq!((store.by_index(&index, "good").len(), store.by_index(&index, "bad").len()), (1, 0));
    api.touch("good", "1").await;
    assert_eq!(output.next().await, "done: good");
    api.remove("bad").await;
    api.touch("good", "2").await;
    while output.next().await != "done: good" {}
    assert_eq!(store.len(), 1);
}

/// Its texts panic.
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

/// Also where the error policy panics, so that the error is in the log only.
#[tokio::test(start_paused = true)]
async fn an_error_whose_message_panics_is_an_error_of_its_object() {
    let (_server, client) = server();
    config_maps(&client).add(named("a")).await;
    type Policy = fn(Arc<ConfigMap>, &Unprintable, Arc<()>) -> Action;
    let policies: [(Policy, _); 2] = [
        (|_, _, _| Action::await_change(), "failed: an error whose message cannot be printed: no message"),
        (|_, _, _| panic!("no policy"), "panicked: no policy"),
    ];
    for (policy, expected) in policies {
        let controller = controller(&client);
        let monitor = controller.monitor();
        let fails = async |_, _| Err(Unprintable);
        let mut output = std::pin::pin!(controller.run(fails, policy, Arc::new(())));
        let error = expect_next(&mut output).await.err().unwrap().to_string();
        assert!(error.contains("ConfigMap.v1./a.default") && error.contains(expected), "{error}");
        assert_eq!(monitor.snapshot().failing[0].name, "a");
    }
}

#[tokio::test(start_paused = true)]
async fn a_panicking_assignment_includes_nothing() {
    let (_server, client) = server();
    for name in ["a", "bad"] {
        config_maps(&client).add(named(name)).await;
    }
    let assigner = Assigner::new();
    let controller = controller(&client).assigned_by(assigner.assignments());
    let mut output = OutputTexts::spawn(controller.run(nothing, wait_for_change, Arc::new(())));
    assigner.assign(Assignment::all().valid_while(|| panic!("no clock"))).await;
    assert_idle(&mut output.items).await;
    assigner.assign(Assignment::matching(|_, name| name != "bad" || panic!("cannot read it"))).await;
    assert_eq!(output.next().await, "done: a");
    assert_idle(&mut output.items).await;
    assigner.assign(Assignment::all()).await;
    assert_eq!(output.next().await, "done: bad");
}

struct PanickingBackoff;

impl Iterator for PanickingBackoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        panic!("no delay")
    }
}

impl kube_runtime::utils::Backoff for PanickingBackoff {
    fn reset(&mut self) {
        panic!("no reset")
    }
}

#[tokio::test(start_paused = true)]
async fn the_built_in_waits_apply_while_a_backoff_panics() {
    let (server, client) = server();
    config_maps(&client).add(named("a")).await;
    server.fault(Match::list::<ConfigMap>().times(3), Fault::status(500, "InternalError"));
    let controller = controller(&client).trigger_backoff(PanickingBackoff);
    let mut output = OutputTexts::spawn(controller.run(nothing, wait_for_change, Arc::new(())));
    for _ in 0..3 {
        output.expect_error(&["failed to list"]).await;
    }
    assert_eq!(output.next().await, "done: a");
}

/// Panics after a second.
fn broken<T: Send + 'static>() -> impl Stream<Item = T> + Send + 'static {
    futures::stream::once(async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        panic!("no more")
    })
}

type AddSource = fn(Controller<ConfigMap>) -> Controller<ConfigMap>;

const BROKEN_SOURCES: [(AddSource, &str); 6] = [
    (|it| it.reconcile_on(broken()), "the stream of reconcile_on"),
    (|it| it.reconcile_all_on(broken()), "the stream of reconcile_all_on"),
    (|it| it.owns_stream::<Secret>(broken()), "the stream of Secret objects"),
    (|it| it.owns_shared_stream::<Secret>(broken()), "the stream of Secret objects"),
    (|it| it.watches_stream::<Secret, _>(broken(), |_| []), "the stream of Secret objects"),
    (|it| it.watches_shared_stream::<Secret, _>(broken(), |_| []), "the stream of Secret objects"),
];

#[tokio::test(start_paused = true)]
async fn a_source_that_panics_is_an_error_and_the_others_go_on() {
    for (add_source, expected) in BROKEN_SOURCES {
        let (_server, client) = server();
        let api = config_maps(&client);
        api.add(named("a")).await;
        let controller = add_source(controller(&client));
        let monitor = controller.monitor();
        let mut output = OutputTexts::spawn(controller.run(nothing, wait_for_change, Arc::new(())));
        assert_eq!(output.next().await, "done: a");
        monitor.progress(&Default::default()).unwrap();
        output.expect_error(&[expected, "panicked", "no more"]).await;
        api.touch("a", "1").await;
        assert_eq!(output.next().await, "done: a");
        let stalled = monitor.progress(&Default::default()).unwrap_err().to_string();
        assert!(stalled.contains(expected) && stalled.ends_with("no more"), "{stalled}");
        assert_idle(&mut output.items).await;
    }
}

/// The broken stream owns the writer of the store.
#[tokio::test(start_paused = true)]
async fn after_a_panic_of_the_own_stream_requeued_objects_are_reconciled() {
    for shared in [false, true] {
        let (_server, client) = server();
        config_maps(&client).add(named("a")).await;
        let (reader, writer) = reflector::store();
        let watch = watcher(config_maps(&client), watcher::Config::default());
        let changes = watch.default_backoff().reflect(writer).applied_objects().map(Result::unwrap);
        let changes = futures::stream::select(changes, broken());
        let controller = match shared {
            true => Controller::for_shared_stream(changes.map(Arc::new), reader),
            false => Controller::for_stream(changes.map(Ok), reader),
        };
        let requeued = async |_: Arc<ConfigMap>, _: Arc<()>| {
            Ok::<_, TestError>(Action::requeue(Duration::from_secs(10)))
        };
        let mut output = OutputTexts::spawn(controller.run(requeued, wait_for_change, Arc::new(())));
        assert_eq!(output.next().await, "done: a");
        output
            .expect_error(&["the stream of the controller's own ConfigMap objects panicked", "no more"])
            .await;
        assert_eq!([output.next().await, output.next().await], ["done: a", "done: a"]);
        assert!(!output.task.is_finished());
    }
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_future_that_panics_does_not_stop_the_controller_and_others_do() {
    let (_server, client) = server();
    config_maps(&client).add(named("a")).await;
    let (stop, stopped) = futures::channel::oneshot::channel::<()>();
    let controller = controller(&client)
        .graceful_shutdown_on(async { panic!("no signal") })
        .graceful_shutdown_on(stopped.map(|_| ()));
    let mut output = OutputTexts::spawn(controller.run(nothing, wait_for_change, Arc::new(())));
    assert_eq!(output.next().await, "done: a");
    stop.send(()).unwrap();
    assert_eq!(output.items.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_gate_that_panics_stays_closed() {
    let (_server, client) = server();
    config_maps(&client).add(named("a")).await;
    let controller = controller(&client).reconcile_after(|| panic!("no name"), async { panic!("no gate") });
    let mut output = OutputTexts::spawn(controller.run(nothing, wait_for_change, Arc::new(())));
    tokio::time::sleep(Duration::from_secs(120)).await;
    assert_idle(&mut output.items).await;
    assert!(!output.task.is_finished());
}

/// An index key whose `Hash` or `Eq` panics.
#[derive(Debug)]
enum BadKey {
    Good(String),
    Unhashable,
    Incomparable,
}

impl std::hash::Hash for BadKey {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        assert!(!matches!(self, Self::Unhashable), "no hash");
        0.hash(state); // so that all are compared
    }
}

impl PartialEq for BadKey {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Good(one), Self::Good(other)) => one == other,
            _ => panic!("no comparison"),
        }
    }
}

impl Eq for BadKey {}

#[tokio::test(start_paused = true)]
async fn a_panic_of_an_index_key_is_an_error_of_the_object() {
    let (_server, client) = server();
    let api = config_maps(&client);
    api.add(named("good")).await;
    let index = Index::new(|map: &ConfigMap| {
        [match map.name_any().as_str() {
            "unhashable" => BadKey::Unhashable,
            "incomparable" => BadKey::Incomparable,
            name => BadKey::Good(name.to_owned()),
        }]
    });
    let controller = controller(&client).with_index(&index);
    let store = controller.store();
    let mut output = OutputTexts::spawn(controller.run(nothing, wait_for_change, Arc::new(())));
    assert_eq!(output.next().await, "done: good");
    for (name, message) in [("unhashable", "no hash"), ("incomparable", "no comparison")] {
        api.add(named(name)).await;
        output.expect_error(&["index", &format!("ConfigMap.v1./{name}.default"), message]).await;
        assert_eq!(output.next().await, format!("done: {name}"));
        api.remove(name).await;
    }
    api.touch("good", "1").await;
    while output.next().await != "done: good" {}
    let found = store.by_index(&index, &BadKey::Good("good".into()));
    assert_eq!((found.len(), store.len()), (1, 1));
}
