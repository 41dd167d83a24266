//! OpenAPI v3: one document per group version with the parts that clients read: paths with verbs, kinds and options, and schemas.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Endpoint, Scheme, openapi_custom as custom};
use crate::{object::meta, schema::types};

/// The version in the documents.
pub(super) const VERSION: &str = "v1.37.2";
const REFERENCE: &str = "#/components/schemas/";
const SCALE: &str = "io.k8s.api.autoscaling.v1.Scale";
const WRITE_OPTIONS: [&str; 3] = ["dryRun", "fieldManager", "fieldValidation"];
const LIST_OPTIONS: [&str; 5] = ["labelSelector", "fieldSelector", "limit", "continue", "resourceVersion"];

/// The names of all documents.
pub(super) fn names(scheme: &Scheme) -> Vec<String> {
    let of_group = |(group, versions): (&str, Vec<&str>)| {
        versions.into_iter().map(|version| document_name(group, version)).collect::<Vec<_>>()
    };
    scheme.groups().into_iter().flat_map(of_group).collect()
}

/// A document by its name in the index: `api/v1` or `apis/{group}/{version}`.
pub(crate) fn document(scheme: &Scheme, name: &str) -> Option<Value> {
    let (group, version) = group_version(name)?;
    let endpoints: Vec<&Endpoint> = scheme.version(group, version).collect();
    if endpoints.is_empty() {
        return None;
    }
    let mut paths = Map::new();
    let mut schemas = BTreeMap::new();
    for endpoint in endpoints {
        add_paths(endpoint, &mut paths);
        add_schema(endpoint, &mut schemas);
    }
    Some(json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": VERSION},
        "paths": paths,
        "components": {"schemas": schemas},
    }))
}

/// The group version that a document is about.
pub(super) fn group_version(name: &str) -> Option<(&str, &str)> {
    match name.split('/').collect::<Vec<_>>().as_slice() {
        ["api", version] => Some(("", version)),
        ["apis", group, version] => Some((group, version)),
        _ => None,
    }
}

fn document_name(group: &str, version: &str) -> String {
    let root = if group.is_empty() { "api" } else { "apis" };
    format!("{root}/{}", meta::api_version(group, version))
}

fn add_paths(endpoint: &Endpoint, paths: &mut Map<String, Value>) {
    let resource = &endpoint.resource;
    let base = format!("/{}", document_name(&resource.group, &endpoint.version().name));
    let collection = match resource.namespaced {
        true => format!("{base}/namespaces/{{namespace}}/{}", resource.plural),
        false => format!("{base}/{}", resource.plural),
    };
    let verbs = &endpoint.version().verbs;
    if resource.namespaced && endpoint.allows("list") {
        let everywhere = operations(endpoint, None, &["list".to_string()], false);
        paths.insert(format!("{base}/{}", resource.plural), everywhere);
    }
    paths.insert(collection.clone(), operations(endpoint, None, verbs, false));
    paths.insert(format!("{collection}/{{name}}"), operations(endpoint, None, verbs, true));
    for sub in &endpoint.version().subresources {
        let operations = operations(endpoint, Some(&sub.name), &sub.verbs, true);
        paths.insert(format!("{collection}/{{name}}/{}", sub.name), operations);
    }
}

/// The operations of a path: on one object (`one`), or on the collection.
fn operations(endpoint: &Endpoint, subresource: Option<&str>, verbs: &[String], one: bool) -> Value {
    let mut out = Map::new();
    for verb in verbs {
        let (method, action, options, on_one): (_, _, &[&str], _) = match verb.as_str() {
            "get" => ("get", "get", &[], true),
            "list" => ("get", "list", &LIST_OPTIONS, false),
            "create" => ("post", "post", &WRITE_OPTIONS, false),
            "update" => ("put", "put", &WRITE_OPTIONS, true),
            "patch" => ("patch", "patch", &["dryRun", "fieldManager", "fieldValidation", "force"], true),
            "delete" => ("delete", "delete", &["dryRun", "propagationPolicy"], true),
            "deletecollection" => ("delete", "deletecollection", &["dryRun", "labelSelector"], false),
            _ => continue,
        };
        if on_one == one {
            let schema = match (subresource, action) {
                (Some("scale"), _) if endpoint.resource.custom => SCALE.to_owned(),
                (None, "list") if endpoint.resource.custom => list_schema_name(endpoint),
                _ => schema_name(endpoint),
            };
            out.insert(method.into(), operation(endpoint, &schema, action, options));
        }
    }
    Value::Object(out)
}

fn operation(endpoint: &Endpoint, schema: &str, action: &str, options: &[&str]) -> Value {
    let schema = json!({"$ref": format!("{REFERENCE}{schema}")});
    let parameter = |name: &&str| {
        let kind = if *name == "force" { "boolean" } else { "string" };
        json!({"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": true}})
    };
    let mut out = json!({
        "parameters": options.iter().map(parameter).collect::<Vec<_>>(),
        "responses": {"200": {"description": "OK", "content": {"application/json": {"schema": schema}}}},
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": group_version_kind(endpoint, endpoint.kind()),
    });
    if matches!(action, "post" | "put" | "patch") {
        out["requestBody"] = json!({"required": true, "content": {"application/json": {"schema": schema}}});
    }
    out
}

fn group_version_kind(endpoint: &Endpoint, kind: &str) -> Value {
    json!({"group": endpoint.group(), "version": endpoint.version().name, "kind": kind})
}

/// The name of the schema of a custom resource's list.
fn list_schema_name(endpoint: &Endpoint) -> String {
    let domain: Vec<&str> = endpoint.group().rsplit('.').collect();
    format!("{}.{}.{}", domain.join("."), endpoint.version().name, endpoint.resource.list_kind)
}

/// The name of a schema: that of the built-in type, or for custom resources the reversed group, version and kind.
fn schema_name(endpoint: &Endpoint) -> String {
    if let Some(name) = endpoint.version().type_name() {
        return name.into();
    }
    let domain: Vec<&str> = endpoint.group().rsplit('.').collect();
    format!("{}.{}.{}", domain.join("."), endpoint.version().name, endpoint.kind())
}

fn add_schema(endpoint: &Endpoint, schemas: &mut BTreeMap<String, Value>) {
    let mut schema = match endpoint.resource.custom {
        true => custom::schema(endpoint, REFERENCE),
        false => endpoint.schema().to_openapi(),
    };
    schema["x-kubernetes-group-version-kind"] = json!([group_version_kind(endpoint, endpoint.kind())]);
    let (name, mut referenced) = (schema_name(endpoint), references(&schema));
    if endpoint.resource.custom {
        let mut list = custom::list(endpoint, &name, REFERENCE);
        let kind = &endpoint.resource.list_kind;
        list["x-kubernetes-group-version-kind"] = json!([group_version_kind(endpoint, kind)]);
        referenced.extend(references(&list));
        schemas.insert(list_schema_name(endpoint), list);
    }
    if endpoint.version().scale.is_some() {
        referenced.push(SCALE.to_owned());
    }
    schemas.insert(name, schema);
    while let Some(name) = referenced.pop() {
        if schemas.contains_key(&name) {
            continue;
        }
        if let Some(schema) = types::by_name(&name) {
            let schema = schema.to_openapi();
            referenced.extend(references(&schema));
            schemas.insert(name, schema);
        }
    }
}

/// All schemas that a document references.
fn references(document: &Value) -> Vec<String> {
    match document {
        Value::Object(map) => {
            let here =
                map.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix(REFERENCE));
            here.map(Into::into).into_iter().chain(map.values().flat_map(references)).collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_complete_and_contain_what_kubectl_reads() {
        let scheme = Scheme::with_built_in();
        for name in names(&scheme) {
            let document = document(&scheme, &name).unwrap();
            let schemas = document["components"]["schemas"].as_object().unwrap();
            for reference in references(&document) {
                assert!(schemas.contains_key(&reference), "{name}: {reference}");
            }
        }
        let apps = document(&scheme, "apis/apps/v1").unwrap();
        let patch = &apps["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
        assert_eq!(patch["x-kubernetes-group-version-kind"]["kind"], "Deployment");
        assert!(patch["parameters"].as_array().unwrap().iter().any(|p| p["name"] == "fieldValidation"));
        assert!(document(&scheme, "apis/nope/v1").is_none() && document(&scheme, "version").is_none());
    }
}
