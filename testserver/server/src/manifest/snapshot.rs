//! Saves all objects of a server as YAML, and restores them.

use serde_json::{Value, json};

use super::{LoadError, Manifests};
use crate::{
    cluster::ClusterState,
    ids::Ids,
    object::meta,
    storage::{Key, StateEntry},
};

/// All objects of the server as YAML documents. The first is an empty `List` with the resourceVersion of the server, which is newer than
/// its objects after a deletion.
pub(crate) fn take(cluster: &ClusterState) -> String {
    let contents = cluster.contents(None).expect("invariant: the present state can always be read");
    let revision = cluster.store().revision().to_string();
    let head =
        json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": revision}, "items": []});
    let objects = contents.iter().map(|entry| {
        serde_json::from_slice(&entry.object)
            .expect("invariant: the store holds only JSON that it wrote itself")
    });
    let mut out = String::new();
    for object in std::iter::once(head).chain(objects) {
        // Falls back to JSON, which is YAML.
        let text = serde_saphyr::to_string(&object).unwrap_or_else(|_| object.to_string());
        out.push_str("---\n");
        out.push_str(&text);
    }
    out
}

/// Replaces the whole state by a snapshot, uids and resourceVersions included; objects without get new ones. On error nothing changes.
pub(crate) fn restore(cluster: &mut ClusterState, manifests: Manifests) -> Result<(), LoadError> {
    let (documents, counter) = manifests.read_snapshot()?;
    let definitions: Vec<Value> = documents
        .iter()
        .map(|document| &document.value)
        .filter(|value| value["kind"] == "CustomResourceDefinition")
        .cloned()
        .collect();
    let revision = documents.iter().filter_map(|document| meta::revision(&document.value)).max();
    let revision = revision.max(counter).unwrap_or(1);
    cluster.ids.continue_after(revision);
    let contents: Result<Vec<StateEntry>, LoadError> = documents
        .into_iter()
        .map(|document| {
            let why = "expected an object as a snapshot has it: apiVersion and kind that are built in or defined in \
                       the snapshot, a name, and a namespace where the kind is namespaced";
            let origin = document.origin;
            let identified = identified(document.value, &cluster.ids, revision);
            entry(cluster, &definitions, identified).ok_or_else(|| LoadError::object(origin, why))
        })
        .collect();
    for object in cluster.replace_state(contents?, revision) {
        tracing::warn!(object = %object.key, resource = object.plural, "skipped an object whose CRD is not established");
    }
    Ok(())
}

/// An object with a uid and a resourceVersion, which one that was written by hand may lack.
fn identified(mut object: Value, ids: &Ids, revision: u64) -> Value {
    if meta::text(&object, "uid").is_none() {
        meta::set(&mut object, "uid", ids.uid());
    }
    if meta::revision(&object).is_none() {
        meta::set(&mut object, "resourceVersion", revision.to_string());
    }
    object
}

/// The resource and key of an object. Custom kinds are looked up in the snapshot's own CRDs.
fn entry(cluster: &ClusterState, definitions: &[Value], value: Value) -> Option<StateEntry> {
    let (group, version) = meta::split_api_version(value["apiVersion"].as_str()?);
    let kind = value["kind"].as_str()?;
    let defined = definitions.iter().map(|definition| &definition["spec"]);
    let defined = defined.into_iter().find(|spec| spec["group"] == group && spec["names"]["kind"] == kind);
    let (plural, namespaced) = match defined {
        Some(spec) => (spec["names"]["plural"].as_str()?.to_string(), spec["scope"] == "Namespaced"),
        None => {
            let endpoint = cluster.scheme().by_kind(group, version, kind).filter(|e| !e.resource.custom)?;
            (endpoint.plural().to_string(), endpoint.resource.namespaced)
        }
    };
    let namespace = if namespaced { Some(meta::text(&value, "namespace")?) } else { None };
    let key = Key::new(namespace, meta::text(&value, "name")?);
    Some(StateEntry { group: group.into(), plural, key, object: value.to_string().into() })
}
