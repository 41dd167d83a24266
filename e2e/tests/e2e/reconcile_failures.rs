//! Reconciles that fail, panic or time out, and bursts of changes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::{FutureExt as _, StreamExt as _};
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Config, Controller, Reconcile};
use kube::runtime::watcher;
use serde_json::json;

use crate::test_env::{Requires, TestEnv, run};
use crate::widget::{Widget, widget};

/// Behaves as the name of the object says and records its calls.
#[derive(Clone, Default)]
struct ScriptedReconciler {
    /// Start times of the reconciles of each object.
    runs: Arc<Mutex<BTreeMap<String, Vec<Instant>>>>,
    /// Errors passed to `on_error`.
    errors: Arc<Mutex<Vec<String>>>,
}

impl ScriptedReconciler {
    fn starts(&self, name: &str) -> Vec<Instant> {
        self.runs.lock().expect("no holder panics").get(name).cloned().unwrap_or_default()
    }
}

impl Reconcile<Widget> for ScriptedReconciler {
    type Error = std::io::Error;

    async fn reconcile(&self, object: Arc<Widget>) -> Result<Action, Self::Error> {
        let name = object.name_any();
        let run = {
            let mut runs = self.runs.lock().expect("no holder panics");
            let runs = runs.entry(name.clone()).or_default();
            runs.push(Instant::now());
            runs.len()
        };
        match (name.as_str(), run) {
            ("fails", ..=5) => Err(std::io::Error::other("not yet")),
            ("panics", 1) => std::panic::resume_unwind(Box::new("for once")), // unlike `panic!`, prints nothing to stderr
            ("hangs", 1) => std::future::pending().await,
            ("again", ..=3) => Ok(Action::requeue(Duration::from_millis(200))),
            _ => Ok(Action::await_change()),
        }
    }

    async fn on_error(&self, object: Arc<Widget>, error: &Self::Error) -> Action {
        self.errors.lock().expect("no holder panics").push(format!("{}: {error}", object.name_any()));
        Action::retry()
    }
}

/// Creates these objects, runs a controller until `done`, and returns the errors of its output stream.
async fn run_controller(
    env: &TestEnv,
    names: &[&str],
    config: Config,
    reconciler: &ScriptedReconciler,
    done: impl Fn(&ScriptedReconciler) -> bool,
) -> anyhow::Result<Vec<String>> {
    for name in names {
        env.api::<Widget>().create(&PostParams::default(), &widget(name, 1)).await?;
    }
    let errors = Arc::new(Mutex::new(Vec::new()));
    let seen = errors.clone();
    let output = Controller::new(env.api::<Widget>(), watcher::Config::default())
        .with_config(config)
        .run_with(reconciler.clone());
    let running = tokio::spawn(output.for_each(move |item| {
        if let Err(error) = item {
            let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
            seen.lock().expect("no holder panics").push(format!("{error}: {cause}"));
        }
        std::future::ready(())
    }));
    let until_done = async {
        while !done(reconciler) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), until_done).await?;
    running.abort();
    Ok(errors.lock().expect("no holder panics").clone())
}

#[test]
fn failures_are_retried_with_backoff_and_passed_to_on_error() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let reconciler = ScriptedReconciler::default();
            let config = Config::default().backoff(Duration::from_millis(20), Duration::from_secs(10));
            run_controller(env, &["fails"], config, &reconciler, |reconciler| {
                reconciler.starts("fails").len() == 6
            })
            .await?;
            let starts = reconciler.starts("fails");
            for (wait, step) in starts.windows(2).map(|pair| pair[1] - pair[0]).zip([20, 40, 80, 160, 320]) {
                assert!(wait >= Duration::from_millis(step / 2), "{wait:?} after a step of {step} ms");
            }
            let errors = reconciler.errors.lock().expect("no holder panics").clone();
            assert_eq!(errors, ["fails: not yet"; 5]);
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_panic_or_a_timeout_fails_only_its_own_object() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let reconciler = ScriptedReconciler::default();
            let config = Config::default().timeout(Duration::from_millis(500));
            let done = |reconciler: &ScriptedReconciler| {
                ["panics", "hangs"].iter().all(|name| reconciler.starts(name).len() == 2)
                    && reconciler.starts("fine").len() == 1
            };
            let mut errors =
                run_controller(env, &["panics", "hangs", "fine"], config, &reconciler, done).await?;
            errors.sort();
            assert_eq!(errors.len(), 2, "{errors:?}");
            assert!(
                errors[0].contains("hangs") && errors[0].ends_with("timed out after 500ms and was cancelled")
            );
            assert!(errors[1].contains("panics") && errors[1].ends_with("panicked: for once"), "{errors:?}");
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_requeue_runs_after_its_delay() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let reconciler = ScriptedReconciler::default();
            let done = |reconciler: &ScriptedReconciler| reconciler.starts("again").len() == 4;
            run_controller(env, &["again"], Config::default(), &reconciler, done).await?;
            for pair in reconciler.starts("again").windows(2) {
                assert!(pair[1] - pair[0] >= Duration::from_millis(200));
            }
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn debounce_merges_a_burst_of_changes_into_one_reconcile() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let reconciler = ScriptedReconciler::default();
            let api = env.api::<Widget>();
            let output = Controller::new(api.clone(), watcher::Config::default())
                .with_config(Config::default().debounce(Duration::from_secs(2)))
                .run_with(reconciler.clone());
            let running = tokio::spawn(output.for_each(|_| std::future::ready(())));
            api.create(&PostParams::default(), &widget("busy", 0)).await?;
            for size in 1..=10 {
                let patch = Patch::Merge(json!({ "spec": { "size": size } }));
                api.patch("busy", &PatchParams::default(), &patch).await?;
            }
            // An object created after the burst is reconciled after every reconcile that the burst triggers.
            api.create(&PostParams::default(), &widget("after", 0)).await?;
            while reconciler.starts("after").is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            assert_eq!(reconciler.starts("busy").len(), 1);
            running.abort();
            Ok(())
        }
        .boxed()
    })
}
