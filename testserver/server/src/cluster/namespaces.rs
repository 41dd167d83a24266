//! Terminating namespaces: their pods are deleted first, then the other objects; conditions tell what is left.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::{Value, json};

use super::{ClusterState, remaining::Contents, task::Task};
use crate::{
    scheme::Resource,
    storage::{Key, WriteError},
};

impl ClusterState {
    /// Deletes the pods of a terminating namespace or, once there are none, its other objects.
    pub(super) fn empty_namespace(&mut self, name: &str) -> Result<(), WriteError> {
        let (mut pods, mut others) = (Vec::new(), Vec::new());
        for resource in self.storage.scheme.resources().filter(|resource| resource.namespaced).cloned() {
            if resource.is("", "pods") { &mut pods } else { &mut others }.push(resource);
        }
        self.delete_contents(&pods, name)?;
        if !self.has_pods(name) {
            self.delete_contents(&others, name)?;
            let namespaced = pods.iter().chain(&others);
            let objects = namespaced.flat_map(|resource| {
                let objects = self.storage.store.objects(resource.table, Some(name));
                objects.map(|stored| (&**resource, &**stored))
            });
            self.work.remaining.start(name, objects);
        }
        self.work.enqueue(Task::FinishNamespace(name.into()));
        Ok(())
    }

    fn delete_contents(&mut self, resources: &[Arc<Resource>], namespace: &str) -> Result<(), WriteError> {
        resources.iter().try_for_each(|resource| self.delete_all(resource, Some(namespace)))
    }

    /// Removes the `kubernetes` finalizer of a terminating namespace once it has no objects; until then, writes what is left.
    pub(super) fn finish_namespace(&mut self, name: &str) -> Result<(), WriteError> {
        let Some(namespaces) = self.storage.resource("", "namespaces") else {
            return Ok(());
        };
        let key = Key::new(None, name);
        let before = self.storage.store.get(namespaces.table, &key).filter(|stored| stored.deleting);
        let Some(before) = before.cloned() else { return Ok(()) };
        let counted = self.work.remaining.of(name);
        if counted.is_none() && !self.has_pods(name) && self.storage.has_objects_in(name) {
            // The last pod is gone.
            self.work.enqueue(Task::EmptyNamespace(name.into()));
            return Ok(());
        }
        let before = before.value();
        let mut namespace = before.clone();
        let nothing = Contents::default();
        // While there are pods, the genuine controller reports nothing else.
        let contents = counted.unwrap_or(&nothing);
        namespace["status"]["conditions"] = conditions(&before, contents, &self.now()).into();
        if !self.storage.has_objects_in(name) {
            let finalizers = namespace["spec"]["finalizers"].as_array().cloned().unwrap_or_default();
            let left: Vec<Value> = finalizers.into_iter().filter(|f| f != "kubernetes").collect();
            namespace["spec"] = if left.is_empty() { json!({}) } else { json!({"finalizers": left}) };
        }
        if namespace != before {
            self.put_or_remove(&namespaces, key, namespace)?;
        }
        Ok(())
    }

    pub(super) fn is_terminating(&self, namespace: &str) -> bool {
        let stored = self.storage.object("", "namespaces", &Key::new(None, namespace));
        stored.is_some_and(|namespace| namespace.deleting)
    }

    fn has_pods(&self, namespace: &str) -> bool {
        let pods = self.storage.table("", "pods");
        pods.is_some_and(|pods| self.storage.store.objects(pods, Some(namespace)).next().is_some())
    }
}

/// The conditions of a terminating namespace: those of its controller, then the others that it has.
fn conditions(namespace: &Value, contents: &Contents, now: &str) -> Vec<Value> {
    let list = |counts: &BTreeMap<String, usize>, what: &str| {
        let counts = counts.iter().map(|(name, count)| format!("{name} {what} {count} resource instances"));
        counts.collect::<Vec<_>>().join(", ")
    };
    let resources = format!("Some resources are remaining: {}", list(&contents.resources, "has"));
    let finalizers = format!(
        "Some content in the namespace has finalizers remaining: {}",
        list(&contents.finalizers, "in")
    );
    let own = [
        condition("NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered", DISCOVERED, None),
        condition("NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions", PARSED, None),
        condition("NamespaceDeletionContentFailure", "ContentDeleted", DELETED, None),
        condition(
            "NamespaceContentRemaining",
            "ContentRemoved",
            REMOVED,
            (!contents.resources.is_empty()).then_some(("SomeResourcesRemain", &resources)),
        ),
        condition(
            "NamespaceFinalizersRemaining",
            "ContentHasNoFinalizers",
            FINISHED,
            (!contents.finalizers.is_empty()).then_some(("SomeFinalizersRemain", &finalizers)),
        ),
    ];
    let former = namespace["status"]["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    let of_type = |kind: &Value| former.iter().find(|condition| condition["type"] == *kind);
    let dated = own.iter().map(|condition| {
        let mut condition = condition.clone();
        let same = of_type(&condition["type"]).filter(|old| old["status"] == condition["status"]);
        condition["lastTransitionTime"] = same.map_or(now.into(), |old| old["lastTransitionTime"].clone());
        condition
    });
    let foreign = former.iter().filter(|old| own.iter().all(|condition| condition["type"] != old["type"]));
    dated.chain(foreign.cloned()).collect()
}

const DISCOVERED: &str = "All resources successfully discovered";
const PARSED: &str = "All legacy kube types successfully parsed";
const DELETED: &str = "All content successfully deleted, may be waiting on finalization";
const REMOVED: &str = "All content successfully removed";
const FINISHED: &str = "All content-preserving finalizers finished";

/// A condition that is false with this reason and message, or true with those of the `problem`.
fn condition(kind: &str, reason: &str, message: &str, problem: Option<(&str, &String)>) -> Value {
    match problem {
        None => json!({"type": kind, "status": "False", "reason": reason, "message": message}),
        Some((reason, message)) => {
            json!({"type": kind, "status": "True", "reason": reason, "message": message})
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_tell_what_is_left() {
        let contents = Contents {
            resources: [("configmaps.".into(), 2), ("replicasets.apps".into(), 1)].into(),
            finalizers: [("a.test/z".into(), 1), ("x.test/hold".into(), 3)].into(),
        };
        let foreign = json!({"type": "Mine", "status": "True"});
        let held = conditions(&json!({"status": {"conditions": [foreign]}}), &contents, "t1");
        assert_eq!(
            held[3]["message"],
            "Some resources are remaining: configmaps. has 2 resource instances, replicasets.apps has 1 resource instances"
        );
        assert_eq!(
            held[4]["message"],
            "Some content in the namespace has finalizers remaining: a.test/z in 1 resource instances, x.test/hold in 3 resource instances"
        );
        assert_eq!((held.len(), &held[5]), (6, &foreign));
        let namespace = json!({"status": {"conditions": held}});
        let free = conditions(&namespace, &Contents::default(), "t2");
        let seen = |at: usize| (&free[at]["status"], &free[at]["reason"], &free[at]["lastTransitionTime"]);
        assert_eq!(seen(3), (&json!("False"), &json!("ContentRemoved"), &json!("t2")));
        assert_eq!(seen(2), (&json!("False"), &json!("ContentDeleted"), &json!("t1")), "it has not changed");
    }
}
