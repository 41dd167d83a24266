//! Validates metadata: names, labels, annotations, finalizers, owners.

use serde_json::Value;

use crate::{
    object::{meta, names},
    schema::FieldError,
    scheme::Endpoint,
};

const MAX_ANNOTATION_BYTES: usize = 256 * 1024;

/// Validates the metadata of an object; `old` is the object it replaces.
pub(crate) fn validate(endpoint: &Endpoint, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if old.is_none() {
        name(endpoint, object, &mut errors);
    }
    labels(object, &mut errors);
    annotations(object, &mut errors);
    finalizers(object, old, &mut errors);
    if qualifies_finalizers(endpoint) {
        for (i, finalizer) in meta::strings(object, "finalizers").into_iter().enumerate() {
            if is_unqualified(finalizer) {
                let why = "name is neither a standard finalizer name nor is it fully qualified";
                let field = format!("metadata.finalizers[{i}]");
                errors.push(FieldError::invalid(field, format!("{finalizer:?}"), why));
            }
        }
    }
    owners(object, &mut errors);
    errors
}

/// Validates the metadata of an object within another one, which may lack a name.
pub(crate) fn validate_embedded(object: &Value) -> Vec<FieldError> {
    let mut errors = validate_labels(object);
    finalizers(object, None, &mut errors);
    owners(object, &mut errors);
    let metadata = &object["metadata"];
    let namespace = metadata["namespace"].as_str().unwrap_or_default();
    if let Some(wrong) = Some(namespace).filter(|name| !name.is_empty()).and_then(names::dns_label) {
        errors.push(FieldError::invalid("metadata.namespace", format!("{namespace:?}"), &wrong));
    }
    if let Some(generation) = metadata["generation"].as_i64().filter(|generation| *generation < 0) {
        let why = "must be greater than or equal to 0";
        errors.push(FieldError::invalid("metadata.generation", generation, why));
    }
    errors
}

/// Validates the labels and annotations of an object within another one.
pub(crate) fn validate_labels(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    labels(object, &mut errors);
    annotations(object, &mut errors);
    errors
}

/// Warns about new finalizers of a custom resource that are not domain-qualified.
pub(crate) fn finalizer_warnings(endpoint: &Endpoint, object: &Value, old: Option<&Value>) -> Vec<String> {
    if !endpoint.resource.custom {
        return Vec::new();
    }
    let known = old.map(|old| meta::strings(old, "finalizers")).unwrap_or_default();
    let mut added = meta::strings(object, "finalizers");
    added.retain(|finalizer| is_unqualified(finalizer) && !known.contains(finalizer));
    added.sort_unstable();
    let warning = |finalizer: &str| {
        let path = if finalizer.contains('.') { " including a path (/)" } else { "" };
        format!(
            "metadata.finalizers: {finalizer:?}: prefer a domain-qualified finalizer name{path} to avoid \
             accidental conflicts with other finalizer writers"
        )
    };
    added.into_iter().map(warning).collect()
}

/// Whether a finalizer has no domain and is not one of Kubernetes.
fn is_unqualified(finalizer: &str) -> bool {
    !finalizer.contains('/') && !matches!(finalizer, "kubernetes" | "orphan" | "foregroundDeletion")
}

/// Whether a kind refuses finalizers that are not qualified. A few groups do not.
fn qualifies_finalizers(endpoint: &Endpoint) -> bool {
    let lenient = matches!(
        endpoint.group(),
        "coordination.k8s.io"
            | "policy"
            | "admissionregistration.k8s.io"
            | "node.k8s.io"
            | "events.k8s.io"
            | "apiextensions.k8s.io"
    );
    !endpoint.resource.custom && !lenient && !endpoint.is_core("events")
}

fn name(endpoint: &Endpoint, object: &Value, errors: &mut Vec<FieldError>) {
    let name = meta::name(object);
    if name.is_empty() {
        errors.push(FieldError::required("metadata.name", "name or generateName is required"));
        return;
    }
    let wrong = match (endpoint.group(), endpoint.plural()) {
        ("", "namespaces") => names::dns_label(name),
        ("", "services") => names::service_name(name),
        ("rbac.authorization.k8s.io", _) => names::path_segment(name),
        ("networking.k8s.io", "ipaddresses") => names::ip_address(name),
        ("certificates.k8s.io", "clustertrustbundles") => trust_bundle_name(object, name),
        ("apps", "statefulsets") if name.contains('.') => Some("must not contain dots".to_owned()),
        ("apps", "statefulsets") => names::dns_label(name),
        // Names of Jobs have eleven more characters.
        ("batch", "cronjobs") if name.len() > 52 => Some("must be no more than 52 characters".to_owned()),
        _ => names::subdomain(name),
    };
    if let Some(wrong) = wrong {
        errors.push(FieldError::invalid("metadata.name", format!("{name:?}"), &wrong));
    }
}

/// The name of a bundle begins with its signer, if it has one.
fn trust_bundle_name(bundle: &Value, name: &str) -> Option<String> {
    let signer = bundle["spec"]["signerName"].as_str().unwrap_or_default();
    if signer.is_empty() {
        let why = "ClusterTrustBundle without signer name must not have \":\" in its name";
        return if name.contains(':') { Some(why.to_owned()) } else { names::subdomain(name) };
    }
    let prefix = format!("{}:", signer.replace('/', ":"));
    match name.strip_prefix(&prefix) {
        Some(rest) => names::subdomain(rest),
        None => {
            Some(format!("ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}"))
        }
    }
}

fn labels(object: &Value, errors: &mut Vec<FieldError>) {
    for (key, value) in object["metadata"]["labels"].as_object().into_iter().flatten() {
        if let Some(wrong) = names::qualified_name(key) {
            errors.push(FieldError::invalid("metadata.labels", format!("{key:?}"), &wrong));
        }
        let value = value.as_str().unwrap_or_default();
        if let Some(wrong) = names::label_value(value) {
            errors.push(FieldError::invalid("metadata.labels", format!("{value:?}"), &wrong));
        }
    }
}

fn annotations(object: &Value, errors: &mut Vec<FieldError>) {
    let mut size = 0;
    for (key, value) in object["metadata"]["annotations"].as_object().into_iter().flatten() {
        size += key.len() + value.as_str().unwrap_or_default().len();
        if let Some(wrong) = names::qualified_name(&key.to_lowercase()) {
            errors.push(FieldError::invalid("metadata.annotations", format!("{key:?}"), &wrong));
        }
    }
    if size > MAX_ANNOTATION_BYTES {
        let message = format!("Too long: may not be more than {MAX_ANNOTATION_BYTES} bytes");
        errors.push(FieldError::new("metadata.annotations", "FieldValueTooLong", message));
    }
}

fn finalizers(object: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    let finalizers = meta::strings(object, "finalizers");
    for finalizer in &finalizers {
        if let Some(wrong) = names::qualified_name(finalizer) {
            errors.push(FieldError::invalid("metadata.finalizers", format!("{finalizer:?}"), &wrong));
        }
    }
    let Some(old) = old.filter(|old| meta::is_deleting(old)) else { return };
    let before = meta::strings(old, "finalizers");
    let added: Vec<&str> = finalizers.into_iter().filter(|f| !before.contains(f)).collect();
    if !added.is_empty() {
        let detail = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            added.iter().map(|f| format!("{f:?}")).collect::<Vec<_>>().join(", ")
        );
        errors.push(FieldError::forbidden("metadata.finalizers", &detail));
    }
}

fn owners(object: &Value, errors: &mut Vec<FieldError>) {
    let references = object["metadata"]["ownerReferences"].as_array().map_or(&[][..], Vec::as_slice);
    for (i, owner) in references.iter().enumerate() {
        let at = format!("metadata.ownerReferences[{i}]");
        for key in ["apiVersion", "kind", "name", "uid"] {
            if owner[key].as_str().unwrap_or_default().is_empty() {
                errors.push(FieldError::required(format!("{at}.{key}"), "must not be empty"));
            }
        }
        let version = owner["apiVersion"].as_str().unwrap_or_default();
        if version.matches('/').count() > 1 {
            let detail = "must be <group>/<version> or <version>";
            errors.push(FieldError::invalid(format!("{at}.apiVersion"), &owner["apiVersion"], detail));
        }
        if version == "v1" && owner["kind"] == "Event" {
            let detail = "/v1, Kind=Event is disallowed from being an owner";
            errors.push(FieldError::invalid(at, owner, detail));
        }
    }
    let controllers: Vec<&Value> = references.iter().filter(|owner| owner["controller"] == true).collect();
    if let [first, second, ..] = controllers.as_slice() {
        let text = |owner: &Value, key: &str| owner[key].as_str().unwrap_or_default().to_owned();
        let name = |owner: &Value| format!("{}/{}", text(owner, "kind"), text(owner, "name"));
        let detail = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references for {} and {}",
            name(first),
            name(second)
        );
        errors.push(FieldError::invalid(
            "metadata.ownerReferences",
            &object["metadata"]["ownerReferences"],
            &detail,
        ));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::scheme::Scheme;

    fn fields(plural: &str, object: Value, old: Option<Value>) -> Vec<String> {
        let scheme = Scheme::with_built_in();
        let endpoint = scheme.by_plural("", plural).unwrap();
        validate(endpoint, &object, old.as_ref()).into_iter().map(|e| e.field).collect()
    }

    #[test]
    fn each_field_has_its_rule() {
        let bad = json!({"metadata": {
            "name": "X_", "labels": {"a b": "c d"}, "annotations": {"/": ""}, "finalizers": ["-"],
            "ownerReferences": [{"kind": "K", "name": "n", "uid": "u"},
                {"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u", "controller": true},
                {"apiVersion": "v1", "kind": "K", "name": "n", "uid": "v", "controller": true}]}});
        let expected = [
            "metadata.name",
            "metadata.labels",
            "metadata.labels",
            "metadata.annotations",
            "metadata.finalizers",
            "metadata.finalizers[0]",
            "metadata.ownerReferences[0].apiVersion",
            "metadata.ownerReferences",
        ];
        assert_eq!(fields("configmaps", bad, None), expected);
        assert_eq!(fields("configmaps", json!({}), None), ["metadata.name"]);
        assert_eq!(fields("namespaces", json!({"metadata": {"name": "a.b"}}), None), ["metadata.name"]);
        assert!(
            fields(
                "configmaps",
                json!({"metadata": {"name": "a.b", "annotations": {"Upper/x": "y z"}}}),
                None
            )
            .is_empty()
        );
    }

    #[test]
    fn a_terminating_object_gets_no_new_finalizer() {
        let old = json!({"metadata": {"name": "a", "deletionTimestamp": "t", "finalizers": ["a/b"]}});
        let mut new = old.clone();
        assert!(fields("configmaps", new.clone(), Some(old.clone())).is_empty());
        new["metadata"]["finalizers"] = json!(["a/b", "c/d"]);
        assert_eq!(fields("configmaps", new, Some(old)), ["metadata.finalizers"]);
    }
}
