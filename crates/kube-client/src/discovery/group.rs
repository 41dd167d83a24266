//! [`ApiGroup`]: one API group, its versions and their kinds.

use std::cmp::Reverse;
use std::collections::HashSet;

use kube_core::Version;
use kube_core::discovery::{ApiCapabilities, ApiResource};

/// An API group with its versions and resources.
#[derive(Clone, Debug)]
pub struct ApiGroup {
    name: String,
    preferred: Option<String>,
    /// At least one, by stability and then newest first.
    versions: Vec<VersionResources>,
}

/// The resources of one version.
#[derive(Clone, Debug)]
pub(super) struct VersionResources {
    pub(super) version: String,
    pub(super) resources: Vec<DiscoveredResource>,
}

/// A resource as discovery has it.
#[derive(Clone, Debug)]
pub(super) struct DiscoveredResource {
    pub(super) kind: DiscoveredKind,
    pub(super) names: ResourceNames,
}

/// A kind and its capabilities.
pub(super) type DiscoveredKind = (ApiResource, ApiCapabilities);

/// What a resource is called beside its plural and its kind.
#[derive(Clone, Debug, Default)]
pub(super) struct ResourceNames {
    /// Empty where the server has none: it is then the kind in lower case.
    pub(super) singular: String,
    pub(super) short_names: Vec<String>,
    pub(super) categories: Vec<String>,
}

impl ApiGroup {
    /// Name of the core group: the empty string.
    pub const CORE_GROUP: &'static str = "";

    /// `None` without versions.
    pub(super) fn new(
        name: String,
        preferred: Option<String>,
        mut versions: Vec<VersionResources>,
    ) -> Option<Self> {
        if versions.is_empty() {
            return None;
        }
        versions.sort_by_cached_key(|entry| Reverse(Version::parse(&entry.version).priority()));
        Some(Self { name, preferred, versions })
    }

    /// Name of the group, empty for the core group.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The versions, by stability and then newest first.
    pub fn versions(&self) -> impl Iterator<Item = &str> {
        self.versions.iter().map(|entry| entry.version.as_str())
    }

    /// The server's preferred version, if it has one.
    pub fn preferred_version(&self) -> Option<&str> {
        self.preferred.as_deref()
    }

    /// The server's preferred version, or else the newest of the most stable ones.
    pub fn preferred_version_or_latest(&self) -> &str {
        match &self.preferred {
            Some(version) => version,
            None => &self.versions[0].version,
        }
    }

    /// The resources of version `ver`; none if there is no such version.
    pub fn versioned_resources(&self, ver: &str) -> Vec<(ApiResource, ApiCapabilities)> {
        self.in_version(ver).iter().map(|resource| resource.kind.clone()).collect()
    }

    /// The resources of the recommended version: see [`ApiGroup::preferred_version_or_latest`].
    ///
    /// Kinds that only other versions have are not included; [`ApiGroup::resources_by_stability`] has all.
    pub fn recommended_resources(&self) -> Vec<(ApiResource, ApiCapabilities)> {
        self.versioned_resources(self.preferred_version_or_latest())
    }

    /// Each kind once, in the newest of the most stable versions that have it.
    pub fn resources_by_stability(&self) -> Vec<(ApiResource, ApiCapabilities)> {
        let mut seen = HashSet::new();
        let all = self.versions.iter().flat_map(|entry| &entry.resources).map(|resource| &resource.kind);
        all.filter(|(resource, _)| seen.insert(resource.kind.as_str())).cloned().collect()
    }

    /// The kind in the recommended version: see [`ApiGroup::preferred_version_or_latest`].
    pub fn recommended_kind(&self, kind: &str) -> Option<(ApiResource, ApiCapabilities)> {
        find_kind(self.in_version(self.preferred_version_or_latest()), kind)
    }

    pub(super) fn kind_in_version(&self, version: &str, kind: &str) -> Option<DiscoveredKind> {
        find_kind(self.in_version(version), kind)
    }

    /// The resources of a version; none if there is no such version.
    pub(super) fn in_version(&self, version: &str) -> &[DiscoveredResource] {
        let found = self.versions.iter().find(|entry| entry.version == version);
        found.map_or(&[], |entry| &entry.resources)
    }
}

fn find_kind(resources: &[DiscoveredResource], kind: &str) -> Option<DiscoveredKind> {
    resources.iter().map(|resource| &resource.kind).find(|(resource, _)| resource.kind == kind).cloned()
}

#[cfg(test)]
mod tests {
    use kube_core::discovery::Scope;
    use kube_core::gvk::GroupVersionKind;

    use super::*;

    fn version(version: &str, kinds: &[&str]) -> VersionResources {
        let resources = kinds.iter().map(|kind| {
            let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("g", version, kind));
            let capabilities =
                ApiCapabilities { scope: Scope::Cluster, subresources: vec![], operations: vec![] };
            DiscoveredResource { kind: (resource, capabilities), names: ResourceNames::default() }
        });
        VersionResources { version: version.to_owned(), resources: resources.collect() }
    }

    fn kinds(resources: Vec<DiscoveredKind>) -> Vec<String> {
        resources.into_iter().map(|(resource, _)| format!("{}/{}", resource.version, resource.kind)).collect()
    }

    fn group(preferred: Option<&str>) -> ApiGroup {
        let versions = vec![
            version("v1alpha1", &["Old", "Foo"]),
            version("v1", &["Foo"]),
            version("v2beta1", &["Foo", "Bar"]),
        ];
        ApiGroup::new("g".into(), preferred.map(str::to_owned), versions).unwrap()
    }

    #[test]
    fn versions_are_ordered_by_stability() {
        let group = group(None);
        assert_eq!(group.versions().collect::<Vec<_>>(), ["v1", "v2beta1", "v1alpha1"]);
        assert_eq!(group.preferred_version_or_latest(), "v1");
        assert_eq!(kinds(group.resources_by_stability()), ["v1/Foo", "v2beta1/Bar", "v1alpha1/Old"]);
        assert!(group.recommended_kind("Bar").is_none());
    }

    #[test]
    fn the_servers_preferred_version_is_recommended() {
        let group = group(Some("v2beta1"));
        assert_eq!(kinds(group.recommended_resources()), ["v2beta1/Foo", "v2beta1/Bar"]);
        assert_eq!(group.recommended_kind("Foo").unwrap().0.version, "v2beta1");
        assert!(group.versioned_resources("v9").is_empty());
        assert!(ApiGroup::new("g".into(), None, vec![]).is_none());
    }
}
