//! Registers the custom resource of the tutorial.

// ANCHOR: all
use crate::page::Page;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::runtime::{conditions::is_crd_established, wait::await_condition};
use kube::{Api, Client, CustomResourceExt};

/// Applies the CRD, and waits until the server serves the new kind.
pub async fn register(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    let crds: Api<CustomResourceDefinition> = Api::all(client);
    let params = PatchParams::apply("pages-registration").force();
    crds.patch(Page::crd_name(), &params, &Patch::Apply(Page::crd())).await?;
    await_condition(crds, Page::crd_name(), is_crd_established()).await?;
    Ok(())
}
// ANCHOR_END: all
