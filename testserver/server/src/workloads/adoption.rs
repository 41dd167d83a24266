//! Which objects a controller's object owns: it adopts those that it selects and releases those that it does not select any more.

use serde_json::Value;

use super::{job::track, stateful_set::ordinal_of, template::controller_reference};
use crate::{
    object::{meta, selector::LabelSelector},
    pods::is_over,
};

/// Whether the object is one of the dependents that its owner controls.
pub(crate) fn controls(owner: &Value, object: &Value) -> bool {
    let uid = &owner["metadata"]["uid"];
    references(object).iter().any(|reference| is_controller(reference) && reference["uid"] == *uid)
}

/// The object with a reference to its new owner; `None` if the owner cannot adopt it.
pub(crate) fn adopt(owner: &Value, object: &Value) -> Option<Value> {
    if references(object).iter().any(is_controller)
        || meta::is_deleting(owner)
        || !may_move(object)
        || !selects(owner, object)
        || is_foreign_pod(owner, object)
    {
        return None;
    }
    let mut adopted = object.clone();
    // Its controller is the first.
    let owners = [controller_reference(owner)].into_iter().chain(references(object).iter().cloned());
    meta::set(&mut adopted, "ownerReferences", owners.collect::<Vec<_>>());
    if owner["kind"] == "Job" {
        track(&mut adopted);
    }
    Some(adopted)
}

/// The object without the reference to its owner; `None` if the owner keeps it.
pub(crate) fn release(owner: &Value, object: &Value) -> Option<Value> {
    if !controls(owner, object) || meta::is_deleting(owner) || !may_move(object) || selects(owner, object) {
        return None;
    }
    let uid = &owner["metadata"]["uid"];
    let left: Vec<Value> =
        references(object).iter().filter(|reference| reference["uid"] != *uid).cloned().collect();
    let mut released = object.clone();
    meta::set(&mut released, "ownerReferences", if left.is_empty() { Value::Null } else { left.into() });
    Some(released)
}

/// Whether an object may get another owner: a pod that is over, or an object that is being deleted, keeps the one that it has.
fn may_move(object: &Value) -> bool {
    !is_over(object) && !meta::is_deleting(object)
}

fn references(object: &Value) -> &[Value] {
    object["metadata"]["ownerReferences"].as_array().map_or(&[], Vec::as_slice)
}

/// Whether the name of a pod is not one of the StatefulSet, which adopts no others.
fn is_foreign_pod(owner: &Value, object: &Value) -> bool {
    owner["kind"] == "StatefulSet"
        && object["kind"] == "Pod"
        && ordinal_of(owner, meta::name(object)).is_none()
}

fn is_controller(reference: &Value) -> bool {
    reference["controller"] == true
}

/// Whether an object has the labels that its owner selects.
pub(crate) fn selects(owner: &Value, object: &Value) -> bool {
    let label = |key: &str| object["metadata"]["labels"][key].as_str();
    selector_of(owner).is_some_and(|selector| selector.matches(label))
}

/// What an owner selects; `None` if it selects nothing.
pub(crate) fn selector_of(owner: &Value) -> Option<LabelSelector> {
    let selector = &owner["spec"]["selector"];
    let selector = match owner["kind"] == "ReplicationController" {
        true => LabelSelector::from_labels(selector),
        false => LabelSelector::from_object(selector),
    };
    selector.filter(|selector| !selector.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_selected_is_adopted_and_what_is_not_is_released() {
        for (kind, selector) in [
            ("ReplicaSet", json!({"matchLabels": {"app": "a"}})),
            ("ReplicationController", json!({"app": "a"})),
        ] {
            let owner = json!({"apiVersion": "v", "kind": kind, "metadata": {"name": "s", "uid": "u"},
                "spec": {"selector": selector}});
            let mut pod = json!({"metadata": {"ownerReferences": [{"uid": "other"}]}});
            assert_eq!(adopt(&owner, &pod), None, "not selected");
            pod["metadata"]["labels"] = json!({"app": "a"});
            let adopted = adopt(&owner, &pod).unwrap();
            assert_eq!(adopted["metadata"]["ownerReferences"][0]["uid"], "u");
            assert_eq!(
                (adopt(&owner, &adopted), release(&owner, &adopted)),
                (None, None),
                "once, and it stays"
            );
            let mut moved = adopted.clone();
            moved["metadata"]["labels"] = json!({});
            let released = release(&owner, &moved).unwrap();
            assert_eq!(released["metadata"]["ownerReferences"], json!([{"uid": "other"}]));
            assert_eq!(release(&owner, &released), None);
            let mut deleting = owner.clone();
            deleting["metadata"]["deletionTimestamp"] = "t".into();
            assert_eq!((adopt(&deleting, &pod), release(&deleting, &moved)), (None, None));
        }
    }

    #[test]
    fn an_empty_selector_selects_nothing() {
        let owner = json!({"kind": "ReplicaSet", "metadata": {"uid": "u"}, "spec": {"selector": {}}});
        assert_eq!(adopt(&owner, &json!({"metadata": {}})), None);
    }
}
