//! The cluster of the current kubeconfig, and its definitions.

use anyhow::{Context as _, Result};
use cargo_kube::types::Definitions;
use futures::TryStreamExt as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_client::api::ListParams;
use kube_client::config::KubeConfigOptions;
use kube_client::{Api, Client, Config};

use super::runtime;

/// Definitions can have a megabyte each.
const PAGE: u32 = 50;

/// A client of the cluster of the current kubeconfig, or of another context of it.
pub(super) async fn client(context: Option<&str>) -> Result<Client> {
    let config = match context {
        None => Config::infer().await?,
        Some(name) => {
            let options =
                KubeConfigOptions { context: Some(name.to_owned()), ..KubeConfigOptions::default() };
            Config::from_kubeconfig(&options).await.with_context(|| format!("context {name}"))?
        }
    };
    Ok(Client::try_from(config)?)
}

/// All definitions of the cluster of the current kubeconfig, or of another context of it.
pub(super) fn all_definitions(context: Option<&str>) -> Result<Definitions> {
    runtime::run(async { definitions(client(context).await?).await })
}

/// All definitions of the cluster of a client.
async fn definitions(client: Client) -> Result<Definitions> {
    let crds: Api<CustomResourceDefinition> = Api::all(client);
    let pages: Vec<_> = crds
        .pages(&ListParams::default().limit(PAGE))
        .try_collect()
        .await
        .context("the definitions of the cluster")?;
    Ok(Definitions::from_crds(pages.into_iter().flatten())?)
}
