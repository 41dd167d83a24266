//! What API servers have to know: CRDs, webhook configurations, and where the CA of the webhooks comes from.

use std::path::Path;

use k8s_openapi::{
    api::admissionregistration::v1::RuleWithOperations,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube_core::ObjectMeta;
use serde_json::json;

use super::{
    error::ManifestsError,
    placement::{Objects, Placement, cluster_metadata, metadata},
    settings::Manifests,
};
use crate::{
    manager::{Facts, WebhookFacts},
    webhook::{WebhookConfigurations, WebhookService, certificates::CertificateNeeds},
};

/// The port of the Service, which API servers call.
pub(super) const SERVICE_PORT: u16 = 443;

pub(super) fn crds(
    manifests: &Manifests,
    placement: &Placement,
    objects: &mut Objects,
) -> Result<(), ManifestsError> {
    let webhooks = manifests.facts.webhooks.as_ref();
    for conversion in webhooks.iter().flat_map(|webhooks| webhooks.registry.conversions()) {
        let is_of = |crd: &CustomResourceDefinition| {
            crd.spec.group == conversion.group && crd.spec.names.kind == conversion.kind
        };
        if !manifests.crds.iter().any(is_of) {
            let what = format!("the manager converts {}.{}", conversion.kind, conversion.group);
            return Err(ManifestsError::inconsistent(what, "expected its CRD, by Manifests::crd"));
        }
    }
    for crd in &manifests.crds {
        let mut crd = crd.clone();
        let labels = cluster_metadata(manifests).labels.unwrap_or_default();
        crd.metadata.labels.get_or_insert_default().extend(labels);
        if let Some(webhooks) = webhooks
            && let Some(conversion) = webhooks.registry.conversion_of(&crd, &service(manifests, placement))
        {
            crd.spec.conversion = Some(conversion);
            inject(manifests, placement, webhooks, "CustomResourceDefinition", &mut crd.metadata)?;
        }
        crd.status = None;
        objects.add(&crd)?;
    }
    Ok(())
}

/// The certificate that cert-manager keeps.
pub(super) fn certificates(
    manifests: &Manifests,
    placement: &Placement,
    objects: &mut Objects,
) -> Result<(), ManifestsError> {
    let Some(WebhookFacts { certificates: CertificateNeeds::Files { .. }, .. }) = &manifests.facts.webhooks
    else {
        return Ok(());
    };
    let (name, namespace) = (&manifests.name, &placement.namespace);
    let (kind, issuer) = manifests.issuer.clone().unwrap_or_else(|| ("Issuer".into(), name.clone()));
    if manifests.issuer.is_none() {
        objects.add(&json!({
            "apiVersion": "cert-manager.io/v1",
            "kind": "Issuer",
            "metadata": metadata(manifests, placement),
            "spec": { "selfSigned": {} },
        }))?;
    }
    objects.add(&json!({
        "apiVersion": "cert-manager.io/v1",
        "kind": "Certificate",
        "metadata": metadata(manifests, placement),
        "spec": {
            "dnsNames": [format!("{name}.{namespace}.svc"), format!("{name}.{namespace}.svc.cluster.local")],
            "issuerRef": { "kind": kind, "name": issuer },
            "secretName": certificate_secret(manifests),
        },
    }))
}

pub(super) fn webhooks(
    manifests: &Manifests,
    placement: &Placement,
    objects: &mut Objects,
) -> Result<(), ManifestsError> {
    let Some(webhooks) = &manifests.facts.webhooks else { return Ok(()) };
    let configurations = webhooks.registry.configurations(&manifests.name, &service(manifests, placement))?;
    all_versions_are_seen(manifests, &configurations)?;
    leases_are_not_blocked(manifests, &configurations)?;
    let WebhookConfigurations { mutating, validating } = configurations;
    if let Some(mut configuration) = mutating {
        configuration.metadata = cluster_metadata(manifests);
        inject(manifests, placement, webhooks, "MutatingWebhookConfiguration", &mut configuration.metadata)?;
        objects.add(&configuration)?;
    }
    if let Some(mut configuration) = validating {
        configuration.metadata = cluster_metadata(manifests);
        inject(
            manifests,
            placement,
            webhooks,
            "ValidatingWebhookConfiguration",
            &mut configuration.metadata,
        )?;
        objects.add(&configuration)?;
    }
    Ok(())
}

/// The Secret that cert-manager writes and the pods mount.
pub(super) fn certificate_secret(manifests: &Manifests) -> String {
    format!("{}-certificate", manifests.name)
}

/// The folder of a certificate in files, which the Secret is mounted at.
pub(super) fn certificate_folder<'a>(
    certificate: &'a Path,
    key: &'a Path,
) -> Result<&'a str, ManifestsError> {
    let folder = certificate.parent().filter(|folder| {
        folder.is_absolute() && *certificate == folder.join("tls.crt") && *key == folder.join("tls.key")
    });
    folder.and_then(Path::to_str).ok_or_else(|| {
        let what = format!("the certificate files {} and {}", certificate.display(), key.display());
        let expected =
            "expected tls.crt and tls.key in one folder with an absolute path, as a Secret is mounted";
        ManifestsError::inconsistent(what, expected)
    })
}

fn service(manifests: &Manifests, placement: &Placement) -> WebhookService {
    WebhookService {
        namespace: placement.namespace.clone(),
        name: manifests.name.clone(),
        port: SERVICE_PORT,
    }
}

/// Has the CA written into an object: by cert-manager for its annotation, by the program itself if its certificate names the object.
fn inject(
    manifests: &Manifests,
    placement: &Placement,
    webhooks: &WebhookFacts,
    kind: &str,
    metadata: &mut ObjectMeta,
) -> Result<(), ManifestsError> {
    match &webhooks.certificates {
        CertificateNeeds::Unknown => Ok(()),
        CertificateNeeds::Files { .. } => {
            let certificate = format!("{}/{}", placement.namespace, manifests.name);
            let annotations = metadata.annotations.get_or_insert_default();
            annotations.insert("cert-manager.io/inject-ca-from".into(), certificate);
            Ok(())
        }
        CertificateNeeds::SelfSigned { namespace, service, targets, .. } => {
            let (own, name) = (&manifests.facts.namespace, &manifests.name);
            if (namespace, service) != (own, name) {
                let what = format!("the self-signed certificate is for the Service {namespace}/{service}");
                return Err(ManifestsError::inconsistent(what, format!("expected {own}/{name}")));
            }
            let object = metadata.name.as_deref().unwrap_or_default();
            if targets.iter().any(|(resource, target)| resource.kind == kind && target == object) {
                return Ok(());
            }
            let method = match kind {
                "CustomResourceDefinition" => "crd",
                "MutatingWebhookConfiguration" => "mutating",
                _ => "validating",
            };
            let what = format!("the self-signed certificate does not write its CA into {kind} {object}");
            Err(ManifestsError::inconsistent(what, format!("expected SelfSigned::{method}({object:?})")))
        }
    }
}

/// Where the Leases are in another namespace than the program, a webhook on them is called for its own, by which it starts to work.
fn leases_are_not_blocked(
    manifests: &Manifests,
    configurations: &WebhookConfigurations,
) -> Result<(), ManifestsError> {
    let Facts { namespace, lease_namespace: Some(leases), .. } = &manifests.facts else { return Ok(()) };
    let mutating = configurations.mutating.iter().flat_map(|it| it.webhooks.iter().flatten());
    let validating = configurations.validating.iter().flat_map(|it| it.webhooks.iter().flatten());
    let mutating = mutating.map(|it| (&it.name, &it.failure_policy, &it.rules));
    let mut entries = mutating.chain(validating.map(|it| (&it.name, &it.failure_policy, &it.rules)));
    let has = |all: &Option<Vec<String>>, one: &str| all.iter().flatten().any(|it| it == "*" || it == one);
    let blocks = |rule: &RuleWithOperations| {
        has(&rule.api_groups, "coordination.k8s.io") && has(&rule.resources, "leases")
    };
    let blocking = entries
        .find(|(_, policy, rules)| policy.as_deref() == Some("Fail") && rules.iter().flatten().any(blocks));
    match blocking {
        Some((name, ..)) if leases != namespace => {
            let what = format!("the webhook {name} reviews Leases, and those of the manager are in {leases}");
            let expected =
                format!("expected them in {namespace}, which it leaves out, or FailurePolicy::Ignore");
            Err(ManifestsError::inconsistent(what, expected))
        }
        _ => Ok(()),
    }
}

/// With `matchPolicy: Exact`, objects of a version without a handler would be accepted unseen.
fn all_versions_are_seen(
    manifests: &Manifests,
    configurations: &WebhookConfigurations,
) -> Result<(), ManifestsError> {
    let mutating = configurations.mutating.iter().flat_map(|it| it.webhooks.iter().flatten());
    let validating = configurations.validating.iter().flat_map(|it| it.webhooks.iter().flatten());
    let mutating: Vec<_> = mutating.map(|it| (it.match_policy.as_deref(), it.rules.as_deref())).collect();
    let validating: Vec<_> = validating.map(|it| (it.match_policy.as_deref(), it.rules.as_deref())).collect();
    for (sort, entries) in [("mutating", mutating), ("validating", validating)] {
        for crd in &manifests.crds {
            let of_crd = |rule: &RuleWithOperations| {
                let has = |all: &Option<Vec<String>>, one: &str| {
                    all.iter().flatten().any(|it| it == "*" || it == one)
                };
                has(&rule.api_groups, &crd.spec.group) && has(&rule.resources, &crd.spec.names.plural)
            };
            let rules = || {
                let rules = entries.iter().flat_map(|(policy, rules)| {
                    rules.iter().flat_map(|rules| rules.iter()).map(move |rule| (*policy, rule))
                });
                rules.filter(|(_, rule)| of_crd(rule))
            };
            // One that sees other versions converted sees all.
            if rules().next().is_none() || rules().any(|(policy, _)| policy != Some("Exact")) {
                continue;
            }
            let is_seen = |version: &str| {
                let mut versions = rules().flat_map(|(_, rule)| rule.api_versions.iter().flatten());
                versions.any(|it| it == "*" || it == version)
            };
            let unseen = crd.spec.versions.iter().find(|it| it.served && !is_seen(&it.name));
            if let Some(version) = unseen {
                let name = crd.metadata.name.as_deref().unwrap_or_default();
                let what = format!("no {sort} webhook sees version {} of {name}", version.name);
                let expected = "expected a handler for it, or one without matchPolicy Exact";
                return Err(ManifestsError::inconsistent(what, expected));
            }
        }
    }
    Ok(())
}
