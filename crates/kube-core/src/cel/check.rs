//! Evaluates the validation rules of a schema on the client, before an object is sent.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube_cel::{RootContext, ValidationErrors, Validator};
use serde::Serialize;
use serde_json::{Value, json};

use crate::crd::CustomResourceExt;

/// Evaluates the rules in the definition of `T` on an object, as a server does on creation.
///
/// The defaults of the schema are applied first. Rules that use `oldSelf` are skipped. Each call builds the definition and
/// compiles its rules: for many objects, compile once with [`compile_schema`](super::compile_schema).
///
/// # Errors
///
/// One error per violated rule, with its field; also if the object has no JSON form.
pub fn validate_cel<T>(obj: &T) -> Result<(), ValidationErrors>
where
    T: CustomResourceExt + Serialize,
{
    check::<T>(obj, None)
}

/// Evaluates the rules in the definition of `T` on a change, as a server does on an update.
///
/// # Errors
///
/// As for [`validate_cel`].
pub fn validate_cel_update<T>(obj: &T, old: &T) -> Result<(), ValidationErrors>
where
    T: CustomResourceExt + Serialize,
{
    check::<T>(obj, Some(old))
}

/// Evaluates the rules in the schema of `T` on a JSON value, and on the change from `old` if that is set.
///
/// # Errors
///
/// One error per violated rule, with its field; also if the type has no structural schema
/// ([`SchemaError`](crate::schema::SchemaError)).
#[cfg(feature = "schema")]
pub fn validate_cel_schema<T>(value: &Value, old: Option<&Value>) -> Result<(), ValidationErrors>
where
    T: schemars::JsonSchema,
{
    let schema =
        crate::schema::structural_schema::<T>().map_err(|error| error_with_message(&error.to_string()))?;
    let schema = to_json("the schema", &schema)?;
    Validator::new().validate_with_defaults(&schema, value, old)
}

fn check<T>(obj: &T, old: Option<&T>) -> Result<(), ValidationErrors>
where
    T: CustomResourceExt + Serialize,
{
    let kind = T::api_resource();
    let Some(schema) = schema_of(T::crd(), &kind.version)? else {
        return Ok(());
    };
    let object = to_json("the object", obj)?;
    let old = old.map(|old| to_json("the old object", old)).transpose()?;
    let root = RootContext { api_version: kind.api_version, api_group: kind.group, kind: kind.kind };
    Validator::new().validate_with_defaults_and_context(&schema, &object, old.as_ref(), Some(&root))
}

/// The schema of one version, `None` if the definition has none, and so no rules either.
fn schema_of(crd: CustomResourceDefinition, version: &str) -> Result<Option<Value>, ValidationErrors> {
    let version = crd.spec.versions.into_iter().find(|candidate| candidate.name == version);
    let schema = version.and_then(|version| version.schema).and_then(|schema| schema.open_api_v3_schema);
    schema.map(|schema| to_json("the schema", &schema)).transpose()
}

fn to_json<T: Serialize>(what: &str, value: &T) -> Result<Value, ValidationErrors> {
    serde_json::to_value(value)
        .map_err(|error| error_with_message(&format!("cannot serialize {what}: {error}")))
}

/// An error with this message. Only the evaluator can construct its errors, so it evaluates a rule that never holds.
fn error_with_message(message: &str) -> ValidationErrors {
    let schema =
        json!({ "type": "object", "x-kubernetes-validations": [{ "rule": "false", "message": message }] });
    match Validator::new().validate(&schema, &json!({}), None) {
        Err(errors) => errors,
        Ok(()) => Vec::new().into(),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
    use serde::{Serialize, Serializer, ser::Error};
    use serde_json::{Value, json};

    use super::{validate_cel, validate_cel_update};
    use crate::{ApiResource, CustomResourceExt, GroupVersionKind};

    /// An object of a kind whose title must not be empty and must not change, and whose size has a default.
    struct Document(Value);

    impl Serialize for Document {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            if self.0.is_null() { Err(S::Error::custom("on purpose")) } else { self.0.serialize(serializer) }
        }
    }

    impl CustomResourceExt for Document {
        fn crd() -> CustomResourceDefinition {
            let rules = json!([
                { "rule": "self.title.size() > 0", "message": "title must not be empty" },
                { "rule": "self.title == oldSelf.title", "message": "title must not change" },
                { "rule": "self.size < 10", "message": "too large" },
            ]);
            let spec = json!({
                "type": "object", "required": ["title"], "x-kubernetes-validations": rules,
                "properties": { "title": { "type": "string" }, "size": { "type": "integer", "default": 3 } },
            });
            let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } });
            serde_json::from_value(json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": { "name": "documents.example.com" },
                "spec": {
                    "group": "example.com", "scope": "Namespaced", "names": { "kind": "Document", "plural": "documents" },
                    "versions": [
                        { "name": "v1alpha1", "served": true, "storage": false },
                        { "name": "v1", "served": true, "storage": true, "schema": schema },
                    ],
                },
            }))
            .expect("a definition")
        }

        fn crd_name() -> &'static str {
            "documents.example.com"
        }

        fn api_resource() -> ApiResource {
            ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Document"))
        }

        fn shortnames() -> &'static [&'static str] {
            &[]
        }
    }

    fn document(spec: Value) -> Document {
        Document(json!({ "apiVersion": "example.com/v1", "kind": "Document", "metadata": {}, "spec": spec }))
    }

    #[test]
    fn rules_of_the_version_are_evaluated_with_its_defaults() {
        assert!(validate_cel(&document(json!({ "title": "a" }))).is_ok());
        let errors = validate_cel(&document(json!({ "title": "", "size": 11 }))).expect_err("two rules");
        let messages: Vec<_> =
            errors.iter().map(|error| (error.field_path.as_str(), error.message.as_str())).collect();
        assert_eq!(messages, [("spec", "title must not be empty"), ("spec", "too large")]);
    }

    #[test]
    fn rules_about_changes_see_the_old_object() {
        let (old, same) = (document(json!({ "title": "a" })), document(json!({ "title": "a", "size": 4 })));
        assert!(validate_cel_update(&same, &old).is_ok());
        let errors =
            validate_cel_update(&document(json!({ "title": "b" })), &old).expect_err("another title");
        assert_eq!(errors[0].message, "title must not change");
    }

    #[test]
    fn an_object_without_a_json_form_is_an_error() {
        let errors = validate_cel(&Document(Value::Null)).expect_err("no JSON");
        assert_eq!(
            (errors.len(), errors[0].message.as_str()),
            (1, "cannot serialize the object: on purpose")
        );
        let errors = validate_cel_update(&document(json!({ "title": "a" })), &Document(Value::Null))
            .expect_err("no JSON");
        assert_eq!(errors[0].message, "cannot serialize the old object: on purpose");
    }

    #[test]
    #[cfg(feature = "schema")]
    fn a_schema_without_a_definition_is_evaluated() {
        use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

        struct Port;
        impl JsonSchema for Port {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                "Port".into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "object", "properties": { "number": { "type": "integer" } },
                    "x-kubernetes-validations": [{ "rule": "self.number > 0 && (oldSelf.number == self.number || true)" }] })
            }
        }
        let port = |number: i64| json!({ "number": number });
        assert!(super::validate_cel_schema::<Port>(&port(1), Some(&port(2))).is_ok());
        assert!(super::validate_cel_schema::<Port>(&port(0), Some(&port(2))).is_err());
        assert!(
            super::validate_cel_schema::<Port>(&port(0), None).is_ok(),
            "a rule about changes, and no change"
        );
    }
}
