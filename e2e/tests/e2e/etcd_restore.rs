//! An etcd that is restored from a backup while objects are watched.
//!
//! On a genuine server, `KUBE_E2E_STORAGE` names a program that is run with `save` and later with `restore`. `cargo xtask e2e-etcd-restore`
//! is such a program and starts a separate server.

use std::process::Command;
use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use kube::ResourceExt as _;
use kube::api::PostParams;
use kube::runtime::{WatchStreamExt as _, reflector, watcher};

use crate::test_env::{Requires, TestEnv, run, skip};
use crate::widget::{Widget, widget};

/// A backup of the server's storage.
enum Backup {
    Embedded(u64),
    Program(String),
}

async fn run_program(program: String, command: &'static str) -> anyhow::Result<()> {
    let status = tokio::task::spawn_blocking(move || Command::new(program).arg(command).status()).await??;
    anyhow::ensure!(status.success(), "KUBE_E2E_STORAGE {command}: {status}");
    Ok(())
}

impl Backup {
    /// A backup of the current state; `None` for a genuine server without `KUBE_E2E_STORAGE`.
    async fn save(env: &TestEnv) -> anyhow::Result<Option<Self>> {
        if let Some(server) = &env.server {
            return Ok(Some(Self::Embedded(server.api().resource_version())));
        }
        let Ok(program) = std::env::var("KUBE_E2E_STORAGE") else { return Ok(None) };
        run_program(program.clone(), "save").await?;
        Ok(Some(Self::Program(program)))
    }

    async fn restore(self, env: &TestEnv) -> anyhow::Result<()> {
        match (self, &env.server) {
            (Self::Embedded(version), Some(server)) => Ok(server.api().rewind(version)?),
            (Self::Embedded(_), None) => unreachable!("invariant: an embedded server made the backup"),
            (Self::Program(program), _) => run_program(program, "restore").await,
        }
    }
}

#[test]
fn a_watcher_detects_an_etcd_restore_without_new_events() -> anyhow::Result<()> {
    run(Requires::CustomResources, |env| {
        async move {
            let api = env.api::<Widget>();
            api.create(&PostParams::default(), &widget("saved", 1)).await?;
            let Some(backup) = Backup::save(env).await? else {
                return skip("KUBE_E2E_STORAGE is not set");
            };
            let (store, writer) = reflector::store::<Widget>();
            let stream = watcher(api.clone(), watcher::Config::default()).default_backoff().reflect(writer);
            let driver = tokio::spawn(stream.for_each(|event| async move {
                if let Err(error) = event {
                    println!("{:#}", anyhow::Error::from(error));
                }
            }));
            for size in 0..20 {
                api.create(&PostParams::default(), &widget(&format!("lost-{size}"), size)).await?;
            }
            let until = async |count: usize| {
                let reached = async {
                    while store.len() != count {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                    }
                };
                tokio::time::timeout(Duration::from_secs(40), reached).await
            };
            until(21).await?;
            backup.restore(env).await?;
            until(1).await?;
            assert_eq!(store.state()[0].name_any(), "saved");
            api.create(&PostParams::default(), &widget("new", 1)).await?;
            until(2).await?;
            driver.abort();
            Ok(())
        }
        .boxed()
    })
}
