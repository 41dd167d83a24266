//! A definition of a kind, for tests; those in `e2e` use it too.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::json;

/// The definition `plural.group` with these versions, of which the last is the storage version. Its objects may have any field, and a
/// status.
pub(crate) fn definition(
    group: &str,
    plural: &str,
    kind: &str,
    scope: &str,
    versions: &[&str],
) -> CustomResourceDefinition {
    let schema =
        json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    let versions: Vec<_> = versions
        .iter()
        .map(|name| {
            let is_last = Some(name) == versions.last();
            json!({ "name": name, "served": true, "storage": is_last, "subresources": { "status": {} }, "schema": schema })
        })
        .collect();
    let names = json!({ "plural": plural, "kind": kind });
    serde_json::from_value(json!({
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": { "group": group, "scope": scope, "names": names, "versions": versions },
    }))
    .expect("this is a definition")
}
