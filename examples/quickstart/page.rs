//! The custom resource: the controller renders a `Page` into a ConfigMap.

use anyhow::Context as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::DeleteParams;
use kube::{Api, Client, CustomResource, CustomResourceExt, crds};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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

/// Registers the CRD by server-side apply, and returns when the server serves the kind.
pub async fn register(client: &Client) -> anyhow::Result<()> {
    crds::install(client, FIELD_MANAGER, [Page::crd()]).await?;
    Ok(())
}

/// Deletes the CRD, and with it all pages.
pub async fn unregister(client: &Client) -> anyhow::Result<()> {
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    crds.delete(Page::crd_name(), &DeleteParams::default()).await.context("cannot delete the CRD")?;
    Ok(())
}
