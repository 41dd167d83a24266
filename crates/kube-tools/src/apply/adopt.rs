//! Managed fields in which the updates of a manager have become its applies, as with client-go's `csaupgrade`. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube_core::apply::managed_fields::{Owned, is_entry_of, tree_of};
use serde_json::{Map, Value};

/// The managed fields with the entries of the managers `former` for updates joined into the entry of `manager` for applies. `None` if they
/// have no such entry.
///
/// Only entries of one API version can be joined: that of the manager's apply, or of the newest update. Others of these updates are
/// removed, so that no manager owns their fields.
pub(crate) fn adopted(
    entries: &[ManagedFieldsEntry],
    former: &[&str],
    manager: &str,
    subresource: Option<&str>,
) -> Option<Vec<ManagedFieldsEntry>> {
    let is_update = |entry: &&ManagedFieldsEntry| {
        former.iter().any(|former| is_entry_of(entry, former, "Update", subresource))
    };
    let is_apply = |entry: &ManagedFieldsEntry| is_entry_of(entry, manager, "Apply", subresource);
    let newest = entries.iter().filter(is_update).max_by(|a, b| a.time.cmp(&b.time))?;
    let apply = entries.iter().find(|entry| is_apply(entry));
    let mut joined = ManagedFieldsEntry {
        manager: Some(manager.into()),
        operation: Some("Apply".into()),
        ..apply.unwrap_or(newest).clone()
    };
    let same_version = |entry: &&ManagedFieldsEntry| entry.api_version == joined.api_version;
    let mut fields = Map::new();
    let updates = entries.iter().filter(is_update).filter(same_version);
    for tree in updates.chain([&joined]).filter_map(tree_of) {
        unite_children(&mut fields, tree);
    }
    joined.fields_v1.get_or_insert_default().0 = Value::Object(fields);
    let others = entries.iter().filter(|entry| !is_update(entry) && !is_apply(entry));
    Some([joined].into_iter().chain(others.cloned()).collect())
}

/// The managers that have applied the object on the client side, as `kubectl apply` without `--server-side`: it has this name, or another
/// one, and keeps in an annotation what it applied last.
pub(crate) fn client_side_managers(entries: &[ManagedFieldsEntry]) -> Vec<&str> {
    let applied = |entry: &&ManagedFieldsEntry| {
        let annotations = Owned::of([*entry]).field("metadata").field("annotations");
        entry.manager.as_deref() == Some("kubectl-client-side-apply")
            || !annotations.field("kubectl.kubernetes.io/last-applied-configuration").is_empty()
    };
    let managers = entries.iter().filter(applied).filter_map(|entry| {
        let manager = entry.manager.as_deref()?;
        is_entry_of(entry, manager, "Update", None).then_some(manager)
    });
    managers.collect()
}

/// Adds what `other` owns. An empty node owns its value; in a node with children the child `.` says so.
fn unite(into: &mut Map<String, Value>, other: &Map<String, Value>) {
    if into.is_empty() != other.is_empty() {
        into.insert(".".into(), Value::Object(Map::new()));
    }
    unite_children(into, other);
}

fn unite_children(into: &mut Map<String, Value>, other: &Map<String, Value>) {
    for (key, node) in other {
        match (into.get_mut(key), node) {
            (Some(Value::Object(mine)), Value::Object(theirs)) => unite(mine, theirs),
            (Some(_), _) => {}
            (None, node) => drop(into.insert(key.clone(), node.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(manager: &str, operation: &str, version: &str, fields: Value) -> ManagedFieldsEntry {
        serde_json::from_value(json!({
            "manager": manager, "operation": operation, "apiVersion": version, "fieldsType": "FieldsV1",
            "time": "2026-01-01T00:00:00Z", "fieldsV1": fields,
        }))
        .unwrap()
    }

    fn result(entries: &[ManagedFieldsEntry]) -> Option<Vec<ManagedFieldsEntry>> {
        adopted(entries, &["me"], "me", None)
    }

    #[test]
    fn an_update_becomes_an_apply() {
        let fields = || json!({ "f:data": { ".": {}, "f:a": {} } });
        let other = entry("other", "Update", "v1", fields());
        let entries = [other.clone(), entry("me", "Update", "v1", fields())];
        assert_eq!(result(&entries), Some(vec![entry("me", "Apply", "v1", fields()), other]));
    }

    #[test]
    fn a_manager_takes_over_from_others() {
        let fields = |name: &str| json!({ "f:data": { name: {} } });
        let stays = entry("other", "Update", "v1", fields("f:c"));
        let entries = [
            entry("kubectl-client-side-apply", "Update", "v1", fields("f:a")),
            stays.clone(),
            entry("me", "Apply", "v1", fields("f:b")),
        ];
        let joined = entry("me", "Apply", "v1", json!({ "f:data": { "f:a": {}, "f:b": {} } }));
        let expected = Some(vec![joined, stays]);
        assert_eq!(adopted(&entries, &["kubectl-client-side-apply"], "me", None), expected);
        assert_eq!(adopted(&entries, &["nobody"], "me", None), None);
    }

    /// `kubectl apply` of 1.37, also with `--field-manager=flux`; `kubectl create` is no apply.
    #[test]
    fn what_was_applied_on_the_client_side_is_recognized() {
        let last_applied = json!({ "f:metadata": { "f:annotations": { "f:kubectl.kubernetes.io/last-applied-configuration": {} } } });
        let mut status = entry("kubectl-client-side-apply", "Update", "v1", json!({ "f:status": {} }));
        status.subresource = Some("status".into());
        let entries = [
            entry("kubectl-client-side-apply", "Update", "v1", json!({})),
            entry("flux", "Update", "v1", last_applied.clone()),
            entry("kubectl-last-applied", "Apply", "v1", last_applied),
            entry("kubectl-create", "Update", "v1", json!({ "f:data": {} })),
            status,
        ];
        assert_eq!(client_side_managers(&entries), ["kubectl-client-side-apply", "flux"]);
    }

    #[test]
    fn updates_join_the_apply_that_is_there() {
        let entries = [
            entry("me", "Apply", "v1", json!({ "f:data": { "f:a": {} }, "f:x": {}, "f:y": { "f:z": {} } })),
            entry(
                "me",
                "Update",
                "v1",
                json!({ "f:data": { ".": {}, "f:b": {} }, "f:x": { "f:c": {} }, "f:y": {} }),
            ),
        ];
        let expected = json!({
            "f:data": { ".": {}, "f:a": {}, "f:b": {} }, "f:x": { ".": {}, "f:c": {} }, "f:y": { ".": {}, "f:z": {} },
        });
        assert_eq!(result(&entries), Some(vec![entry("me", "Apply", "v1", expected)]));
    }

    #[test]
    fn nothing_is_changed_without_an_update_of_this_manager() {
        let mut status = entry("me", "Update", "v1", json!({ "f:status": {} }));
        status.subresource = Some("status".into());
        let entries = [
            entry("me", "Apply", "v1", json!({})),
            entry("other", "Update", "v1", json!({})),
            status.clone(),
        ];
        assert_eq!(result(&entries), None);
        assert_eq!(result(&[]), None);
        let of_status = adopted(&entries, &["me"], "me", Some("status")).unwrap();
        assert_eq!(of_status[0], ManagedFieldsEntry { operation: Some("Apply".into()), ..status });
        assert_eq!(of_status[1..], entries[..2]);
    }

    #[test]
    fn entries_of_other_versions_are_not_joined_and_not_kept() {
        let mut newer = entry("me", "Update", "v2", json!({ "f:new": {} }));
        newer.time = serde_json::from_value(json!("2026-01-02T00:00:00Z")).unwrap();
        let older = entry("me", "Update", "v1", json!({ "f:old": {} }));
        for entries in [[newer.clone(), older.clone()], [older.clone(), newer.clone()]] {
            let apply = ManagedFieldsEntry { operation: Some("Apply".into()), ..newer.clone() };
            assert_eq!(result(&entries), Some(vec![apply]));
        }
        let apply = entry("me", "Apply", "v1", json!({ "f:mine": {} }));
        let expected = entry("me", "Apply", "v1", json!({ "f:mine": {}, "f:old": {} }));
        assert_eq!(result(&[newer, older, apply]), Some(vec![expected]));
    }

    #[test]
    fn entries_without_fields_are_joined_too() {
        let empty = ManagedFieldsEntry { fields_v1: None, ..entry("me", "Update", "v1", json!({})) };
        assert_eq!(result(&[empty]), Some(vec![entry("me", "Apply", "v1", json!({}))]));
    }
}
