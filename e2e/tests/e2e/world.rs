//! Where a scenario runs: a server of its own inside the process, or a namespace of its own on a genuine cluster.

use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::runtime::{conditions, wait::await_condition};
use kube::{Api, Client, Config, CustomResourceExt as _};
use kube_testserver::TestServer;

use crate::widget::Widget;

/// What a scenario needs of its server beyond custom resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Custom resources are enough.
    Nothing,
    /// Kinds such as ConfigMap and Namespace.
    CoreKinds,
    /// `sendInitialEvents` on a watch (Kubernetes 1.32 and newer).
    StreamingLists,
    /// A switch that only the embedded server has, such as forgetting its history on demand.
    Embedded,
}

/// A server with the scenarios' CRD registered, and a namespace to work in.
pub struct World {
    pub client: Client,
    pub namespace: String,
    pub server: Option<TestServer>,
    core_kinds: bool,
    minor: u32,
}

/// Runs one scenario where its need is met; elsewhere it is [skipped](skip).
pub fn run(
    need: Need,
    scenario: impl for<'w> FnOnce(&'w World) -> BoxFuture<'w, anyhow::Result<()>>,
) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?.block_on(async {
        let world = World::open().await?;
        if !world.has(need) {
            return skip(&format!("the server lacks {need:?}"));
        }
        world.register().await?;
        let outcome = tokio::time::timeout(Duration::from_secs(60), scenario(&world)).await;
        world.close().await?;
        outcome.context("the scenario took longer than 60 s")?
    })
}

/// Ends a scenario that cannot run here. Rust's test runner counts it as passed, so the file that `KUBE_E2E_SKIPPED` names gets
/// a line, and `.ci/e2e-report` says how many there are, and which.
pub fn skip(reason: &str) -> anyhow::Result<()> {
    let name = std::thread::current().name().unwrap_or("a scenario").to_owned();
    println!("skipped: {name}: {reason}");
    if let Some(path) = std::env::var_os("KUBE_E2E_SKIPPED") {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
        // One call, so that lines of scenarios that run at once do not mix.
        file.write_all(format!("{name}: {reason}\n").as_bytes())?;
    }
    Ok(())
}

impl World {
    async fn open() -> anyhow::Result<Self> {
        let (client, server) = if std::env::var("KUBE_E2E").is_ok_and(|value| value == "cluster") {
            (
                Client::try_default()
                    .await
                    .context("KUBE_E2E=cluster, but KUBECONFIG leads to no usable cluster")?,
                None,
            )
        } else {
            let server = TestServer::builder().tls().start().await?;
            (embedded_client(&server).await?, Some(server))
        };
        let core_kinds = match client.list_core_api_resources("v1").await {
            Ok(list) => list.resources.iter().any(|resource| resource.name == "namespaces"),
            Err(kube::Error::Api(status)) if status.code == 404 => false,
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

    fn has(&self, need: Need) -> bool {
        match need {
            Need::Nothing => true,
            Need::CoreKinds => self.core_kinds,
            Need::StreamingLists => !self.before(32),
            Need::Embedded => self.server.is_some(),
        }
    }

    /// Whether the server is older than Kubernetes 1.`minor`: for answers that changed then.
    pub fn before(&self, minor: u32) -> bool {
        self.minor < minor
    }

    /// Registers the scenarios' CRD and waits until objects of it can be listed.
    async fn register(&self) -> anyhow::Result<()> {
        let crds: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let params = PatchParams::apply("e2e").force();
        crds.patch(Widget::crd_name(), &params, &Patch::Apply(Widget::crd())).await?;
        await_condition(crds, Widget::crd_name(), conditions::is_crd_established()).await?;
        // "Established" comes a moment before the handler on a genuine server.
        for _ in 0..100 {
            match self.api::<Widget>().list(&ListParams::default()).await {
                Ok(_) => return Ok(()),
                Err(kube::Error::Api(status)) if status.code == 404 => {
                    tokio::time::sleep(Duration::from_millis(50)).await
                }
                Err(error) => return Err(error.into()),
            }
        }
        anyhow::bail!("widgets cannot be listed 5 s after their CRD was established")
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

    /// The objects of a kind in this scenario's namespace.
    pub fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }
}

/// A client of an embedded server, by way of the kubeconfig it hands out.
pub async fn embedded_client(server: &TestServer) -> anyhow::Result<Client> {
    let kubeconfig = Kubeconfig::from_yaml(&server.kubeconfig())?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

/// A name nobody else uses: scenarios share a genuine server, and runs may follow each other on it.
pub fn unique(prefix: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let next = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{prefix}-{}-{next}", std::process::id())
}

/// The server's answer inside an error, or the error itself where the server never answered.
pub fn answer<T: std::fmt::Debug>(result: kube::Result<T>) -> anyhow::Result<kube::core::Status> {
    match result {
        Err(kube::Error::Api(status)) => Ok(*status),
        Err(other) => Err(other.into()),
        Ok(value) => anyhow::bail!("expected the server to refuse, got {value:?}"),
    }
}
