//! What a controller makes of the template of its object: pods, the hash in their names, and the reference to their owner.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value, json};

use crate::ids::letters;

/// The reference of a dependent to the owner that controls it.
pub(super) fn controller_reference(owner: &Value) -> Value {
    json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
    })
}

/// A pod from the template of its owner.
pub(crate) fn pod_from_template(owner: &Value, template: &Value) -> Value {
    let name = owner["metadata"]["name"].as_str().unwrap_or_default();
    let mut metadata = Map::new();
    for field in ["labels", "annotations", "finalizers"] {
        if !template["metadata"][field].is_null() {
            metadata.insert(field.into(), template["metadata"][field].clone());
        }
    }
    metadata.insert("generateName".into(), format!("{name}-").into());
    metadata.insert("namespace".into(), owner["metadata"]["namespace"].clone());
    metadata.insert("ownerReferences".into(), json!([controller_reference(owner)]));
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]})
}

/// A ten-character hash of a template; another one after each collision of names.
pub(super) fn hash(template: &Value, collisions: u64) -> String {
    let mut hasher = DefaultHasher::new();
    template.to_string().hash(&mut hasher);
    if collisions > 0 {
        collisions.hash(&mut hasher);
    }
    letters(hasher.finish()).take(10).collect()
}
