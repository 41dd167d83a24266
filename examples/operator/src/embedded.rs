//! An API server in the process, and a demonstration of the operator on it.

use crate::{
    NAME,
    advice::VerticalPodAutoscaler,
    page::{PageStatus, v1, v2},
    reconcile::INDEX,
    register::register,
};
use anyhow::{Context as _, bail, ensure};
use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Service},
        discovery::v1::EndpointSlice,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, CustomResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    config::{Config, KubeConfigOptions, Kubeconfig},
    runtime::{
        conditions::is_deleted,
        wait::{Condition, await_condition},
    },
};
use kube_testserver::{BuiltInController, TestServer};
use serde_json::json;
use std::{net::SocketAddr, path::PathBuf, time::Duration};

/// How long a step of the demonstration may take.
const STEP: Duration = Duration::from_secs(30);

/// A running API server that knows the operator.
#[derive(Debug)]
pub struct Embedded {
    server: TestServer,
    client: Client,
    kubeconfig: PathBuf,
}

impl Embedded {
    /// Starts a server with Deployments and pods, and registers an operator whose webhooks listen at this address.
    pub async fn start(webhooks: SocketAddr) -> anyhow::Result<Self> {
        let server = TestServer::builder()
            .with(BuiltInController::Workloads)
            .with(BuiltInController::Kubelet)
            .tls()
            .start()
            .await
            .context("the embedded API server did not start")?;
        let text = server.kubeconfig();
        let kubeconfig = std::env::temp_dir().join(format!("operator-{}.kubeconfig", std::process::id()));
        std::fs::write(&kubeconfig, &text)
            .with_context(|| format!("cannot write the kubeconfig {}", kubeconfig.display()))?;
        let config = Kubeconfig::from_yaml(&text)?;
        let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
        let client = Client::try_from(config)?;
        register(&client).await?;
        expose(&client, &[webhooks]).await?;
        Ok(Self { server, client, kubeconfig })
    }

    /// A client of the server.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// Shows on standard output that pages are converted, validated, reconciled and cleaned up. An error if one of them does not happen.
    pub async fn demonstrate(&self) -> anyhow::Result<()> {
        let kubeconfig = self.kubeconfig.display();
        println!(
            "an embedded API server at {}\n  try: kubectl --kubeconfig {kubeconfig} get pages",
            self.server.url()
        );
        let (old, new) = (
            Api::<v1::Page>::default_namespaced(self.client()),
            Api::<v2::Page>::default_namespaced(self.client()),
        );
        let spec = v1::PageSpec { title: "Hello".into(), text: "One.\n\nTwo.".into(), replicas: 2 };
        old.create(&PostParams::default(), &v1::Page::new("hello", spec))
            .await
            .context("cannot create a page")?;
        println!("created the page hello in v1, with the text \"One.\\n\\nTwo.\"");
        let paragraphs = new.get("hello").await?.spec.paragraphs;
        ensure!(paragraphs == ["One.", "Two."], "the conversion is wrong: {paragraphs:?}");
        println!("converted to v2: its paragraphs are {paragraphs:?}");

        let invalid = json!({ "spec": { "replicas": 11 } });
        match new.patch("hello", &PatchParams::default(), &Patch::Merge(invalid)).await {
            Err(error) if error.is_invalid() => println!("a change to 11 replicas is denied: {error}"),
            Err(error) => return Err(error.into()),
            Ok(_) => bail!("11 replicas were accepted"),
        }

        let page = wait(&new, "hello", is_ready).await?.context("the page hello is gone")?;
        let conditions = page.status.map(|status| status.conditions).unwrap_or_default();
        for condition in conditions {
            println!(
                "{}: {} ({}) {}",
                condition.type_, condition.status, condition.reason, condition.message
            );
        }
        let server = Api::<Deployment>::default_namespaced(self.client()).get("hello-page").await?;
        println!("the Deployment hello-page has {} replicas", server.spec.replicas.unwrap_or(1));
        let index = Api::<ConfigMap>::default_namespaced(self.client()).get(INDEX).await?.data;
        println!("the index of the namespace: {:?}", index.unwrap_or_default());

        let brief = v2::PageSpec { title: "Brief".into(), paragraphs: Vec::new(), replicas: 1 };
        let brief = new.create(&PostParams::default(), &v2::Page::new("brief", brief)).await?;
        wait(&new, "brief", is_ready).await?;
        new.delete("brief", &DeleteParams::default()).await?;
        wait(&new, "brief", is_deleted(&brief.metadata.uid.unwrap_or_default())).await?;
        println!("the page brief was reconciled, deleted, and cleaned up by the finalizer");
        Ok(())
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        // A file left in the temporary folder does no harm.
        let _ = std::fs::remove_file(&self.kubeconfig);
    }
}

/// Whether the operator has reconciled the present spec of a page, and all is well.
pub fn is_ready(page: Option<&v2::Page>) -> bool {
    page.is_some_and(|page| {
        let PageStatus { observed_generation, conditions } = page.status.clone().unwrap_or_default();
        let ready = conditions.iter().any(|it| it.type_ == "Ready" && it.status == "True");
        ready && observed_generation == page.metadata.generation
    })
}

/// The vertical pod autoscaler's definition, with the fields that are known here: the annotation says that it is not the approved one.
pub fn autoscaler() -> CustomResourceDefinition {
    let mut definition = VerticalPodAutoscaler::crd();
    let approval =
        ("api-approved.kubernetes.io".to_owned(), "unapproved, a part of the definition".to_owned());
    definition.metadata.annotations = Some([approval].into());
    definition
}

/// Waits for a state of a page.
async fn wait(
    pages: &Api<v2::Page>,
    name: &str,
    state: impl Condition<v2::Page>,
) -> anyhow::Result<Option<v2::Page>> {
    let waiting = tokio::time::timeout(STEP, await_condition(pages.clone(), name, state)).await;
    Ok(waiting
        .with_context(|| format!("the page {name} did not reach the expected state within {STEP:?}"))??)
}

/// What a cluster does for pods: a Service that leads to the webhooks of these replicas.
pub async fn expose(client: &Client, webhooks: &[SocketAddr]) -> anyhow::Result<()> {
    let params = PatchParams::apply("embedded").force();
    let service = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": NAME }, "spec": { "ports": [{ "port": 443 }] } });
    let services: Api<Service> = Api::default_namespaced(client.clone());
    services.patch(NAME, &params, &Patch::Apply(service)).await.context("cannot apply the Service")?;
    let slices: Api<EndpointSlice> = Api::default_namespaced(client.clone());
    // Each replica has a port of its own, and a slice has the ports of all its endpoints.
    for (replica, address) in webhooks.iter().enumerate() {
        let name = format!("{NAME}-{replica}");
        let slice = json!({
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": { "name": name, "labels": { "kubernetes.io/service-name": NAME } },
            "addressType": "IPv4",
            "endpoints": [{ "addresses": [address.ip()] }],
            "ports": [{ "port": address.port() }],
        });
        let applied = slices.patch(&name, &params, &Patch::Apply(slice)).await;
        applied.context("cannot apply the EndpointSlice")?;
    }
    Ok(())
}
