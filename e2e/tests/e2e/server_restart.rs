//! A genuine server that restarts: temporary 429 responses, and 410 for watch history that is lost.
//!
//! `KUBE_E2E_RESTART` is a command that restarts the server; `cargo xtask e2e-restart` sets it. No other test may use the server at the
//! same time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use futures::{FutureExt as _, StreamExt as _, pin_mut};
use kube::api::{ListParams, Patch, PatchParams, PostParams, VersionMatch, WatchEvent, WatchParams};
use kube::{Api, Client, Config, Error, ResourceExt as _};
use serde_json::json;

use crate::test_env::{Requires, TestEnv, rejection, run, skip};
use crate::widget::{Widget, widget};

#[test]
fn a_restarting_server_returns_429_and_compacted_history_410() -> anyhow::Result<()> {
    let Ok(command) = std::env::var("KUBE_E2E_RESTART") else {
        return skip("KUBE_E2E_RESTART names no command that restarts the server");
    };
    run(Requires::StreamingLists, |env| {
        async move {
            let api = env.api::<Widget>();
            let first = api.create(&PostParams::default(), &widget("a", 1)).await?;
            for name in ["b", "c"] {
                api.create(&PostParams::default(), &widget(name, 1)).await?;
            }
            let page = api.list(&ListParams::default().limit(1)).await?;
            let token = page.metadata.continue_.context("a first page has a continue token")?;
            // A restarted server starts its watch cache at the newest version: this write makes the version of the page older than that.
            api.create(&PostParams::default(), &widget("d", 1)).await?;

            // The server returns 429 only in the short time between listening and being initialized.
            let mut without_retries = Outcomes::default();
            for _ in 0..5 {
                let with_retries = restart_under_load(env, &command, &mut without_retries).await?;
                assert!(!with_retries.errors.contains_key(&429), "{with_retries:?}");
                if without_retries.errors.contains_key(&429) {
                    break;
                }
            }
            println!("without retries: {without_retries:?}");
            let status = without_retries.errors.remove(&429).context("no 429 response in five restarts")?;
            assert_eq!(status.reason, "TooManyRequests");
            assert!(status.details.is_some_and(|details| details.retry_after_seconds > 0));
            // Any other error during the restart is temporary as well.
            assert!(
                without_retries.errors.keys().all(|code| matches!(code, 403 | 404 | 500 | 503)),
                "{without_retries:?}"
            );

            let old = first.resource_version().unwrap_or_default();
            let events = api.watch(&WatchParams::default(), &old).await?;
            pin_mut!(events);
            match events.next().await {
                Some(Ok(WatchEvent::Error(status))) => {
                    assert_eq!((status.code, status.reason.as_str()), (410, "Expired"))
                }
                other => anyhow::bail!("expected an error event, got {other:?}"),
            }
            // After an etcd compaction, lists fail with 410 as the HTTP status.
            restart(format!("{command} --etcd-compaction-interval=2s")).await?;
            let status =
                list_until_expired(&api, &ListParams::default().limit(1).continue_token(&token)).await?;
            assert_eq!(status.reason, "Expired");
            let exact = ListParams::default().at(&old).matching(VersionMatch::Exact);
            assert_eq!(list_until_expired(&api, &exact).await?.code, 410);
            Ok(())
        }
        .boxed()
    })
}

/// What a client sees: the first error response of each code, and the number of successes and of requests without a response.
#[derive(Debug, Default)]
struct Outcomes {
    errors: BTreeMap<u16, kube::core::Status>,
    successes: u32,
    without_response: u32,
}

impl Outcomes {
    /// Repeats a request until the server is back and the request succeeds.
    async fn collect(&mut self, api: &Api<Widget>, is_back: &AtomicBool) {
        // A watch is served from the watch cache, which is empty after a restart; a list would be served from etcd.
        let params = WatchParams::default().timeout(1);
        loop {
            let restarted = is_back.load(Ordering::SeqCst);
            let response = api.watch(&params, "0").await;
            let succeeded = response.is_ok();
            self.record(response);
            if restarted && succeeded {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    fn record<T>(&mut self, outcome: kube::Result<T>) {
        match outcome {
            Ok(_) => self.successes += 1,
            Err(Error::Api(status)) => {
                self.errors.entry(status.code).or_insert(*status);
            }
            Err(_) => self.without_response += 1,
        }
    }
}

/// Restarts the server and adds what a client without retries sees to `without_retries`. Returns what a default client sees.
async fn restart_under_load(
    env: &TestEnv,
    command: &str,
    without_retries: &mut Outcomes,
) -> anyhow::Result<Outcomes> {
    let mut config = Config::infer().await?;
    config.default_retry = false;
    let api_without_retries: Api<Widget> = Api::namespaced(Client::try_from(config)?, &env.namespace);
    let api = env.api::<Widget>();
    let mut with_retries = Outcomes::default();
    let is_back = AtomicBool::new(false);
    let restarted = async {
        restart(command.to_owned()).await?;
        is_back.store(true, Ordering::SeqCst);
        anyhow::Ok(())
    };
    let (restarted, (), ()) = tokio::join!(
        restarted,
        without_retries.collect(&api_without_retries, &is_back),
        with_retries.collect(&api, &is_back)
    );
    restarted?;
    Ok(with_retries)
}

async fn restart(command: String) -> anyhow::Result<()> {
    let status = tokio::process::Command::new("sh").arg("-c").arg(&command).status().await?;
    anyhow::ensure!(status.success(), "{command}: {status}");
    Ok(())
}

/// Writes until etcd has compacted the version of the list, and returns the error of the list.
async fn list_until_expired(api: &Api<Widget>, params: &ListParams) -> anyhow::Result<kube::core::Status> {
    for size in 10..60 {
        let patch = Patch::Merge(json!({ "spec": { "size": size } }));
        api.patch("a", &PatchParams::default(), &patch).await?;
        let listed = api.list(params).await;
        if listed.is_err() {
            return rejection(listed);
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    anyhow::bail!("the list still succeeds after 15 s")
}
