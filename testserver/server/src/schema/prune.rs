//! Pruning.

use serde_json::Value;

use super::model::{Field, Schema, Source, Type};

impl Schema {
    /// Drops unknown fields and returns their paths, such as `spec.ports[0].foo`, in the order of the object.
    pub(crate) fn prune(&self, object: &mut Value) -> Vec<String> {
        prune(self.root(), object, matches!(self.source, Source::Table { .. }))
    }
}

/// Prunes a value of a field of a custom resource.
pub(super) fn value(field: &Field, value: &mut Value) -> Vec<String> {
    prune(field, value, false)
}

fn prune(field: &Field, value: &mut Value, built_in: bool) -> Vec<String> {
    let mut walk = Walk { built_in, at: String::new(), dropped: Vec::new() };
    walk.value(Some(field), value);
    walk.dropped
}

struct Walk {
    /// Values of a wrong type are refused later, and a type that is not declared may be anything.
    built_in: bool,
    at: String,
    dropped: Vec<String>,
}

impl Walk {
    /// `None` for a value for which the schema has no place, such as an element of what should be an object: it has no known fields.
    fn value(&mut self, field: Option<&Field>, value: &mut Value) {
        let node = field.map(Field::node);
        let length = self.at.len();
        match value {
            Value::Object(map) => {
                let open = node.is_some_and(|node| {
                    node.preserve_unknown
                        || node.additional.is_some()
                        || self.built_in && node.ty != Some(Type::Object)
                });
                map.retain(|name, value| {
                    if !self.at.is_empty() {
                        self.at.push('.');
                    }
                    self.at.push_str(name);
                    let inner = node
                        .and_then(|node| node.properties.get(name.as_str()).or(node.additional.as_deref()));
                    match inner {
                        Some(inner) => self.value(Some(inner), value),
                        None if open => {}
                        None => self.dropped.push(self.at.clone()),
                    }
                    self.at.truncate(length);
                    inner.is_some() || open
                });
            }
            Value::Array(list) => {
                let items = node.and_then(|node| node.items.as_deref());
                if items.is_none() && (self.built_in || node.is_some_and(|node| node.preserve_unknown)) {
                    return;
                }
                for (i, value) in list.iter_mut().enumerate() {
                    self.at.push_str(&format!("[{i}]"));
                    self.value(items, value);
                    self.at.truncate(length);
                }
            }
            _ => {}
        }
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

    /// Paths that 1.37 reports.
    #[test]
    fn what_is_in_a_value_of_a_wrong_type_is_unknown() {
        let doc = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "a": {"type": "object", "properties": {"b": {"type": "string"}}},
            "s": {"type": "string"}, "l": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "string"}}}},
            "i": {"type": "integer"}, "m": {"type": "object", "additionalProperties": {"type": "string"}},
            "ios": {"x-kubernetes-int-or-string": true}, "raw": {"x-kubernetes-preserve-unknown-fields": true},
        }}}});
        let schema = Schema::from_openapi("spec.validation", &doc).unwrap();
        for (spec, want) in [
            (
                json!({"s": {"q": 1}, "l": {"q": 1}, "a": [{"q": 1}]}),
                &["spec.a[0].q", "spec.l.q", "spec.s.q"][..],
            ),
            (
                json!({"l": [{"x": {"y": 1}, "z": 1}], "i": {"a": 1}, "m": {"k": {"a": 1}}}),
                &["spec.i.a", "spec.l[0].x.y", "spec.l[0].z", "spec.m.k.a"],
            ),
            (json!({"l": [[{"x": 1}]]}), &["spec.l[0][0].x"]),
            (json!([{"a": 1}]), &["spec[0].a"]),
            (json!({"s": [{"q": 1}], "i": [{"z": 1}]}), &["spec.i[0].z", "spec.s[0].q"]),
            (json!({"ios": {"a": 1}, "raw": [{"a": [1]}]}), &["spec.ios.a"]),
            (json!("x"), &[]),
        ] {
            assert_eq!(schema.prune(&mut json!({"spec": spec})), want, "{spec}");
        }
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
        let mut pruned = crd.clone();
        let name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition";
        assert!(types::by_name(name).unwrap().prune(&mut pruned).is_empty());
        assert_eq!(pruned, crd);
    }
}
