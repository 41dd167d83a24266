//! [`RestMapping`]: a kind with every name it has, and how it is found in a [`Discovery`].

use kube_core::discovery::{ApiCapabilities, ApiResource, Scope};
use kube_core::gvk::GroupVersionKind;

use super::group::{ApiGroup, DiscoveredResource};
use super::run::Discovery;

/// A kind as the cluster serves it: where its objects are, and what it is called.
///
/// [`RestMapper`](super::RestMapper) has an example.
#[derive(Clone, Debug)]
pub struct RestMapping {
    /// Group, version, kind and plural.
    pub resource: ApiResource,
    /// Scope, verbs and subresources.
    pub capabilities: ApiCapabilities,
    /// The name in singular, such as `deployment`.
    pub singular: String,
    /// Short names, such as `deploy`.
    pub short_names: Vec<String>,
    /// Categories, such as the `all` of `kubectl get all`.
    pub categories: Vec<String>,
}

impl RestMapping {
    /// Whether objects of this kind belong to a namespace.
    pub fn is_namespaced(&self) -> bool {
        self.capabilities.scope == Scope::Namespaced
    }

    fn new(found: &DiscoveredResource) -> Self {
        let (resource, capabilities) = found.kind.clone();
        Self {
            singular: found.singular(),
            short_names: found.names.short_names.clone(),
            categories: found.names.categories.clone(),
            resource,
            capabilities,
        }
    }
}

impl DiscoveredResource {
    fn singular(&self) -> String {
        match self.names.singular.as_str() {
            "" => self.kind.0.kind.to_lowercase(),
            singular => singular.to_owned(),
        }
    }

    /// Whether it has this plural, singular or kind, without regard to case.
    fn is_called(&self, name: &str) -> bool {
        let resource = &self.kind.0;
        [&resource.plural, &self.names.singular, &resource.kind]
            .iter()
            .any(|known| known.eq_ignore_ascii_case(name))
    }

    fn has_short_name(&self, name: &str) -> bool {
        self.names.short_names.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// The kind in exactly this version.
pub(super) fn of_kind(discovery: &Discovery, gvk: &GroupVersionKind) -> Option<RestMapping> {
    let in_version = discovery.get(&gvk.group)?.in_version(&gvk.version);
    in_version.iter().find(|found| found.kind.0.kind == gvk.kind).map(RestMapping::new)
}

/// The kind in the version that the server prefers, or else in the newest of the most stable ones that have it.
pub(super) fn of_group_kind(discovery: &Discovery, group: &str, kind: &str) -> Option<RestMapping> {
    let group = discovery.get(group)?;
    by_preference(group, |found| found.kind.0.kind == kind)
}

/// The resource that a user means by `argument`, as `kubectl get` understands it.
pub(super) fn of_argument(discovery: &Discovery, argument: &str) -> Option<RestMapping> {
    let (name, rest) = argument.split_once('.').unwrap_or((argument, ""));
    if name.is_empty() {
        return None;
    }
    // A resource of that name is meant before one with that short name.
    let is_called = |found: &DiscoveredResource| found.is_called(name);
    let has_short_name = |found: &DiscoveredResource| found.has_short_name(name);
    find(discovery, rest, is_called).or_else(|| find(discovery, rest, has_short_name))
}

/// `rest` is empty, `VERSION.GROUP`, `VERSION` (of the core group), `GROUP`, or the beginning of a group's name.
fn find(
    discovery: &Discovery,
    rest: &str,
    wanted: impl Fn(&DiscoveredResource) -> bool,
) -> Option<RestMapping> {
    let by_priority = || discovery.groups_by_priority();
    if rest.is_empty() {
        return by_priority().find_map(|group| by_preference(group, &wanted));
    }
    let (version, group) = rest.split_once('.').unwrap_or((rest, ""));
    let exact = discovery
        .get(group)
        .and_then(|group| group.in_version(version).iter().find(|found| wanted(found)).map(RestMapping::new));
    let in_group = || by_preference(discovery.get(rest)?, &wanted);
    let in_similar = || {
        let similar = by_priority().filter(|group| group.name().starts_with(rest));
        similar.filter_map(|group| by_preference(group, &wanted)).next()
    };
    exact.or_else(in_group).or_else(in_similar)
}

fn by_preference(group: &ApiGroup, wanted: impl Fn(&DiscoveredResource) -> bool) -> Option<RestMapping> {
    let versions = std::iter::once(group.preferred_version_or_latest()).chain(group.versions());
    let mut resources = versions.flat_map(|version| group.in_version(version));
    resources.find(|found| wanted(found)).map(RestMapping::new)
}

/// The versions in which the cluster serves a kind of this name, of any group, such as `apps/v1`.
pub(super) fn versions_of_kind(discovery: &Discovery, kind: &str) -> Vec<String> {
    let versions = discovery
        .groups_by_priority()
        .flat_map(|group| group.versions().map(move |version| (group, version)));
    let resources = versions.flat_map(|(group, version)| group.in_version(version));
    let of_kind = resources.map(|found| &found.kind.0).filter(|resource| resource.kind == kind);
    let mut found: Vec<_> = of_kind.map(|resource| resource.api_version.clone()).collect();
    found.dedup();
    found
}
