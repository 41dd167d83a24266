//! Validates metadata: names, labels, annotations, finalizers, owners.

use serde_json::Value;

use crate::{
    object::{addresses, meta, names},
    schema::ErrorList,
    scheme::Endpoint,
};

/// The path of the metadata of an object.
const AT: &str = "metadata";
const MAX_ANNOTATION_BYTES: usize = 256 * 1024;

/// Validates the metadata of an object; `old` is the object it replaces.
pub(super) fn validate(endpoint: &Endpoint, object: &Value, old: Option<&Value>) -> ErrorList {
    let mut errors = ErrorList::default();
    if old.is_none() {
        name(endpoint, object, &mut errors);
    }
    let metadata = &object["metadata"];
    labels(metadata, AT, &mut errors);
    finalizers(object, AT, &mut errors);
    new_finalizers(object, old, &mut errors);
    if qualifies_finalizers(endpoint) {
        for (i, finalizer) in meta::strings(object, "finalizers").into_iter().enumerate() {
            if is_unqualified(finalizer) {
                let why = "name is neither a standard finalizer name nor is it fully qualified";
                let field = format!("{AT}.finalizers[{i}]");
                errors.invalid(field, format!("{finalizer:?}"), why);
            }
        }
    }
    owners(&metadata["ownerReferences"], AT, &mut errors);
    errors
}

/// Validates the metadata of an object at `path` within another one, which may lack a name.
pub(super) fn validate_embedded(object: &Value, path: &str, errors: &mut ErrorList) {
    let (metadata, at) = (&object["metadata"], format!("{path}.{AT}"));
    labels(metadata, &at, errors);
    finalizers(object, &at, errors);
    owners(&metadata["ownerReferences"], &at, errors);
    let namespace = metadata["namespace"].as_str().unwrap_or_default();
    let problem = Some(namespace).filter(|name| !name.is_empty()).and_then(names::dns_label);
    errors.text(format!("{at}.namespace"), namespace, problem);
    if let Some(generation) = metadata["generation"].as_i64().filter(|generation| *generation < 0) {
        errors.invalid(format!("{at}.generation"), generation, "must be greater than or equal to 0");
    }
}

/// Validates labels and annotations; `at` is the path of the metadata.
pub(super) fn labels(metadata: &Value, at: &str, errors: &mut ErrorList) {
    for (key, value) in metadata["labels"].as_object().into_iter().flatten() {
        if let Some(wrong) = names::qualified_name(key) {
            errors.invalid(format!("{at}.labels"), format!("{key:?}"), &wrong);
        }
        let value = value.as_str().unwrap_or_default();
        if let Some(wrong) = names::label_value(value) {
            errors.invalid(format!("{at}.labels"), format!("{value:?}"), &wrong);
        }
    }
    let mut size = 0;
    for (key, value) in metadata["annotations"].as_object().into_iter().flatten() {
        size += key.len() + value.as_str().unwrap_or_default().len();
        if let Some(wrong) = names::qualified_name(&key.to_lowercase()) {
            errors.invalid(format!("{at}.annotations"), format!("{key:?}"), &wrong);
        }
    }
    if size > MAX_ANNOTATION_BYTES {
        errors.too_long(format!("{at}.annotations"), MAX_ANNOTATION_BYTES);
    }
}

/// Warns about new finalizers of a custom resource that are not domain-qualified.
pub(super) fn finalizer_warnings(endpoint: &Endpoint, object: &Value, old: Option<&Value>) -> Vec<String> {
    if !endpoint.resource.custom {
        return Vec::new();
    }
    let before = old.map(|old| meta::strings(old, "finalizers")).unwrap_or_default();
    let mut added = meta::strings(object, "finalizers");
    added.retain(|finalizer| is_unqualified(finalizer) && !before.contains(finalizer));
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

fn name(endpoint: &Endpoint, object: &Value, errors: &mut ErrorList) {
    if let Some(base) = meta::text(object, "generateName") {
        // Something follows a dash at its end. As in Go, the letter before it is not looked at.
        let start = base.ends_with('-').then(|| base.get(..base.len().checked_sub(2)?)).flatten();
        let masked = start.map(|start| format!("{start}a"));
        let wrong = match masked.as_deref().unwrap_or(base) {
            base if endpoint.plural() == "cronjobs" => names::subdomain(base),
            base => wrong_name(endpoint, object, base),
        };
        errors.text("metadata.generateName", base, wrong);
    }
    match meta::name(object) {
        "" => errors.required("metadata.name", "name or generateName is required"),
        name => {
            let wrong = has_dots(endpoint, name).or_else(|| wrong_name(endpoint, object, name));
            errors.text("metadata.name", name, wrong);
        }
    }
}

/// Whether a name would be one but for its dots, of a kind whose names are labels.
fn has_dots(endpoint: &Endpoint, name: &str) -> Option<String> {
    let kind = (endpoint.group(), endpoint.plural());
    let is_label = matches!(kind, ("", "namespaces" | "services") | ("apps", "statefulsets"));
    (is_label && name.contains('.') && names::subdomain(name).is_none())
        .then(|| "must not contain dots".to_owned())
}

fn wrong_name(endpoint: &Endpoint, object: &Value, name: &str) -> Option<String> {
    match (endpoint.group(), endpoint.plural()) {
        ("", "namespaces" | "services") | ("apps", "statefulsets") => names::dns_label(name),
        ("rbac.authorization.k8s.io", _) => names::path_segment(name),
        ("networking.k8s.io", "ipaddresses") => addresses::canonical_address(name),
        ("certificates.k8s.io", "clustertrustbundles") => trust_bundle_name(object, name),
        // Names of Jobs have eleven more characters.
        ("batch", "cronjobs") if name.len() > 52 => Some("must be no more than 52 characters".to_owned()),
        _ => names::subdomain(name),
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

fn finalizers(object: &Value, at: &str, errors: &mut ErrorList) {
    for finalizer in meta::strings(object, "finalizers") {
        errors.text(format!("{at}.finalizers"), finalizer, names::qualified_name(finalizer));
    }
}

fn new_finalizers(object: &Value, old: Option<&Value>, errors: &mut ErrorList) {
    let Some(old) = old.filter(|old| meta::is_deleting(old)) else { return };
    let before = meta::strings(old, "finalizers");
    let mut added = meta::strings(object, "finalizers");
    added.retain(|finalizer| !before.contains(finalizer));
    if !added.is_empty() {
        let detail = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            added.iter().map(|f| format!("{f:?}")).collect::<Vec<_>>().join(", ")
        );
        errors.forbidden("metadata.finalizers", &detail);
    }
}

fn owners(list: &Value, at: &str, errors: &mut ErrorList) {
    let references = list.as_array().map_or(&[][..], Vec::as_slice);
    for (i, owner) in references.iter().enumerate() {
        let at = format!("{at}.ownerReferences[{i}]");
        for key in ["apiVersion", "kind", "name", "uid"] {
            if owner[key].as_str().unwrap_or_default().is_empty() {
                errors.required(format!("{at}.{key}"), "must not be empty");
            }
        }
        let version = owner["apiVersion"].as_str().unwrap_or_default();
        if version.matches('/').count() > 1 {
            let detail = "must be <group>/<version> or <version>";
            errors.invalid(format!("{at}.apiVersion"), &owner["apiVersion"], detail);
        }
        if version == "v1" && owner["kind"] == "Event" {
            errors.invalid(at, owner, "/v1, Kind=Event is disallowed from being an owner");
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
        errors.invalid(format!("{at}.ownerReferences"), list, &detail);
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
