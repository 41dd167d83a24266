//! Where the story runs: a server inside this process, or the cluster of the current kubeconfig.

use std::path::PathBuf;

use anyhow::Context as _;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use kube_testserver::TestServer;

use crate::Options;

/// A server to talk to, and what to know of it.
pub struct Cluster {
    pub client: Client,
    /// How this place is called in the story.
    pub name: String,
    /// The kubeconfig written for kubectl, where there is one to write.
    pub kubeconfig: Option<PathBuf>,
    server: Option<TestServer>,
}

impl Cluster {
    /// Starts the embedded server, or reaches the cluster of the current kubeconfig.
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
        let name = format!("the embedded API server at {}", server.url());
        Ok(Self { client: Client::try_from(config)?, name, kubeconfig: Some(path), server: Some(server) })
    }

    async fn current() -> anyhow::Result<Self> {
        let config = Config::infer().await.context(
            "no cluster is configured: set KUBECONFIG or make ~/.kube/config, or leave out --cluster to use the embedded server",
        )?;
        let url = config.cluster_url.clone();
        let client = Client::try_from(config)?;
        let version = client.apiserver_version().await.with_context(|| {
            format!("cannot reach the cluster at {url}: start it or choose another context, or leave out --cluster to use the embedded server")
        })?;
        let name = format!("the cluster at {url} ({})", version.git_version);
        Ok(Self { client, name, kubeconfig: None, server: None })
    }

    /// Whether the server serves core kinds such as ConfigMap; one that serves custom resources alone does not.
    pub async fn has_core_kinds(&self) -> anyhow::Result<bool> {
        match self.client.list_core_api_resources("v1").await {
            Ok(list) => Ok(list.resources.iter().any(|resource| resource.name == "configmaps")),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
            Err(error) => Err(error).context("cannot ask the server which kinds it serves"),
        }
    }

    /// Ends the embedded server and removes its kubeconfig; a cluster is left as it is.
    pub async fn close(self) {
        if let Some(server) = self.server {
            server.shutdown().await;
        }
        if let Some(path) = self.kubeconfig {
            // A leftover file in the temporary folder is no reason to fail at the very end.
            let _ = std::fs::remove_file(path);
        }
    }
}
