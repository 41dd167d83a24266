//! The genuine server of the table `genuine`: started by `realapi`, filled with ConfigMaps, ended with the table.

use std::path::{Path, PathBuf};
use std::process::Command;

use ::kube::api::{ObjectMeta, PostParams};
use ::kube::config::{KubeConfigOptions, Kubeconfig};
use ::kube::{Api, Client, Config};
use anyhow::{Context, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};

use crate::config_map::config_map;
use crate::started::Server;

/// The namespace that is listed.
pub(crate) const LISTED: &str = "bench-listed";
/// The namespace of further objects, which only the watch delivers.
const OTHERS: &str = "bench-others";

/// What `realapi` calls the cluster: Kubernetes 1.37 with its controllers, TLS and RBAC.
const CLUSTER: &str = "v1.37";

/// A genuine API server, which ends when this is dropped.
pub(crate) struct GenuineServer {
    kubeconfig: PathBuf,
}

/// Fails if there is no program that starts the server.
pub(crate) fn check() -> anyhow::Result<()> {
    let program = realapi();
    ensure!(
        program.is_file(),
        "the table genuine needs the script `realapi`, which starts a genuine kube-apiserver {CLUSTER} on loopback, and there is no {}. \
         It is part of the project's shared folder, beside the repository; the variable REALAPI names another place. \
         REALAPI_PORT and REALAPI_HOME keep its server apart from others.",
        program.display()
    );
    Ok(())
}

impl GenuineServer {
    /// Starts the server with `listed` ConfigMaps in [`LISTED`], and `all` in all namespaces.
    pub(crate) fn start(listed: usize, all: usize) -> anyhow::Result<Self> {
        check()?;
        eprintln!("starting kube-apiserver {CLUSTER}, then creating {all} ConfigMaps");
        let output = Command::new(realapi()).args(["up", CLUSTER]).output();
        let output = output.with_context(|| realapi().display().to_string())?;
        let message = String::from_utf8_lossy(&output.stderr);
        // A server that was up before belongs to somebody else.
        ensure!(!message.contains("already up"), "{}", message.trim());
        // From here on the server is ended, also when this function fails.
        let server = Self { kubeconfig: String::from_utf8(output.stdout)?.trim().into() };
        ensure!(output.status.success(), "`realapi up {CLUSTER}` failed: {}", message.trim());
        tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(fill(
            &server.kubeconfig,
            listed,
            all,
        ))?;
        Ok(server)
    }
}

impl Server for GenuineServer {
    fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }
}

impl Drop for GenuineServer {
    fn drop(&mut self) {
        let down = Command::new(realapi()).args(["down", CLUSTER]).status();
        if !down.is_ok_and(|status| status.success()) {
            eprintln!("`{} down {CLUSTER}` failed: the server may still run", realapi().display());
        }
    }
}

/// `REALAPI`, or the place beside the repository.
fn realapi() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/realapi/realapi");
    std::env::var_os("REALAPI").map_or_else(beside, PathBuf::from)
}

async fn fill(kubeconfig: &Path, listed: usize, all: usize) -> anyhow::Result<()> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let client = Client::try_from(config)?;
    for name in [LISTED, OTHERS] {
        let namespace = Namespace {
            metadata: ObjectMeta { name: Some(name.into()), ..<_>::default() },
            ..<_>::default()
        };
        Api::all(client.clone()).create(&PostParams::default(), &namespace).await?;
    }
    create(&client, "default", 1).await?;
    create(&client, LISTED, listed).await?;
    create(&client, OTHERS, all.saturating_sub(listed)).await
}

async fn create(client: &Client, namespace: &str, count: usize) -> anyhow::Result<()> {
    let api: &Api<ConfigMap> = &Api::namespaced(client.clone(), namespace);
    let created = stream::iter(0..count).map(async |index| {
        let mut object = config_map(index);
        object.metadata.namespace = Some(namespace.to_owned());
        object.metadata.resource_version = None;
        api.create(&PostParams::default(), &object).await.map(drop)
    });
    created.buffer_unordered(32).try_collect::<()>().await.context("cannot fill the server")
}
