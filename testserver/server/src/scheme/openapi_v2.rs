//! OpenAPI v2 (Swagger): one document, converted from the v3 documents.

use serde_json::{Map, Value, json};

use super::{Scheme, openapi};

/// Keywords that OpenAPI v2 does not have.
const LEFT_OUT: [&str; 5] = ["oneOf", "anyOf", "not", "nullable", "allOf"];
const JSON: &str = "application/json";
const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const KIND: &str = "x-kubernetes-group-version-kind";

/// `/openapi/v2`.
pub(crate) fn document(scheme: &Scheme) -> Value {
    let (mut paths, mut definitions) = (Map::new(), Map::new());
    for name in openapi::names(scheme) {
        let Some(mut document) = openapi::document(scheme, &name) else { continue };
        if let Value::Object(of_version) = document["paths"].take() {
            paths.extend(of_version.into_iter().map(|(path, operations)| {
                let operations = operations_of(&path, operations);
                (path, operations)
            }));
        }
        if let Value::Object(schemas) = document["components"]["schemas"].take() {
            definitions.extend(schemas.into_iter().map(|(name, schema)| (name, definition_of(schema))));
        }
    }
    json!({
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": openapi::VERSION},
        "paths": paths,
        "definitions": definitions,
    })
}

fn operations_of(path: &str, operations: Value) -> Value {
    let Value::Object(operations) = operations else { return operations };
    let mut out: Map<String, Value> =
        operations.into_iter().map(|(method, operation)| (method, operation_of(operation))).collect();
    let named = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let parameter = |name: &str| json!({"name": name, "in": "path", "type": "string", "required": true, "uniqueItems": true});
    let parameters: Vec<Value> = named.map(parameter).collect();
    if !parameters.is_empty() {
        out.insert("parameters".into(), parameters.into());
    }
    Value::Object(out)
}

fn operation_of(mut operation: Value) -> Value {
    let response = operation["responses"]["200"]["content"][JSON]["schema"].take();
    let mut parameters = Vec::new();
    if let Some(Value::Object(body)) = operation.as_object_mut().and_then(|map| map.remove("requestBody")) {
        let schema = schema_of(body["content"][JSON]["schema"].clone());
        parameters.push(json!({"name": "body", "in": "body", "required": true, "schema": schema}));
    }
    let query = operation["parameters"].take();
    for option in query.as_array().into_iter().flatten() {
        let kind = &option["schema"]["type"];
        parameters.push(json!({"name": option["name"], "in": "query", "type": kind, "uniqueItems": true}));
    }
    operation["parameters"] = parameters.into();
    operation["responses"] = json!({"200": {"description": "OK", "schema": schema_of(response)}});
    operation["produces"] = json!([JSON, "application/yaml"]);
    operation["schemes"] = json!(["https"]);
    operation
}

/// Converts the schema of a kind. One that preserves unknown fields says nothing about fields.
fn definition_of(schema: Value) -> Value {
    if schema[PRESERVE] == true {
        return json!({"type": "object", KIND: schema[KIND]});
    }
    schema_of(schema)
}

/// A v2 schema says nothing about the type and the fields of a value that may be null or has unknown fields.
fn loosen(schema: &mut Map<String, Value>) {
    let is = |name: &str| schema.get(name) == Some(&Value::Bool(true));
    let (open, embedded) = (is(PRESERVE), is("x-kubernetes-embedded-resource"));
    if !open && !is("nullable") {
        return;
    }
    schema.remove("type");
    schema.remove("items");
    let properties = schema.remove("properties");
    let Some(Value::Object(mut members)) = properties.filter(|_| embedded) else { return };
    if open {
        schema.remove("required");
    } else {
        members.retain(|name, _| ["apiVersion", "kind", "metadata"].contains(&name.as_str()));
        schema.insert("properties".into(), members.into());
    }
}

/// Converts a schema to v2. An `allOf` with a single reference becomes the reference.
fn schema_of(schema: Value) -> Value {
    match schema {
        Value::Object(mut map) => {
            loosen(&mut map);
            if let Some([only]) = map.get("allOf").and_then(Value::as_array).map(Vec::as_slice)
                && let Some(target) = only.get("$ref").cloned()
            {
                map.insert("$ref".into(), target);
            }
            let member = |(name, value): (String, Value)| match value {
                Value::String(target) if name == "$ref" => {
                    (name, target.replace("#/components/schemas/", "#/definitions/").into())
                }
                // Names of properties are not keywords.
                Value::Object(properties) if name == "properties" => {
                    let each = properties.into_iter().map(|(name, schema)| (name, schema_of(schema)));
                    (name, Value::Object(each.collect()))
                }
                value if matches!(name.as_str(), "default" | "enum" | KIND) => (name, value),
                value => (name, schema_of(value)),
            };
            map.into_iter().filter(|(name, _)| !LEFT_OUT.contains(&name.as_str())).map(member).collect()
        }
        Value::Array(list) => list.into_iter().map(schema_of).collect(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_is_complete_and_valid_v2() {
        let document = document(&Scheme::with_built_in());
        let text = document.to_string();
        assert!(!text.contains("#/components/") && !text.contains("requestBody"));
        let pods = &document["paths"]["/api/v1/namespaces/{namespace}/pods"]["post"];
        assert_eq!(pods["parameters"][0]["schema"]["$ref"], "#/definitions/io.k8s.api.core.v1.Pod");
        assert_eq!(pods["x-kubernetes-group-version-kind"]["kind"], "Pod");
        let named = &document["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["parameters"];
        assert_eq!((&named[0]["name"], &named[1]["name"]), (&json!("namespace"), &json!("name")));
        let definitions = document["definitions"].as_object().unwrap();
        let mut references =
            text.split("\"#/definitions/").skip(1).map(|rest| rest.split('"').next().unwrap());
        assert!(references.all(|name| definitions.contains_key(name)));
    }

    #[test]
    fn unsupported_keywords_are_dropped() {
        let schema = json!({"type": "object", "properties": {"not": {"type": "string", "not": {}}},
            "allOf": [{"$ref": "#/components/schemas/a"}]});
        let want =
            json!({"type": "object", "properties": {"not": {"type": "string"}}, "$ref": "#/definitions/a"});
        assert_eq!(schema_of(schema), want);
    }

    /// Definitions of Kubernetes 1.37 for the same schemas.
    #[test]
    fn values_with_null_or_unknown_fields_have_no_type() {
        let text = || json!({"type": "string"});
        let schema = json!({"type": "object", "properties": {
            "a": {"type": "string", "description": "desc", "nullable": true, "enum": ["x", "y"], "minLength": 1},
            "b": {"type": "array", "nullable": true, "maxItems": 2, "items": text()},
            "c": {"type": "object", PRESERVE: true, "required": ["q"], "properties": {"q": text()}},
            "h": {"type": "object", "nullable": true, "additionalProperties": text()},
            "i": {"type": "object", "x-kubernetes-embedded-resource": true, "nullable": true, "required": ["kind", "apiVersion"],
                "properties": {"apiVersion": text(), "kind": text(), "spec": {"type": "object"}}},
            "j": {"type": "object", "x-kubernetes-embedded-resource": true, PRESERVE: true, "required": ["kind", "apiVersion"],
                "properties": {"apiVersion": text(), "kind": text()}},
            "k": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, text()]},
            "nullable": {"type": "boolean"},
        }});
        let want = json!({"type": "object", "properties": {
            "a": {"description": "desc", "enum": ["x", "y"], "minLength": 1},
            "b": {"maxItems": 2},
            "c": {PRESERVE: true, "required": ["q"]},
            "h": {"additionalProperties": text()},
            "i": {"x-kubernetes-embedded-resource": true, "required": ["kind", "apiVersion"],
                "properties": {"apiVersion": text(), "kind": text()}},
            "j": {"x-kubernetes-embedded-resource": true, PRESERVE: true},
            "k": {"x-kubernetes-int-or-string": true},
            "nullable": {"type": "boolean"},
        }});
        assert_eq!(definition_of(schema), want);
        let kind = json!([{"group": "g", "kind": "K", "version": "v1"}]);
        let open = json!({"type": "object", "description": "root", PRESERVE: true, "required": ["spec"],
            "properties": {"spec": {"type": "object"}}, KIND: kind});
        assert_eq!(definition_of(open), json!({"type": "object", KIND: kind}));
    }
}
