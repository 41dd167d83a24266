//! From roles and bindings to single permissions.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, anyhow};
use k8s_openapi::api::rbac::v1::{PolicyRule, RoleRef, Subject};
use serde::Deserialize;
use serde_json::Value;

/// A permission: one verb on one resource, object or path. `*` stands for all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grant {
    Resource(ResourceGrant),
    /// On a path that is no resource, such as `/metrics`.
    Path {
        path: String,
        verb: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ResourceGrant {
    pub(super) group: String,
    /// With the subresource, such as `deployments/status`.
    pub(super) resource: String,
    /// `None`: all namespaces, and what has none.
    pub(super) namespace: Option<String>,
    /// `None`: objects of any name.
    pub(super) name: Option<String>,
    pub(super) verb: String,
}

/// A ServiceAccount.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Account {
    namespace: String,
    name: String,
}

/// What roles permit.
#[derive(Clone, Debug, Default)]
pub(super) struct Grants {
    all: BTreeSet<Grant>,
    /// The accounts that they are bound to.
    pub(super) accounts: BTreeSet<Account>,
    /// Roles that are bound and not there.
    pub(super) unknown_roles: BTreeSet<String>,
}

/// Of a Role, a ClusterRole or a binding: the fields that decide.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RbacObject {
    kind: String,
    metadata: Metadata,
    #[serde(default)]
    rules: Option<Vec<PolicyRule>>,
    role_ref: Option<RoleRef>,
    #[serde(default)]
    subjects: Option<Vec<Subject>>,
}

#[derive(Debug, Deserialize)]
struct Metadata {
    name: String,
    namespace: Option<String>,
}

impl RbacObject {
    fn read(object: &Value) -> Result<Self> {
        Self::deserialize(object).map_err(|err| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            anyhow!("{} {}: {err}", text(&object["kind"]), text(&object["metadata"]["name"]))
        })
    }

    /// The accounts of a binding.
    fn accounts(&self) -> impl Iterator<Item = Account> {
        let accounts = self.subjects.iter().flatten().filter(|subject| subject.kind == "ServiceAccount");
        accounts.map(|subject| Account {
            namespace: subject.namespace.clone().unwrap_or_default(),
            name: subject.name.clone(),
        })
    }
}

impl Account {
    /// All that are bound to a role.
    pub(super) fn bound_by(objects: &[Value]) -> BTreeSet<Self> {
        let objects = objects.iter().filter_map(|object| RbacObject::read(object).ok());
        objects.flat_map(|object| object.accounts().collect::<Vec<_>>()).collect()
    }
}

impl Grants {
    /// What the roles that are bound to one of these accounts permit.
    pub(super) fn of(objects: &[Value], accounts: &BTreeSet<Account>) -> Result<Self> {
        let objects: Vec<_> = objects.iter().map(RbacObject::read).collect::<Result<_>>()?;
        let mut roles: BTreeMap<(&str, Option<&str>, &str), Vec<&PolicyRule>> = BTreeMap::new();
        for object in objects.iter().filter(|object| object.role_ref.is_none()) {
            let key =
                (object.kind.as_str(), object.metadata.namespace.as_deref(), object.metadata.name.as_str());
            roles.entry(key).or_default().extend(object.rules.iter().flatten());
        }
        let mut grants = Self { accounts: accounts.clone(), ..Self::default() };
        for binding in &objects {
            let Some(role) = &binding.role_ref else { continue };
            if !binding.accounts().any(|account| accounts.contains(&account)) {
                continue;
            }
            let namespace = binding.metadata.namespace.as_deref();
            let of_role = namespace.filter(|_| role.kind == "Role");
            match roles.get(&(role.kind.as_str(), of_role, role.name.as_str())) {
                Some(rules) => rules.iter().for_each(|rule| grants.add(rule, namespace)),
                None => {
                    grants.unknown_roles.insert(format!("{} {}", role.kind, role.name));
                }
            }
        }
        Ok(grants)
    }

    /// What these roles permit, bound or not.
    pub(super) fn of_all(roles: &[Value]) -> Result<Self> {
        let mut grants = Self::default();
        for role in roles {
            let RbacObject { metadata, rules, .. } = RbacObject::read(role)?;
            rules.iter().flatten().for_each(|rule| grants.add(rule, metadata.namespace.as_deref()));
        }
        Ok(grants)
    }

    pub(super) fn into_grants(self) -> BTreeSet<Grant> {
        self.all
    }

    /// What of these permissions `others` do not have.
    pub(super) fn missing_from(&self, others: &Self) -> BTreeSet<Grant> {
        self.all.iter().filter(|grant| !others.permits(grant)).cloned().collect()
    }

    pub(super) fn permits(&self, wanted: &Grant) -> bool {
        self.all.contains(wanted) || self.all.iter().any(|grant| grant.covers(wanted))
    }

    fn add(&mut self, rule: &PolicyRule, namespace: Option<&str>) {
        for verb in &rule.verbs {
            for path in rule.non_resource_urls.iter().flatten() {
                self.all.insert(Grant::Path { path: path.clone(), verb: verb.clone() });
            }
            let names = rule.resource_names.iter().flatten().map(|name| Some(name.clone()));
            let names: Vec<_> = names.collect();
            let names = if names.is_empty() { vec![None] } else { names };
            for group in rule.api_groups.iter().flatten() {
                for resource in rule.resources.iter().flatten() {
                    self.all.extend(names.iter().map(|name| {
                        Grant::Resource(ResourceGrant {
                            group: group.clone(),
                            resource: resource.clone(),
                            namespace: namespace.map(str::to_owned),
                            name: name.clone(),
                            verb: verb.clone(),
                        })
                    }));
                }
            }
        }
    }
}

impl Grant {
    /// Whether it permits all that `other` permits, as servers match rules.
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Resource(own), Self::Resource(other)) => own.covers(other),
            (Self::Path { path, verb }, Self::Path { path: other, verb: other_verb }) => {
                let prefix = path.strip_suffix('*');
                let path_covers = path == other || prefix.is_some_and(|prefix| other.starts_with(prefix));
                path_covers && matches(verb, other_verb)
            }
            _ => false,
        }
    }
}

impl ResourceGrant {
    fn covers(&self, other: &Self) -> bool {
        // `*/scale` is the subresource of all resources.
        let of_all = self.resource.strip_prefix("*/").zip(other.resource.split_once('/'));
        let resource = matches(&self.resource, &other.resource)
            || of_all.is_some_and(|(own, (_, subresource))| own == subresource);
        let wider = |own: &Option<String>, other: &Option<String>| own.is_none() || own == other;
        resource
            && matches(&self.group, &other.group)
            && matches(&self.verb, &other.verb)
            && wider(&self.namespace, &other.namespace)
            && wider(&self.name, &other.name)
    }
}

fn matches(own: &str, other: &str) -> bool {
    own == "*" || own == other
}
