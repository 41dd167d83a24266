//! Pruning.

use serde_json::Value;

use super::model::{Field, Schema, Type};

impl Schema {
    /// Drops unknown fields and returns their paths, such as `spec.ports[0].foo`, in the order of the object.
    pub(crate) fn prune(&self, object: &mut Value) -> Vec<String> {
        value(self.root(), object)
    }
}

/// Prunes a value of any field.
pub(super) fn value(field: &Field, value: &mut Value) -> Vec<String> {
    let mut dropped = Vec::new();
    walk(field, value, &mut String::new(), &mut dropped);
    dropped
}

fn walk(field: &Field, value: &mut Value, at: &mut String, dropped: &mut Vec<String>) {
    let node = field.node();
    let length = at.len();
    match value {
        Value::Object(map) => {
            let closed = node.ty == Some(Type::Object) && !node.preserve_unknown && node.additional.is_none();
            map.retain(|name, inner_value| {
                if !at.is_empty() {
                    at.push('.');
                }
                at.push_str(name);
                let inner = node.properties.get(name.as_str()).or(node.additional.as_deref());
                match inner {
                    Some(inner) => walk(inner, inner_value, at, dropped),
                    None if closed => dropped.push(at.clone()),
                    None => {}
                }
                at.truncate(length);
                inner.is_some() || !closed
            });
        }
        Value::Array(list) => {
            let Some(inner) = &node.items else { return };
            for (i, value) in list.iter_mut().enumerate() {
                at.push_str(&format!("[{i}]"));
                walk(inner, value, at, dropped);
                at.truncate(length);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::types;
    use serde_json::json;

    #[test]
    fn unknown_fields_are_pruned_and_reported() {
        let doc = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "a": {"type": "string"},
            "list": {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "string"}}}},
            "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"b": {"type": "string"}}}},
            "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                "properties": {"known": {"type": "object", "properties": {"b": {"type": "string"}}}}},
            "raw": {"x-kubernetes-preserve-unknown-fields": true},
            "emb": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object"}}},
        }}}});
        let mut object = json!({
            "apiVersion": "g/v1", "kind": "K", "metadata": {"name": "x", "labels": {"l": "v"}, "odd": 1}, "bogus": 1,
            "spec": {"a": "x", "foo": {"bar": 1}, "list": [{"b": "x"}, {"c": 1}], "map": {"k": {"b": "x", "c": 1}},
                "any": {"known": {"b": "x", "c": 1}, "more": {"deep": 1}}, "raw": {"x": [1]},
                "emb": {"apiVersion": "v1", "kind": "X", "metadata": {"name": "y", "odd": 1}, "spec": {"z": 1}, "data": {}}},
        });
        let mut dropped = Schema::from_openapi("spec.validation", &doc).unwrap().prune(&mut object);
        dropped.sort();
        assert_eq!(
            dropped,
            [
                "bogus",
                "metadata.odd",
                "spec.any.known.c",
                "spec.emb.data",
                "spec.emb.metadata.odd",
                "spec.emb.spec.z",
                "spec.foo",
                "spec.list[1].c",
                "spec.map.k.c"
            ]
        );
        assert_eq!(object["spec"]["any"], json!({"known": {"b": "x"}, "more": {"deep": 1}}));
        assert_eq!(object["spec"]["list"], json!([{"b": "x"}, {}]));
        assert_eq!(
            object["spec"]["emb"],
            json!({"apiVersion": "v1", "kind": "X", "metadata": {"name": "y"}, "spec": {}})
        );
    }

    #[test]
    fn built_in_kinds_know_their_fields() {
        let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"containers": [{"name": "c", "imag": "i"}]}});
        assert_eq!(
            types::by_name("io.k8s.api.core.v1.Pod").unwrap().prune(&mut pod),
            ["spec.containers[0].imag"]
        );
        let crd = json!({"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"type": "object", "properties":
            {"spec": {"type": "object", "additionalProperties": {"type": "string"}, "default": {"a": 1}, "not": {"enum": [1]}}}}}}]}});
        let mut kept = crd.clone();
        let name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition";
        assert!(types::by_name(name).unwrap().prune(&mut kept).is_empty());
        assert_eq!(kept, crd);
    }
}
