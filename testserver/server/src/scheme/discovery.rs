//! Discovery documents: legacy, one per level, and aggregated.

use base64::{Engine, prelude::BASE64_STANDARD};
use rustls::{SupportedCipherSuite, crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256};
use serde_json::{Map, Value, json};

use super::{Endpoint, Scheme, Subresource};
use crate::object::meta;

/// `/api`.
pub(crate) fn core_versions(address: &str) -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}],
    })
}

/// The groups in the order of genuine servers, which list the most important first.
const ORDER: &str = "apiregistration.k8s.io apps events.k8s.io authentication.k8s.io authorization.k8s.io autoscaling \
    batch certificates.k8s.io networking.k8s.io policy rbac.authorization.k8s.io storage.k8s.io \
    admissionregistration.k8s.io apiextensions.k8s.io scheduling.k8s.io coordination.k8s.io node.k8s.io \
    discovery.k8s.io resource.k8s.io flowcontrol.apiserver.k8s.io storagemigration.k8s.io";

/// Kinds that genuine servers store in another version than this server.
const STORED: [(&str, &str, &str); 6] = [
    ("autoscaling", "HorizontalPodAutoscaler", "v2"),
    ("certificates.k8s.io", "ClusterTrustBundle", "v1beta1"),
    ("certificates.k8s.io", "PodCertificateRequest", "v1beta1"),
    ("apiextensions.k8s.io", "CustomResourceDefinition", "v1beta1"),
    ("resource.k8s.io", "DeviceTaintRule", "v1beta2"),
    ("storagemigration.k8s.io", "StorageVersionMigration", "v1beta1"),
];

/// `/apis`.
pub(crate) fn groups(scheme: &Scheme) -> Value {
    let groups = ordered(scheme).into_iter().filter(|(name, _)| !name.is_empty());
    let groups: Vec<Value> =
        groups.map(|(name, versions)| Value::Object(api_group(name, &versions))).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// All groups; those of custom resources come last, by name.
fn ordered(scheme: &Scheme) -> Vec<(&str, Vec<&str>)> {
    let mut groups = scheme.groups();
    let place = |name: &str| {
        let position = ORDER.split(' ').position(|group| group == name);
        position.unwrap_or(usize::MAX - usize::from(name.ends_with(".k8s.io")))
    };
    groups.sort_by_key(|(name, _)| place(name));
    groups
}

/// `/apis/{group}`.
pub(crate) fn group(scheme: &Scheme, name: &str) -> Option<Value> {
    let (name, versions) =
        scheme.groups().into_iter().find(|(group, _)| *group == name && !name.is_empty())?;
    let mut group = api_group(name, &versions);
    group.insert("kind".into(), "APIGroup".into());
    group.insert("apiVersion".into(), "v1".into());
    Some(Value::Object(group))
}

/// `/api/v1` and `/apis/{group}/{version}`.
pub(crate) fn version(scheme: &Scheme, group: &str, version: &str) -> Option<Value> {
    let mut resources = Vec::new();
    for endpoint in scheme.version(group, version) {
        resources.push(api_resource(endpoint));
        resources.extend(endpoint.version().subresources.iter().map(|sub| api_subresource(endpoint, sub)));
    }
    let group_version = meta::api_version(group, version);
    let mut document =
        json!({"kind": "APIResourceList", "groupVersion": group_version, "resources": resources});
    // The oldest of these documents has no version.
    if !group.is_empty() {
        document["apiVersion"] = "v1".into();
    }
    (!resources.is_empty()).then_some(document)
}

/// `/api` and `/apis` as aggregated discovery `apidiscovery.k8s.io/<form>`.
pub(crate) fn aggregated(scheme: &Scheme, core: bool, form: &str) -> Value {
    let groups = ordered(scheme).into_iter().filter(|(name, _)| name.is_empty() == core);
    let items: Vec<Value> = groups
        .map(|(name, versions)| {
            let versions: Vec<Value> = versions.iter().map(|v| aggregated_version(scheme, name, v)).collect();
            let metadata = if core { json!({}) } else { json!({"name": name}) };
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": format!("apidiscovery.k8s.io/{form}"),
        "metadata": {},
        "items": items,
    })
}

fn api_group(name: &str, versions: &[&str]) -> Map<String, Value> {
    let each = |version: &&str| json!({"groupVersion": meta::api_version(name, version), "version": version});
    let mut group = Map::new();
    group.insert("name".into(), name.into());
    group.insert("versions".into(), versions.iter().map(each).collect());
    group.insert("preferredVersion".into(), versions.first().map(each).unwrap_or_default());
    group
}

/// Of a terminating CRD, only the verbs that read and delete.
fn verbs(endpoint: &Endpoint) -> Vec<&str> {
    let verbs = endpoint.version().verbs.iter().map(String::as_str);
    let terminating = endpoint.resource.terminating;
    verbs.filter(|verb| !(terminating && matches!(*verb, "create" | "patch" | "update"))).collect()
}

fn api_resource(endpoint: &Endpoint) -> Value {
    let resource = &endpoint.resource;
    let mut out = json!({
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": verbs(endpoint),
    });
    if !resource.short_names.is_empty() {
        out["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        out["categories"] = json!(resource.categories);
    }
    if let Some(hash) = storage_version_hash(endpoint) {
        out["storageVersionHash"] = hash.into();
    }
    out
}

/// An opaque hash of the storage version; `None` for kinds that are not stored.
fn storage_version_hash(endpoint: &Endpoint) -> Option<String> {
    let resource = &endpoint.resource;
    // Events are stored in the core group.
    let group = if resource.group == "events.k8s.io" { "" } else { &resource.group };
    let stored = STORED.iter().find(|(group, kind, _)| *group == resource.group && *kind == resource.kind);
    let newest = resource.storage();
    let version = stored.map_or(newest.version().name.as_str(), |(.., version)| version);
    let name = format!("{group}/{version}/{}", resource.kind);
    // SHA-256 from the TLS library.
    let SupportedCipherSuite::Tls13(suite) = TLS13_AES_128_GCM_SHA256 else { return None };
    let hash = suite.common.hash_provider.hash(name.as_bytes());
    let stored = endpoint.allows("get") && !endpoint.is_core("componentstatuses");
    stored.then(|| BASE64_STANDARD.encode(&hash.as_ref()[..8]))
}

fn api_subresource(endpoint: &Endpoint, sub: &Subresource) -> Value {
    let mut out = json!({
        "name": format!("{}/{}", endpoint.plural(), sub.name),
        "singularName": "",
        "namespaced": endpoint.resource.namespaced,
        "kind": sub.kind,
        "verbs": sub.verbs,
    });
    if (sub.group.as_str(), &sub.version) != (endpoint.group(), &endpoint.version().name) {
        out["group"] = json!(sub.group);
        out["version"] = json!(sub.version);
    }
    out
}

fn aggregated_version(scheme: &Scheme, group: &str, version: &str) -> Value {
    let resources: Vec<Value> = scheme.version(group, version).map(aggregated_resource).collect();
    json!({"version": version, "resources": resources, "freshness": "Current"})
}

fn aggregated_resource(endpoint: &Endpoint) -> Value {
    let resource = &endpoint.resource;
    let mut out = json!({
        "resource": resource.plural,
        "responseKind": response_kind(endpoint, endpoint.group(), &endpoint.version().name, &resource.kind),
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": verbs(endpoint),
    });
    if !resource.short_names.is_empty() {
        out["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        out["categories"] = json!(resource.categories);
    }
    let subresources: Vec<Value> = endpoint
        .version()
        .subresources
        .iter()
        .map(|sub| {
            let kind = response_kind(endpoint, &sub.group, &sub.version, &sub.kind);
            json!({"subresource": sub.name, "responseKind": kind, "verbs": sub.verbs})
        })
        .collect();
    if !subresources.is_empty() {
        out["subresources"] = subresources.into();
    }
    out
}

/// The kind of responses. Group and version of built-in kinds are empty if they are those of the document.
fn response_kind(endpoint: &Endpoint, group: &str, version: &str, kind: &str) -> Value {
    let same =
        !endpoint.resource.custom && (group, version) == (endpoint.group(), endpoint.version().name.as_str());
    let (group, version) = if same { ("", "") } else { (group, version) };
    json!({"group": group, "version": version, "kind": kind})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legacy_and_aggregated_discovery_agree() {
        let scheme = Scheme::with_built_in();
        let legacy = version(&scheme, "apps", "v1").unwrap();
        let names: Vec<_> =
            legacy["resources"].as_array().unwrap().iter().map(|r| r["name"].as_str().unwrap()).collect();
        assert!(names.contains(&"deployments") && names.contains(&"deployments/scale"));
        let all = aggregated(&scheme, false, "v2");
        let apps = all["items"].as_array().unwrap().iter().find(|g| g["metadata"]["name"] == "apps").unwrap();
        let resources = apps["versions"][0]["resources"].as_array().unwrap();
        let count: usize =
            resources.iter().map(|r| 1 + r["subresources"].as_array().map_or(0, Vec::len)).sum();
        assert_eq!(count, names.len());
        let deployment = resources.iter().find(|r| r["resource"] == "deployments").unwrap();
        assert_eq!(deployment["responseKind"]["kind"], "Deployment");
        assert_eq!(deployment["scope"], "Namespaced");
    }

    /// As `v1.37` shows them.
    #[test]
    fn groups_and_hashes_are_those_of_the_genuine_server() {
        let scheme = Scheme::with_built_in();
        let groups = groups(&scheme);
        let names: Vec<_> = groups["groups"].as_array().unwrap().iter().map(|group| &group["name"]).collect();
        let stable: Vec<_> = names.iter().filter_map(|name| name.as_str()).collect();
        let stable: Vec<_> =
            stable.into_iter().filter(|name| ORDER.split(' ').any(|group| group == *name)).collect();
        assert_eq!(stable, ORDER.split(' ').collect::<Vec<_>>());
        let hash = |group, plural| {
            let resources = version(&scheme, group, "v1").unwrap()["resources"].clone();
            let resource = resources.as_array().unwrap().iter().find(|entry| entry["name"] == plural);
            resource.unwrap()["storageVersionHash"].clone()
        };
        assert_eq!(hash("autoscaling", "horizontalpodautoscalers"), "qwQve8ut294=");
        assert_eq!(hash("apiextensions.k8s.io", "customresourcedefinitions"), "jfWCUB31mvA=");
        assert_eq!(hash("", "componentstatuses"), Value::Null);
        assert!(version(&scheme, "", "v1").unwrap().get("apiVersion").is_none());
        let pods = &aggregated(&scheme, true, "v2")["items"][0]["versions"][0]["resources"];
        let accounts = pods.as_array().unwrap().iter().find(|entry| entry["resource"] == "serviceaccounts");
        let accounts = accounts.unwrap();
        assert_eq!(accounts["responseKind"], json!({"group": "", "version": "", "kind": "ServiceAccount"}));
        let token = json!({"group": "authentication.k8s.io", "version": "v1", "kind": "TokenRequest"});
        assert_eq!(accounts["subresources"][0]["responseKind"], token);
    }

    #[test]
    fn unknown_groups_and_versions_have_no_document() {
        let scheme = Scheme::with_built_in();
        assert!(version(&scheme, "apps", "v9").is_none() && group(&scheme, "nope").is_none());
        assert!(group(&scheme, "").is_none());
        assert_eq!(group(&scheme, "apps").unwrap()["preferredVersion"]["groupVersion"], "apps/v1");
        assert!(groups(&scheme)["groups"].as_array().unwrap().iter().all(|g| g["name"] != ""));
    }
}
