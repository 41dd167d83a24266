//! The measured program. It is compiled twice, over each side's `kube`, so that both run the same lines.

mod dispatch;
mod get;
mod list;
mod reflector;
mod watch;

use std::path::Path;

use anyhow::Context;

use super::kube::config::{KubeConfigOptions, Kubeconfig};
use super::kube::{Client, Config};
use crate::case::Case;
use crate::measure::Figures;

/// Runs one case in this process, on a runtime as `#[tokio::main]` makes it.
pub(crate) fn measure(case: Case, kubeconfig: &Path) -> anyhow::Result<Figures> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let config = config(kubeconfig).await?;
        let client = match case {
            Case::Get { alone: true, .. } => super::over_one_connection(config)?,
            _ => Client::try_from(config)?,
        };
        match case {
            Case::Get { in_flight, requests, .. } => get::measure(client, in_flight, requests).await,
            Case::List { count, lean } => list::measure(client, count, lean).await,
            Case::Watch { count } => watch::measure(client, count).await,
            Case::Reflector { count, lean } => reflector::measure(client, count, lean).await,
            Case::Dispatch { count, work_ms } => dispatch::measure(client, count, work_ms).await,
        }
    })
}

async fn config(kubeconfig: &Path) -> anyhow::Result<Config> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).context("the kubeconfig")?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.default_namespace = "default".to_owned();
    Ok(config)
}
