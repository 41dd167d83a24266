//! Waits until a CRD of the set is established, and its kind is found.

use kube_client::discovery::{RestMapper, RestMapperError};
use kube_core::{DynamicObject, GroupVersionKind};
use tokio::time::timeout;

use super::settings::Settings;
use crate::crds::{CrdError, until_served};
use crate::ready::{Readiness, ReadyState};

/// A CRD that the run has written.
#[derive(Clone, Debug)]
pub(super) struct WrittenCrd {
    pub(super) crd: DynamicObject,
    /// Its conditions are about this state, not about an earlier one.
    pub(super) is_new: bool,
}

impl WrittenCrd {
    pub(super) fn name(&self) -> &str {
        self.crd.metadata.name.as_deref().unwrap_or_default()
    }
}

/// Whether the CRD defines this kind, in this version, as served.
pub(super) fn defines(crd: &DynamicObject, gvk: &GroupVersionKind) -> bool {
    let spec = &crd.data["spec"];
    let versions = spec["versions"].as_array().into_iter().flatten();
    let mut served = versions.filter(|version| version["served"] == true);
    spec["group"] == gvk.group.as_str()
        && spec["names"]["kind"] == gvk.kind.as_str()
        && served.any(|version| version["name"] == gvk.version.as_str())
}

/// Whether the kind is found already, so that there is nothing to wait for.
///
/// # Errors
/// It is not known, because discovery failed.
pub(super) async fn is_served(
    mapper: &RestMapper,
    crd: &WrittenCrd,
    gvk: &GroupVersionKind,
) -> Result<bool, RestMapperError> {
    // Names that were lost later do not end what is served.
    let state = Readiness::of_dynamic(&crd.crd).state;
    if crd.is_new || !matches!(state, ReadyState::Ready | ReadyState::Failed) {
        return Ok(false);
    }
    match mapper.kind(gvk).await {
        Err(error) if error.is_no_match() => Ok(false),
        mapping => mapping.map(|_| true),
    }
}

/// Waits until the CRD is established and discovery has its kind.
///
/// # Errors
/// Why the CRD cannot be used.
pub(super) async fn establish(settings: &Settings, crd: &WrittenCrd) -> Result<(), CrdError> {
    let Settings { client, mapper, wait_timeout: limit, .. } = settings;
    if crd.is_new {
        // An earlier CRD of that name may have had another scope.
        mapper.invalidate();
    }
    let mut state = String::new();
    let served = timeout(*limit, until_served(client, mapper, crd.name(), &mut state)).await;
    match served {
        Ok(served) => served.map(drop),
        Err(_) => Err(CrdError::TimedOut { name: crd.name().to_owned(), state, limit: *limit }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_served_versions_are_waited_for() {
        let crd = json!({ "metadata": { "name": "gadgets.example.com" },
            "spec": { "group": "example.com", "names": { "kind": "Gadget" },
                "versions": [{ "name": "v1", "served": true }, { "name": "v2", "served": false }] } });
        let crd = serde_json::from_value(crd).unwrap();
        let serves = |group, version, kind| defines(&crd, &GroupVersionKind::gvk(group, version, kind));
        assert!(serves("example.com", "v1", "Gadget"));
        assert!(!serves("example.com", "v2", "Gadget") && !serves("example.com", "v3", "Gadget"));
        assert!(!serves("other.com", "v1", "Gadget") && !serves("example.com", "v1", "Gizmo"));
    }
}
