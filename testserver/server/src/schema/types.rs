//! The built-in types by name.

use super::{
    model::{Schema, Source},
    parse::{TYPES, named},
};

pub(crate) use super::parse::OBJECT_META;

/// The schema of a built-in type by its OpenAPI name, such as `io.k8s.api.core.v1.Pod`.
pub(crate) fn by_name(name: &str) -> Option<Schema> {
    let (name, entry) = TYPES.get_key_value(name)?;
    Some(Schema { root: named(entry), source: Source::Table { name, text: entry.text } })
}

/// The names of all types of the table, in no order.
#[cfg(test)]
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TYPES.keys().copied()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::schema::{
        model::{ListType, Type},
        parse::document,
    };

    fn references(value: &Value, into: &mut Vec<String>) {
        match value {
            Value::Object(map) => map.iter().for_each(|(k, v)| match v {
                Value::String(name) if k == "$ref" => into.push(name.clone()),
                v => references(v, into),
            }),
            Value::Array(list) => list.iter().for_each(|v| references(v, into)),
            _ => {}
        }
    }

    #[test]
    fn every_type_parses_and_every_reference_resolves() {
        let mut seen = Vec::new();
        for name in names() {
            references(&document(TYPES[name].text), &mut seen);
            by_name(name).unwrap().root().node();
        }
        assert!(seen.len() > 1000);
        let lost: Vec<_> = seen.iter().filter(|name| !TYPES.contains_key(name.as_str())).collect();
        assert!(lost.is_empty(), "{lost:?}");
    }

    #[test]
    fn list_keys_and_defaults_are_those_of_the_genuine_server() {
        let list =
            |ty: &str, field: &str| by_name(ty).unwrap().root().node().properties[field].node().list.clone();
        assert_eq!(
            list("io.k8s.api.core.v1.ServiceSpec", "ports"),
            ListType::Map(vec!["port".into(), "protocol".into()])
        );
        assert_eq!(
            list("io.k8s.api.core.v1.Container", "ports"),
            ListType::Map(vec!["containerPort".into(), "protocol".into()])
        );
        assert_eq!(list("io.k8s.api.core.v1.Container", "args"), ListType::Atomic);
        assert_eq!(list(OBJECT_META, "finalizers"), ListType::Set);
        assert_eq!(list(OBJECT_META, "ownerReferences"), ListType::Map(vec!["uid".into()]));
        let port = by_name("io.k8s.api.core.v1.ServicePort").unwrap();
        assert_eq!(port.root().node().properties["protocol"].default_value(), Some(&Value::from("TCP")));
        assert_eq!(port.root().node().properties["port"].node().ty, Some(Type::Integer));
        let spec = &by_name("io.k8s.api.core.v1.Service").unwrap().root().node().properties["spec"].clone();
        assert!(spec.by_value() && spec.node().properties["selector"].node().atomic);
    }

    #[test]
    fn types_may_be_recursive() {
        let props =
            by_name("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps").unwrap();
        let inner = &props.root().node().properties["not"];
        assert!(inner.node().properties.contains_key("not"));
    }
}
