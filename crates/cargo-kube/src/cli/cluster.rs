//! The definitions of a cluster.

use anyhow::{Context as _, Result};
use cargo_kube::types::Definitions;
use futures::TryStreamExt as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_client::api::ListParams;
use kube_client::config::KubeConfigOptions;
use kube_client::{Api, Client, Config};

/// Definitions can have a megabyte each.
const PAGE: u32 = 50;

/// All definitions of the cluster of the current kubeconfig, or of another context of it.
pub(super) fn definitions(context: Option<&str>) -> Result<Definitions> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let config = match context {
            None => Config::infer().await.context("no configuration of a cluster")?,
            Some(name) => {
                let options =
                    KubeConfigOptions { context: Some(name.to_owned()), ..KubeConfigOptions::default() };
                Config::from_kubeconfig(&options).await.with_context(|| format!("context {name}"))?
            }
        };
        let crds: Api<CustomResourceDefinition> = Api::all(Client::try_from(config)?);
        let pages: Vec<_> = crds
            .pages(&ListParams::default().limit(PAGE))
            .try_collect()
            .await
            .context("the definitions of the cluster")?;
        Ok(Definitions::from_crds(pages.into_iter().flatten())?)
    })
}
