//! Reconciles that fail, panic, hang or come too often: what becomes of the object, and of the others.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::{FutureExt as _, StreamExt as _};
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Config, Controller, Reconcile};
use kube::runtime::watcher;
use serde_json::json;

use crate::widget::{Widget, widget};
use crate::world::{Need, World, run};

/// Does what the name of the object says, and keeps a diary.
#[derive(Clone, Default)]
struct Moody {
    runs: Arc<Mutex<BTreeMap<String, Vec<Instant>>>>,
    told: Arc<Mutex<Vec<String>>>,
}

impl Moody {
    fn times(&self, name: &str) -> Vec<Instant> {
        self.runs.lock().expect("no holder panics").get(name).cloned().unwrap_or_default()
    }
}

impl Reconcile<Widget> for Moody {
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
            ("panics", 1) => std::panic::resume_unwind(Box::new("for once")), // without a word on stderr
            ("hangs", 1) => std::future::pending().await,
            ("again", ..=3) => Ok(Action::requeue(Duration::from_millis(200))),
            _ => Ok(Action::await_change()),
        }
    }

    async fn on_error(&self, object: Arc<Widget>, error: &Self::Error) -> Action {
        self.told.lock().expect("no holder panics").push(format!("{}: {error}", object.name_any()));
        Action::retry()
    }
}

/// Runs a controller over these objects until `done`, and gives what its output said of failures.
async fn watch_over(
    world: &World,
    names: &[&str],
    config: Config,
    moody: &Moody,
    done: impl Fn(&Moody) -> bool,
) -> anyhow::Result<Vec<String>> {
    for name in names {
        world.api::<Widget>().create(&PostParams::default(), &widget(name, 1)).await?;
    }
    let said = Arc::new(Mutex::new(Vec::new()));
    let listener = said.clone();
    let output = Controller::new(world.api::<Widget>(), watcher::Config::default())
        .with_config(config)
        .run_with(moody.clone());
    let running = tokio::spawn(output.for_each(move |item| {
        if let Err(error) = item {
            let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
            listener.lock().expect("no holder panics").push(format!("{error}: {cause}"));
        }
        std::future::ready(())
    }));
    let reached = async {
        while !done(moody) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), reached).await?;
    running.abort();
    Ok(said.lock().expect("no holder panics").clone())
}

#[test]
fn failures_are_retried_later_and_later_and_told_to_the_reconciler() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let moody = Moody::default();
            let config = Config::default().backoff(Duration::from_millis(20), Duration::from_secs(10));
            watch_over(world, &["fails"], config, &moody, |moody| moody.times("fails").len() == 6).await?;
            let times = moody.times("fails");
            for (wait, step) in times.windows(2).map(|pair| pair[1] - pair[0]).zip([20, 40, 80, 160, 320]) {
                assert!(wait >= Duration::from_millis(step / 2), "{wait:?} after a step of {step} ms");
            }
            let told = moody.told.lock().expect("no holder panics").clone();
            assert_eq!(told, ["fails: not yet"; 5]);
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_panic_and_a_hang_are_errors_of_their_object_only() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let moody = Moody::default();
            let config = Config::default().timeout(Duration::from_millis(500));
            let done = |moody: &Moody| {
                ["panics", "hangs"].iter().all(|name| moody.times(name).len() == 2)
                    && moody.times("fine").len() == 1
            };
            let mut said = watch_over(world, &["panics", "hangs", "fine"], config, &moody, done).await?;
            said.sort();
            assert_eq!(said.len(), 2, "{said:?}");
            assert!(
                said[0].contains("hangs") && said[0].ends_with("was not done after 500ms: it was cancelled")
            );
            assert!(said[1].contains("panics") && said[1].ends_with("panicked: for once"), "{said:?}");
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn what_asks_for_another_run_gets_it_in_time() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let moody = Moody::default();
            let done = |moody: &Moody| moody.times("again").len() == 4;
            watch_over(world, &["again"], Config::default(), &moody, done).await?;
            for pair in moody.times("again").windows(2) {
                assert!(pair[1] - pair[0] >= Duration::from_millis(200));
            }
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_burst_of_changes_is_one_reconcile_with_debounce() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let moody = Moody::default();
            let api = world.api::<Widget>();
            let output = Controller::new(api.clone(), watcher::Config::default())
                .with_config(Config::default().debounce(Duration::from_secs(2)))
                .run_with(moody.clone());
            let running = tokio::spawn(output.for_each(|_| std::future::ready(())));
            api.create(&PostParams::default(), &widget("busy", 0)).await?;
            for size in 1..=10 {
                let patch = Patch::Merge(json!({ "spec": { "size": size } }));
                api.patch("busy", &PatchParams::default(), &patch).await?;
            }
            // What was asked for after the burst comes after all that the burst asks for.
            api.create(&PostParams::default(), &widget("after", 0)).await?;
            while moody.times("after").is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            assert_eq!(moody.times("busy").len(), 1);
            running.abort();
            Ok(())
        }
        .boxed()
    })
}
