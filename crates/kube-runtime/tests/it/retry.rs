//! Retries after a reconcile that failed, panicked or timed out.

use crate::common::{
    ApiExt, TestError, assert_idle, config_maps, expect_next, named, server, set_subscriber, spawn_outputs,
    wait_for_change,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_client::Client;
use kube_core::ResourceExt;
use kube_runtime::{
    Config, Controller,
    controller::{Action, Outcome, Reconcile},
    watcher,
};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::Instant;
use tracing::Span;

fn controller(client: &Client) -> Controller<ConfigMap> {
    Controller::new(config_maps(client), watcher::Config::default())
}

#[tokio::test(start_paused = true)]
async fn retry_delays_double_until_a_reconcile_succeeds() {
    let (_server, client) = server();
    config_maps(&client).add(named("a")).await;
    let times = Arc::new(Mutex::new(Vec::<Instant>::new()));
    let config = Config::default().backoff(Duration::from_secs(1), Duration::from_secs(6));
    let output = controller(&client).with_config(config).run(
        |_, times: Arc<Mutex<Vec<Instant>>>| async move {
            let mut times = times.lock().unwrap();
            times.push(Instant::now());
            // The sixth run succeeds, later ones fail again.
            if times.len() == 6 {
                Ok(Action::requeue(Duration::from_secs(100)))
            } else {
                Err(TestError("not yet"))
            }
        },
        |_, _, _| Action::retry(),
        Arc::clone(&times),
    );
    let mut outputs = spawn_outputs(output);
    for _ in 0..8 {
        next_within_1000_seconds(&mut outputs.items).await;
    }
    let times = times.lock().unwrap();
    let waits: Vec<Duration> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let steps = [1, 2, 4, 6, 6, 100, 1].map(Duration::from_secs);
    for (wait, step) in waits.iter().zip(steps) {
        let shortest = if step.as_secs() == 100 { step } else { step / 2 };
        assert!(*wait >= shortest && *wait <= step + Duration::from_millis(2), "{waits:?}");
    }
}

async fn next_within_1000_seconds(items: &mut (impl futures::Stream<Item = String> + Unpin)) -> String {
    use futures::StreamExt;
    tokio::time::timeout(Duration::from_secs(1000), items.next()).await.unwrap().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_change_is_reconciled_before_the_retry() {
    let (_server, client) = server();
    let api = config_maps(&client);
    api.add(named("a")).await;
    let config = Config::default().backoff(Duration::from_secs(3600), Duration::from_secs(3600));
    let output = controller(&client).with_config(config).run(
        |object: Arc<ConfigMap>, _| async move {
            if object.annotations().contains_key("touched") {
                Ok(Action::await_change())
            } else {
                Err(TestError("no"))
            }
        },
        |_, _, _| Action::retry(),
        Arc::new(()),
    );
    let mut outputs = spawn_outputs(output);
    assert!(expect_next(&mut outputs.items).await.contains("failed"));
    assert_idle(&mut outputs.items).await;
    api.touch("a", "1").await;
    assert_eq!(expect_next(&mut outputs.items).await, "done: a");
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_retried_like_an_error() {
    let (_server, client) = server();
    config_maps(&client).add(named("a")).await;
    let runs = Arc::new(Mutex::new(0));
    let output = controller(&client).run(
        |_, runs: Arc<Mutex<i32>>| async move {
            let run = {
                let mut runs = runs.lock().unwrap();
                *runs += 1;
                *runs
            };
            assert!(run > 2, "not ready");
            Ok::<_, TestError>(Action::await_change())
        },
        wait_for_change,
        runs,
    );
    let mut outputs = spawn_outputs(output);
    for expected in ["running reconcilers failed", "running reconcilers failed", "done: a"] {
        assert_eq!(expect_next(&mut outputs.items).await, expected);
    }
    assert_idle(&mut outputs.items).await;
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_hangs_is_cancelled_and_retried() {
    let (_server, client) = server();
    config_maps(&client).add(named("a")).await;
    let held = Arc::new(Mutex::new(0));
    let config = Config::default().timeout(Duration::from_secs(10));
    let output = controller(&client).with_config(config).run(
        |_, runs: Arc<Mutex<i32>>| async move {
            let first = {
                let mut runs = runs.lock().unwrap();
                *runs += 1;
                *runs == 1
            };
            if first {
                std::future::pending::<()>().await;
            }
            drop(runs);
            Ok::<_, TestError>(Action::await_change())
        },
        wait_for_change,
        Arc::clone(&held),
    );
    let start = Instant::now();
    let mut output = std::pin::pin!(output);
    let error = expect_next(&mut output).await.unwrap_err();
    assert_eq!(start.elapsed().as_secs(), 10);
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(cause, "the reconciler of ConfigMap.v1./a.default timed out after 10s and was cancelled");
    assert_eq!(
        Arc::strong_count(&held),
        3,
        "the future is dropped: test, reconciler and policy hold the rest"
    );
    assert_eq!(expect_next(&mut output).await.unwrap().0.name, "a");
}

/// Fails until `on_error` was called twice.
struct FailsTwice {
    errors: Arc<Mutex<Vec<String>>>,
}

impl Reconcile<ConfigMap> for FailsTwice {
    type Error = TestError;

    async fn reconcile(&self, _object: Arc<ConfigMap>) -> Result<Action, TestError> {
        tokio::time::sleep(Duration::from_secs(1)).await;
        if self.errors.lock().unwrap().len() == 2 {
            Ok(Action::await_change())
        } else {
            Err(TestError("not yet"))
        }
    }

    async fn on_error(&self, object: Arc<ConfigMap>, error: &TestError) -> Action {
        tokio::time::sleep(Duration::from_secs(1)).await;
        self.errors.lock().unwrap().push(format!("{}: {error}", object.name_any()));
        Action::retry()
    }
}

#[tokio::test(start_paused = true)]
async fn on_error_of_a_reconciler_type_is_called_with_its_errors() {
    let (_server, client) = server();
    config_maps(&client).add(named("a")).await;
    let errors = Arc::default();
    let mut outputs = spawn_outputs(controller(&client).run_with(FailsTwice { errors: Arc::clone(&errors) }));
    for expected in ["reconciler for object ConfigMap.v1./a.default failed"; 2] {
        assert_eq!(expect_next(&mut outputs.items).await, expected);
    }
    assert_eq!(expect_next(&mut outputs.items).await, "done: a");
    assert_eq!(*errors.lock().unwrap(), ["a: not yet", "a: not yet"]);
}

fn current_span() -> Option<&'static str> {
    Span::current().metadata().map(|span| span.name())
}

#[tokio::test(start_paused = true)]
async fn an_error_policy_runs_within_the_span_of_the_reconcile() {
    let _subscribed = set_subscriber(tracing_subscriber::registry());
    let (_server, client) = server();
    config_maps(&client).add(named("a")).await;
    let spans = Arc::new(Mutex::new(Vec::new()));
    let output = controller(&client).run(
        |_, spans: Arc<Mutex<Vec<_>>>| async move {
            spans.lock().unwrap().push(current_span());
            Err(TestError("no"))
        },
        |_, _, spans| {
            spans.lock().unwrap().push(current_span());
            Action::await_change()
        },
        Arc::clone(&spans),
    );
    assert!(expect_next(&mut std::pin::pin!(output)).await.is_err());
    assert_eq!(*spans.lock().unwrap(), [Some("reconciling object"); 2]);
}

/// Ends in each way once, and records the outcomes.
struct OutcomeRecorder {
    outcomes: Arc<Mutex<Vec<String>>>,
}

impl Reconcile<ConfigMap> for OutcomeRecorder {
    type Error = TestError;

    async fn reconcile(&self, object: Arc<ConfigMap>) -> Result<Action, TestError> {
        match object.name_any().as_str() {
            "fails" => Err(TestError("no")),
            "hangs" => std::future::pending().await,
            "panics" => panic!("oh"),
            _ => Ok(Action::requeue(Duration::from_secs(1))),
        }
    }

    async fn on_outcome(&self, object: Arc<ConfigMap>, outcome: Outcome<'_, TestError>) -> Action {
        let text = match &outcome {
            Outcome::Succeeded(action) => format!("{action:?}").contains("1s").to_string(),
            Outcome::Failed(error) => error.to_string(),
            Outcome::Panicked(message) => (*message).to_owned(),
            Outcome::TimedOut(limit) => format!("{limit:?}"),
        };
        let span = current_span().unwrap_or_default();
        self.outcomes.lock().unwrap().push(format!("{} ({span}): {text}", object.name_any()));
        assert!(object.name_any() != "fails", "in on_outcome");
        Action::await_change()
    }
}

#[tokio::test(start_paused = true)]
async fn on_outcome_of_a_reconciler_type_decides_after_every_outcome() {
    let _subscribed = set_subscriber(tracing_subscriber::registry());
    let (_server, client) = server();
    for name in ["fails", "hangs", "panics", "works"] {
        config_maps(&client).add(named(name)).await;
    }
    let outcomes: Arc<Mutex<Vec<String>>> = Arc::default();
    let config =
        Config::default().timeout(Duration::from_secs(10)).backoff(Duration::from_secs(3600), Duration::MAX);
    let output =
        controller(&client).with_config(config).run_with(OutcomeRecorder { outcomes: Arc::clone(&outcomes) });
    let mut output = Box::pin(output);
    let mut items = Vec::new();
    for _ in 0..4 {
        items.push(match expect_next(&mut output).await {
            Ok((object, action)) => format!("{}: {}", object.name, action == Action::await_change()),
            Err(error) => std::error::Error::source(&error).unwrap().to_string(),
        });
    }
    items.sort();
    assert_eq!(
        items,
        [
            "the reconciler of ConfigMap.v1./fails.default panicked: in on_outcome",
            "the reconciler of ConfigMap.v1./hangs.default timed out after 10s and was cancelled",
            "the reconciler of ConfigMap.v1./panics.default panicked: oh",
            "works: true",
        ]
    );
    let mut outcomes = outcomes.lock().unwrap().clone();
    outcomes.sort();
    let expected = ["fails (?): no", "hangs (?): 10s", "panics (?): oh", "works (?): true"];
    assert_eq!(outcomes, expected.map(|line| line.replace('?', "reconciling object")));
    assert_idle(&mut output).await;
}

/// Panics once, with the default `on_outcome`.
struct PanicsOnce(Mutex<bool>);

impl Reconcile<ConfigMap> for PanicsOnce {
    type Error = TestError;

    async fn reconcile(&self, _object: Arc<ConfigMap>) -> Result<Action, TestError> {
        let first = !std::mem::replace(&mut *self.0.lock().unwrap(), true);
        assert!(!first, "oh");
        Ok(Action::await_change())
    }
}

#[tokio::test(start_paused = true)]
async fn the_default_on_outcome_retries_after_a_panic() {
    let (_server, client) = server();
    config_maps(&client).add(named("a")).await;
    let mut outputs = spawn_outputs(controller(&client).run_with(PanicsOnce(Mutex::default())));
    assert_eq!(expect_next(&mut outputs.items).await, "running reconcilers failed");
    assert_eq!(expect_next(&mut outputs.items).await, "done: a");
    assert_idle(&mut outputs.items).await;
}
