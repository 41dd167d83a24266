//! `Duration::MAX` in every setting that takes a duration: it means "never" and does not panic.

use crate::common::{
    ApiExt, TestError, assert_idle, config_maps, expect_next, named, server, spawn_outputs, wait_for_change,
};
use futures::{FutureExt, StreamExt, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::Client;
use kube_core::ResourceExt;
use kube_runtime::{
    Config, Controller, PredicateConfig, WatchStreamExt,
    controller::Action,
    predicates,
    scheduler::{ScheduleRequest, debounced_scheduler, scheduler},
    utils::{Backoff, ResetTimerBackoff, StreamBackoff},
    watcher,
};
use kube_testserver::{Fault, Match};
use std::{sync::Arc, time::Duration};
use tokio::time::Instant;

const MAX: Duration = Duration::MAX;

fn controller(client: &Client, config: Config) -> Controller<ConfigMap> {
    Controller::new(config_maps(client), watcher::Config::default()).with_config(config)
}

/// Delays each retry by [`MAX`].
struct NeverRetry;

impl Iterator for NeverRetry {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(MAX)
    }
}

impl Backoff for NeverRetry {
    fn reset(&mut self) {}
}

#[tokio::test(start_paused = true)]
async fn a_maximal_debounce_starts_no_reconcile_and_allows_shutdown() {
    let (_server, client) = server();
    config_maps(&client).add(named("a")).await;
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let output = controller(&client, Config::default().debounce(MAX))
        .graceful_shutdown_on(async { drop(stopped.await) })
        .run(|_, _| async { Ok::<_, TestError>(Action::await_change()) }, wait_for_change, Arc::new(()));
    let mut outputs = spawn_outputs(output);
    assert_idle(&mut outputs.items).await;
    stop.send(()).unwrap();
    (&mut outputs.task).await.expect("the task ends without a panic");
}

#[tokio::test(start_paused = true)]
async fn all_durations_of_a_reconcile_may_be_maximal() {
    let (_server, client) = server();
    let api = config_maps(&client);
    api.add(named("a")).await;
    let config = Config::default().write_wait(MAX).timeout(MAX).backoff(MAX, MAX);
    let output = controller(&client, config).trigger_backoff(NeverRetry).run(
        |object: Arc<ConfigMap>, _| async move {
            match object.annotations().get("touched").map(String::as_str) {
                None => Ok(Action::requeue(MAX)),
                Some("fail") => Err(TestError("no")),
                Some(_) => {
                    let mut written = ConfigMap::clone(&object);
                    written.metadata.resource_version = Some(u64::MAX.to_string());
                    Ok(Action::requeue(MAX).after_write(&written))
                }
            }
        },
        |_, _, _| Action::retry(),
        Arc::new(()),
    );
    let mut outputs = spawn_outputs(output);
    assert_eq!(expect_next(&mut outputs.items).await, "done: a");
    api.touch("a", "fail").await;
    assert!(expect_next(&mut outputs.items).await.contains("failed"));
    api.touch("a", "written").await;
    assert_eq!(expect_next(&mut outputs.items).await, "done: a");
    api.touch("a", "waits for the write").await;
    assert_idle(&mut outputs.items).await;
    assert!(!outputs.task.is_finished());
}

#[tokio::test(start_paused = true)]
async fn the_backoff_of_a_failing_watch_may_be_maximal() {
    let (server, client) = server();
    let _refused = server.fault(Match::list::<ConfigMap>(), Fault::status(500, "InternalError"));
    let output = controller(&client, Config::default()).trigger_backoff(NeverRetry).run(
        |_, _| async { Ok::<_, TestError>(Action::await_change()) },
        wait_for_change,
        Arc::new(()),
    );
    let mut outputs = spawn_outputs(output);
    expect_next(&mut outputs.items).await;
    assert_idle(&mut outputs.items).await;
    assert!(!outputs.task.is_finished());
}

#[tokio::test(start_paused = true)]
async fn the_backoff_of_a_failing_stream_may_be_maximal() {
    let failing = stream::repeat(Err::<(), _>("down"));
    let mut items = Box::pin(StreamBackoff::new(failing, ResetTimerBackoff::new(NeverRetry, MAX)));
    assert_eq!(items.next().await, Some(Err("down")));
    assert_eq!(items.next().now_or_never(), None);
}

#[tokio::test(start_paused = true)]
async fn a_scheduler_accepts_the_latest_instant_and_a_maximal_debounce() {
    let latest = (0..u64::BITS).rev().fold(Instant::now(), |latest, bit| {
        latest.checked_add(Duration::from_secs(1 << bit)).unwrap_or(latest)
    });
    let latest = (0..30)
        .rev()
        .fold(latest, |latest, bit| latest.checked_add(Duration::from_nanos(1 << bit)).unwrap_or(latest));
    let mut messages = scheduler(stream::iter([ScheduleRequest { message: "a", run_at: latest }]));
    assert_eq!(messages.next().now_or_never(), None);
    let now = ScheduleRequest { message: "a", run_at: Instant::now() };
    assert_eq!(debounced_scheduler(stream::iter([now]), MAX).next().now_or_never(), None);
}

#[tokio::test(start_paused = true)]
async fn the_ttl_of_a_predicate_filter_may_be_maximal() {
    let objects = stream::iter([Ok(named::<ConfigMap>("a")), Ok(named("a"))]);
    let changed = objects.predicate_filter(predicates::labels, PredicateConfig::default().ttl(MAX));
    assert_eq!(changed.count().await, 1);
}

#[tokio::test(start_paused = true)]
async fn the_timeout_of_a_watch_may_be_maximal() {
    let (_server, client) = server();
    config_maps(&client).add(named("a")).await;
    for config in [watcher::Config::default(), watcher::Config::default().streaming_lists()] {
        let events = watcher(config_maps(&client), config.timeout(u32::MAX));
        let mut objects = Box::pin(events.applied_objects());
        assert_eq!(expect_next(&mut objects).await.unwrap().name_any(), "a");
    }
}
