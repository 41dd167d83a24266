//! What the cluster has to know of the operator. Apart from run time, because it needs permissions that a running operator should not have.

use crate::{NAME, manifests::manifests};
use anyhow::Context as _;
use k8s_openapi::{
    api::admissionregistration::v1::ValidatingWebhookConfiguration,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
    crds,
};

/// Applies the CRD and the webhook configuration of the manifests, and waits until the server serves the CRD. The running operator adds its
/// CA to both.
pub async fn register(client: &Client) -> anyhow::Result<()> {
    let field_manager = format!("{NAME}-registration");
    let objects = manifests(client.default_namespace())?.objects()?;
    let of_kind = |kind: &'static str| objects.iter().filter(move |object| object["kind"] == *kind).cloned();

    let definitions: Vec<CustomResourceDefinition> =
        of_kind("CustomResourceDefinition").map(serde_json::from_value).collect::<Result<_, _>>()?;
    crds::install(client, &field_manager, definitions).await?;

    let configurations: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    for configuration in of_kind("ValidatingWebhookConfiguration") {
        configurations
            .patch(NAME, &PatchParams::apply(&field_manager).force(), &Patch::Apply(configuration))
            .await
            .with_context(|| format!("cannot apply the ValidatingWebhookConfiguration {NAME}"))?;
    }
    Ok(())
}
