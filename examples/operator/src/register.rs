//! What the cluster has to know of the operator. Apart from run time, because it needs permissions that a running operator should not have.

use crate::{
    NAME,
    page::{v1, v2},
};
use anyhow::Context as _;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::{
    Api, Client, CustomResourceExt, Resource,
    api::{Patch, PatchParams},
    core::crd::merge_crds,
    crds,
    operator::webhook::validate_path,
};
use serde_json::{Value, json};

/// Applies the CRD and the webhook configuration, and waits until the server serves the CRD. The running operator adds its CA to both.
pub async fn register(client: &Client) -> anyhow::Result<()> {
    let service = |path: &str| json!({ "service": { "namespace": client.default_namespace(), "name": NAME, "path": path } });
    let manager = format!("{NAME}-registration");

    let mut crd = merge_crds(vec![v1::Page::crd(), v2::Page::crd()], "v2")?;
    crd.spec.conversion = serde_json::from_value(json!({
        "strategy": "Webhook",
        "webhook": { "clientConfig": service("/convert"), "conversionReviewVersions": ["v1"] },
    }))?;
    crds::install(client, &manager, [crd]).await?;

    let configurations: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": NAME },
        "webhooks": [
            webhook::<v1::Page>(service(&validate_path::<v1::Page>())),
            webhook::<v2::Page>(service(&validate_path::<v2::Page>())),
        ],
    });
    configurations
        .patch(NAME, &PatchParams::apply(&manager).force(), &Patch::Apply(configuration))
        .await
        .with_context(|| format!("cannot apply the ValidatingWebhookConfiguration {NAME}"))?;
    Ok(())
}

/// A webhook for one version. Without one for each, objects of the other version would be accepted unseen: `Exact` converts nothing.
fn webhook<P: Resource<DynamicType = ()>>(client_config: Value) -> Value {
    let version = P::version(&());
    json!({
        "name": format!("{version}.pages.example.com"),
        "clientConfig": client_config,
        "rules": [{
            "apiGroups": [P::group(&())],
            "apiVersions": [version],
            "operations": ["CREATE", "UPDATE"],
            "resources": ["pages"], // not pages/status, which the operator writes
        }],
        "matchPolicy": "Exact",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 5,
    })
}
