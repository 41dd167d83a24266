//! What a set means for its parent and its members: what to write, where to look, what to delete. No I/O.

use std::collections::{BTreeMap, BTreeSet};

use kube_core::metadata::PartialObjectMeta;
use kube_core::{ApiResource, DynamicObject, ObjectMeta};

use super::error::ApplySetError;
use super::members::Members;
use super::set::{ApplySet, ID, KINDS, NAMESPACES, RUN, TOOLING};

/// What the parent records; nothing if there is none yet.
///
/// # Errors
/// If the parent is not that of the set, or belongs to another tool.
pub(super) fn recorded(set: &ApplySet, parent: Option<&ObjectMeta>) -> Result<Members, ApplySetError> {
    let refused = |message: String| ApplySetError::Parent { parent: set.to_string(), message };
    let Some(parent) = parent else {
        return match is_built_in(set) {
            true => Ok(Members { namespaces: set.namespace.iter().cloned().collect(), ..Members::default() }),
            false => Err(refused(
                "it does not exist; only Secrets and ConfigMaps are made by applying the set".into(),
            )),
        };
    };
    let annotation = |key: &str| parent.annotations.as_ref().and_then(|annotations| annotations.get(key));
    let Some(tooling) = annotation(TOOLING) else {
        return Err(refused(format!("it has no annotation {TOOLING}, so it was not made for an apply set")));
    };
    if tooling.split('/').next() != Some(set.tool()) {
        return Err(refused(format!(
            "its annotation {TOOLING} is {tooling:?}, so the set belongs to another tool: expected {:?}",
            set.tool()
        )));
    }
    let (id, expected) = (parent.labels.as_ref().and_then(|labels| labels.get(ID)), set.id());
    if id != Some(&expected) {
        return Err(refused(format!(
            "its label {ID} is {:?}: expected {expected:?}",
            id.map_or("missing", String::as_str)
        )));
    }
    let Some(kinds) = annotation(KINDS) else {
        return Err(refused(format!(
            "it has no annotation {KINDS}, so the kinds of its members are not known"
        )));
    };
    let namespaces = annotation(NAMESPACES).map(String::as_str).unwrap_or_default();
    Ok(Members::parse(kinds, namespaces, set.namespace.as_deref()))
}

/// Whether kubectl makes such a parent if it does not exist.
pub(super) fn is_built_in(set: &ApplySet) -> bool {
    set.resource.group.is_empty() && matches!(set.resource.kind.as_str(), "Secret" | "ConfigMap")
}

/// Whether one of the objects makes the server serve this kind.
pub(super) fn is_defined(kind: &ApiResource, objects: &[(ApiResource, DynamicObject)]) -> bool {
    objects.iter().any(|(resource, object)| {
        let spec = &object.data["spec"];
        spec["group"] == kind.group.as_str()
            && match &*resource.kind {
                "CustomResourceDefinition" => spec["names"]["kind"] == kind.kind.as_str(),
                kind => kind == "APIService",
            }
    })
}

/// The parent to write: all fields that its manager owns. With a version, it is refused if the parent has another. `run` is the run that
/// goes on.
pub(super) fn parent_patch(
    set: &ApplySet,
    members: &Members,
    run: Option<&str>,
    version: Option<String>,
) -> DynamicObject {
    let mut parent = DynamicObject::new(&set.name, &set.resource);
    let namespaces = members.namespaces_text(set.namespace.as_deref());
    parent.metadata.namespace.clone_from(&set.namespace);
    parent.metadata.resource_version = version;
    parent.metadata.labels = Some(BTreeMap::from([(ID.to_owned(), set.id())]));
    let run = run.map(|run| (RUN.to_owned(), run.to_owned()));
    let annotations = [
        (TOOLING.to_owned(), set.tooling.clone()),
        (KINDS.to_owned(), members.kinds_text()),
        (NAMESPACES.to_owned(), namespaces),
    ];
    parent.metadata.annotations = Some(annotations.into_iter().chain(run).collect());
    parent
}

/// The run that a parent records, if one goes on or was cut off.
pub(super) fn run_of(parent: &ObjectMeta) -> Option<&str> {
    parent.annotations.as_ref()?.get(RUN).map(String::as_str)
}

/// Who has written the parent last, and when, as far as it says so.
pub(super) fn last_writer(parent: &ObjectMeta) -> String {
    let annotation = |key: &str| parent.annotations.as_ref().and_then(|annotations| annotations.get(key));
    let tooling = annotation(TOOLING).map_or("an unknown tool", String::as_str);
    let entries = parent.managed_fields.iter().flatten().filter(|entry| entry.subresource.is_none());
    let Some(last) = entries.max_by_key(|entry| entry.time.clone()) else { return tooling.to_owned() };
    let manager = last.manager.as_deref().unwrap_or("an unknown manager");
    match &last.time {
        Some(time) => format!("{tooling} as field manager {manager:?} at {}", time.0),
        None => format!("{tooling} as field manager {manager:?}"),
    }
}

/// The collections in which members of one kind may be.
///
/// # Errors
/// If the kind has namespaces, and the parent records none.
pub(super) fn collections(
    set: &ApplySet,
    members: &Members,
    kind: &str,
    namespaced: bool,
) -> Result<Vec<Option<String>>, ApplySetError> {
    match namespaced {
        false => Ok(vec![None]),
        true if members.namespaces.is_empty() => Err(ApplySetError::Parent {
            parent: set.to_string(),
            message: format!(
                "it has members of kind {kind}, but its annotation {NAMESPACES} names no namespace"
            ),
        }),
        true => Ok(members.namespaces.iter().cloned().map(Some).collect()),
    }
}

/// What to do with a member that the server has.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Keep,
    Delete,
    /// It belongs to this owner, which is not the parent: it is kept, and its owner decides about it.
    Owned {
        owner: String,
    },
}

/// Members that were applied, the parent itself, and what is being deleted already are kept. So is what another object owns, whose
/// controller may have copied the label of the set.
pub(super) fn fate(
    member: &PartialObjectMeta<DynamicObject>,
    applied: &BTreeSet<&str>,
    parent_uid: Option<&str>,
) -> Fate {
    let uid = member.metadata.uid.as_deref();
    if member.metadata.deletion_timestamp.is_some()
        || uid.is_some_and(|uid| applied.contains(uid))
        || (uid.is_some() && uid == parent_uid)
    {
        return Fate::Keep;
    }
    let owners = member.metadata.owner_references.iter().flatten();
    match owners.into_iter().find(|owner| Some(owner.uid.as_str()) != parent_uid) {
        Some(owner) => Fate::Owned { owner: format!("{} {:?}", owner.kind, owner.name) },
        None => Fate::Delete,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Namespace;
    use kube_core::ApiResource;
    use serde_json::json;

    use super::*;

    fn set() -> ApplySet {
        ApplySet::secret("web", "parent")
    }

    /// The parent as it was written, with one label or annotation changed.
    fn parent(
        change: impl FnOnce(&mut BTreeMap<String, String>, &mut BTreeMap<String, String>),
    ) -> ObjectMeta {
        let members = Members::parse("ConfigMap,Deployment.apps", "other", Some("web"));
        let mut parent = parent_patch(&set(), &members, None, None).metadata;
        change(parent.labels.as_mut().unwrap(), parent.annotations.as_mut().unwrap());
        parent
    }

    #[test]
    fn what_is_written_is_read_back() {
        let members = recorded(&set(), Some(&parent(|_, _| {}))).unwrap();
        assert_eq!(members.kinds_text(), "ConfigMap,Deployment.apps");
        assert_eq!(members.namespaces.into_iter().collect::<Vec<_>>(), ["other", "web"]);
        let empty = recorded(&set(), None).unwrap();
        assert_eq!((empty.kinds.len(), empty.namespaces.len()), (0, 1));
        let written = parent_patch(&set(), &empty, None, Some("7".into()));
        assert_eq!(
            serde_json::to_value(written).unwrap(),
            json!({ "apiVersion": "v1", "kind": "Secret", "metadata": {
                "name": "parent", "namespace": "web", "resourceVersion": "7",
                "labels": { "applyset.kubernetes.io/id": set().id() },
                "annotations": {
                    "applyset.kubernetes.io/tooling": "kubectl/v1.37",
                    "applyset.kubernetes.io/contains-group-kinds": "",
                    "applyset.kubernetes.io/additional-namespaces": "",
                },
            } })
        );
    }

    #[test]
    fn the_parent_says_which_run_goes_on_and_who_wrote_it_last() {
        let mut parent = parent_patch(&set(), &Members::default(), Some("one"), None).metadata;
        assert_eq!(run_of(&parent), Some("one"));
        assert_eq!(last_writer(&parent), "kubectl/v1.37");
        let entry = |manager: &str, minute: u32| json!({ "manager": manager, "operation": "Apply", "time": format!("2026-01-01T00:{minute:02}:00Z") });
        let entries = json!([entry("editor", 1), entry("kubectl-applyset", 2), entry("older", 0)]);
        parent.managed_fields = Some(serde_json::from_value(entries).unwrap());
        assert_eq!(
            last_writer(&parent),
            r#"kubectl/v1.37 as field manager "kubectl-applyset" at 2026-01-01T00:02:00Z"#
        );
        assert_eq!(run_of(&ObjectMeta::default()), None);
        assert_eq!(last_writer(&ObjectMeta::default()), "an unknown tool");
    }

    #[test]
    fn parents_of_others_are_refused() {
        let refused = |parent: &ObjectMeta| recorded(&set(), Some(parent)).unwrap_err().to_string();
        let text = refused(&parent(|_, annotations| drop(annotations.remove(TOOLING))));
        assert!(text.contains("Secret \"parent\" in namespace \"web\" cannot be the parent"), "{text}");
        assert!(text.contains("no annotation applyset.kubernetes.io/tooling"), "{text}");
        let text =
            refused(&parent(|_, annotations| drop(annotations.insert(TOOLING.into(), "helm/v3".into()))));
        assert!(
            text.contains("\"helm/v3\", so the set belongs to another tool: expected \"kubectl\""),
            "{text}"
        );
        let text = refused(&parent(|labels, _| drop(labels.remove(ID))));
        assert!(text.contains("label applyset.kubernetes.io/id is \"missing\""), "{text}");
        let text = refused(&parent(|labels, _| drop(labels.insert(ID.into(), "applyset-x-v1".into()))));
        assert!(text.contains("\"applyset-x-v1\": expected"), "{text}");
        let text = refused(&parent(|_, annotations| drop(annotations.remove(KINDS))));
        assert!(text.contains("the kinds of its members are not known"), "{text}");
        assert!(refused(&ObjectMeta::default()).contains("was not made for an apply set"));
        // Another version of the same tool is no other tool.
        let newer =
            parent(|_, annotations| drop(annotations.insert(TOOLING.into(), "kubectl/v1.99.1".into())));
        assert!(recorded(&set(), Some(&newer)).is_ok());
        let own = ApplySet::secret("web", "parent").tooling("mine/v1");
        assert!(recorded(&own, Some(&parent(|_, _| {}))).is_err());
        assert_eq!(
            (own.field_manager().as_str(), set().field_manager().as_str()),
            ("mine-applyset", "kubectl-applyset")
        );
    }

    #[test]
    fn custom_parents_are_not_made() {
        let kind = ApiResource::erase::<Namespace>(&());
        let text = recorded(&ApplySet::custom(&kind, None, "a"), None).unwrap_err().to_string();
        assert!(text.contains("does not exist; only Secrets and ConfigMaps are made"), "{text}");
    }

    #[test]
    fn members_are_looked_for_where_they_may_be() {
        let members = Members::parse("ConfigMap", "b", Some("a"));
        let both = [Some("a".to_owned()), Some("b".to_owned())];
        assert_eq!(collections(&set(), &members, "ConfigMap", true).unwrap(), both);
        assert_eq!(collections(&set(), &members, "Namespace", false).unwrap(), [None]);
        let err = collections(&set(), &Members::default(), "ConfigMap", true).unwrap_err().to_string();
        assert!(err.contains("names no namespace"), "{err}");
    }

    #[test]
    fn only_members_that_were_not_applied_are_deleted() {
        let member = |metadata: serde_json::Value| -> PartialObjectMeta<DynamicObject> {
            serde_json::from_value(json!({ "metadata": metadata })).unwrap()
        };
        let fate = |metadata| fate(&member(metadata), &BTreeSet::from(["applied"]), Some("parent"));
        assert_eq!(fate(json!({ "name": "a", "uid": "1" })), Fate::Delete);
        assert_eq!(fate(json!({ "name": "a", "uid": "applied" })), Fate::Keep);
        assert_eq!(fate(json!({ "name": "a", "uid": "parent" })), Fate::Keep);
        assert_eq!(
            fate(json!({ "name": "a", "uid": "1", "deletionTimestamp": "2026-01-01T00:00:00Z" })),
            Fate::Keep
        );
        let owned = |uid: &str| json!({ "name": "a", "uid": "1", "ownerReferences": [{ "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid }] });
        assert_eq!(fate(owned("parent")), Fate::Delete);
        assert_eq!(fate(owned("other")), Fate::Owned { owner: "Pod \"p\"".into() });
    }
}
