//! The genuine server of the table `genuine`: filled with ConfigMaps, ended with the table.

use std::path::Path;

use ::kube::api::{ObjectMeta, PostParams};
use ::kube::config::{KubeConfigOptions, Kubeconfig};
use ::kube::{Api, Client, Config};
use anyhow::Context;
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};

use crate::realapi::Cluster;
use crate::server::typed_config_map;
use crate::started::Server;

/// The namespace that is listed.
pub(crate) const LISTED: &str = "bench-listed";
/// The namespace of further objects, which only the watch delivers.
const OTHERS: &str = "bench-others";

/// A genuine API server, which ends when this is dropped.
pub(crate) struct GenuineServer(Cluster);

impl GenuineServer {
    /// Starts the server with `listed` ConfigMaps in [`LISTED`], and `all` in all namespaces.
    pub(crate) fn start(listed: usize, all: usize) -> anyhow::Result<Self> {
        let cluster = Cluster::up(&[])?;
        eprintln!("creating {all} ConfigMaps");
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(async {
            let client = client(cluster.kubeconfig()).await?;
            for name in [LISTED, OTHERS] {
                let namespace = Namespace {
                    metadata: ObjectMeta { name: Some(name.into()), ..<_>::default() },
                    ..<_>::default()
                };
                Api::all(client.clone()).create(&PostParams::default(), &namespace).await?;
            }
            create(&client, "default", 1, typed_config_map).await?;
            create(&client, LISTED, listed, typed_config_map).await?;
            create(&client, OTHERS, all.saturating_sub(listed), typed_config_map).await
        })?;
        Ok(Self(cluster))
    }
}

impl Server for GenuineServer {
    fn kubeconfig(&self) -> &Path {
        self.0.kubeconfig()
    }
}

pub(crate) async fn client(kubeconfig: &Path) -> anyhow::Result<Client> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

/// Creates `count` ConfigMaps, each made from its number.
pub(crate) async fn create(
    client: &Client,
    namespace: &str,
    count: usize,
    object: impl Fn(usize) -> ConfigMap,
) -> anyhow::Result<()> {
    let api: &Api<ConfigMap> = &Api::namespaced(client.clone(), namespace);
    let created = stream::iter((0..count).map(object)).map(async |mut object| {
        object.metadata.namespace = Some(namespace.to_owned());
        object.metadata.resource_version = None;
        api.create(&PostParams::default(), &object).await.map(drop)
    });
    created.buffer_unordered(32).try_collect::<()>().await.context("cannot fill the server")
}
