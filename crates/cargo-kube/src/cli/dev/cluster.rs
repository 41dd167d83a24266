//! The embedded server of `cargo kube dev`: its kubeconfigs, and what it gets of the program's manifests.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube_client::api::{PatchParams, PostParams};
use kube_client::config::Kubeconfig;
use kube_client::{Api, Client, Config};
use kube_testserver::{BuiltInController, TestServer};
use kube_tools::yaml::{Applier, Objects, Report};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::deployed::Deployed;
use crate::cli::program::manifests;

const FIELD_MANAGER: &str = "cargo-kube-dev";
/// Longer than any session: ten years.
const TOKEN_SECONDS: i64 = 315_360_000;
/// Samples are refused until the webhooks of the operator are served.
const SAMPLES_LIMIT: Duration = Duration::from_secs(30);
const SAMPLES_PAUSE: Duration = Duration::from_millis(500);

/// The server and the files of this session.
pub(super) struct Cluster {
    server: TestServer,
    client: Client,
    /// Of this user alone; removed with this value.
    folder: TempDir,
}

impl Cluster {
    /// Starts the server: with RBAC, Deployments and simulated pods, without any object.
    pub(super) async fn start() -> Result<Self> {
        let server = TestServer::builder()
            .with(BuiltInController::Workloads)
            .with(BuiltInController::Kubelet)
            .with(BuiltInController::ServiceAccounts)
            .with_rbac()
            .tls()
            .start()
            .await
            .context("the embedded server")?;
        let folder = tempfile::Builder::new().prefix("cargo-kube-dev-").tempdir()?;
        let text = server.kubeconfig();
        let config = Config::try_from(Kubeconfig::from_yaml(&text)?)?;
        let cluster = Self { client: Client::try_from(config)?, server, folder };
        let path = cluster.kubeconfig();
        std::fs::write(&path, &text).with_context(|| path.display().to_string())?;
        Ok(cluster)
    }

    /// That of an administrator, for the user.
    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// That of the operator's ServiceAccount. Its namespace is that of the operator, as in a pod.
    pub(super) fn operator_kubeconfig(&self) -> PathBuf {
        self.folder.path().join("operator.kubeconfig")
    }

    pub(super) fn url(&self) -> String {
        self.server.url()
    }

    /// Gives the server the manifests of a program, and the program a kubeconfig.
    ///
    /// # Cancellation
    /// Objects may be applied in part; the next call applies all again.
    pub(super) async fn register(&self, executable: &Path) -> Result<(Deployed, Objects)> {
        let folder = tempfile::tempdir_in(self.folder.path())?;
        manifests(executable, folder.path()).await?;
        let deployed = Deployed::read(Objects::read(folder.path().join("install.yaml"))?.iter())?;
        let samples = folder.path().join("samples");
        let samples = if samples.exists() { Objects::read(samples)? } else { Objects::default() };
        let mut objects = Objects::default();
        for object in &deployed.objects {
            objects.add(object)?;
        }
        self.apply(&objects).await.into_result()?;
        self.write_operator_kubeconfig(&deployed).await?;
        Ok((deployed, samples))
    }

    async fn apply(&self, objects: &Objects) -> Report {
        let params = PatchParams::apply(FIELD_MANAGER).force();
        Applier::new(self.client.clone()).apply(objects, &params).await
    }

    async fn write_operator_kubeconfig(&self, deployed: &Deployed) -> Result<()> {
        let Deployed { namespace, account, .. } = deployed;
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), namespace);
        // As JSON: whether `spec` is optional depends on the version of k8s-openapi.
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": { "audiences": [], "expirationSeconds": TOKEN_SECONDS },
        });
        let answer: Value = accounts
            .create_subresource("token", account, &PostParams::default(), &request)
            .await
            .with_context(|| format!("a token of the ServiceAccount {account}"))?;
        let token = &answer["status"]["token"];
        let mut config = serde_json::to_value(Kubeconfig::from_yaml(&self.server.kubeconfig())?)?;
        config["users"] = json!([{ "name": account, "user": { "token": token } }]);
        config["contexts"] = json!([{
            "name": account,
            "context": { "cluster": config["clusters"][0]["name"], "user": account, "namespace": namespace },
        }]);
        config["current-context"] = json!(account);
        let path = self.operator_kubeconfig();
        // JSON is YAML.
        std::fs::write(&path, config.to_string()).with_context(|| path.display().to_string())
    }

    /// Creates these objects, as soon as the webhooks of the operator accept them. Returns a line for each.
    ///
    /// # Errors
    /// Some were refused until the limit.
    ///
    /// # Cancellation
    /// Some may be there.
    pub(super) async fn apply_samples(&self, samples: &Objects) -> Result<String> {
        let until = tokio::time::Instant::now() + SAMPLES_LIMIT;
        loop {
            let report = self.apply(samples).await;
            if report.failed().next().is_none() || tokio::time::Instant::now() >= until {
                let text = report.to_string();
                report.into_result().context("the samples")?;
                return Ok(text);
            }
            tokio::time::sleep(SAMPLES_PAUSE).await;
        }
    }

    /// Ends the server and removes the files.
    pub(super) async fn stop(self) -> Result<()> {
        self.server.shutdown().await;
        self.folder.close().context("the files of this session")
    }
}
