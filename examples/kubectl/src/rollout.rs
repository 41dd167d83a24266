//! `rollout` and `wait`.

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use futures::TryStreamExt as _;
use jiff::SignedDuration;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use kube::ready::ReadyState;
use kube::wait::WaitFor;
use kube::{Api, ApiExt};

use crate::Cluster;
use crate::resources::singular;

#[derive(Subcommand)]
pub(crate) enum Rollout {
    /// Shows the rollout of TYPE/NAME until it is done.
    Status {
        object: String,
        #[arg(long, default_value = "1h")]
        timeout: SignedDuration,
    },
    /// Replaces all pods of TYPE/NAME.
    Restart { object: String },
}

impl Rollout {
    pub(crate) async fn run(self, cluster: &Cluster) -> anyhow::Result<()> {
        match self {
            Self::Status { object, timeout } => {
                let status = status(cluster, &object);
                tokio::time::timeout(timeout.unsigned_abs(), status).await.context("timed out")?
            }
            Self::Restart { object } => restart(cluster, &object).await,
        }
    }
}

async fn status(cluster: &Cluster, object: &str) -> anyhow::Result<()> {
    let (mapping, name) = cluster.select_one(object).await?;
    let mut progress = std::pin::pin!(cluster.api(&mapping, false).watch_readiness(&name));
    while let Some(readiness) = progress.try_next().await? {
        println!("{readiness}");
        if !matches!(readiness.state, ReadyState::Ready | ReadyState::InProgress) {
            bail!("the rollout has failed");
        }
    }
    Ok(())
}

async fn restart(cluster: &Cluster, object: &str) -> anyhow::Result<()> {
    let (mapping, name) = cluster.select_one(object).await?;
    let (client, namespace) = (cluster.client.clone(), &cluster.namespace);
    match mapping.resource.kind.as_str() {
        "Deployment" => _ = Api::<Deployment>::namespaced(client, namespace).restart(&name).await?,
        "DaemonSet" => _ = Api::<DaemonSet>::namespaced(client, namespace).restart(&name).await?,
        "StatefulSet" => _ = Api::<StatefulSet>::namespaced(client, namespace).restart(&name).await?,
        kind => bail!("{kind}: expected a Deployment, a DaemonSet or a StatefulSet"),
    }
    println!("{}/{name} restarted", singular(&mapping));
    Ok(())
}

#[derive(Args)]
pub(crate) struct Wait {
    /// TYPE NAME... or TYPE/NAME...
    #[arg(required = true)]
    objects: Vec<String>,
    /// `condition=TYPE[=STATUS]`, `jsonpath={PATH}[=VALUE]`, `create` or `delete`.
    #[arg(long = "for")]
    condition: WaitFor,
    #[arg(long, default_value = "30s")]
    timeout: SignedDuration,
}

impl Wait {
    pub(crate) async fn run(self, cluster: &Cluster) -> anyhow::Result<()> {
        for selected in cluster.select(&self.objects).await? {
            let (name, api) = (selected.name()?, cluster.api(&selected.mapping, false));
            api.wait_for(name, &self.condition, self.timeout.unsigned_abs()).await?;
            println!("{}/{name} condition met", singular(&selected.mapping));
        }
        Ok(())
    }
}
