//! What every quota counts, kept up to date with each change.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value, json};

use super::{scope::Scope, usage::Counted};
use crate::{
    admission::plugins::resources::{ResourceList, add, resource_list},
    object::quantity::Quantity,
    scheme::Resource,
};

/// The quotas of all namespaces with their sums. The cost of a change is that of the changed object and the quotas of its namespace.
#[derive(Debug, Default)]
pub(crate) struct QuotaLedger {
    namespaces: HashMap<String, BTreeMap<String, CountedQuota>>,
}

/// A quota and its sums.
#[derive(Debug)]
pub(super) struct CountedQuota {
    pub(super) hard: ResourceList,
    /// `hard` as it was written.
    written: Value,
    scopes: Vec<Scope>,
    used: ResourceList,
}

impl QuotaLedger {
    pub(super) fn of(&self, namespace: &str) -> Option<&BTreeMap<String, CountedQuota>> {
        self.namespaces.get(namespace)
    }

    /// Whether changes in a namespace have to be counted.
    pub(crate) fn has(&self, namespace: &str) -> bool {
        self.namespaces.contains_key(namespace)
    }

    /// Begins to count for a quota, or after a change of its spec; `objects` are all objects of its namespace.
    pub(crate) fn count<'a>(
        &mut self,
        namespace: &str,
        name: &str,
        spec: &Value,
        objects: impl Iterator<Item = (&'a Resource, Box<dyn Iterator<Item = Value> + 'a>)>,
    ) {
        let hard = resource_list(&spec["hard"]);
        let mut quota = CountedQuota {
            written: spec["hard"].clone(),
            scopes: Scope::read(spec),
            used: ResourceList::new(),
            hard,
        };
        for (resource, all) in objects {
            let kind = counted(resource);
            let names: Vec<String> = quota.hard.keys().filter(|name| kind.has(name)).cloned().collect();
            if names.is_empty() {
                continue;
            }
            for name in names {
                quota.used.entry(name).or_insert(Quantity::ZERO);
            }
            for object in all {
                let usage = quota.usage(kind, &object);
                add(&mut quota.used, &usage);
            }
        }
        self.namespaces.entry(namespace.to_owned()).or_default().insert(name.to_owned(), quota);
    }

    /// Ends the count for a deleted quota.
    pub(crate) fn forget(&mut self, namespace: &str, name: &str) {
        if let Some(quotas) = self.namespaces.get_mut(namespace) {
            quotas.remove(name);
            if quotas.is_empty() {
                self.namespaces.remove(namespace);
            }
        }
    }

    /// Counts a change of an object. Returns the quotas whose sums changed.
    pub(crate) fn record(
        &mut self,
        namespace: &str,
        resource: &Resource,
        before: Option<&Value>,
        after: Option<&Value>,
    ) -> Vec<String> {
        let kind = counted(resource);
        let mut changed = Vec::new();
        for (name, quota) in self.namespaces.get_mut(namespace).into_iter().flatten() {
            let usage =
                |object: Option<&Value>| object.map(|object| quota.usage(kind, object)).unwrap_or_default();
            let (released, taken) = (usage(before), usage(after));
            if released == taken {
                continue;
            }
            for (resource, amount) in released {
                let used = quota.used_of(&resource).minus(amount);
                quota.used.insert(resource, used);
            }
            add(&mut quota.used, &taken);
            changed.push(name.clone());
        }
        changed
    }

    /// The status of a quota.
    pub(crate) fn status(&self, namespace: &str, name: &str) -> Option<Value> {
        let quota = self.of(namespace)?.get(name)?;
        if quota.hard.is_empty() {
            return Some(json!({}));
        }
        let used: Map<String, Value> =
            quota.used.iter().map(|(name, amount)| (name.clone(), amount.to_string().into())).collect();
        let mut status = json!({"hard": quota.written});
        if !used.is_empty() {
            status["used"] = used.into();
        }
        Some(status)
    }
}

impl CountedQuota {
    /// Whether the quota counts this object.
    pub(super) fn counts(&self, kind: Counted<'_>, object: &Value) -> bool {
        self.scopes.is_empty() || kind.is_pods() && self.scopes.iter().all(|scope| scope.matches(object))
    }

    pub(super) fn used_of(&self, resource: &str) -> Quantity {
        self.used.get(resource).copied().unwrap_or(Quantity::ZERO)
    }

    /// What an object uses of this quota.
    fn usage(&self, kind: Counted<'_>, object: &Value) -> ResourceList {
        if !self.counts(kind, object) {
            return ResourceList::new();
        }
        let mut usage = kind.usage(object);
        usage.retain(|name, _| self.hard.contains_key(name));
        usage
    }
}

fn counted(resource: &Resource) -> Counted<'_> {
    Counted { group: &resource.group, plural: &resource.plural }
}
