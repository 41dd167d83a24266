//! What is seen of a genuine server that is restarted: refusals that pass, and history that is gone.
//!
//! `KUBE_E2E_BOUNCE` is a command that restarts the server, as `.ci/e2e-restart` sets it. Nobody else may use the server meanwhile.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use futures::{FutureExt as _, StreamExt as _, pin_mut};
use kube::api::{ListParams, Patch, PatchParams, PostParams, VersionMatch, WatchEvent, WatchParams};
use kube::{Api, Client, Config, Error, ResourceExt as _};
use serde_json::json;

use crate::widget::{Widget, widget};
use crate::world::{Need, World, answer, run, skip};

#[test]
fn a_restart_is_answered_with_429_and_forgotten_history_with_410() -> anyhow::Result<()> {
    let Ok(command) = std::env::var("KUBE_E2E_BOUNCE") else {
        return skip("KUBE_E2E_BOUNCE names no command that restarts the server");
    };
    run(Need::StreamingLists, |world| {
        async move {
            let api = world.api::<Widget>();
            let first = api.create(&PostParams::default(), &widget("a", 1)).await?;
            for name in ["b", "c"] {
                api.create(&PostParams::default(), &widget(name, 1)).await?;
            }
            let page = api.list(&ListParams::default().limit(1)).await?;
            let token = page.metadata.continue_.context("there are more than one")?;
            // What the server has in memory after a restart it never takes for gone, and that would include the page.
            api.create(&PostParams::default(), &widget("d", 1)).await?;

            // The moment between "listening" and "initialised" is short.
            let mut bare = Seen::default();
            for _ in 0..5 {
                println!("restarting");
                let usual = while_restarting(world, &command, &mut bare).await?;
                assert!(!usual.codes.contains_key(&429), "{usual:?}");
                if bare.codes.contains_key(&429) {
                    break;
                }
            }
            println!("without repetitions: {bare:?}");
            let status = bare.codes.remove(&429).context("no answer 429 in five restarts")?;
            assert_eq!(status.reason, "TooManyRequests");
            assert!(status.details.is_some_and(|details| details.retry_after_seconds > 0));
            // All else that comes meanwhile passes, too.
            assert!(bare.codes.keys().all(|code| matches!(code, 403 | 404 | 500 | 503)), "{bare:?}");

            let old = first.resource_version().unwrap_or_default();
            let events = api.watch(&WatchParams::default(), &old).await?;
            pin_mut!(events);
            match events.next().await {
                Some(Ok(WatchEvent::Error(status))) => {
                    assert_eq!((status.code, status.reason.as_str()), (410, "Expired"))
                }
                other => anyhow::bail!("expected an error event, got {other:?}"),
            }
            // And as HTTP status, once etcd has thrown the history away.
            restart(format!("{command} --etcd-compaction-interval=2s")).await?;
            let gone = expired(&api, &ListParams::default().limit(1).continue_token(&token)).await?;
            assert_eq!(gone.reason, "Expired");
            let exact = ListParams::default().at(&old).matching(VersionMatch::Exact);
            assert_eq!(expired(&api, &exact).await?.code, 410);
            Ok(())
        }
        .boxed()
    })
}

/// Answers by code, one of each, and how often there was success or no answer.
#[derive(Debug, Default)]
struct Seen {
    codes: BTreeMap<u16, kube::core::Status>,
    fine: u32,
    silent: u32,
}

impl Seen {
    /// Asks again and again until the server is back and answers.
    async fn fill(&mut self, api: &Api<Widget>, is_back: &AtomicBool) {
        // A watch is answered from memory, which has to be filled first; a list would be answered by etcd meanwhile.
        let params = WatchParams::default().timeout(1);
        loop {
            let ends = is_back.load(Ordering::SeqCst);
            let answer = api.watch(&params, "0").await;
            let is_fine = answer.is_ok();
            self.note(answer);
            if ends && is_fine {
                return;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    fn note<T>(&mut self, outcome: kube::Result<T>) {
        match outcome {
            Ok(_) => self.fine += 1,
            Err(Error::Api(status)) => {
                self.codes.entry(status.code).or_insert(*status);
            }
            Err(_) => self.silent += 1,
        }
    }
}

/// Restarts the server; what a client without repetitions sees goes into `bare`, what the usual one sees comes back.
async fn while_restarting(world: &World, command: &str, bare: &mut Seen) -> anyhow::Result<Seen> {
    let mut config = Config::infer().await?;
    config.default_retry = false;
    let impatient: Api<Widget> = Api::namespaced(Client::try_from(config)?, &world.namespace);
    let patient = world.api::<Widget>();
    let mut usual = Seen::default();
    let is_back = AtomicBool::new(false);
    let restarted = async {
        restart(command.to_owned()).await?;
        is_back.store(true, Ordering::SeqCst);
        anyhow::Ok(())
    };
    let (done, (), ()) =
        tokio::join!(restarted, bare.fill(&impatient, &is_back), usual.fill(&patient, &is_back));
    done?;
    Ok(usual)
}

async fn restart(command: String) -> anyhow::Result<()> {
    let status = tokio::process::Command::new("sh").arg("-c").arg(&command).status().await?;
    anyhow::ensure!(status.success(), "{command}: {status}");
    Ok(())
}

/// Writes until a list is refused because its version is gone.
async fn expired(api: &Api<Widget>, params: &ListParams) -> anyhow::Result<kube::core::Status> {
    for size in 10..60 {
        let patch = Patch::Merge(json!({ "spec": { "size": size } }));
        api.patch("a", &PatchParams::default(), &patch).await?;
        let listed = api.list(params).await;
        if listed.is_err() {
            return answer(listed);
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    anyhow::bail!("still listed after 15 s")
}
