//! Aggregated discovery, where one response has every group: converts its groups to kinds.

use kube_core::discovery::v2::{
    APIGroupDiscovery, APIResourceDiscovery, APIVersionDiscovery, GroupVersionKind,
};
use kube_core::discovery::{ApiCapabilities, ApiResource, Scope};
use kube_core::gvk::GroupVersion;

use super::group::{ApiGroup, DiscoveredResource, ResourceNames, VersionResources};

/// A group, and its versions of which the server could not fetch the present state from their backend.
pub(super) struct AggregatedGroup {
    pub(super) name: String,
    pub(super) stale: Vec<String>,
    pub(super) group: Option<ApiGroup>,
}

/// Converts one group. The server lists its versions in order of preference. A stale version has the resources of the last time that its
/// backend answered, if there was one: they are served again when it is back, and there may be others by then.
pub(super) fn group(discovered: APIGroupDiscovery) -> AggregatedGroup {
    let name = discovered.metadata.and_then(|meta| meta.name).unwrap_or_default();
    let is_stale = |version: &&APIVersionDiscovery| version.freshness.as_deref() == Some("Stale");
    let stale = discovered.versions.iter().filter(is_stale).filter_map(|version| version.version.clone());
    let stale = stale.collect();
    let has_resources = |version: &APIVersionDiscovery| !is_stale(&version) || !version.resources.is_empty();
    let known: Vec<_> = discovered.versions.into_iter().filter(has_resources).collect();
    let preferred = known.first().and_then(|version| version.version.clone());
    let versions = known.into_iter().map(|version| version_resources(&name, version)).collect();
    AggregatedGroup { stale, group: ApiGroup::new(name.clone(), preferred, versions), name }
}

fn version_resources(group: &str, version: APIVersionDiscovery) -> VersionResources {
    let gv = GroupVersion::gv(group, version.version.as_deref().unwrap_or_default());
    let resources = version.resources.into_iter().filter_map(|entry| resource(&gv, entry)).collect();
    VersionResources { version: gv.version, resources }
}

fn resource(gv: &GroupVersion, entry: APIResourceDiscovery) -> Option<DiscoveredResource> {
    let scope = if entry.scope.as_deref() == Some("Namespaced") { Scope::Namespaced } else { Scope::Cluster };
    let subresources = entry.subresources.into_iter().filter_map(|sub| {
        let resource = api_resource(gv, sub.response_kind, sub.subresource?)?;
        let capabilities =
            ApiCapabilities { scope: scope.clone(), subresources: Vec::new(), operations: sub.verbs };
        Some((resource, capabilities))
    });
    let subresources = subresources.collect();
    let resource = api_resource(gv, entry.response_kind, entry.resource?)?;
    Some(DiscoveredResource {
        kind: (resource, ApiCapabilities { scope, subresources, operations: entry.verbs }),
        names: ResourceNames {
            singular: entry.singular_resource.unwrap_or_default(),
            short_names: entry.short_names,
            categories: entry.categories,
        },
    })
}

/// `None` for an entry without a kind, which has no objects.
fn api_resource(gv: &GroupVersion, kind: Option<GroupVersionKind>, plural: String) -> Option<ApiResource> {
    let kind = kind?;
    let kind_name = kind.kind.filter(|kind| !kind.is_empty())?;
    let version = kind.version.filter(|version| !version.is_empty());
    // Without a version, the kind belongs to this group; with one, an absent group is the core group.
    let gv = match version {
        Some(version) => GroupVersion { group: kind.group.unwrap_or_default(), version },
        None => gv.clone(),
    };
    Some(ApiResource {
        api_version: gv.api_version(),
        group: gv.group,
        version: gv.version,
        kind: kind_name,
        plural,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> AggregatedGroup {
        group(serde_json::from_str(json).unwrap())
    }

    #[test]
    fn kinds_and_subresources_are_converted_in_the_servers_order() {
        let parsed = parse(
            r#"{"metadata":{"name":"apps"},"versions":[
                {"version":"v1beta2","freshness":"Current","resources":[]},
                {"version":"v1","freshness":"Current","resources":[
                  {"resource":"deployments","scope":"Namespaced","verbs":["get"],
                   "responseKind":{"group":"apps","version":"v1","kind":"Deployment"},
                   "subresources":[{"subresource":"scale","verbs":["get"],
                                    "responseKind":{"group":"autoscaling","version":"v1","kind":"Scale"}}]}]}]}"#,
        );
        let group = parsed.group.unwrap();
        assert_eq!(group.preferred_version(), Some("v1beta2"));
        let (resource, caps) = group.kind_in_version("v1", "Deployment").unwrap();
        assert_eq!(resource.plural, "deployments");
        assert_eq!(caps.scope, Scope::Namespaced);
        assert_eq!(caps.subresources[0].0.api_version, "autoscaling/v1");
    }

    #[test]
    fn stale_versions_are_listed() {
        let parsed = parse(
            r#"{"metadata":{"name":"metrics.k8s.io"},"versions":[{"version":"v1beta1","freshness":"Stale"}]}"#,
        );
        assert_eq!((parsed.name.as_str(), parsed.stale), ("metrics.k8s.io", vec!["v1beta1".to_owned()]));
        assert!(parsed.group.is_none());
        // As kube-aggregator lists a version whose backend is down, and was not before.
        let parsed = parse(
            r#"{"metadata":{"name":"metrics.k8s.io"},"versions":[{"version":"v1beta1","freshness":"Stale","resources":[
                {"resource":"pods","scope":"Namespaced","verbs":["get"],"responseKind":{"kind":"PodMetrics"}}]}]}"#,
        );
        assert_eq!(parsed.stale, ["v1beta1"]);
        assert!(parsed.group.unwrap().kind_in_version("v1beta1", "PodMetrics").is_some());
    }
}
