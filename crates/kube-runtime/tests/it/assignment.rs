//! Controllers that reconcile only what is assigned to them.

use crate::common::{
    ApiExt, Outputs, assert_idle, config_maps, expect_next, named, server, spawn_outputs, wait_for_change,
};
use futures::{FutureExt, StreamExt, channel::mpsc, future::BoxFuture};
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube_client::{Api, Client, api::PostParams};
use kube_core::ResourceExt;
use kube_runtime::{
    Controller,
    controller::{Action, Assigner, Assignment},
    reflector::ObjectRef,
    watcher,
};
use std::{
    convert::Infallible,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::time::{Instant, sleep, timeout};

const MINUTE: Duration = Duration::from_secs(60);

/// A running controller of the ConfigMaps `a` and `b`.
struct Running {
    client: Client,
    assigner: Assigner,
    /// The names of the reconciles that start.
    started: mpsc::UnboundedReceiver<String>,
    outputs: Outputs,
}

impl Running {
    /// Its reconciles last `length`.
    async fn with_reconciles_of(length: Duration) -> Self {
        let (_server, client) = server();
        for name in ["a", "b"] {
            config_maps(&client).add(named(name)).await;
        }
        let (assigner, (send, started)) = (Assigner::new(), mpsc::unbounded());
        let output = Controller::new(config_maps(&client), watcher::Config::default())
            .assigned_by(assigner.assignments())
            .run(
                move |object: Arc<ConfigMap>, send: Arc<mpsc::UnboundedSender<String>>| async move {
                    send.unbounded_send(object.name_any()).unwrap();
                    sleep(length).await;
                    Ok::<_, Infallible>(Action::requeue(MINUTE))
                },
                wait_for_change,
                Arc::new(send),
            );
        Self { client, assigner, started, outputs: spawn_outputs(output) }
    }

    async fn next_two(&mut self) -> [String; 2] {
        [expect_next(&mut self.started).await, expect_next(&mut self.started).await]
    }
}

fn only(name: &'static str) -> Assignment {
    Assignment::matching(move |_, other| other == name)
}

#[tokio::test(start_paused = true)]
async fn what_is_cached_is_reconciled_when_it_is_assigned() {
    let mut controller = Running::with_reconciles_of(Duration::ZERO).await;
    assert_idle(&mut controller.started).await;
    controller.assigner.assign(only("b")).await;
    assert_eq!(expect_next(&mut controller.started).await, "b");
    controller.assigner.assign(Assignment::all()).await;
    assert_eq!(expect_next(&mut controller.started).await, "a", "b was assigned before");
    assert_idle(&mut controller.started).await;
}

#[tokio::test(start_paused = true)]
async fn changes_of_what_is_not_assigned_are_not_reconciled() {
    let mut controller = Running::with_reconciles_of(Duration::ZERO).await;
    controller.assigner.assign(only("b")).await;
    assert_eq!(expect_next(&mut controller.started).await, "b");
    config_maps(&controller.client).touch("a", "1").await;
    config_maps(&controller.client).touch("b", "1").await;
    assert_eq!(expect_next(&mut controller.started).await, "b");
    assert_idle(&mut controller.started).await;
}

#[tokio::test(start_paused = true)]
async fn the_requeue_of_an_object_ends_with_its_assignment() {
    let mut controller = Running::with_reconciles_of(Duration::ZERO).await;
    controller.assigner.assign(Assignment::all()).await;
    controller.next_two().await;
    controller.assigner.assign(only("a")).await;
    for _ in 0..3 {
        assert_eq!(timeout(2 * MINUTE, controller.started.next()).await.unwrap().unwrap(), "a");
    }
}

#[tokio::test(start_paused = true)]
async fn an_assignment_returns_after_the_reconciles_of_what_it_takes_away() {
    let mut controller = Running::with_reconciles_of(Duration::from_secs(30)).await;
    controller.assigner.assign(Assignment::all()).await;
    controller.next_two().await;
    let before = Instant::now();
    controller.assigner.assign(only("a")).await;
    assert_eq!(before.elapsed(), Duration::from_secs(30), "b was running");
    controller.assigner.assign(Assignment::none()).await;
    assert_eq!(before.elapsed(), Duration::from_secs(30), "nothing was running");
}

#[tokio::test(start_paused = true)]
async fn reconciles_of_what_was_taken_away_are_cancelled_at_the_limit() {
    let mut controller = Running::with_reconciles_of(Duration::from_secs(3600)).await;
    controller.assigner.assign(Assignment::all()).await;
    controller.next_two().await;
    let limit = Instant::now() + Duration::from_secs(5);
    controller.assigner.assign_by(only("a"), limit).await;
    assert!(limit.elapsed() < Duration::from_millis(10), "{:?}", limit.elapsed());
    let error = expect_next(&mut controller.outputs.items).await;
    assert_eq!(error, "running reconcilers failed");
    assert_idle(&mut controller.outputs.items).await;
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_is_assigned_again_before_the_limit_goes_on() {
    let mut controller = Running::with_reconciles_of(Duration::from_secs(30)).await;
    controller.assigner.assign(Assignment::all()).await;
    controller.next_two().await;
    let limit = Instant::now() + Duration::from_secs(5);
    assert!(controller.assigner.assign_by(only("a"), limit).now_or_never().is_none());
    controller.assigner.assign(Assignment::all()).await;
    for _ in 0..2 {
        let item = expect_next(&mut controller.outputs.items).await;
        assert!(item.starts_with("done: "), "{item}");
    }
}

#[tokio::test(start_paused = true)]
async fn requests_wait_while_the_assignment_is_not_valid() {
    let mut controller = Running::with_reconciles_of(Duration::ZERO).await;
    let valid = Arc::new(AtomicBool::new(false));
    let shared = Arc::clone(&valid);
    controller.assigner.assign(Assignment::all().valid_while(move || shared.load(Ordering::SeqCst))).await;
    assert_idle(&mut controller.started).await;
    valid.store(true, Ordering::SeqCst);
    controller.next_two().await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_assigner_assigns_nothing() {
    let Running { client, assigner, mut started, outputs: _running } =
        Running::with_reconciles_of(Duration::ZERO).await;
    assigner.assign(Assignment::all()).await;
    drop(assigner);
    while timeout(Duration::from_secs(10), started.next()).await.is_ok() {} // until it has noticed
    config_maps(&client).touch("a", "1").await;
    assert_idle(&mut started).await;
}

#[tokio::test(start_paused = true)]
async fn controllers_that_do_not_run_delay_no_assignment() {
    let mut controller = Running::with_reconciles_of(Duration::from_secs(3600)).await;
    let new = || {
        Controller::new(config_maps(&controller.client), watcher::Config::default())
            .assigned_by(controller.assigner.assignments())
    };
    let run = |controller: Controller<ConfigMap>| {
        controller.run(
            async |_, _| Ok::<_, Infallible>(Action::await_change()),
            wait_for_change,
            Arc::new(()),
        )
    };
    let (_never_run, _never_polled) = (new(), run(new()));
    let mut dropped = Box::pin(run(new()));
    assert!(dropped.next().now_or_never().is_none());
    drop(dropped);
    controller.assigner.assign(Assignment::all()).await;
    controller.next_two().await;
    controller.outputs.task.abort();
    timeout(MINUTE, controller.assigner.assign(Assignment::none())).await.expect("no controller runs");
}

#[tokio::test(start_paused = true)]
async fn an_object_of_the_cluster_is_assigned_by_its_own_key() {
    let (_server, client) = server();
    let nodes = Api::<Node>::all(client);
    nodes.create(&PostParams::default(), &named("a")).await.unwrap();
    let assigner = Assigner::new();
    let (requests, requested) = mpsc::unbounded();
    let output = Controller::new(nodes, watcher::Config::default())
        .reconcile_on(requested)
        .assigned_by(assigner.assignments())
        .run(async |_, _| Ok::<_, Infallible>(Action::await_change()), wait_for_change, Arc::new(()));
    let mut outputs = spawn_outputs(output);
    assigner.assign(Assignment::matching(|namespace, _| namespace.is_none())).await;
    assert_eq!(expect_next(&mut outputs.items).await, "done: a");
    // As from a namespaced child.
    requests.unbounded_send(ObjectRef::new("a").within("default")).unwrap();
    assert_eq!(expect_next(&mut outputs.items).await, "done: a");
}

/// Work that logs, and takes `to_stop` to end after it was revoked.
fn logged_work(
    log: &Arc<Mutex<Vec<&'static str>>>,
    to_stop: Duration,
) -> impl FnMut(BoxFuture<'static, ()>) -> BoxFuture<'static, ()> + Send + 'static {
    let log = Arc::clone(log);
    move |revoked| {
        let log = Arc::clone(&log);
        async move {
            log.lock().unwrap().push("starts");
            revoked.await;
            log.lock().unwrap().push("revoked");
            sleep(to_stop).await;
            log.lock().unwrap().push("ends");
        }
        .boxed()
    }
}

#[tokio::test(start_paused = true)]
async fn work_runs_while_its_name_is_assigned() {
    let (assigner, log) = (Assigner::new(), Arc::default());
    let (assignments, work) = (assigner.assignments(), logged_work(&log, Duration::from_secs(3)));
    let running = tokio::spawn(async move { assignments.run_while_assigned("report", work).await });
    sleep(MINUTE).await;
    assert!(log.lock().unwrap().is_empty(), "nothing is assigned");
    for _ in 0..2 {
        assigner.assign(only("report")).await;
        sleep(MINUTE).await;
        assert_eq!(std::mem::take(&mut *log.lock().unwrap()), ["starts"]);
        let before = Instant::now();
        assigner.assign(only("other")).await;
        assert_eq!(before.elapsed(), Duration::from_secs(3), "the assigner waits for its end");
        assert_eq!(std::mem::take(&mut *log.lock().unwrap()), ["revoked", "ends"]);
    }
    assert!(!running.is_finished());
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn work_that_does_not_end_is_dropped_at_the_limit() {
    let (assigner, log) = (Assigner::new(), Arc::default());
    let (assignments, work) = (assigner.assignments(), logged_work(&log, 60 * MINUTE));
    let running = tokio::spawn(async move { assignments.run_while_assigned("report", work).await });
    assigner.assign(Assignment::all()).await;
    sleep(MINUTE).await;
    let limit = Instant::now() + Duration::from_secs(5);
    assigner.assign_by(Assignment::none(), limit).await;
    assert!(limit.elapsed() < Duration::from_millis(10), "{:?}", limit.elapsed());
    sleep(120 * MINUTE).await;
    assert_eq!(*log.lock().unwrap(), ["starts", "revoked"]);
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn work_that_ends_by_itself_is_the_result() {
    let assigner = Assigner::new();
    assigner.assign(Assignment::all()).await;
    let result = assigner.assignments().run_while_assigned("report", |_revoked| async { 7 }).await;
    assert_eq!(result, 7);
}

#[tokio::test(start_paused = true)]
async fn work_waits_while_the_assignment_is_not_valid() {
    let (assigner, valid) = (Assigner::new(), Arc::new(AtomicBool::new(false)));
    let is_valid = Arc::clone(&valid);
    assigner.assign(Assignment::all().valid_while(move || is_valid.load(Ordering::Relaxed))).await;
    let assignments = assigner.assignments();
    let work = assignments.run_while_assigned("report", |_revoked| async {});
    tokio::pin!(work);
    assert!(timeout(MINUTE, &mut work).await.is_err());
    valid.store(true, Ordering::Relaxed);
    timeout(Duration::from_secs(2), work).await.unwrap();
}
