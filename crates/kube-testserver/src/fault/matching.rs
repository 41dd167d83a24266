use kube_core::Resource;

use crate::route::RequestInfo;

/// Which requests a fault is for.
///
/// A new one matches without limit; each method narrows it down. The order is: what the request is, then which of those
/// that are ([`nth`](Self::nth), [`from_nth`](Self::from_nth), [`times`](Self::times)), then the dice
/// ([`chance`](Self::chance)).
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
    /// `Some(None)`: the object or collection itself.
    subresource: Option<Option<String>>,
    namespace: Option<String>,
    name: Option<String>,
    path: Option<String>,
    first: u64,
    times: Option<u64>,
    chance: Option<(f64, u64)>,
}

impl Match {
    /// Every request, whatever it is for.
    pub fn any() -> Self {
        Self::default()
    }

    /// Every request below a path, such as `/openapi/` or `/api/v1/nodes`; the query is not looked at.
    pub fn path(prefix: impl Into<String>) -> Self {
        Self { path: Some(prefix.into()), ..Self::default() }
    }

    /// Every request for a kind: the object or collection itself, not its subresources.
    pub fn kind<K: Resource<DynamicType = ()>>() -> Self {
        Self::resource(K::group(&()), K::plural(&()))
    }

    /// Every request for a resource by its group (empty for the core group) and plural, for kinds without a type.
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

    /// Watches, those that begin with the present state included.
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

    /// Narrows down to a verb as RBAC names them: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`,
    /// `deletecollection`.
    pub fn verb(mut self, verb: &'static str) -> Self {
        self.verb = Some(verb);
        self
    }

    /// Narrows down to a subresource, such as `status`.
    pub fn subresource(mut self, name: impl Into<String>) -> Self {
        self.subresource = Some(Some(name.into()));
        self
    }

    /// Narrows down to one namespace. Requests across namespaces are not in it.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Narrows down to the object of this name. Collections have none, so this leaves lists, watches and creations out.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Only the nth of them, counted from 1 at the moment the rule is added; with [`times`](Self::times) so many from
    /// there on.
    pub fn nth(mut self, n: u64) -> Self {
        self.first = n.max(1);
        self.times.get_or_insert(1);
        self
    }

    /// The nth of them and every later one.
    pub fn from_nth(mut self, n: u64) -> Self {
        self.first = n.max(1);
        self
    }

    /// At most so many of them.
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }

    /// Each of them with a probability from 0 to 1, decided by dice of this seed: the same requests in the same order are
    /// hit in every run.
    pub fn chance(mut self, probability: f64, seed: u64) -> Self {
        self.chance = Some((probability, seed));
        self
    }

    /// Whether a request is one of those that are counted.
    pub(super) fn covers(&self, request: &RequestInfo) -> bool {
        let at = request.resource.as_ref();
        let same = |wanted: &Option<String>, got: Option<&String>| {
            wanted.as_ref().is_none_or(|wanted| got == Some(wanted))
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

    /// Whether the `number`th of those is hit, with a random of the dice from 0 to 1.
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
    fn requests_are_told_apart() {
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
    fn counting_chooses_among_them() {
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
