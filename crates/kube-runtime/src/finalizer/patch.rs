//! The JSON patches that put a finalizer on an object and take it off.
//!
//! A JSON patch names list entries by position, so each patch tests that the entries it relies on are where it was told:
//! nobody else's finalizer is ever lost, and none is added twice (servers accept duplicates). No test looks at anything
//! but finalizers, so changes of the rest of the object, however many, never get in the way. Where another finalizer has
//! moved an entry meanwhile, the caller makes a new patch from the object as it is by then.

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
            (Self::Remove, Decision::Cleanup) => Some(remove(object, finalizer)),
            _ => None,
        }
    }
}

fn add<K: Resource>(object: &K, finalizer: &str) -> Patch {
    let present = object.meta().finalizers.as_ref();
    let path = "/metadata/finalizers";
    let addition = match present {
        None => json!({ "op": "add", "path": path, "value": [finalizer] }),
        Some(_) => json!({ "op": "add", "path": format!("{path}/-"), "value": finalizer }),
    };
    // Servers take null for a list that is not there.
    let as_seen = json!({ "op": "test", "path": path, "value": present });
    to_patch(same_object(object).chain([as_seen, addition]).collect())
}

/// Takes every entry of this name off, from the last one on, so that those before it stay where they are.
fn remove<K: Resource>(object: &K, finalizer: &str) -> Patch {
    let present = object.meta().finalizers.iter().flatten();
    let mut paths: Vec<String> = present
        .enumerate()
        .filter(|(_, name)| *name == finalizer)
        .map(|(index, _)| format!("/metadata/finalizers/{index}"))
        .collect();
    paths.reverse();
    let operations = paths.iter().flat_map(|path| {
        [json!({ "op": "test", "path": path, "value": finalizer }), json!({ "op": "remove", "path": path })]
    });
    to_patch(same_object(object).chain(operations).collect())
}

/// Tests that the object is not a later one of the same name.
fn same_object<K: Resource>(object: &K) -> impl Iterator<Item = Value> + use<K> {
    let test = |uid: &String| json!({ "op": "test", "path": "/metadata/uid", "value": uid });
    object.meta().uid.as_ref().map(test).into_iter()
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

    /// What a server makes of `patch` when the object has become `now`. (Unlike the library, servers take a list that
    /// is not there for null; the end-to-end suite shows that they do.)
    fn patched(patch: &Patch, now: &ConfigMap) -> Option<Vec<String>> {
        let mut document = serde_json::to_value(now).unwrap();
        let _null_if_absent = &mut document["metadata"]["finalizers"];
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
    fn an_addition_bears_changes_of_everything_but_finalizers() {
        let before = object(Some(&["other"]), false, "1");
        let add = Edit::Add.patch(&before, "mine").unwrap();
        let mut now = object(Some(&["other"]), false, "2");
        now.metadata.labels = Some([("changed".to_owned(), "yes".to_owned())].into());
        assert_eq!(patched(&add, &now).unwrap(), ["other", "mine"]);
        assert_eq!(
            patched(&add, &object(Some(&["other", "mine"]), false, "2")),
            None,
            "and never adds it twice"
        );
    }

    #[test]
    fn a_removal_takes_every_entry_of_its_name() {
        let twice = object(Some(&["mine", "other", "mine"]), true, "1");
        let patch = Edit::Remove.patch(&twice, "mine").unwrap();
        assert_eq!(patched(&patch, &twice).unwrap(), ["other"]);
    }

    #[test]
    fn a_removal_bears_changes_behind_its_position() {
        let remove = Edit::Remove.patch(&object(Some(&["mine", "other"]), true, "1"), "mine").unwrap();
        assert_eq!(patched(&remove, &object(Some(&["mine"]), true, "2")).unwrap(), [""; 0]);
    }

    #[test]
    fn a_later_object_of_the_same_name_is_left_alone() {
        let of = |uid: &str, deleting| {
            let mut object = object(Some(&["mine"]), deleting, "1");
            object.metadata.uid = Some(uid.into());
            object
        };
        let remove = Edit::Remove.patch(&of("first", true), "mine").unwrap();
        assert_eq!(patched(&remove, &of("second", false)), None);
        assert_eq!(patched(&remove, &of("first", true)).unwrap(), [""; 0]);
    }

    #[test]
    fn nothing_to_change_is_no_patch() {
        assert_eq!(Edit::Add.patch(&object(Some(&["mine"]), false, "1"), "mine"), None);
        assert_eq!(Edit::Add.patch(&object(None, true, "1"), "mine"), None);
        assert_eq!(Edit::Remove.patch(&object(None, true, "1"), "mine"), None);
    }
}
