//! The body of an apply request, checked before it is sent. Pure.

use kube_core::apply::{Configuration, ListMapKeys};
use kube_core::request::Error;
use serde_json::{Map, Value};

/// A configuration that has what every server asks for.
#[derive(Debug)]
pub(crate) struct ApplyBody {
    /// `metadata.name`: a part of the URL.
    pub(crate) name: String,
    pub(crate) json: Map<String, Value>,
}

impl ApplyBody {
    /// Checks a configuration for requests in `namespace`; `None` for requests to the whole cluster.
    pub(crate) fn of(configuration: &impl Configuration, namespace: Option<&str>) -> Result<Self, Error> {
        let json = configuration.to_json()?;
        let (api_version, kind) = match (text(&json, "apiVersion")?, text(&json, "kind")?) {
            (Some(api_version), Some(kind)) => (api_version, kind),
            (api_version, kind) => return Err(no_type(api_version, kind)),
        };
        let nothing = Map::new();
        let metadata = match json.get("metadata") {
            Some(Value::Object(metadata)) => metadata,
            None | Some(Value::Null) => &nothing,
            Some(_) => return Err(invalid(format!("metadata of a {kind} to apply is no object"))),
        };
        let Some(name) = text(metadata, "name")? else { return Err(no_name(kind, metadata)) };
        check_namespace(&format!("{kind} {name}"), text(metadata, "namespace")?, namespace)?;
        if let Some(Err(missing)) =
            ListMapKeys::of_built_in(api_version, kind).map(|keys| keys.check_json(&json))
        {
            return Err(invalid(format!("{kind} {name}: {missing}")));
        }
        Ok(Self { name: name.to_owned(), json })
    }
}

/// A field that is text; `None` if it is absent, null or empty.
fn text<'a>(object: &'a Map<String, Value>, field: &str) -> Result<Option<&'a str>, Error> {
    match object.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
        Some(other) => Err(invalid(format!("{field} of an object to apply is {other}: expected a string"))),
    }
}

fn no_type(api_version: Option<&str>, kind: Option<&str>) -> Error {
    let missing = match (api_version, kind) {
        (None, None) => "apiVersion and kind",
        (None, _) => "apiVersion",
        _ => "kind",
    };
    invalid(format!("the configuration to apply has no {missing}; a DynamicObject has them in `types`"))
}

fn no_name(kind: &str, metadata: &Map<String, Value>) -> Error {
    let generated = match metadata.contains_key("generateName") {
        true => ", which server-side apply needs instead of generateName",
        false => "",
    };
    invalid(format!("the {kind} to apply has no metadata.name{generated}"))
}

fn check_namespace(object: &str, of_object: Option<&str>, of_api: Option<&str>) -> Result<(), Error> {
    match (of_object, of_api) {
        (Some(own), Some(api)) if own != api => Err(invalid(format!(
            "{object} is for the namespace {own:?}, but the Api is of the namespace {api:?}"
        ))),
        (Some(own), None) => Err(invalid(format!(
            "{object} is for the namespace {own:?}, but the Api is of the whole cluster: expected an Api of that namespace"
        ))),
        _ => Ok(()),
    }
}

fn invalid(what: String) -> Error {
    Error::Validation(what)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
    use kube_core::apply::Sparse;
    use kube_core::{ApiResource, DynamicObject};
    use serde_json::json;

    use super::*;

    fn sparse(json: Value) -> Sparse<ConfigMap> {
        let Value::Object(fields) = json else { unreachable!() };
        Sparse::from_fields(fields)
    }

    fn message(configuration: &impl Configuration, namespace: Option<&str>) -> String {
        let text = ApplyBody::of(configuration, namespace).unwrap_err().to_string();
        text.strip_prefix("failed to validate request: ").expect("an invalid request").to_owned()
    }

    #[test]
    fn the_body_is_what_was_written() {
        let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": "shop" }, "data": null });
        let body = ApplyBody::of(&sparse(map.clone()), Some("shop")).unwrap();
        assert_eq!((body.name.as_str(), Value::Object(body.json)), ("a", map));
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some("shop".into());
        assert_eq!(ApplyBody::of(&namespace, None).unwrap().name, "shop");
    }

    #[test]
    fn an_error_says_what_is_missing() {
        let untyped =
            DynamicObject { types: None, ..DynamicObject::new("a", &ApiResource::erase::<ConfigMap>(&())) };
        assert_eq!(
            message(&untyped, None),
            "the configuration to apply has no apiVersion and kind; a DynamicObject has them in `types`"
        );
        let typed = |metadata: Value| {
            sparse(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata }))
        };
        for nameless in [json!({}), json!(null), json!({ "name": "" }), json!({ "name": null })] {
            assert_eq!(message(&typed(nameless), None), "the ConfigMap to apply has no metadata.name");
        }
        assert_eq!(
            message(&typed(json!({ "generateName": "a-" })), None),
            "the ConfigMap to apply has no metadata.name, which server-side apply needs instead of generateName"
        );
        assert_eq!(message(&typed(json!([])), None), "metadata of a ConfigMap to apply is no object");
        assert_eq!(
            message(&typed(json!({ "name": 5 })), None),
            "name of an object to apply is 5: expected a string"
        );
    }

    #[test]
    fn the_namespace_is_that_of_the_requests_or_left_out() {
        let inside = |namespace: Value| {
            sparse(
                json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "a", "namespace": namespace } }),
            )
        };
        assert!(ApplyBody::of(&inside(json!("")), Some("shop")).is_ok());
        assert_eq!(
            message(&inside(json!("stage")), Some("shop")),
            "ConfigMap a is for the namespace \"stage\", but the Api is of the namespace \"shop\""
        );
        assert_eq!(
            message(&inside(json!("stage")), None),
            "ConfigMap a is for the namespace \"stage\", but the Api is of the whole cluster: expected an Api of that namespace"
        );
    }

    #[test]
    fn an_item_without_its_key_names_object_list_and_key() {
        let pod = sparse(
            json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a" }, "spec": { "containers": [{}] } }),
        );
        assert_eq!(
            message(&pod, Some("shop")),
            "Pod a: .spec.containers[0] has no \"name\", a key of this list"
        );
    }
}
