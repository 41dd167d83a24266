//! Merging permissions into the rules of roles.

use super::{
    access::{Access, ResourceAccess},
    yaml,
};
use k8s_openapi::{
    api::rbac::v1::{ClusterRole, PolicyRule, Role},
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use std::collections::{BTreeMap, BTreeSet};

/// What a program may do: the least that its recorded requests need. Made by
/// [`RbacRecorder::permissions`](super::RbacRecorder::permissions).
///
/// Requests without a namespace need a `ClusterRole`, those in a namespace a `Role` in it; what the `ClusterRole` permits already is not
/// repeated in a `Role`. The same requests in any order give the same rules: sorted by API group, resource and name; resources of a group
/// with equal verbs share a rule.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permissions {
    accesses: BTreeSet<Access>,
    with_names: bool,
}

type Text = BTreeSet<String>;

/// Verbs by resource, and by object for rules with names.
type Verbs = BTreeMap<ResourceKey, BTreeSet<&'static str>>;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct ResourceKey {
    group: String,
    resource: String,
    name: Option<String>,
}

impl Permissions {
    pub(super) fn new(accesses: BTreeSet<Access>) -> Self {
        Self { accesses, with_names: false }
    }

    /// Restricts the verbs on single objects to the names that were used, by `resourceNames`.
    ///
    /// For programs that use few objects with fixed names, such as a Lease or a configuration. Creations and requests of collections
    /// cannot be restricted, except lists and watches of one object.
    #[must_use]
    pub fn with_resource_names(self) -> Self {
        Self { with_names: true, ..self }
    }

    /// Makes one role of this namespace of those of all namespaces: those of a test are not those of a cluster. `{{ .Release.Namespace }}`
    /// is one for Helm.
    ///
    /// ```
    /// # use kube_operator::rbac::RbacRecorder;
    /// let permissions = RbacRecorder::default().permissions().in_namespace("{{ .Release.Namespace }}");
    /// assert!(permissions.is_empty(), "nothing was recorded");
    /// ```
    #[must_use]
    pub fn in_namespace(self, namespace: impl Into<String>) -> Self {
        let namespace = namespace.into();
        self.moved(|_| Some(namespace.clone()))
    }

    /// Permits in all namespaces, by the cluster role, what was requested in some.
    #[must_use]
    pub fn in_all_namespaces(self) -> Self {
        self.moved(|_| None)
    }

    pub(crate) fn moved(self, to: impl Fn(String) -> Option<String>) -> Self {
        self.changed(|access| access.namespace = access.namespace.take().and_then(&to))
    }

    /// The permissions of both: each restricted to names if it was so before.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        let (mut all, other) = match self.with_names == other.with_names {
            true => (self, other),
            false => (self.settled(), other.settled()),
        };
        all.with_names |= other.with_names;
        all.accesses.extend(other.accesses);
        all
    }

    /// What of these permissions `granted` does not have, such as what was recorded in tests and the roles of a deployment do not permit.
    ///
    /// A permission in all namespaces or for all names grants that in one or for one, so restrict what was recorded by
    /// [`with_resource_names`](Self::with_resource_names) where the roles are. What every identity may do by default is never missing:
    /// discovery, and questions about its own permissions.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kube_client::{Api, Client};
    /// use kube_operator::rbac::RbacRecorder;
    /// use tower::Layer;
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let (all, one) = (RbacRecorder::default(), RbacRecorder::default());
    /// let maps = |recorder: &RbacRecorder| {
    ///     Client::new(recorder.layer(kube_testserver::ApiServer::new()), "shop")
    /// };
    /// Api::<ConfigMap>::all(maps(&all)).list(&Default::default()).await?;
    /// Api::<ConfigMap>::default_namespaced(maps(&one)).list(&Default::default()).await?;
    /// assert!(one.permissions().missing_from(&all.permissions()).is_empty());
    /// assert!(!all.permissions().missing_from(&one.permissions()).is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn missing_from(&self, granted: &Self) -> Self {
        let granted = granted.clone().settled().accesses;
        let is_granted = |access: &Access| match access {
            Access::Path { .. } => true,
            Access::Resource(it) if is_granted_to_all(it) => true,
            Access::Resource(it) => [&it.namespace, &None].into_iter().any(|namespace| {
                [&it.name, &None].into_iter().any(|name| {
                    let wider =
                        ResourceAccess { namespace: namespace.clone(), name: name.clone(), ..it.clone() };
                    granted.contains(&Access::Resource(wider))
                })
            }),
        };
        let mut missing = self.clone().settled();
        missing.accesses.retain(|access| !is_granted(access));
        missing
    }

    /// What of these permissions was not used by the requests of `recorded`, in whatever namespace and for whatever name: excess of a role,
    /// or something that the tests do not do.
    #[must_use]
    pub fn unused_by(&self, recorded: &Self) -> Self {
        let anywhere = |it: &ResourceAccess| ResourceAccess { namespace: None, name: None, ..it.clone() };
        let used: BTreeSet<_> = recorded.resources().map(anywhere).collect();
        let mut unused = self.clone().settled();
        unused.accesses.retain(|access| match access {
            Access::Resource(access) => !used.contains(&anywhere(access)),
            Access::Path { .. } => false,
        });
        unused
    }

    /// Without the names, unless they restrict.
    fn settled(mut self) -> Self {
        if !self.with_names {
            self = self.renamed(|_| None);
        }
        self
    }

    /// This name stands for all.
    pub(crate) fn without_name(self, any: &str) -> Self {
        self.renamed(|name| Some(name).filter(|name| name != any))
    }

    fn renamed(self, to: impl Fn(String) -> Option<String>) -> Self {
        self.changed(|access| access.name = access.name.take().and_then(&to))
    }

    /// With this change of every access to a resource.
    fn changed(self, change: impl Fn(&mut ResourceAccess)) -> Self {
        let changed = |mut access| {
            if let Access::Resource(access) = &mut access {
                change(access);
            }
            access
        };
        Self { accesses: self.accesses.into_iter().map(changed).collect(), ..self }
    }

    /// Whoever may get, list or watch objects may do all three.
    pub(crate) fn with_all_reads(mut self) -> Self {
        const READS: [&str; 3] = ["get", "list", "watch"];
        let read = |access: &Access| match access {
            Access::Resource(access) if READS.contains(&access.verb) => Some(access.clone()),
            _ => None,
        };
        let read: Vec<_> = self.accesses.iter().filter_map(read).collect();
        for access in read {
            self.accesses
                .extend(READS.map(|verb| Access::Resource(ResourceAccess { verb, ..access.clone() })));
        }
        self
    }

    /// Returns whether some of `other` are new.
    pub(crate) fn add(&mut self, other: Self) -> bool {
        let before = self.accesses.len();
        *self = std::mem::take(self).union(other);
        self.accesses.len() > before
    }

    /// Whether nothing was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.accesses.is_empty()
    }

    /// The role for requests without a namespace; `None` if there are none.
    #[must_use]
    pub fn cluster_role(&self, name: &str) -> Option<ClusterRole> {
        let mut rules = rules(self.verbs(None));
        rules.extend(self.path_rules());
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        (!rules.is_empty()).then(|| ClusterRole { metadata, rules: Some(rules), ..ClusterRole::default() })
    }

    /// One role for each namespace, sorted by namespace, for requests that the cluster role does not permit.
    #[must_use]
    pub fn roles(&self, name: &str) -> Vec<Role> {
        let everywhere = self.verbs(None);
        let namespaces: BTreeSet<&str> = self.resources().filter_map(|it| it.namespace.as_deref()).collect();
        let role = |namespace: &str| {
            let mut verbs = self.verbs(Some(namespace));
            for (key, verbs) in &mut verbs {
                let all_names = ResourceKey { name: None, ..key.clone() };
                let permitted: Vec<_> =
                    [key, &all_names].into_iter().filter_map(|key| everywhere.get(key)).collect();
                verbs.retain(|verb| !permitted.iter().any(|permitted| permitted.contains(verb)));
            }
            verbs.retain(|_, verbs| !verbs.is_empty());
            let metadata = ObjectMeta {
                name: Some(name.to_owned()),
                namespace: Some(namespace.to_owned()),
                ..ObjectMeta::default()
            };
            (!verbs.is_empty()).then(|| Role { metadata, rules: Some(rules(verbs)) })
        };
        namespaces.into_iter().filter_map(role).collect()
    }

    /// The roles as YAML documents, the cluster role first. Empty if nothing was recorded.
    ///
    /// Bind them to the service account of the program by a `ClusterRoleBinding` and a `RoleBinding` for each namespace.
    #[must_use]
    pub fn to_yaml(&self, name: &str) -> String {
        let cluster_role = self.cluster_role(name);
        let cluster_role =
            cluster_role.iter().map(|it| yaml::manifest("ClusterRole", &it.metadata, it.rules.as_deref()));
        let roles = self.roles(name);
        let roles = roles.iter().map(|it| yaml::manifest("Role", &it.metadata, it.rules.as_deref()));
        cluster_role.chain(roles).collect::<Vec<_>>().join("---\n")
    }

    fn resources(&self) -> impl Iterator<Item = &ResourceAccess> {
        self.accesses.iter().filter_map(|access| match access {
            Access::Resource(access) => Some(access),
            Access::Path { .. } => None,
        })
    }

    fn verbs(&self, namespace: Option<&str>) -> Verbs {
        let mut verbs = Verbs::new();
        for access in self.resources().filter(|it| it.namespace.as_deref() == namespace) {
            let ResourceAccess { group, resource, name, verb, .. } = access;
            let name = name.clone().filter(|_| self.with_names);
            let key = ResourceKey { group: group.clone(), resource: resource.clone(), name };
            verbs.entry(key).or_default().insert(verb);
        }
        verbs
    }

    fn path_rules(&self) -> Vec<PolicyRule> {
        let mut by_path: BTreeMap<&str, Text> = BTreeMap::new();
        for access in &self.accesses {
            if let Access::Path { path, verb } = access {
                by_path.entry(path).or_default().insert(verb.clone());
            }
        }
        let mut by_verbs: BTreeMap<Text, Vec<String>> = BTreeMap::new();
        by_path
            .into_iter()
            .for_each(|(path, verbs)| by_verbs.entry(verbs).or_default().push(path.to_owned()));
        let rule = |(verbs, paths): (Text, Vec<String>)| PolicyRule {
            non_resource_urls: Some(paths),
            verbs: verbs.into_iter().collect(),
            ..PolicyRule::default()
        };
        by_verbs.into_iter().map(rule).collect()
    }
}

/// By the roles `system:basic-user` and `system:discovery`, which every cluster has.
fn is_granted_to_all(access: &ResourceAccess) -> bool {
    let reviews = match &*access.group {
        "authorization.k8s.io" => ["selfsubjectaccessreviews", "selfsubjectrulesreviews"].as_slice(),
        "authentication.k8s.io" => &["selfsubjectreviews"],
        _ => &[],
    };
    access.verb == "create" && reviews.contains(&&*access.resource)
}

/// The rules: names of one resource with equal verbs share a rule, then resources of one group with equal names and verbs.
fn rules(verbs: Verbs) -> Vec<PolicyRule> {
    let mut names: BTreeMap<(String, String, Text, bool), Text> = BTreeMap::new();
    for (ResourceKey { group, resource, name }, verbs) in verbs {
        let verbs: Text = verbs.into_iter().map(str::to_owned).collect();
        names.entry((group, resource, verbs, name.is_some())).or_default().extend(name);
    }
    let mut resources: BTreeMap<(String, Text, Text), Text> = BTreeMap::new();
    for ((group, resource, verbs, _), names) in names {
        resources.entry((group, names, verbs)).or_default().insert(resource);
    }
    let mut sorted: Vec<_> = resources
        .into_iter()
        .map(|((group, names, verbs), resources)| (group, resources, names, verbs))
        .collect();
    sorted.sort();
    let list = |texts: Text| texts.into_iter().collect::<Vec<_>>();
    let rule = |(group, resources, names, verbs): (String, Text, Text, Text)| PolicyRule {
        api_groups: Some(vec![group]),
        resources: Some(list(resources)),
        resource_names: (!names.is_empty()).then(|| list(names)),
        verbs: list(verbs),
        ..PolicyRule::default()
    };
    sorted.into_iter().map(rule).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rbac::access::Target;
    use http::HeaderMap;

    fn recorded(requests: &[&str]) -> Permissions {
        let mut accesses = BTreeSet::new();
        for request in requests {
            let (method, uri) = request.split_once(' ').unwrap();
            let target = Target::of(&method.parse().unwrap(), &uri.parse().unwrap(), &HeaderMap::new());
            accesses.extend(target.accesses().cloned());
        }
        Permissions::new(accesses)
    }

    /// The rules of the roles, without their headers.
    fn text(permissions: &Permissions) -> String {
        let yaml = permissions.to_yaml("op");
        let lines =
            yaml.lines().filter(|line| !line.starts_with("apiVersion") && !line.starts_with("metadata"));
        lines.filter(|line| !line.contains("name: \"op\"")).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn verbs_of_a_resource_and_resources_with_equal_verbs_share_a_rule() {
        let permissions = recorded(&[
            "GET /api/v1/secrets?watch=1",
            "GET /api/v1/secrets",
            "GET /api/v1/configmaps",
            "GET /apis/apps/v1/deployments",
            "GET /api/v1/configmaps?watch=1",
            "PATCH /apis/apps/v1/namespaces/a/deployments/web",
            "PATCH /apis/apps/v1/namespaces/a/deployments/web/status",
        ]);
        let expected = "\
kind: ClusterRole
rules:
- apiGroups: [\"\"]
  resources: [\"configmaps\",\"secrets\"]
  verbs: [\"list\",\"watch\"]
- apiGroups: [\"apps\"]
  resources: [\"deployments\"]
  verbs: [\"list\"]
---
kind: Role
  namespace: \"a\"
rules:
- apiGroups: [\"apps\"]
  resources: [\"deployments\",\"deployments/status\"]
  verbs: [\"patch\"]";
        assert_eq!(text(&permissions), expected);
    }

    #[test]
    fn a_streaming_list_may_become_a_list() {
        let role = |uri| text(&recorded(&[uri]));
        assert!(
            role("GET /api/v1/pods?watch=1&sendInitialEvents=true").contains(r#"verbs: ["list","watch"]"#)
        );
        for uri in ["GET /api/v1/pods?watch=1", "GET /api/v1/pods?watch=1&sendInitialEvents=false"] {
            assert!(role(uri).contains(r#"verbs: ["watch"]"#), "{uri}");
        }
    }

    #[test]
    fn a_role_does_not_repeat_the_cluster_role() {
        let permissions = recorded(&[
            "GET /api/v1/pods",
            "GET /api/v1/namespaces/a/pods",
            "GET /api/v1/namespaces/b/pods/x",
        ]);
        let roles = permissions.roles("op");
        assert_eq!(roles.len(), 1);
        assert_eq!(roles[0].metadata.namespace.as_deref(), Some("b"));
        assert_eq!(roles[0].rules.as_ref().unwrap()[0].verbs, ["get"]);
    }

    #[test]
    fn names_restrict_single_objects_only() {
        let permissions = recorded(&[
            "GET /api/v1/namespaces/a/configmaps/x",
            "GET /api/v1/namespaces/a/configmaps/y",
            "PATCH /api/v1/namespaces/a/configmaps/y",
            "POST /api/v1/namespaces/a/configmaps",
            "GET /api/v1/namespaces/a/configmaps?watch=1&fieldSelector=metadata.name%3Dx",
        ]);
        let expected = "\
kind: Role
  namespace: \"a\"
rules:
- apiGroups: [\"\"]
  resources: [\"configmaps\"]
  verbs: [\"create\"]
- apiGroups: [\"\"]
  resources: [\"configmaps\"]
  resourceNames: [\"x\"]
  verbs: [\"get\",\"watch\"]
- apiGroups: [\"\"]
  resources: [\"configmaps\"]
  resourceNames: [\"y\"]
  verbs: [\"get\",\"patch\"]";
        assert_eq!(text(&permissions.clone().with_resource_names()), expected);
        let merged = permissions.roles("op")[0].rules.clone().unwrap().remove(0);
        assert_eq!(merged.verbs, ["create", "get", "patch", "watch"]);
    }

    #[test]
    fn the_namespaces_of_a_test_are_replaced() {
        let permissions = recorded(&[
            "GET /api/v1/namespaces/test-1/pods/x",
            "PATCH /api/v1/namespaces/test-2/pods/y",
            "GET /api/v1/nodes",
            "GET /version",
        ]);
        let roles = permissions.clone().in_namespace("shop").roles("op");
        assert_eq!(roles.len(), 1);
        assert_eq!(roles[0].metadata.namespace.as_deref(), Some("shop"));
        assert_eq!(roles[0].rules.as_ref().unwrap()[0].verbs, ["get", "patch"]);
        let everywhere = permissions.in_all_namespaces();
        assert!(everywhere.roles("op").is_empty());
        let rules = everywhere.cluster_role("op").unwrap().rules.unwrap();
        assert_eq!(rules.len(), 3, "{rules:?}");
    }

    #[test]
    fn what_the_library_does_at_times_is_included() {
        let completed = |requests| {
            let Permissions { accesses, .. } = recorded(requests);
            text(&Permissions::new(crate::rbac::library::completed(accesses)))
        };
        let events = completed(&["POST /apis/events.k8s.io/v1/namespaces/a/events"]);
        assert!(events.ends_with("verbs: [\"create\",\"patch\"]"), "{events}");
        let lease = completed(&["GET /apis/coordination.k8s.io/v1/namespaces/a/leases/op"]);
        assert!(lease.ends_with("verbs: [\"create\",\"get\",\"update\"]"), "{lease}");
        let group = completed(&["GET /apis/coordination.k8s.io/v1/namespaces/a/leases"]);
        assert!(group.ends_with("verbs: [\"create\",\"delete\",\"list\",\"update\"]"), "{group}");
        let status = completed(&["PATCH /apis/apps/v1/namespaces/a/deployments/web/status"]);
        let get = "resources: [\"deployments\"]\n  verbs: [\"get\"]";
        assert!(status.contains(get) && status.ends_with("verbs: [\"patch\"]"), "{status}");
        let none = completed(&["GET /api/v1/namespaces/a/events"]);
        assert!(none.ends_with("verbs: [\"list\"]"), "{none}");
    }

    #[test]
    fn creating_a_lease_does_not_permit_every_lease() {
        const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/a/leases";
        let requests = [format!("GET {LEASES}/op"), format!("POST {LEASES}")];
        let Permissions { accesses, .. } = recorded(&requests.each_ref().map(String::as_str));
        let permissions = Permissions::new(crate::rbac::library::completed(accesses)).with_resource_names();
        let expected = "\
kind: Role
  namespace: \"a\"
rules:
- apiGroups: [\"coordination.k8s.io\"]
  resources: [\"leases\"]
  verbs: [\"create\"]
- apiGroups: [\"coordination.k8s.io\"]
  resources: [\"leases\"]
  resourceNames: [\"op\"]
  verbs: [\"get\",\"update\"]";
        assert_eq!(text(&permissions), expected);
    }

    #[test]
    fn paths_that_are_not_resources_are_in_the_cluster_role() {
        let permissions = recorded(&["GET /version", "GET /apis", "POST /odd"]);
        let expected = "\
kind: ClusterRole
rules:
- nonResourceURLs: [\"/apis\",\"/version\"]
  verbs: [\"get\"]
- nonResourceURLs: [\"/odd\"]
  verbs: [\"post\"]";
        assert_eq!(text(&permissions), expected);
        assert_eq!(recorded(&[]).to_yaml("op"), "");
        assert!(recorded(&[]).is_empty());
    }

    #[test]
    fn the_order_of_requests_does_not_matter() {
        let requests =
            ["GET /api/v1/pods", "GET /version", "DELETE /api/v1/namespaces/a/pods/x", "GET /api/v1/nodes/n"];
        let mut reversed = requests;
        reversed.reverse();
        assert_eq!(recorded(&requests).to_yaml("op"), recorded(&reversed).to_yaml("op"));
        let union = recorded(&requests[..2]).union(recorded(&requests[2..]));
        assert_eq!(union, recorded(&requests));
    }

    #[test]
    fn a_wider_permission_grants_a_narrower_one() {
        let one = recorded(&["GET /api/v1/namespaces/a/pods/x"]).with_resource_names();
        let all_names = recorded(&["GET /api/v1/namespaces/a/pods/y"]);
        let everywhere = recorded(&["GET /api/v1/pods/y"]);
        let other = recorded(&["GET /api/v1/namespaces/b/pods/x"]).with_resource_names();
        for granted in [&one, &all_names, &everywhere] {
            assert!(one.missing_from(granted).is_empty(), "{granted:?}");
        }
        assert_eq!(text(&all_names.missing_from(&one)).matches("pods").count(), 1, "one name is not all");
        assert_eq!(text(&everywhere.missing_from(&all_names)).matches("pods").count(), 1);
        assert!(
            !one.missing_from(&other).is_empty() && !one.missing_from(&Permissions::default()).is_empty()
        );
    }

    #[test]
    fn what_every_identity_may_do_is_not_missing() {
        let asked = recorded(&[
            "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            "GET /apis/apps/v1",
            "GET /version",
        ]);
        assert!(asked.missing_from(&Permissions::default()).is_empty());
        let of_others = recorded(&["POST /apis/authorization.k8s.io/v1/subjectaccessreviews"]);
        assert!(!of_others.missing_from(&Permissions::default()).is_empty());
    }

    #[test]
    fn unused_is_what_no_request_needed_anywhere() {
        let granted = recorded(&["GET /api/v1/pods/any", "GET /api/v1/pods", "DELETE /api/v1/secrets/any"]);
        let used = recorded(&["GET /api/v1/namespaces/a/pods/x"]);
        let expected = "\
kind: ClusterRole
rules:
- apiGroups: [\"\"]
  resources: [\"pods\"]
  verbs: [\"list\"]
- apiGroups: [\"\"]
  resources: [\"secrets\"]
  verbs: [\"delete\"]";
        assert_eq!(text(&granted.unused_by(&used)), expected);
    }

    #[test]
    fn a_union_keeps_the_names_that_restrict() {
        let one = recorded(&["GET /api/v1/pods/x"]);
        let restricted = recorded(&["GET /api/v1/secrets/s"]).with_resource_names();
        let both = text(&one.clone().union(restricted));
        assert!(both.contains("resourceNames: [\"s\"]") && !both.contains("\"x\""), "{both}");
        let named = text(&one.clone().union(recorded(&["GET /api/v1/pods/y"])).with_resource_names());
        assert!(named.contains("resourceNames: [\"x\",\"y\"]"), "{named}");
    }
}
