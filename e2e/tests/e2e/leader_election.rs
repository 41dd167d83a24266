//! Leader election: candidates on one Lease take turns, also with a candidate of client-go.

use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use futures::FutureExt as _;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Patch, PatchParams};
use kube::runtime::leader_election::{Config, LeaderElector, State};
use serde_json::json;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

use crate::test_env::{Requires, TestEnv, run, skip};

/// A genuine server under load may take seconds to respond.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The default durations, with shorter retries.
fn config(env: &TestEnv) -> Config {
    Config::new("operator", &env.namespace).retry_period(Duration::from_millis(200))
}

async fn lease(env: &TestEnv) -> anyhow::Result<Lease> {
    Ok(env.api::<Lease>().get("operator").await?)
}

async fn holder(env: &TestEnv) -> anyhow::Result<Option<String>> {
    let lease = env.api::<Lease>().get_opt("operator").await?;
    Ok(lease.and_then(|lease| lease.spec?.holder_identity))
}

#[test]
fn candidates_lead_one_after_the_other() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let first = LeaderElector::start(env.client.clone(), config(env).identity("first"))?;
            first.wait_for_leadership().await?;
            assert!(first.is_leader());
            let spec = lease(env).await?.spec.context("a spec")?;
            assert_eq!(spec.holder_identity.as_deref(), Some("first"));
            assert_eq!((spec.lease_duration_seconds, spec.lease_transitions), (Some(15), Some(0)));

            let second = LeaderElector::start(env.client.clone(), config(env).identity("second"))?;
            let standby = State::Standby { holder: Some("first".into()) };
            assert_eq!(second.changed(&State::Standby { holder: None }).await, standby);
            let lost = first.lost_leadership();
            assert!(lost.now_or_never().is_none());

            timeout(TIMEOUT, async {
                while lease(env).await?.spec.and_then(|now| now.renew_time) == spec.renew_time {
                    sleep(Duration::from_millis(50)).await;
                }
                anyhow::Ok(())
            })
            .await
            .context("the leader does not renew")??;
            assert!(first.is_leader() && !second.is_leader());

            first.release().await;
            assert_eq!(first.state(), State::Stopped);
            assert!(first.wait_for_leadership().await.is_err());
            timeout(TIMEOUT, second.wait_for_leadership()).await??;
            let spec = lease(env).await?.spec.context("a spec")?;
            assert_eq!((spec.holder_identity.as_deref(), spec.lease_transitions), (Some("second"), Some(1)));
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn a_leader_whose_lease_is_taken_away_stops_leading() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let elector = LeaderElector::start(env.client.clone(), config(env).identity("mine"))?;
            elector.wait_for_leadership().await?;
            let lost = elector.lost_leadership();
            let patch = json!({"spec": {"holderIdentity": "other", "leaseDurationSeconds": 2}});
            env.api::<Lease>().patch("operator", &PatchParams::default(), &Patch::Merge(patch)).await?;
            timeout(TIMEOUT, lost).await?;
            assert!(!elector.is_leader());
            // The other one never renews.
            timeout(TIMEOUT, elector.wait_for_leadership()).await??;
            assert_eq!(holder(env).await?.as_deref(), Some("mine"));
            Ok(())
        }
        .boxed()
    })
}

#[test]
fn dropping_the_elector_gives_the_lease_up() -> anyhow::Result<()> {
    run(Requires::CoreKinds, |env| {
        async move {
            let elector = LeaderElector::start(env.client.clone(), config(env))?;
            elector.wait_for_leadership().await?;
            assert_eq!(holder(env).await?.as_deref(), Some(elector.identity()));
            drop(elector);
            timeout(TIMEOUT, async {
                while holder(env).await?.is_some() {
                    sleep(Duration::from_millis(20)).await;
                }
                anyhow::Ok(())
            })
            .await?
        }
        .boxed()
    })
}

/// An idle kube-controller-manager, which campaigns with client-go.
fn client_go(env: &TestEnv, realapi: &str) -> anyhow::Result<Child> {
    let mut command = Command::new(realapi);
    command.args(["elector", "core", &env.namespace, "operator"]);
    Ok(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true).spawn()?)
}

/// `cargo xtask e2e-genuine` sets the variable for the server that has a controller manager.
#[test]
fn a_candidate_of_client_go_and_ours_take_turns() -> anyhow::Result<()> {
    let Ok(realapi) = std::env::var("KUBE_E2E_REALAPI") else { return skip("KUBE_E2E_REALAPI is not set") };
    run(Requires::CoreKinds, |env| {
        async move {
            let mut go = client_go(env, &realapi)?;
            timeout(TIMEOUT, async {
                while holder(env).await?.is_none() {
                    sleep(Duration::from_millis(100)).await;
                }
                anyhow::Ok(())
            })
            .await
            .context("client-go does not lead")??;
            let go_identity = holder(env).await?;

            let elector = LeaderElector::start(env.client.clone(), Config::new("operator", &env.namespace))?;
            assert_eq!(
                elector.changed(&State::Standby { holder: None }).await,
                State::Standby { holder: go_identity }
            );
            go.kill().await?;
            let killed = Instant::now();
            timeout(TIMEOUT, elector.wait_for_leadership()).await.context("no take-over")??;
            assert!(killed.elapsed() > Duration::from_secs(10), "its Lease was not over");
            assert_eq!(lease(env).await?.spec.and_then(|spec| spec.lease_transitions), Some(1));

            let _go = client_go(env, &realapi)?;
            sleep(Duration::from_secs(6)).await;
            assert_eq!(holder(env).await?.as_deref(), Some(elector.identity()), "client-go waits");
            elector.release().await;
            timeout(TIMEOUT, async {
                while holder(env).await?.is_none_or(|holder| holder == elector.identity()) {
                    sleep(Duration::from_millis(100)).await;
                }
                anyhow::Ok(())
            })
            .await
            .context("client-go does not take over what was released")??;
            assert_eq!(lease(env).await?.spec.and_then(|spec| spec.lease_transitions), Some(2));
            Ok(())
        }
        .boxed()
    })
}
