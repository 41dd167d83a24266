//! What becomes of an object that carries the label of a set. Pure.

use super::{record::Place, set::ChildSet};
use kube_core::{
    ObjectMeta,
    apply::managed_fields::{Owned, is_made_by},
};
use std::collections::BTreeMap;

/// What an object is to the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The child at this position.
    Wanted(usize),
    /// It was a child, and is no longer wanted.
    Unwanted,
    /// Another object owns it, it has lost the reference to its owner, or someone else has written the label: a copy, or an object that
    /// someone wants to keep.
    NotOurs,
}

/// Decides by label and owner.
#[derive(Debug)]
pub(super) struct Fates<'a> {
    pub(super) set: ChildSet,
    pub(super) owner_uid: &'a str,
    pub(super) owner_namespace: Option<&'a str>,
    /// The wanted children, by place and name.
    pub(super) wanted: BTreeMap<(Place, String), usize>,
}

impl Fates<'_> {
    /// The fate of an object at this place, which has the label of the set.
    pub(super) fn of(&self, place: &Place, object: &ObjectMeta) -> Fate {
        let controller = object.owner_references.iter().flatten().find(|it| it.controller == Some(true));
        if controller.is_some_and(|it| it.uid != self.owner_uid) {
            return Fate::NotOurs;
        }
        let name = object.name.clone().unwrap_or_default();
        if let Some(at) = self.wanted.get(&(place.clone(), name)) {
            return Fate::Wanted(*at);
        }
        match self.is_child(place, object) {
            true => Fate::Unwanted,
            false => Fate::NotOurs,
        }
    }

    /// Whether an object at this place, which has the label of the set, is a child of the owner now: it has the reference; or, where none
    /// is possible, the set itself has written the label. A copy has labels of its original, but no field of its manager.
    pub(super) fn is_child(&self, place: &Place, object: &ObjectMeta) -> bool {
        let controller = object.owner_references.iter().flatten().find(|it| it.controller == Some(true));
        match controller {
            Some(controller) => controller.uid == self.owner_uid,
            None => !self.is_in_reach(place) && self.has_labelled(object),
        }
    }

    fn has_labelled(&self, object: &ObjectMeta) -> bool {
        let entries = object.managed_fields.iter().flatten();
        let own = entries.filter(|entry| is_made_by(entry, self.set.manager(), "Apply"));
        !Owned::of(own).field("metadata").field("labels").field(&self.set.label()).is_empty()
    }

    /// Whether an object at this place can have a reference to the owner.
    fn is_in_reach(&self, place: &Place) -> bool {
        self.owner_namespace.is_none_or(|namespace| place.namespace.as_deref() == Some(namespace))
    }
}

/// Whose an object is that is no child, for messages.
pub(super) fn belongs(object: &ObjectMeta, label: &str) -> String {
    if let Some(controller) = object.owner_references.iter().flatten().find(|it| it.controller == Some(true))
    {
        return format!("it is controlled by {} {}", controller.kind, controller.name);
    }
    if let Some(other) = object.labels.as_ref().and_then(|labels| labels.get(label)) {
        return format!("its label {label} is {other:?}");
    }
    let managers = object.managed_fields.iter().flatten().filter_map(|entry| entry.manager.as_deref());
    let mut managers: Vec<String> = managers.map(|manager| format!("{manager:?}")).collect();
    managers.sort();
    managers.dedup();
    match managers.as_slice() {
        [] => "it has no owner".to_owned(),
        managers => format!("it has no owner, and was written by {}", managers.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_core::{ApiResource, GroupVersionKind};
    use serde_json::{Value, json};

    const LABEL: &str = "site-operator/child-of";

    fn place(namespace: Option<&str>) -> Place {
        Place::new(&ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap")), namespace)
    }

    fn object(metadata: Value) -> ObjectMeta {
        serde_json::from_value(metadata).unwrap()
    }

    fn controlled_by(uid: &str) -> Value {
        let owner =
            json!({ "apiVersion": "v1", "kind": "Secret", "name": "site", "uid": uid, "controller": true });
        json!({ "name": "a", "ownerReferences": [owner] })
    }

    /// With the label, as this manager has written it.
    fn labelled_by(manager: &str, operation: &str) -> Value {
        let fields = json!({ "f:metadata": { "f:labels": { format!("f:{LABEL}"): {} } } });
        let entry = json!({ "manager": manager, "operation": operation, "fieldsType": "FieldsV1", "fieldsV1": fields });
        json!({ "name": "b", "managedFields": [entry] })
    }

    #[test]
    fn only_children_of_the_owner_are_deleted() {
        let wanted = [((place(Some("shop")), "b".to_owned()), 7)].into();
        let set = ChildSet::new("site-operator", "1.0.0");
        let fates = Fates { set, owner_uid: "1", owner_namespace: Some("shop"), wanted };
        let of = |namespace, metadata: Value| fates.of(&place(namespace), &object(metadata));
        assert_eq!(of(Some("shop"), controlled_by("1")), Fate::Unwanted);
        assert_eq!(of(Some("shop"), controlled_by("2")), Fate::NotOurs);
        assert_eq!(of(Some("shop"), json!({ "name": "a" })), Fate::NotOurs, "its reference was removed");
        assert_eq!(
            of(Some("shop"), json!({ "name": "b" })),
            Fate::Wanted(7),
            "the reference is written again"
        );
        assert!(!fates.is_child(&place(Some("shop")), &object(json!({ "name": "b" }))));
        let own = || labelled_by("site-operator", "Apply");
        assert_eq!(of(Some("stage"), own()), Fate::Unwanted, "it can have no reference");
        assert_eq!(of(None, own()), Fate::Unwanted);
        for copy in
            [json!({ "name": "b" }), labelled_by("kubectl", "Apply"), labelled_by("site-operator", "Update")]
        {
            assert_eq!(of(None, copy.clone()), Fate::NotOurs, "{copy}");
        }
        assert_eq!(of(Some("stage"), controlled_by("2")), Fate::NotOurs);
        let cluster = Fates { owner_namespace: None, ..fates };
        assert_eq!(cluster.of(&place(Some("stage")), &object(json!({ "name": "x" }))), Fate::NotOurs);
    }

    #[test]
    fn a_message_says_whose_an_object_is() {
        let of = |metadata: Value| belongs(&object(metadata), LABEL);
        assert_eq!(of(controlled_by("2")), "it is controlled by Secret site");
        assert_eq!(of(json!({ "labels": { LABEL: "9" } })), "its label site-operator/child-of is \"9\"");
        let entry = |manager: &str| json!({ "manager": manager, "operation": "Apply" });
        let entries = json!([entry("kubectl"), entry("helm"), entry("helm")]);
        assert_eq!(
            of(json!({ "managedFields": entries })),
            "it has no owner, and was written by \"helm\", \"kubectl\""
        );
        assert_eq!(of(json!({})), "it has no owner");
    }
}
