//! The environment of a scenario: an embedded server, or a separate namespace on a genuine cluster.

use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, CustomResourceExt as _, crds};
use kube_testserver::TestServer;

use crate::widget::Widget;

/// After this a scenario counts as hung. The longest take half a minute on a genuine server with two cores to themselves.
const LIMIT: Duration = Duration::from_secs(180);

/// What a scenario requires of its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requires {
    /// Nothing beyond custom resources.
    CustomResources,
    /// Core kinds such as ConfigMap and Namespace.
    CoreKinds,
    /// `sendInitialEvents` on a watch (Kubernetes 1.32 and newer).
    StreamingLists,
    /// Controls that only the embedded server has, such as compacting its history on demand.
    EmbeddedServer,
}

/// A server with the CRD of the scenarios, and a namespace for one scenario.
pub struct TestEnv {
    pub client: Client,
    pub namespace: String,
    pub server: Option<TestServer>,
    core_kinds: bool,
    minor: u32,
}

/// Runs a scenario, or [skips](skip) it where the server does not meet `requires`.
pub fn run(
    requires: Requires,
    scenario: impl for<'e> FnOnce(&'e TestEnv) -> BoxFuture<'e, anyhow::Result<()>>,
) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(async {
        let env = TestEnv::open().await?;
        if !env.meets(requires) {
            return skip(&format!("the server lacks {requires:?}"));
        }
        env.register().await?;
        let outcome = tokio::time::timeout(LIMIT, scenario(&env)).await;
        env.close().await?;
        outcome.with_context(|| format!("the scenario took longer than {} s", LIMIT.as_secs()))?
    })
}

/// Ends a scenario that cannot run here. Rust's test runner counts it as passed, so a line is added to the file `KUBE_E2E_SKIPPED`, which
/// the jobs that run the suite print.
pub fn skip(reason: &str) -> anyhow::Result<()> {
    let name = std::thread::current().name().unwrap_or("a scenario").to_owned();
    println!("skipped: {name}: {reason}");
    if let Some(path) = std::env::var_os("KUBE_E2E_SKIPPED") {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
        // A single write, so that the lines of concurrent scenarios do not mix.
        file.write_all(format!("{name}: {reason}\n").as_bytes())?;
    }
    Ok(())
}

impl TestEnv {
    async fn open() -> anyhow::Result<Self> {
        let (client, server) = if std::env::var("KUBE_E2E").is_ok_and(|value| value == "cluster") {
            (
                Client::try_default()
                    .await
                    .context("KUBE_E2E=cluster is set, but KUBECONFIG has no usable cluster")?,
                None,
            )
        } else {
            let server = TestServer::builder().tls().start().await?;
            (embedded_client(&server).await?, Some(server))
        };
        let core_kinds = match client.list_core_api_resources("v1").await {
            Ok(list) => list.resources.iter().any(|resource| resource.name == "namespaces"),
            Err(error) if error.is_not_found() => false,
            Err(error) => return Err(error.into()),
        };
        let version = client.apiserver_version().await?;
        let minor = version.minor.trim_end_matches('+').parse().unwrap_or(0);
        let namespace = unique("e2e");
        if core_kinds {
            let object = Namespace {
                metadata: ObjectMeta { name: Some(namespace.clone()), ..ObjectMeta::default() },
                ..Namespace::default()
            };
            Api::all(client.clone()).create(&PostParams::default(), &object).await?;
        }
        Ok(Self { client, namespace, server, core_kinds, minor })
    }

    fn meets(&self, requires: Requires) -> bool {
        match requires {
            Requires::CustomResources => true,
            Requires::CoreKinds => self.core_kinds,
            Requires::StreamingLists => !self.older_than(32),
            Requires::EmbeddedServer => self.server.is_some(),
        }
    }

    /// Whether the server is older than Kubernetes 1.`minor`, for behaviour that changed in that version.
    pub fn older_than(&self, minor: u32) -> bool {
        self.minor < minor
    }

    /// Registers the CRD of the scenarios.
    async fn register(&self) -> anyhow::Result<()> {
        crds::install(&self.client, "e2e", [Widget::crd()]).await?;
        Ok(())
    }

    async fn close(self) -> anyhow::Result<()> {
        if self.core_kinds && self.server.is_none() {
            Api::<Namespace>::all(self.client.clone())
                .delete(&self.namespace, &DeleteParams::background())
                .await?;
        }
        if let Some(server) = self.server {
            server.shutdown().await;
        }
        Ok(())
    }

    /// The API of a kind in the namespace of this scenario.
    pub fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }
}

/// A client for an embedded server, configured by the kubeconfig of that server.
pub async fn embedded_client(server: &TestServer) -> anyhow::Result<Client> {
    let kubeconfig = Kubeconfig::from_yaml(&server.kubeconfig())?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

/// A unique name: concurrent scenarios and later runs may share a genuine server.
pub fn unique(prefix: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{prefix}-{}-{next}", std::process::id())
}

/// The status with which the server rejected a request. Fails if the request succeeded or there was no response.
pub fn rejection<T: std::fmt::Debug>(result: kube::Result<T>) -> anyhow::Result<kube::core::Status> {
    match result {
        Err(kube::Error::Api(status)) => Ok(*status),
        Err(other) => Err(other.into()),
        Ok(value) => anyhow::bail!("expected the server to reject the request, got {value:?}"),
    }
}
