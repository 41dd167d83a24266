//! Removes what controllers of the cluster remember of changes that were taken back: revisions, and addresses that are given anew.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{ObjectName, State};

/// The state without old revisions of Deployments, StatefulSets and DaemonSets, and without the addresses of Services.
pub(crate) fn without_history(state: &State) -> State {
    let mut newest: BTreeMap<String, i64> = BTreeMap::new();
    let revisions = state.0.iter().filter(|(name, _)| is_revision(name));
    revisions.for_each(|(_, object)| {
        let newest = newest.entry(owner(object)).or_default();
        *newest = revision(object).max(*newest);
    });
    let is_old = |(name, object): &(&ObjectName, &Value)| match name.resource.as_str() {
        "replicasets.apps" => object["spec"]["replicas"] == 0 && !owner(object).is_empty(),
        _ => is_revision(name) && newest.get(&owner(object)) != Some(&revision(object)),
    };
    let current = state.0.iter().filter(|object| !is_old(object));
    State(current.map(|(name, object)| (name.clone(), plain(name, object.clone()))).collect())
}

fn is_revision(name: &ObjectName) -> bool {
    name.resource == "controllerrevisions.apps"
}

fn revision(object: &Value) -> i64 {
    object["revision"].as_i64().unwrap_or_default()
}

/// The uid of the controller.
fn owner(object: &Value) -> String {
    object["metadata"]["ownerReferences"][0]["uid"].as_str().unwrap_or_default().to_owned()
}

fn plain(name: &ObjectName, mut object: Value) -> Value {
    let mut remove = |at: &str, fields: &[&str]| {
        if let Some(object) = object.pointer_mut(at).and_then(Value::as_object_mut) {
            fields.iter().for_each(|field| drop(object.remove(*field)));
        }
    };
    match name.resource.as_str() {
        "deployments.apps" | "replicasets.apps" => {
            let of = ["revision", "revision-history"].map(|what| format!("deployment.kubernetes.io/{what}"));
            remove("/metadata/annotations", &of.each_ref().map(String::as_str));
        }
        "controllerrevisions.apps" => remove("", &["revision"]),
        "services" => {
            remove("/spec", &["clusterIP", "clusterIPs", "healthCheckNodePort"]);
            let ports = object["spec"]["ports"].as_array().map_or(0, Vec::len);
            (0..ports).for_each(|at| {
                if let Some(port) =
                    object.pointer_mut(&format!("/spec/ports/{at}")).and_then(Value::as_object_mut)
                {
                    port.remove("nodePort");
                }
            });
        }
        _ => {}
    }
    object
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn state(objects: Vec<(&str, Value)>) -> State {
        let named = |(resource, object): (&str, Value)| (ObjectName::of(resource, &object), object);
        State(objects.into_iter().map(named).collect())
    }

    /// A Deployment with a set for each revision, of which the last runs, and a StatefulSet with as many revisions.
    fn after(revisions: usize, address: &str) -> State {
        let owners = json!([{"uid": "1"}]);
        let annotations = json!({"deployment.kubernetes.io/revision": revisions.to_string()});
        let mut objects = vec![
            ("deployments.apps", json!({"metadata": {"name": "web", "annotations": annotations}})),
            (
                "replicasets.apps",
                json!({"metadata": {"name": "web-1", "annotations": annotations, "ownerReferences": owners}, "spec": {"replicas": 1}}),
            ),
            (
                "controllerrevisions.apps",
                json!({"metadata": {"name": "db-1", "ownerReferences": owners}, "revision": revisions}),
            ),
            (
                "services",
                json!({"metadata": {"name": "web"}, "spec": {"clusterIP": address, "ports": [{"port": 1, "nodePort": revisions}]}}),
            ),
            ("configmaps", json!({"metadata": {"name": "a", "annotations": {"x": "y"}}})),
        ];
        let names: Vec<String> = (2..=revisions).map(|at| format!("-{at}")).collect();
        for (at, end) in (1..).zip(&names) {
            objects.push(("replicasets.apps", json!({"metadata": {"name": format!("web{end}"), "ownerReferences": owners}, "spec": {"replicas": 0}})));
            objects.push((
                "controllerrevisions.apps",
                json!({"metadata": {"name": format!("db{end}"), "ownerReferences": owners}, "revision": at}),
            ));
        }
        without_history(&state(objects))
    }

    #[test]
    fn a_change_that_was_taken_back_leaves_nothing() {
        let before = after(1, "10.0.0.1");
        assert_eq!(before.0, after(3, "10.0.0.9").0);
        assert_eq!(before.0.len(), 5);
    }

    #[test]
    fn a_set_of_its_own_stays() {
        let alone = json!({"metadata": {"name": "web"}, "spec": {"replicas": 0}});
        assert_eq!(without_history(&state(vec![("replicasets.apps", alone)])).0.len(), 1);
    }
}
