//! The JSON patches that put a finalizer on an object and take it off.
//!
//! A JSON patch names list entries by position, so each patch tests that it meets the state it was made for: nobody
//! else's finalizer is ever lost, and none is added twice (servers accept duplicates). When a test fails because
//! somebody else changed the object in between, the caller makes a new patch from the object as it is by then.

use super::decision::{Decision, decide};
use json_patch::Patch;
use kube_core::Resource;
use serde_json::{Value, json};

/// A change of the list of finalizers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edit {
    Add,
    Remove,
}

impl Edit {
    /// The patch that makes this change to `object`; `None` if there is nothing to change.
    pub(super) fn patch<K: Resource>(self, object: &K, finalizer: &str) -> Option<Patch> {
        match (self, decide(object, finalizer)) {
            (Self::Add, Decision::Add) => Some(add(object, finalizer)),
            (Self::Remove, Decision::Cleanup { index }) => Some(remove(index, finalizer)),
            _ => None,
        }
    }
}

fn add<K: Resource>(object: &K, finalizer: &str) -> Patch {
    let meta = object.meta();
    let mut operations = Vec::new();
    if let Some(version) = &meta.resource_version {
        operations.push(json!({ "op": "test", "path": "/metadata/resourceVersion", "value": version }));
    }
    operations.push(match meta.finalizers.as_deref() {
        None | Some([]) => json!({ "op": "add", "path": "/metadata/finalizers", "value": [finalizer] }),
        Some(_) => json!({ "op": "add", "path": "/metadata/finalizers/-", "value": finalizer }),
    });
    to_patch(operations)
}

fn remove(index: usize, finalizer: &str) -> Patch {
    let path = format!("/metadata/finalizers/{index}");
    to_patch(vec![
        json!({ "op": "test", "path": path, "value": finalizer }),
        json!({ "op": "remove", "path": path }),
    ])
}

fn to_patch(operations: Vec<Value>) -> Patch {
    serde_json::from_value(Value::Array(operations))
        .expect("invariant: these are valid JSON patch operations")
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::{api::core::v1::ConfigMap, apimachinery::pkg::apis::meta::v1::Time};
    use kube_core::ObjectMeta;

    fn object(finalizers: Option<&[&str]>, deleting: bool, version: &str) -> ConfigMap {
        let metadata = ObjectMeta {
            finalizers: finalizers.map(|all| all.iter().map(ToString::to_string).collect()),
            deletion_timestamp: deleting.then(|| Time("2026-01-01T00:00:00Z".parse().unwrap())),
            resource_version: Some(version.into()),
            ..Default::default()
        };
        ConfigMap { metadata, ..Default::default() }
    }

    /// What a server makes of `patch` when the object has become `now`.
    fn patched(patch: &Patch, now: &ConfigMap) -> Option<Vec<String>> {
        let mut document = serde_json::to_value(now).unwrap();
        json_patch::patch(&mut document, patch).ok()?;
        serde_json::from_value::<ConfigMap>(document).unwrap().metadata.finalizers
    }

    #[test]
    fn adds_to_no_list_an_empty_list_and_a_list() {
        for (before, after) in [
            (None, vec!["mine"]),
            (Some(&[][..]), vec!["mine"]),
            (Some(&["other"][..]), vec!["other", "mine"]),
        ] {
            let object = object(before, false, "1");
            let patch = Edit::Add.patch(&object, "mine").unwrap();
            assert_eq!(patched(&patch, &object).unwrap(), after);
        }
    }

    #[test]
    fn removes_only_itself() {
        let object = object(Some(&["first", "mine", "last"]), true, "1");
        let patch = Edit::Remove.patch(&object, "mine").unwrap();
        assert_eq!(patched(&patch, &object).unwrap(), ["first", "last"]);
    }

    #[test]
    fn never_touches_another_finalizer_when_made_from_an_old_state() {
        let add = Edit::Add.patch(&object(None, false, "1"), "mine").unwrap();
        assert_eq!(patched(&add, &object(Some(&["other"]), false, "2")), None);
        let remove = Edit::Remove.patch(&object(Some(&["other", "mine"]), true, "1"), "mine").unwrap();
        assert_eq!(patched(&remove, &object(Some(&["mine"]), true, "2")), None);
    }

    #[test]
    fn a_removal_bears_changes_behind_its_position() {
        let remove = Edit::Remove.patch(&object(Some(&["mine", "other"]), true, "1"), "mine").unwrap();
        assert_eq!(patched(&remove, &object(Some(&["mine"]), true, "2")).unwrap(), [""; 0]);
    }

    #[test]
    fn nothing_to_change_is_no_patch() {
        assert_eq!(Edit::Add.patch(&object(Some(&["mine"]), false, "1"), "mine"), None);
        assert_eq!(Edit::Add.patch(&object(None, true, "1"), "mine"), None);
        assert_eq!(Edit::Remove.patch(&object(None, true, "1"), "mine"), None);
    }
}
