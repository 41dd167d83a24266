//! What a finalizer has to do next, and the JSON patches that add and remove it.
//!
//! A JSON patch addresses list entries by index, so each patch tests the entries that it relies on. Without the tests a
//! patch made from an old state could remove another finalizer or add its own twice (servers accept duplicates). The tests
//! cover only uid and finalizers, so concurrent changes of other fields never fail a patch. If another finalizer has moved
//! an entry, the patch fails, and the caller makes a new one from the current state of the object.

use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, Patch, PatchOperation, RemoveOperation, TestOperation};
use kube_core::Resource;
use serde_json::{Value, json};

/// What the finalizer has to do next, by the state of the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// The object exists without the finalizer: add it before anything else.
    Add,
    /// The object has the finalizer and is not being deleted.
    Apply,
    /// The object is being deleted and has the finalizer.
    Cleanup,
    /// The object is being deleted and does not have the finalizer.
    Nothing,
}

pub(super) fn decide<K: Resource>(object: &K, finalizer: &str) -> Decision {
    let meta = object.meta();
    let present = meta.finalizers.iter().flatten().any(|present| present == finalizer);
    match (present, meta.deletion_timestamp.is_some()) {
        (false, false) => Decision::Add,
        (true, false) => Decision::Apply,
        (true, true) => Decision::Cleanup,
        (false, true) => Decision::Nothing,
    }
}

/// A change of the finalizer list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edit {
    Add,
    Remove,
}

impl Edit {
    /// The patch that makes this change to `object`; `None` if no change is needed.
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
        None => add_value(path, json!([finalizer])),
        Some(_) => add_value(&format!("{path}/-"), finalizer.into()),
    };
    // Servers treat an absent list as null in a test.
    let unchanged = test(path, json!(present));
    Patch(same_object(object).chain([unchanged, addition]).collect())
}

/// Removes every entry of this name, last to first, so that the indexes of the remaining ones stay valid.
fn remove<K: Resource>(object: &K, finalizer: &str) -> Patch {
    let present = object.meta().finalizers.iter().flatten();
    let mut paths: Vec<String> = present
        .enumerate()
        .filter(|(_, name)| *name == finalizer)
        .map(|(index, _)| format!("/metadata/finalizers/{index}"))
        .collect();
    paths.reverse();
    let operations = paths.iter().flat_map(|path| [test(path, finalizer.into()), remove_value(path)]);
    Patch(same_object(object).chain(operations).collect())
}

/// Tests the uid: a recreated object of the same name is left alone.
fn same_object<K: Resource>(object: &K) -> impl Iterator<Item = PatchOperation> + use<K> {
    object.meta().uid.as_ref().map(|uid| test("/metadata/uid", uid.as_str().into())).into_iter()
}

fn test(path: &str, value: Value) -> PatchOperation {
    PatchOperation::Test(TestOperation { path: pointer(path), value })
}

fn add_value(path: &str, value: Value) -> PatchOperation {
    PatchOperation::Add(AddOperation { path: pointer(path), value })
}

fn remove_value(path: &str) -> PatchOperation {
    PatchOperation::Remove(RemoveOperation { path: pointer(path) })
}

fn pointer(path: &str) -> PointerBuf {
    PointerBuf::parse(path).expect("invariant: the paths of this file are JSON pointers")
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

    /// The finalizers after a server applied `patch` to `current`; `None` if the patch fails. (Unlike the `json_patch`
    /// crate, servers treat an absent list as null in a test, as the end-to-end suite verifies.)
    fn patched(patch: &Patch, current: &ConfigMap) -> Option<Vec<String>> {
        let mut document = serde_json::to_value(current).unwrap();
        let _null_if_absent = &mut document["metadata"]["finalizers"];
        json_patch::patch(&mut document, patch).ok()?;
        serde_json::from_value::<ConfigMap>(document).unwrap().metadata.finalizers
    }

    #[test]
    fn decides_by_finalizer_and_deletion_timestamp() {
        let (with, without) = (&["other", "mine"][..], &["other"][..]);
        assert_eq!(decide(&object(Some(without), false, "1"), "mine"), Decision::Add);
        assert_eq!(decide(&object(Some(with), false, "1"), "mine"), Decision::Apply);
        assert_eq!(decide(&object(Some(with), true, "1"), "mine"), Decision::Cleanup);
        assert_eq!(decide(&object(Some(without), true, "1"), "mine"), Decision::Nothing);
        assert_eq!(decide(&ConfigMap::default(), "mine"), Decision::Add);
    }

    #[test]
    fn adds_to_an_absent_an_empty_and_a_non_empty_list() {
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
    fn removes_only_its_own_entry() {
        let object = object(Some(&["first", "mine", "last"]), true, "1");
        let patch = Edit::Remove.patch(&object, "mine").unwrap();
        assert_eq!(patched(&patch, &object).unwrap(), ["first", "last"]);
    }

    #[test]
    fn a_patch_from_an_old_state_fails_rather_than_touch_another_finalizer() {
        let add = Edit::Add.patch(&object(None, false, "1"), "mine").unwrap();
        assert_eq!(patched(&add, &object(Some(&["other"]), false, "2")), None);
        let remove = Edit::Remove.patch(&object(Some(&["other", "mine"]), true, "1"), "mine").unwrap();
        assert_eq!(patched(&remove, &object(Some(&["mine"]), true, "2")), None);
    }

    #[test]
    fn adding_succeeds_despite_concurrent_changes_of_other_fields() {
        let before = object(Some(&["other"]), false, "1");
        let add = Edit::Add.patch(&before, "mine").unwrap();
        let mut now = object(Some(&["other"]), false, "2");
        now.metadata.labels = Some([("changed".to_owned(), "yes".to_owned())].into());
        assert_eq!(patched(&add, &now).unwrap(), ["other", "mine"]);
        assert_eq!(
            patched(&add, &object(Some(&["other", "mine"]), false, "2")),
            None,
            "a second addition fails"
        );
    }

    #[test]
    fn removes_duplicates_of_its_entry() {
        let twice = object(Some(&["mine", "other", "mine"]), true, "1");
        let patch = Edit::Remove.patch(&twice, "mine").unwrap();
        assert_eq!(patched(&patch, &twice).unwrap(), ["other"]);
    }

    #[test]
    fn removing_succeeds_if_only_later_entries_changed() {
        let remove = Edit::Remove.patch(&object(Some(&["mine", "other"]), true, "1"), "mine").unwrap();
        assert_eq!(patched(&remove, &object(Some(&["mine"]), true, "2")).unwrap(), [""; 0]);
    }

    #[test]
    fn a_recreated_object_of_the_same_name_is_left_alone() {
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
    fn there_is_no_patch_if_no_change_is_needed() {
        assert_eq!(Edit::Add.patch(&object(Some(&["mine"]), false, "1"), "mine"), None);
        assert_eq!(Edit::Add.patch(&object(None, true, "1"), "mine"), None);
        assert_eq!(Edit::Remove.patch(&object(None, true, "1"), "mine"), None);
    }
}
