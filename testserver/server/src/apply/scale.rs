//! Owners of the replicas of an object, as owners of the replicas of its Scale, and back.

use super::{
    fields::FieldSet,
    managed::{self, ManagedFieldsEntry},
    path::PathElement,
};

const SCALE: &str = "autoscaling/v1";

/// The owners of an object's replicas, as entries of its Scale. `path_in` says where the replicas are in a version of the object.
pub(crate) fn owners_in_scale(
    owners: &[ManagedFieldsEntry],
    path_in: impl Fn(&str) -> Option<Vec<PathElement>>,
) -> Vec<ManagedFieldsEntry> {
    let of_replicas = owners.iter().filter(|owner| {
        let path = path_in(&owner.api_version);
        path.is_some_and(|path| contains(&owner.fields, &path))
    });
    let scale_entry = |owner: &ManagedFieldsEntry| ManagedFieldsEntry {
        api_version: SCALE.into(),
        fields: only(&in_scale()),
        ..owner.clone()
    };
    of_replicas.map(scale_entry).collect()
}

/// The owners of an object in this version, after a write of its Scale has left these in the Scale. Those of versions that do not exist
/// are dropped. As on genuine servers, an updater of the object who still owns the replicas has them in an entry of their own.
pub(crate) fn owners_in_object(
    owners: Vec<ManagedFieldsEntry>,
    mut in_scale_now: Vec<ManagedFieldsEntry>,
    api_version: &str,
    path_in: impl Fn(&str) -> Option<Vec<PathElement>>,
) -> Vec<ManagedFieldsEntry> {
    let (mut entries, mut others) = (Vec::new(), Vec::new());
    for mut owner in owners {
        let Some(path) = path_in(&owner.api_version) else { continue };
        if contains(&owner.fields, &path) {
            match in_scale_now.iter().position(|scale| scale.same_manager(&owner)) {
                Some(same) => drop(in_scale_now.remove(same)),
                None => owner.fields.remove(&path),
            }
        }
        others.push(owner);
    }
    let path = path_in(api_version).unwrap_or_default();
    in_scale_now.retain(|owner| contains(&owner.fields, &in_scale()));
    // The first of two entries of an updater: the next write reads the second one only.
    entries.extend(in_scale_now.into_iter().map(|owner| ManagedFieldsEntry {
        api_version: api_version.into(),
        fields: only(&path),
        ..owner
    }));
    entries.extend(others);
    managed::normalize(entries)
}

fn in_scale() -> [PathElement; 2] {
    ["spec", "replicas"].map(PathElement::field)
}

fn only(path: &[PathElement]) -> FieldSet {
    let mut fields = FieldSet::default();
    fields.insert(path);
    fields
}

fn contains(fields: &FieldSet, path: &[PathElement]) -> bool {
    match path {
        [] => false,
        [last] => fields.has(last),
        [first, rest @ ..] => contains(fields.below(first), rest),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::{Value, json};

    use super::*;

    fn entry(manager: &str, operation: &str, subresource: &str, fields: Value) -> ManagedFieldsEntry {
        let version = if fields.pointer("/f:spec/f:other").is_some() || subresource.is_empty() {
            "g/v1"
        } else {
            SCALE
        };
        let entry = json!({"manager": manager, "operation": operation, "apiVersion": version,
            "subresource": subresource, "fieldsType": "FieldsV1", "fieldsV1": fields});
        ManagedFieldsEntry::deserialize(entry).unwrap()
    }

    fn path_in(version: &str) -> Option<Vec<PathElement>> {
        (version == "g/v1").then(|| ["spec", "count"].map(PathElement::field).to_vec())
    }

    #[test]
    fn replicas_have_owners_in_both() {
        let creator = || entry("creator", "Update", "", json!({"f:spec": {"f:count": {}, "f:other": {}}}));
        let other = || entry("other", "Update", "", json!({"f:spec": {"f:other": {}}}));
        let gone = ManagedFieldsEntry { api_version: "g/v0".into(), ..creator() };
        let scale_owners = owners_in_scale(&[creator(), other(), gone.clone()], path_in);
        let replicas = json!({"f:spec": {"f:replicas": {}}});
        let expected = ManagedFieldsEntry {
            api_version: SCALE.into(),
            ..entry("creator", "Update", "", replicas.clone())
        };
        assert_eq!(scale_owners, [expected]);

        let applier = entry("m", "Apply", "scale", replicas);
        let of_object =
            |in_scale| owners_in_object(vec![creator(), other(), gone.clone()], in_scale, "g/v1", path_in);
        let without_count = entry("creator", "Update", "", json!({"f:spec": {"f:other": {}}}));
        let count = json!({"f:spec": {"f:count": {}}});
        let mut applied = entry("m", "Apply", "scale", count.clone());
        applied.api_version = "g/v1".into();
        assert_eq!(
            of_object(vec![applier.clone()]),
            [applied.clone(), without_count.clone(), other()],
            "taken from its creator"
        );
        let both = of_object(vec![applier, scale_owners[0].clone()]);
        assert_eq!(
            both,
            [applied, entry("creator", "Update", "", count), without_count, other()],
            "owned by both"
        );
    }

    #[test]
    fn an_applier_who_names_no_replicas_any_more_keeps_those_of_the_object() {
        let applier = entry("m", "Apply", "", json!({"f:spec": {"f:count": {}}}));
        let in_scale = entry("m", "Apply", "", json!({"f:spec": {}}));
        let object_owners = owners_in_object(vec![applier.clone()], vec![in_scale], "g/v1", path_in);
        assert_eq!(object_owners, std::slice::from_ref(&applier));
        assert_eq!(owners_in_object(vec![applier], Vec::new(), "g/v1", path_in), []);
    }
}
