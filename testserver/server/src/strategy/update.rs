//! Prepares the new version of an object: what an update cannot change stays.

use serde_json::Value;

use super::{WritePart, allocate, built_in, part};
use crate::{object::meta, scheme::Endpoint};

/// Restores the fields of `new` that this write cannot change.
pub(crate) fn prepare(endpoint: &Endpoint, part: WritePart, old: &Value, new: &mut Value) {
    match part {
        WritePart::Main => {
            if endpoint.has_status() {
                keep(new, old, "status");
            }
            let requests = endpoint.resource.is("certificates.k8s.io", "certificatesigningrequests");
            if endpoint.is_core("namespaces") || requests {
                keep(new, old, "spec");
            }
            built_in::prepare_update(endpoint, new);
            allocate::update(endpoint, old, new);
        }
        WritePart::Status => only(new, old, &["status"], endpoint),
        WritePart::Finalize => only(new, old, &["spec"], endpoint),
        WritePart::Approval | WritePart::EphemeralContainers | WritePart::Resize => {
            let provided = new.clone();
            only(new, old, &[], endpoint);
            part::copy_part(part, &provided, new);
        }
    }
    built_in::keep_annotations(endpoint, part, old, new);
    for field in
        ["name", "namespace", "uid", "creationTimestamp", "generateName", "generation", "resourceVersion"]
    {
        meta::copy(new, old, field);
    }
    if part != WritePart::Main || meta::is_deleting(old) || meta::is_deleting(new) {
        meta::copy(new, old, "deletionTimestamp");
        meta::copy(new, old, "deletionGracePeriodSeconds");
    }
    meta::set(new, "selfLink", Value::Null);
}

/// Increments the generation if the write changes more than metadata and status. Both versions are as they are printed.
pub(crate) fn count(endpoint: &Endpoint, part: WritePart, old: &Value, new: &mut Value) {
    if part == WritePart::Main && endpoint.resource.is("apps", "daemonsets") {
        allocate::count_templates(old, new);
    }
    if built_in::has_generation(endpoint) && changes_content(endpoint, old, new) {
        let generation = old["metadata"]["generation"].as_i64().unwrap_or(0) + 1;
        meta::set(new, "generation", generation);
    }
}

/// Restores everything from `old` except `members`; of metadata, only managed fields can change.
fn only(new: &mut Value, old: &Value, members: &[&str], endpoint: &Endpoint) {
    let provided = std::mem::replace(new, old.clone());
    let (Some(map), Value::Object(mut provided)) = (new.as_object_mut(), provided) else { return };
    for member in members {
        match provided.remove(*member) {
            Some(value) => drop(map.insert((*member).into(), value)),
            None => drop(map.remove(*member)),
        }
    }
    let mut metadata = provided.remove("metadata").unwrap_or_default();
    for field in ["managedFields"].iter().chain(built_in::metadata_of_status(endpoint)) {
        meta::set(new, field, metadata.get_mut(*field).map(Value::take).unwrap_or_default());
    }
}

fn keep(new: &mut Value, old: &Value, member: &str) {
    let Some(map) = new.as_object_mut() else { return };
    match old.get(member) {
        Some(value) => drop(map.insert(member.into(), value.clone())),
        None => drop(map.remove(member)),
    }
}

/// Whether anything besides metadata and a status subresource changed. Null is as good as missing.
fn changes_content(endpoint: &Endpoint, old: &Value, new: &Value) -> bool {
    let ignores_status = endpoint.has_status();
    let counts =
        |key: &str| !(matches!(key, "apiVersion" | "kind" | "metadata") || ignores_status && key == "status");
    let lacks = |one: &Value, other: &Value| {
        let mut members = one.as_object().into_iter().flatten();
        members.any(|(key, value)| counts(key) && *value != other[key])
    };
    lacks(old, new) || lacks(new, old)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::scheme::Scheme;

    fn updated(group: &str, plural: &str, part: WritePart, old: &Value, mut new: Value) -> Value {
        let scheme = Scheme::with_built_in();
        let endpoint = scheme.by_plural(group, plural).unwrap();
        prepare(endpoint, part, old, &mut new);
        count(endpoint, part, old, &mut new);
        new
    }

    fn deployment() -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "a", "uid": "u", "generation": 1, "creationTimestamp": "t", "labels": {"a": "b"}},
            "spec": {"replicas": 1}, "status": {"replicas": 1}})
    }

    #[test]
    fn the_generation_counts_changes_of_the_spec() {
        let old = deployment();
        let mut new = old.clone();
        new["metadata"]["labels"] = json!({"a": "c"});
        new["status"] = json!({"replicas": 5});
        let labels = updated("apps", "deployments", WritePart::Main, &old, new.clone());
        assert_eq!(
            (&labels["metadata"]["generation"], &labels["status"]["replicas"]),
            (&json!(1), &json!(1))
        );
        new["spec"]["replicas"] = json!(2);
        new["metadata"]["generation"] = json!(77);
        assert_eq!(updated("apps", "deployments", WritePart::Main, &old, new)["metadata"]["generation"], 2);
    }

    #[test]
    fn a_status_write_changes_status_and_some_metadata() {
        let old = deployment();
        let new = json!({"metadata": {"name": "a", "labels": {"a": "c"}, "finalizers": ["x"]}, "spec": {"replicas": 9}, "status": {"replicas": 3}});
        let new = updated("apps", "deployments", WritePart::Status, &old, new);
        assert_eq!((&new["spec"]["replicas"], &new["status"]["replicas"]), (&json!(1), &json!(3)));
        let metadata = &new["metadata"];
        assert_eq!((&metadata["labels"], &metadata["finalizers"]), (&json!({"a": "b"}), &json!(["x"])));
        assert_eq!(new["metadata"]["generation"], 1);
    }

    #[test]
    fn identity_and_deletion_cannot_be_changed() {
        let mut old = deployment();
        old["metadata"]["deletionTimestamp"] = json!("d");
        let new =
            json!({"metadata": {"name": "a", "uid": "v", "creationTimestamp": "z"}, "spec": {"replicas": 1}});
        let new = updated("apps", "deployments", WritePart::Main, &old, new);
        assert_eq!(
            (&new["metadata"]["uid"], &new["metadata"]["creationTimestamp"]),
            (&json!("u"), &json!("t"))
        );
        assert_eq!(new["metadata"]["deletionTimestamp"], "d");
    }
}
