//! The API server of the scenario: embedded, or the cluster of the current kubeconfig.

use std::path::PathBuf;

use anyhow::Context as _;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use kube_testserver::TestServer;

use crate::Options;

/// A client for the server, and what the scenario has to know about the server.
pub struct Cluster {
    pub client: Client,
    /// How the output refers to the server.
    pub description: String,
    /// A kubeconfig file for kubectl; only for the embedded server.
    pub kubeconfig: Option<PathBuf>,
    server: Option<TestServer>,
}

impl Cluster {
    /// Starts the embedded server, or connects to the cluster of the current kubeconfig.
    pub async fn open(options: &Options) -> anyhow::Result<Self> {
        if options.cluster { Self::current().await } else { Self::embedded().await }
    }

    async fn embedded() -> anyhow::Result<Self> {
        let server = TestServer::start().await.context("the embedded API server did not start")?;
        let text = server.kubeconfig();
        let path = std::env::temp_dir().join(format!("quickstart-{}.kubeconfig", std::process::id()));
        std::fs::write(&path, &text)
            .with_context(|| format!("cannot write the kubeconfig {}", path.display()))?;
        let config =
            Config::from_custom_kubeconfig(Kubeconfig::from_yaml(&text)?, &KubeConfigOptions::default())
                .await?;
        let description = format!("the embedded API server at {}", server.url());
        Ok(Self {
            client: Client::try_from(config)?,
            description,
            kubeconfig: Some(path),
            server: Some(server),
        })
    }

    async fn current() -> anyhow::Result<Self> {
        let config = Config::infer().await.context(
            "no cluster is configured: set KUBECONFIG or create ~/.kube/config, or leave out --cluster to use the embedded server",
        )?;
        let url = config.cluster_url.clone();
        let client = Client::try_from(config)?;
        let version = client.apiserver_version().await.with_context(|| {
            format!("cannot reach the cluster at {url}: start it or choose another context, or leave out --cluster to use the embedded server")
        })?;
        let description = format!("the cluster at {url} ({})", version.git_version);
        Ok(Self { client, description, kubeconfig: None, server: None })
    }

    /// Whether the server has core kinds such as ConfigMap. A plain apiextensions-apiserver has only custom resources.
    pub async fn has_core_kinds(&self) -> anyhow::Result<bool> {
        match self.client.list_core_api_resources("v1").await {
            Ok(list) => Ok(list.resources.iter().any(|resource| resource.name == "configmaps")),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error).context("cannot discover the kinds of the server"),
        }
    }

    /// Stops the embedded server and deletes its kubeconfig file.
    pub async fn close(self) {
        if let Some(server) = self.server {
            server.shutdown().await;
        }
        if let Some(path) = self.kubeconfig {
            // Ignored: a file left in the temporary folder does no harm.
            let _ = std::fs::remove_file(path);
        }
    }
}
