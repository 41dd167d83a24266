//! The custom resource: the controller renders a `Page` into a ConfigMap.

use anyhow::Context as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::runtime::{conditions, wait::await_condition};
use kube::{Api, Client, CustomResource, CustomResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The field manager of this program for server-side apply.
pub const FIELD_MANAGER: &str = "quickstart";

/// The desired state, written by the user.
#[derive(CustomResource, Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "quickstart.example.com",
    version = "v1",
    kind = "Page",
    namespaced,
    status = "PageStatus",
    shortname = "pg"
)]
#[kube(doc = "A page that the quickstart's controller renders into a ConfigMap")]
#[kube(printcolumn(name = "Title", type_ = "string", json_path = ".spec.title"))]
#[kube(printcolumn(name = "Rendered", type_ = "boolean", json_path = ".status.rendered"))]
pub struct PageSpec {
    /// The headline.
    pub title: String,
    /// The text below it.
    pub text: String,
}

/// The observed state, written by the controller.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct PageStatus {
    /// Whether the ConfigMap has been written.
    pub rendered: bool,
    /// The generation of the spec that this status describes.
    pub observed_generation: Option<i64>,
}

/// Registers the CRD by server-side apply and waits until it is established.
pub async fn register(client: &Client) -> anyhow::Result<()> {
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let params = PatchParams::apply(FIELD_MANAGER).force();
    crds.patch(Page::crd_name(), &params, &Patch::Apply(Page::crd()))
        .await
        .context("the server rejected the CRD")?;
    let established = await_condition(crds, Page::crd_name(), conditions::is_crd_established());
    tokio::time::timeout(Duration::from_secs(10), established)
        .await
        .with_context(|| format!("the CRD {} was not established within 10 s", Page::crd_name()))??;
    Ok(())
}

/// Deletes the CRD, and with it all pages.
pub async fn unregister(client: &Client) -> anyhow::Result<()> {
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    crds.delete(Page::crd_name(), &DeleteParams::default()).await.context("cannot delete the CRD")?;
    Ok(())
}
