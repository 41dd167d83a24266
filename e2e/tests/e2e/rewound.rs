//! A storage that is restored from a backup under a watcher.
//!
//! On a genuine server this needs somebody who can restore its etcd: `KUBE_E2E_STORAGE` names a program that is called
//! with `save`, and later with `restore`. `.ci/e2e-etcd-restore` brings one, and a server of its own.

use std::process::Command;
use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};
use kube::ResourceExt as _;
use kube::api::PostParams;
use kube::runtime::{WatchStreamExt as _, reflector, watcher};

use crate::widget::{Widget, widget};
use crate::world::{Need, World, run, skip};

/// The storage of the world's server, as it was.
enum Backup {
    Embedded(u64),
    Program(String),
}

async fn call(program: String, deed: &'static str) -> anyhow::Result<()> {
    let status = tokio::task::spawn_blocking(move || Command::new(program).arg(deed).status()).await??;
    anyhow::ensure!(status.success(), "KUBE_E2E_STORAGE {deed}: {status}");
    Ok(())
}

impl Backup {
    /// A backup of what there is now; `None` where nobody can make one.
    async fn of(world: &World) -> anyhow::Result<Option<Self>> {
        if let Some(server) = &world.server {
            return Ok(Some(Self::Embedded(server.api().resource_version())));
        }
        let Ok(program) = std::env::var("KUBE_E2E_STORAGE") else { return Ok(None) };
        call(program.clone(), "save").await?;
        Ok(Some(Self::Program(program)))
    }

    async fn restore(self, world: &World) -> anyhow::Result<()> {
        match (self, &world.server) {
            (Self::Embedded(version), Some(server)) => Ok(server.api().rewind(version)?),
            (Self::Embedded(_), None) => unreachable!("invariant: made by an embedded server"),
            (Self::Program(program), _) => call(program, "restore").await,
        }
    }
}

#[test]
fn is_noticed_though_nothing_happens() -> anyhow::Result<()> {
    run(Need::Nothing, |world| {
        async move {
            let api = world.api::<Widget>();
            api.create(&PostParams::default(), &widget("saved", 1)).await?;
            let Some(backup) = Backup::of(world).await? else {
                return skip("there is no KUBE_E2E_STORAGE to restore this server with");
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
            backup.restore(world).await?;
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
