//! [`ListMapKeys`]: the fields that identify the items of lists, and a check that an apply configuration has them.

use std::{collections::BTreeMap, fmt};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps,
};
use serde_json::{Map, Value};

use super::{Configuration, merge_types::MergeType};
use crate::request::Error;

/// The keys of the lists in objects of one kind: for each list whose items are merged by keys (`x-kubernetes-list-type: map`), such as the
/// containers of a pod, the fields that every item needs.
///
/// An item without its key cannot be applied; old servers do not say which it is. `ApiExt::apply` (crate `kube-tools`) checks built-in
/// kinds before it sends them. For a custom resource the keys are in the schema of its definition:
///
/// ```
/// use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
/// use kube_core::{ApiResource, DynamicObject, GroupVersionKind, apply::ListMapKeys};
/// use serde_json::json;
///
/// let crd: CustomResourceDefinition = serde_json::from_value(json!({
///     "spec": { "group": "example.com", "scope": "Namespaced", "names": { "kind": "Page", "plural": "pages" },
///         "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
///             "type": "object", "properties": { "links": {
///                 "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
///                 "items": { "type": "object", "properties": { "name": { "type": "string" } } },
///             } },
///         } } }],
///     },
/// }))?;
/// let keys = ListMapKeys::of_crd(&crd, "v1").expect("the definition has this version");
/// let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Page"));
/// let page = DynamicObject::new("a", &kind).data(json!({ "links": [{ "name": "home" }, { "url": "/" }] }));
/// assert_eq!(keys.check(&page).unwrap_err().to_string(), r#"failed to validate request: .links[1] has no "name", a key of this list"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ListMapKeys(MergeType);

/// An item of a list lacks a field that identifies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingKey {
    /// The path of the list, such as `.spec.template.spec.containers`.
    pub list: String,
    /// The place of the item, from 0.
    pub item: usize,
    /// The field that it lacks.
    pub key: String,
}

impl fmt::Display for MissingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { list, item, key } = self;
        write!(f, "{list}[{item}] has no {key:?}, a key of this list")
    }
}

impl std::error::Error for MissingKey {}

impl ListMapKeys {
    /// The keys of a built-in kind as Kubernetes 1.37 has it, alpha and beta versions included; `None` for other kinds, and for kinds
    /// without such lists.
    ///
    /// The first call in a process reads a table: about 1 ms.
    pub fn of_built_in(api_version: &str, kind: &str) -> Option<Self> {
        MergeType::of_built_in(api_version, kind).cloned().map(Self)
    }

    /// The keys of a version of a custom resource; `None` if the definition does not have this version, or it has no schema.
    pub fn of_crd(crd: &CustomResourceDefinition, version: &str) -> Option<Self> {
        let version = crd.spec.versions.iter().find(|it| it.name == version)?;
        Some(Self::of_schema(version.schema.as_ref()?.open_api_v3_schema.as_ref()?))
    }

    /// The keys of objects with this schema.
    pub fn of_schema(schema: &JSONSchemaProps) -> Self {
        let schema = serde_json::to_value(schema).unwrap_or_default();
        let mut fields = match MergeType::of_schema(&schema) {
            MergeType::Struct(fields) => fields,
            _ => BTreeMap::new(),
        };
        fields.insert("metadata".into(), MergeType::of_metadata());
        Self(MergeType::Struct(fields))
    }

    /// Checks that each item of each list has its keys. Keys for which the schema has a default may be left out. O(size).
    ///
    /// # Errors
    ///
    /// [`Error::Validation`] that names the first item without its key; those of [`Configuration::to_json`].
    pub fn check(&self, configuration: &impl Configuration) -> Result<(), Error> {
        self.check_json(&configuration.to_json()?).map_err(|missing| Error::invalid(missing.to_string()))
    }

    /// As [`check`](Self::check), for the JSON of an object.
    ///
    /// # Errors
    ///
    /// The first item that lacks its key.
    pub fn check_json(&self, object: &Map<String, Value>) -> Result<(), MissingKey> {
        missing_in_fields(object, &self.0).map_or(Ok(()), Err)
    }
}

fn missing(value: &Value, of: &MergeType) -> Option<MissingKey> {
    match value {
        _ if *of == MergeType::Other => None,
        Value::Object(fields) => missing_in_fields(fields, of),
        Value::Array(items) => items.iter().enumerate().find_map(|(at, item)| {
            let lacks = |key: &&String| item.as_object().is_some_and(|item| !item.contains_key(*key));
            match of.keys().iter().find(lacks) {
                Some(key) => Some(MissingKey { list: String::new(), item: at, key: key.clone() }),
                None => missing(item, of.item()).map(|missing| missing.within(&format!("[{at}]"))),
            }
        }),
        _ => None,
    }
}

fn missing_in_fields(fields: &Map<String, Value>, of: &MergeType) -> Option<MissingKey> {
    let within =
        |(name, value): (&String, &Value)| Some(missing(value, of.field(name))?.within(&format!(".{name}")));
    fields.iter().find_map(within)
}

impl MissingKey {
    fn within(self, parent: &str) -> Self {
        Self { list: format!("{parent}{}", self.list), ..self }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::Deployment;
    use serde_json::json;

    use super::*;

    fn missing(api_version: &str, kind: &str, object: &Value) -> Option<String> {
        let keys = ListMapKeys::of_built_in(api_version, kind).expect("in the table");
        keys.check_json(object.as_object().unwrap()).err().map(|missing| missing.to_string())
    }

    fn pod_spec(containers: &Value) -> Value {
        json!({ "spec": { "template": { "spec": { "containers": containers } } } })
    }

    #[test]
    fn built_in_kinds_name_the_list_and_its_key() {
        let deployment = |containers: Value| missing("apps/v1", "Deployment", &pod_spec(&containers));
        assert_eq!(
            deployment(json!([{ "name": "a" }, { "image": "b" }])).as_deref(),
            Some(".spec.template.spec.containers[1] has no \"name\", a key of this list")
        );
        assert_eq!(
            deployment(json!([{ "name": "a", "ports": [{ "containerPort": 1 }, { "name": "http" }] }]))
                .as_deref(),
            Some(".spec.template.spec.containers[0].ports[1] has no \"containerPort\", a key of this list")
        );
        let reference = json!({ "metadata": { "ownerReferences": [{ "name": "a" }] } });
        assert_eq!(
            missing("v1", "ConfigMap", &reference).as_deref(),
            Some(".metadata.ownerReferences[0] has no \"uid\", a key of this list")
        );
    }

    #[test]
    fn keys_with_defaults_and_lists_without_keys_are_no_errors() {
        let service = json!({ "spec": { "ports": [{ "port": 80 }], "externalIPs": ["a"] } });
        assert_eq!(missing("v1", "Service", &service), None, "the default of protocol is TCP");
        let rules = json!({ "spec": { "rules": [{ "host": "a" }] } });
        assert_eq!(missing("networking.k8s.io/v1", "Ingress", &rules), None, "the list is atomic");
        for odd in [json!(null), json!([]), json!("x"), json!([null, 1, "x"]), json!({ "a": 1 })] {
            assert_eq!(
                missing("apps/v1", "Deployment", &pod_spec(&odd)),
                None,
                "{odd}: for the server to refuse"
            );
        }
        assert!(ListMapKeys::of_built_in("example.com/v1", "Deployment").is_none());
    }

    #[test]
    fn typed_objects_are_checked_as_they_serialize() {
        let keys = ListMapKeys::of_built_in("apps/v1", "Deployment").unwrap();
        assert!(keys.check(&Deployment::default()).is_ok());
    }

    fn schema(list: &Value) -> ListMapKeys {
        let schema = json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": {
            "groups": { "type": "object", "additionalProperties": { "type": "array", "items": {
                "type": "object", "properties": { "links": list },
            } } },
        } } } });
        ListMapKeys::of_schema(&serde_json::from_value(schema).expect("a schema"))
    }

    #[test]
    fn custom_resources_have_the_keys_of_their_schema() {
        let keys = schema(&json!({
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "zone"],
            "items": { "type": "object", "required": ["name"], "properties": {
                "name": { "type": "string" }, "zone": { "type": "string", "default": "a" },
            } },
        }));
        let check = |object: Value| keys.check_json(object.as_object().unwrap());
        let links = |links: Value| json!({ "spec": { "groups": { "x": [{}, { "links": links }] } } });
        assert_eq!(check(links(json!([{ "name": "a" }]))), Ok(()));
        let expected = MissingKey { list: ".spec.groups.x[1].links".into(), item: 0, key: "name".into() };
        assert_eq!(check(links(json!([{ "zone": "b" }]))), Err(expected));
        let owner = check(json!({ "metadata": { "ownerReferences": [{}] } })).unwrap_err();
        assert_eq!((owner.list.as_str(), owner.key.as_str()), (".metadata.ownerReferences", "uid"));
    }

    #[test]
    fn sets_and_atomic_lists_of_custom_resources_have_no_keys() {
        for kind in ["set", "atomic"] {
            let keys = schema(
                &json!({ "type": "array", "x-kubernetes-list-type": kind, "items": { "type": "object" } }),
            );
            let object = json!({ "spec": { "groups": { "x": [{ "links": [{}] }] } } });
            assert_eq!(keys.check_json(object.as_object().unwrap()), Ok(()));
        }
    }
}
