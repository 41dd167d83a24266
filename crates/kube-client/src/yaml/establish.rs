//! Waits until a CRD of the set is established, and its kind is found.

use std::time::Duration;

use kube_core::{DynamicObject, GroupVersionKind};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout_at};

use super::settings::Settings;
use super::until::until;
use crate::api::Api;
use crate::discovery::{ApiResource, RestMapper, RestMapperError};

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

    /// Whether it defines this kind, in this version, as served.
    pub(super) fn serves(&self, gvk: &GroupVersionKind) -> bool {
        let spec = &self.crd.data["spec"];
        let versions = spec["versions"].as_array().into_iter().flatten();
        let mut served = versions.filter(|version| version["served"] == true);
        spec["group"] == gvk.group.as_str()
            && spec["names"]["kind"] == gvk.kind.as_str()
            && served.any(|version| version["name"] == gvk.version.as_str())
    }
}

/// Whether the kind is found already, so that there is nothing to wait for.
pub(super) async fn is_served(mapper: &RestMapper, crd: &WrittenCrd, gvk: &GroupVersionKind) -> bool {
    !crd.is_new && established(Some(&crd.crd), false) == Some(Ok(())) && mapper.kind(gvk).await.is_ok()
}

/// Waits until the CRD is established and discovery has `gvk`.
///
/// # Errors
/// Why the CRD cannot be used.
pub(super) async fn establish(
    settings: &Settings,
    crd: &WrittenCrd,
    gvk: &GroupVersionKind,
) -> Result<(), String> {
    let deadline = Instant::now() + settings.wait_timeout.min(FOR_EVER);
    let late = |what: &str| format!("{what} after {} s", settings.wait_timeout.as_secs());
    let mut refused = None;
    let api = Api::all_with(settings.client.clone(), &crds());
    let wait = until(&api, crd.name(), |current| {
        refused = current.and_then(names_refused);
        established(current, crd.is_new)
    });
    match timeout_at(deadline, wait).await {
        Ok(established) => established.map_err(|err| err.to_string())??,
        Err(_) => return Err(late(refused.as_deref().unwrap_or("not established"))),
    }
    if crd.is_new {
        // An earlier CRD of that name may have had another plural or scope.
        settings.mapper.invalidate();
    }
    match timeout_at(deadline, wait_for_discovery(&settings.mapper, gvk)).await {
        Ok(found) => found.map_err(|err| err.to_string()),
        Err(_) => Err(late("established, but not served")),
    }
}

/// Servers put a kind into discovery a moment after its CRD is established.
async fn wait_for_discovery(mapper: &RestMapper, gvk: &GroupVersionKind) -> Result<(), RestMapperError> {
    let mut pause = Duration::from_millis(50);
    loop {
        match mapper.kind(gvk).await {
            Err(RestMapperError::NoMatch(_)) => {}
            found => return found.map(|_| ()),
        }
        sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(2));
        mapper.invalidate();
    }
}

/// What is known of a CRD: usable, never usable, or `None` for not yet.
fn established(crd: Option<&DynamicObject>, is_new: bool) -> Option<Result<(), String>> {
    let Some(crd) = crd else { return Some(Err("it was deleted".to_owned())) };
    if condition(crd, "Established").is_some_and(|condition| condition["status"] == "True") {
        return Some(Ok(()));
    }
    names_refused(crd).filter(|_| is_new).map(Err)
}

/// Why the names of the kind are not accepted: those of another CRD, for example.
fn names_refused(crd: &DynamicObject) -> Option<String> {
    let refused = condition(crd, "NamesAccepted").filter(|condition| condition["status"] == "False")?;
    Some(format!("its names are not accepted: {}", refused["message"].as_str().unwrap_or("no reason given")))
}

fn condition<'a>(crd: &'a DynamicObject, name: &str) -> Option<&'a Value> {
    crd.data["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == name)
}

fn crds() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition"))
}

/// A year: `Instant` cannot hold every `Duration`.
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn crd(conditions: &[(&str, &str)]) -> DynamicObject {
        let conditions: Vec<_> = conditions
            .iter()
            .map(|(name, status)| json!({ "type": name, "status": status, "message": "\"gadgets\" is in use" }))
            .collect();
        serde_json::from_value(json!({ "metadata": { "name": "gadgets.example.com" },
            "spec": { "group": "example.com", "names": { "kind": "Gadget" },
                "versions": [{ "name": "v1", "served": true }, { "name": "v2", "served": false }] },
            "status": { "conditions": conditions } }))
        .unwrap()
    }

    #[test]
    fn a_crd_is_usable_once_it_is_established() {
        assert_eq!(established(Some(&crd(&[])), true), None);
        assert_eq!(
            established(Some(&crd(&[("NamesAccepted", "True"), ("Established", "False")])), true),
            None
        );
        assert_eq!(established(Some(&crd(&[("Established", "True")])), true), Some(Ok(())));
        assert_eq!(established(None, true), Some(Err("it was deleted".to_owned())));
    }

    #[test]
    fn refused_names_end_the_wait_only_for_a_new_crd() {
        let refused = crd(&[("NamesAccepted", "False"), ("Established", "False")]);
        let reason = "its names are not accepted: \"gadgets\" is in use".to_owned();
        assert_eq!(established(Some(&refused), true), Some(Err(reason)));
        // The condition may be about the state before the change.
        assert_eq!(established(Some(&refused), false), None);
        // A name that was lost later does not end what is served.
        assert_eq!(
            established(Some(&crd(&[("NamesAccepted", "False"), ("Established", "True")])), true),
            Some(Ok(()))
        );
    }

    #[test]
    fn only_served_versions_are_waited_for() {
        let crd = WrittenCrd { crd: crd(&[]), is_new: true };
        let serves = |group, version, kind| crd.serves(&GroupVersionKind::gvk(group, version, kind));
        assert!(serves("example.com", "v1", "Gadget"));
        assert!(!serves("example.com", "v2", "Gadget") && !serves("example.com", "v3", "Gadget"));
        assert!(!serves("other.com", "v1", "Gadget") && !serves("example.com", "v1", "Gizmo"));
    }
}
