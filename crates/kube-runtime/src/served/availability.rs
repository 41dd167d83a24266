//! What the answer of discovery means for a kind. No I/O.

use kube_core::{
    ApiResource, GroupVersionKind, Version,
    discovery::{ApiCapabilities, Scope, verbs},
};
use std::cmp::Reverse;

/// Whether the cluster serves a kind: see [`ServedKind`](super::ServedKind). Only [`Missing`](Self::Missing) says that there are no
/// objects of it. The texts are for people.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Availability {
    /// In this version, the newest one that both know.
    Served(ApiResource),
    /// The server has said that it does not serve the kind.
    Missing(String),
    /// The server has the kind, but not as the program expects it, such as in another version: there may be objects.
    Mismatch(String),
    /// The server could not say it, such as because the server of an aggregated API is away: there may be objects.
    Unknown(String),
}

/// A kind as the program knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KnownKind {
    /// The newest version first.
    versions: Vec<ApiResource>,
    /// `None` if either will do.
    scope: Option<Scope>,
}

/// What discovery says of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Finding {
    Served(ServedAs),
    /// The server has the kind, but not as the program expects it: someone has to change one of the two.
    Mismatch(String),
    Missing(String),
    /// Its group could not be looked up: nothing is known.
    Unknown(String),
}

impl From<Finding> for Availability {
    fn from(finding: Finding) -> Self {
        match finding {
            Finding::Served(ServedAs { resource, .. }) => Self::Served(resource),
            Finding::Mismatch(reason) => Self::Mismatch(reason),
            Finding::Missing(reason) => Self::Missing(reason),
            Finding::Unknown(reason) => Self::Unknown(reason),
        }
    }
}

/// A kind that the server serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ServedAs {
    pub(super) resource: ApiResource,
    pub(super) scope: Scope,
}

/// What the server answered.
pub(super) trait Discovered {
    fn resource(&self, gvk: &GroupVersionKind) -> Option<(ApiResource, ApiCapabilities)>;
    /// The versions of this group.
    fn versions(&self, group: &str) -> Vec<String>;
    /// Whether the group could not be looked up.
    fn has_failed(&self, group: &str) -> bool;
}

impl KnownKind {
    /// Of the versions of a group, the newest is the first choice; of several groups, the one that is named first.
    pub(super) fn new(
        known: ApiResource,
        others: impl IntoIterator<Item = ApiResource>,
        scope: Option<Scope>,
    ) -> Self {
        let mut versions = vec![known];
        versions.extend(others);
        let groups: Vec<String> = versions.iter().map(|version| version.group.clone()).collect();
        versions.sort_by_cached_key(|version| {
            let group = groups.iter().position(|group| *group == version.group);
            (group, Reverse(Version::parse(&version.version).priority()))
        });
        Self { versions, scope }
    }

    /// Such as `Page.example.com`.
    pub(super) fn name(&self) -> String {
        let ApiResource { kind, group, .. } = &self.versions[0];
        if group.is_empty() { kind.clone() } else { format!("{kind}.{group}") }
    }

    pub(super) fn is_of_group(&self, group: &str) -> bool {
        self.versions.iter().any(|version| version.group == group)
    }

    pub(super) fn find(&self, discovered: &impl Discovered) -> Finding {
        let mut mismatch = None;
        for known in &self.versions {
            let gvk = GroupVersionKind::gvk(&known.group, &known.version, &known.kind);
            let Some((resource, capabilities)) = discovered.resource(&gvk) else { continue };
            match self.mismatch(known, &resource, &capabilities) {
                None => {
                    // The program's form: the server's may differ in what has no meaning for requests.
                    return Finding::Served(ServedAs { resource: known.clone(), scope: capabilities.scope });
                }
                Some(reason) => mismatch = mismatch.or(Some(reason)),
            }
        }
        if let Some(mismatch) = mismatch {
            return Finding::Mismatch(mismatch);
        }
        if let Some(failed) = self.versions.iter().find(|version| discovered.has_failed(&version.group)) {
            return Finding::Unknown(format!(
                "the server cannot say now what is in group {:?}",
                failed.group
            ));
        }
        self.not_found(discovered)
    }

    /// Why the server's kind is not the program's.
    fn mismatch(
        &self,
        known: &ApiResource,
        served: &ApiResource,
        capabilities: &ApiCapabilities,
    ) -> Option<String> {
        let version = &known.api_version;
        if served.plural != known.plural {
            let (theirs, ours) = (&served.plural, &known.plural);
            return Some(format!(
                "the server serves it in {version} as {theirs:?}, this program expects {ours:?}"
            ));
        }
        if self.scope.as_ref().is_some_and(|scope| *scope != capabilities.scope) {
            let (theirs, ours) = match capabilities.scope {
                Scope::Cluster => ("cluster-scoped", "namespaced"),
                Scope::Namespaced => ("namespaced", "cluster-scoped"),
            };
            return Some(format!(
                "the server serves it {theirs} in {version}, this program expects it {ours}"
            ));
        }
        let missing =
            [verbs::LIST, verbs::WATCH].into_iter().find(|verb| !capabilities.supports_operation(verb));
        missing.map(|verb| format!("the server serves it in {version} without the verb {verb}"))
    }

    /// No version of it is served.
    fn not_found(&self, discovered: &impl Discovered) -> Finding {
        let mut of_groups: Vec<&ApiResource> = self.versions.iter().collect();
        of_groups.dedup_by(|next, last| next.group == last.group); // sorted by group
        // The versions of one group need no group.
        let name = |group: &str, version: &str| match of_groups.len() {
            1 => version.to_owned(),
            _ => GroupVersionKind::gvk(group, version, "").api_version(),
        };
        let known: Vec<_> = self.versions.iter().map(|it| name(&it.group, &it.version)).collect();
        let mut others = Vec::new();
        for ApiResource { group, kind, .. } in &of_groups {
            let is_served = |version: &String| {
                discovered.resource(&GroupVersionKind::gvk(group, version, kind)).is_some()
            };
            let served = discovered.versions(group).into_iter().filter(is_served);
            others.extend(served.map(|version| name(group, &version)));
        }
        match others.is_empty() {
            true => Finding::Missing("the server does not serve it".to_owned()),
            false => {
                let (others, known) = (others.join(", "), known.join(", "));
                Finding::Mismatch(format!(
                    "the server serves it in {others} only, this program knows {known}"
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kinds by version, all of the group `example.com`.
    #[derive(Default)]
    struct Server {
        kinds: Vec<(ApiResource, ApiCapabilities)>,
        failed: bool,
    }

    impl Discovered for Server {
        fn resource(&self, gvk: &GroupVersionKind) -> Option<(ApiResource, ApiCapabilities)> {
            let mut kinds = self.kinds.iter();
            let is_same = |it: &ApiResource| {
                (&it.group, &it.version, &it.kind) == (&gvk.group, &gvk.version, &gvk.kind)
            };
            kinds.find(|(it, _)| is_same(it)).cloned()
        }

        fn versions(&self, group: &str) -> Vec<String> {
            let kinds = self.kinds.iter().filter(|(resource, _)| resource.group == group);
            kinds.map(|(resource, _)| resource.version.clone()).collect()
        }

        fn has_failed(&self, _group: &str) -> bool {
            self.failed
        }
    }

    fn page(version: &str) -> ApiResource {
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("example.com", version, "Page"), "pages")
    }

    fn capabilities(scope: Scope, verbs: &[&str]) -> ApiCapabilities {
        let operations = verbs.iter().map(|verb| (*verb).to_owned()).collect();
        ApiCapabilities { scope, subresources: Vec::new(), operations }
    }

    fn serving(versions: &[&str]) -> Server {
        let of = |version: &&str| (page(version), capabilities(Scope::Namespaced, &["list", "watch"]));
        Server { kinds: versions.iter().map(of).collect(), failed: false }
    }

    fn known(versions: &[&str]) -> KnownKind {
        let mut versions = versions.iter().map(|version| page(version));
        KnownKind::new(versions.next().unwrap(), versions, Some(Scope::Namespaced))
    }

    #[test]
    fn the_newest_version_that_both_know_is_used() {
        let known = known(&["v1beta1", "v2", "v1"]);
        let found = |served: &[&str]| match known.find(&serving(served)) {
            Finding::Served(found) => found.resource.version,
            other => panic!("{other:?}"),
        };
        assert_eq!(found(&["v1", "v3", "v1beta1"]), "v1");
        assert_eq!(found(&["v1beta1"]), "v1beta1");
        assert_eq!(found(&["v1", "v2"]), "v2");
    }

    #[test]
    fn each_reason_says_what_the_server_has_and_what_the_program_expects() {
        let known = known(&["v1"]);
        let missing = |server: &Server| match known.find(server) {
            Finding::Missing(reason) | Finding::Mismatch(reason) => reason,
            other => panic!("{other:?}"),
        };
        let with = |resource, capabilities| Server { kinds: vec![(resource, capabilities)], failed: false };
        let all = ["list", "watch"];
        assert_eq!(missing(&serving(&[])), "the server does not serve it");
        assert_eq!(
            missing(&serving(&["v2", "v3"])),
            "the server serves it in v2, v3 only, this program knows v1"
        );
        assert_eq!(
            missing(&with(page("v1"), capabilities(Scope::Cluster, &all))),
            "the server serves it cluster-scoped in example.com/v1, this program expects it namespaced"
        );
        let other = ApiResource { plural: "leaves".into(), ..page("v1") };
        assert_eq!(
            missing(&with(other, capabilities(Scope::Namespaced, &all))),
            r#"the server serves it in example.com/v1 as "leaves", this program expects "pages""#
        );
        assert_eq!(
            missing(&with(page("v1"), capabilities(Scope::Namespaced, &["list", "get"]))),
            "the server serves it in example.com/v1 without the verb watch"
        );
    }

    #[test]
    fn a_kind_that_only_another_known_group_has_is_not_missing() {
        let of_group = |group, version| {
            ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, "Page"), "pages")
        };
        let known = KnownKind::new(of_group("old.example.com", "v1"), [page("v1")], Some(Scope::Namespaced));
        let expected = "the server serves it in example.com/v2 only, this program knows old.example.com/v1, example.com/v1";
        assert_eq!(known.find(&serving(&["v2"])), Finding::Mismatch(expected.into()));
        assert!(matches!(known.find(&serving(&[])), Finding::Missing(_)));
    }

    #[test]
    fn a_group_that_cannot_be_looked_up_is_not_missing() {
        let failed = Server { failed: true, ..serving(&[]) };
        assert!(
            matches!(known(&["v1"]).find(&failed), Finding::Unknown(reason) if reason.contains("example.com"))
        );
        let partial = Server { failed: true, ..serving(&["v1"]) };
        assert!(matches!(known(&["v1"]).find(&partial), Finding::Served(_)), "what was found counts");
    }
}
