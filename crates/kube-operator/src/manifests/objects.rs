//! The objects of a deployment, in the order in which they can be applied.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube_core::ObjectMeta;
use serde_json::Value;

use super::{
    error::ManifestsError,
    monitoring, network,
    placement::{Objects, Placement, metadata, title},
    registration, roles,
    settings::Manifests,
    workload,
};

impl Manifests {
    /// The objects, in the order in which they can be applied; without the samples.
    ///
    /// # Errors
    /// If the parts do not fit together: the message names the part and what was expected.
    pub fn objects(&self) -> Result<Vec<Value>, ManifestsError> {
        objects(self, &Placement::of(self))
    }
}

pub(super) fn objects(manifests: &Manifests, placement: &Placement) -> Result<Vec<Value>, ManifestsError> {
    check_name("the name of the operator", &manifests.name)?;
    check_name("the namespace of the manager's client", &manifests.facts.namespace)?;
    let mut objects = Objects::default();
    objects.add(&Namespace {
        metadata: ObjectMeta {
            name: Some(placement.namespace.clone()),
            labels: Some([("pod-security.kubernetes.io/enforce".into(), "restricted".into())].into()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    })?;
    registration::crds(manifests, placement, &mut objects)?;
    objects.add(&ServiceAccount { metadata: metadata(manifests, placement), ..ServiceAccount::default() })?;
    roles::roles(manifests, placement, &mut objects)?;
    monitoring::dashboard(manifests, placement, &mut objects)?;
    workload::workload(manifests, placement, &mut objects)?;
    network::network_policy(manifests, placement, &mut objects)?;
    monitoring::service_monitor(manifests, placement, &mut objects)?;
    registration::certificates(manifests, placement, &mut objects)?;
    registration::webhooks(manifests, placement, &mut objects)?;
    let objects = edited(manifests, objects.into_list())?;
    unique(&objects)?;
    Ok(objects)
}

fn edited(manifests: &Manifests, mut objects: Vec<Value>) -> Result<Vec<Value>, ManifestsError> {
    for edit in &manifests.edits {
        let mut found = false;
        for object in &mut objects {
            if object["apiVersion"] == *edit.api_version && object["kind"] == *edit.kind {
                let failed = |reason| ManifestsError::Encoding { object: title(object), reason };
                *object = (edit.apply)(object.clone()).map_err(failed)?;
                found = true;
            }
        }
        if !found {
            let what = format!("an edit is for {} of {}", edit.kind, edit.api_version);
            return Err(ManifestsError::inconsistent(what, "expected a kind that the manifests have"));
        }
    }
    Ok(objects)
}

/// Each object is there once: of two, one would replace the other.
fn unique(objects: &[Value]) -> Result<(), ManifestsError> {
    let mut titles = BTreeSet::new();
    match objects.iter().map(title).find(|title| !titles.insert(title.clone())) {
        None => Ok(()),
        Some(title) => {
            Err(ManifestsError::inconsistent(title, "expected one of this kind and name, found two"))
        }
    }
}

/// Names of Services are the strictest (RFC 1035), and the Service has that of the operator.
pub(super) fn check_name(what: &'static str, value: &str) -> Result<(), ManifestsError> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let starts = value.starts_with(|c: char| c.is_ascii_lowercase());
    if value.len() <= 63 && starts && value.chars().all(plain) && !value.ends_with('-') {
        return Ok(());
    }
    Err(ManifestsError::InvalidName { what, value: value.to_owned() })
}
