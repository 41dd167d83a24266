//! Selects the requests of a fault.

use kube_core::Resource;

use crate::route::RequestInfo;

/// Selects the requests of a fault.
///
/// A new `Match` is unlimited; each method narrows it. Evaluated in this order: the request's attributes, then its number among matching
/// requests ([`nth`](Self::nth), [`from_nth`](Self::from_nth), [`times`](Self::times)), then the probability ([`chance`](Self::chance)).
///
/// ```
/// use k8s_openapi::api::core::v1::{ConfigMap, Pod};
/// use kube_testserver::Match;
///
/// Match::watch::<Pod>().nth(2); //                            the second watch of pods, nothing else
/// Match::update::<Pod>().subresource("status").times(3); //   the first three writes of a pod's status
/// Match::get::<ConfigMap>().namespace("a").name("b"); //      every read of one ConfigMap
/// Match::any().chance(0.1, 42); //                            one request in ten, the same ones in every run
/// Match::path("/openapi/"); //                                what is no resource
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Match {
    verb: Option<&'static str>,
    resource: Option<(String, String)>,
    /// `Some(None)`: the object or collection, not a subresource.
    subresource: Option<Option<String>>,
    namespace: Option<String>,
    name: Option<String>,
    path: Option<String>,
    first: u64,
    times: Option<u64>,
    chance: Option<(f64, u64)>,
}

impl Match {
    /// Every request.
    pub fn any() -> Self {
        Self::default()
    }

    /// Every request whose path has this prefix, such as `/openapi/` or `/api/v1/nodes`; the query is ignored.
    pub fn path(prefix: impl Into<String>) -> Self {
        Self { path: Some(prefix.into()), ..Self::default() }
    }

    /// Every request for a kind: the object or collection, not its subresources.
    pub fn kind<K: Resource<DynamicType = ()>>() -> Self {
        Self::resource(K::group(&()), K::plural(&()))
    }

    /// Every request for a resource by group (empty for the core group) and plural, for kinds without a Rust type.
    pub fn resource(group: impl Into<String>, plural: impl Into<String>) -> Self {
        Self { resource: Some((group.into(), plural.into())), subresource: Some(None), ..Self::default() }
    }

    /// Reads of one object.
    pub fn get<K: Resource<DynamicType = ()>>() -> Self {
        Self::kind::<K>().verb("get")
    }

    /// Lists, each page one request.
    pub fn list<K: Resource<DynamicType = ()>>() -> Self {
        Self::kind::<K>().verb("list")
    }

    /// Watches, including streaming lists.
    pub fn watch<K: Resource<DynamicType = ()>>() -> Self {
        Self::kind::<K>().verb("watch")
    }

    /// Creations.
    pub fn create<K: Resource<DynamicType = ()>>() -> Self {
        Self::kind::<K>().verb("create")
    }

    /// Replacements (PUT).
    pub fn update<K: Resource<DynamicType = ()>>() -> Self {
        Self::kind::<K>().verb("update")
    }

    /// Patches of every kind, server-side apply included.
    pub fn patch<K: Resource<DynamicType = ()>>() -> Self {
        Self::kind::<K>().verb("patch")
    }

    /// Deletions of one object.
    pub fn delete<K: Resource<DynamicType = ()>>() -> Self {
        Self::kind::<K>().verb("delete")
    }

    /// Narrows to a verb of RBAC: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub fn verb(mut self, verb: &'static str) -> Self {
        self.verb = Some(verb);
        self
    }

    /// Narrows to a subresource, such as `status`.
    pub fn subresource(mut self, name: impl Into<String>) -> Self {
        self.subresource = Some(Some(name.into()));
        self
    }

    /// Narrows to one namespace; requests across namespaces do not match.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Narrows to the object of this name. Lists, watches and creates have no name and do not match.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Only the nth match, counted from 1 when the rule is added; with [`times`](Self::times) that many from there on.
    pub fn nth(mut self, n: u64) -> Self {
        self.first = n.max(1);
        self.times.get_or_insert(1);
        self
    }

    /// The nth match and all later ones.
    pub fn from_nth(mut self, n: u64) -> Self {
        self.first = n.max(1);
        self
    }

    /// At most this many matches.
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }

    /// Each match with a probability from 0 to 1, decided by a random number generator with this seed: the same requests in the same order
    /// are hit in every run.
    pub fn chance(mut self, probability: f64, seed: u64) -> Self {
        self.chance = Some((probability, seed));
        self
    }

    /// Whether the attributes of a request match, so that it is counted.
    pub(super) fn covers(&self, request: &RequestInfo) -> bool {
        let at = request.resource.as_ref();
        let same = |expected: &Option<String>, got: Option<&String>| {
            expected.as_ref().is_none_or(|expected| got == Some(expected))
        };
        self.verb.is_none_or(|verb| request.verb == verb)
            && self
                .resource
                .as_ref()
                .is_none_or(|(group, plural)| at.is_some_and(|p| p.group == *group && p.plural == *plural))
            && self.subresource.as_ref().is_none_or(|sub| at.is_some_and(|p| p.subresource == *sub))
            && same(&self.namespace, at.and_then(|p| p.namespace.as_ref()))
            && same(&self.name, at.and_then(|p| p.name.as_ref()))
            && self.path.as_ref().is_none_or(|path| request.path.starts_with(path.as_str()))
    }

    /// Whether the `number`th match is hit, with a random number from 0 to 1.
    pub(super) fn hits(&self, number: u64, random: f64) -> bool {
        let first = self.first.max(1);
        number >= first
            && self.times.is_none_or(|times| number - first < times)
            && self.chance.is_none_or(|(probability, _)| random < probability)
    }

    pub(super) fn seed(&self) -> u64 {
        self.chance.map_or(0, |(_, seed)| seed)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{apps::v1::Deployment, core::v1::Pod};

    use super::*;

    fn request(method: &str, uri: &str) -> RequestInfo {
        RequestInfo::of(&http::Request::builder().method(method).uri(uri).body(()).unwrap().into_parts().0)
    }

    #[test]
    fn attributes_select_requests() {
        let pods = "/api/v1/namespaces/a/pods";
        let one = "/api/v1/namespaces/a/pods/b";
        assert!(Match::watch::<Pod>().covers(&request("GET", &format!("{pods}?watch=1"))));
        assert!(!Match::watch::<Pod>().covers(&request("GET", pods)));
        assert!(Match::list::<Pod>().covers(&request("GET", pods)));
        assert!(Match::get::<Pod>().name("b").namespace("a").covers(&request("GET", one)));
        assert!(!Match::get::<Pod>().name("c").covers(&request("GET", one)));
        assert!(!Match::get::<Pod>().namespace("b").covers(&request("GET", one)));
        assert!(!Match::list::<Pod>().namespace("a").covers(&request("GET", "/api/v1/pods")));
        assert!(Match::patch::<Pod>().covers(&request("PATCH", one)));
        assert!(!Match::patch::<Pod>().covers(&request("PATCH", &format!("{one}/status"))));
        assert!(
            Match::patch::<Pod>().subresource("status").covers(&request("PATCH", &format!("{one}/status")))
        );
        assert!(!Match::kind::<Deployment>().covers(&request("GET", pods)));
        assert!(Match::kind::<Pod>().verb("deletecollection").covers(&request("DELETE", pods)));
        assert!(Match::any().covers(&request("GET", "/version")));
        assert!(Match::path("/openapi/").covers(&request("GET", "/openapi/v3?x=1")));
        assert!(!Match::path("/openapi/").covers(&request("GET", pods)));
        assert!(Match::resource("x.io", "foos").covers(&request("POST", "/apis/x.io/v1/foos")));
    }

    #[test]
    fn counts_select_among_matches() {
        let hit = |m: Match| (1..=6).filter(|n| m.hits(*n, 0.5)).collect::<Vec<_>>();
        assert_eq!(hit(Match::any()), [1, 2, 3, 4, 5, 6]);
        assert_eq!(hit(Match::any().nth(2)), [2]);
        assert_eq!(hit(Match::any().nth(2).times(3)), [2, 3, 4]);
        assert_eq!(hit(Match::any().times(3).nth(2)), [2, 3, 4]);
        assert_eq!(hit(Match::any().from_nth(5)), [5, 6]);
        assert_eq!(hit(Match::any().times(2)), [1, 2]);
        assert_eq!(hit(Match::any().nth(0)), [1]);
        assert_eq!(hit(Match::any().chance(0.5, 1)), [0u64; 0]);
        assert_eq!(hit(Match::any().chance(0.6, 1).times(1)), [1]);
    }
}
