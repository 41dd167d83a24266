//! The measured program. It is compiled twice, once against each library, so that both run the same code.
//!
//! `control` changes what the server does. `get`, `list` and `watch` are single requests, `genuine` those to a genuine server; `reflector`,
//! `cache` and `compact` fill stores; `dispatch`, `applier`, `tenants`, `growth` and `relist` are controllers, which `running` starts with
//! the `reconciler`.

mod applier;
mod cache;
mod compact;
mod control;
mod dispatch;
mod genuine;
mod get;
mod growth;
mod list;
mod reconciler;
mod reflector;
mod relist;
mod running;
mod tenants;
mod watch;

pub(crate) use cache::Cache;

use std::path::Path;

use anyhow::Context;

use super::kube::config::{KubeConfigOptions, Kubeconfig};
use super::kube::{Client, Config};
use crate::case::Case;
use crate::measure::Metrics;

/// Runs one case in this process, on a multi-threaded runtime like that of `#[tokio::main]`.
pub(crate) fn measure(case: Case, kubeconfig: &Path) -> anyhow::Result<Metrics> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let config = config(kubeconfig).await?;
        let client = match case {
            Case::Get { one_connection: true, .. } => super::over_one_connection(config)?,
            _ => Client::try_from(config)?,
        };
        match case {
            Case::Get { in_flight, requests, .. } => get::measure(client, in_flight, requests).await,
            Case::List { count, pruned } => list::measure(client, count, pruned).await,
            Case::Watch { count, pruned } => watch::measure(client, count, pruned).await,
            Case::Reflector { count, pruned, streaming } => {
                reflector::measure(client, count, pruned, streaming).await
            }
            Case::Compact { count, streaming } => compact::measure(client, count, streaming).await,
            Case::Cache { count, kind } => compact::fill(client, count, kind).await,
            Case::Relist { count, reconciles } => relist::measure(client, count, reconciles).await,
            Case::Growth { count } => growth::measure(client, count).await,
            Case::Floor { .. } | Case::Build => anyhow::bail!("not a case of a library"),
            Case::Genuine(request) => genuine::measure(client, request).await,
            Case::Applier { count, work_ms } => applier::measure(count, work_ms).await,
            Case::Tenants { count } => tenants::measure(count).await,
            Case::Dispatch { count, work_ms } => dispatch::measure(client, count, work_ms).await,
        }
    })
}

async fn config(kubeconfig: &Path) -> anyhow::Result<Config> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).context("cannot read the kubeconfig")?;
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    config.default_namespace = "default".to_owned();
    Ok(config)
}
