//! A child that is scaled to nothing. Pure.

use kube_core::ApiResource;
use serde_json::{Value, json};

/// Changes the patch of a workload so that it runs no pods: no replicas, suspended, or on no node. Other kinds stay as they are.
/// `node_label` is a label that no node has.
pub(super) fn stop(resource: &ApiResource, patch: &mut Value, node_label: &str) {
    let (path, field, value): (&[&str], &str, Value) = match (resource.group.as_str(), resource.kind.as_str())
    {
        ("apps", "Deployment" | "StatefulSet" | "ReplicaSet") | ("", "ReplicationController") => {
            (&["spec"], "replicas", json!(0))
        }
        ("batch", "Job" | "CronJob") => (&["spec"], "suspend", json!(true)),
        ("apps", "DaemonSet") => (&["spec", "template", "spec", "nodeSelector"], node_label, json!("true")),
        _ => return,
    };
    let mut parent = patch;
    for key in path {
        let Value::Object(fields) = parent else { return };
        parent = fields.entry(*key).or_insert_with(|| json!({}));
        if parent.is_null() {
            *parent = json!({});
        }
    }
    if let Value::Object(fields) = parent {
        fields.insert(field.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube_core::GroupVersionKind;

    #[test]
    fn workloads_run_no_pods_and_others_stay() {
        let stopped = |group: &str, kind: &str, mut patch: Value| {
            stop(
                &ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind)),
                &mut patch,
                "site/stopped",
            );
            patch
        };
        let replicas = json!({ "spec": { "replicas": 0, "selector": {} } });
        assert_eq!(
            stopped("apps", "Deployment", json!({ "spec": { "replicas": 3, "selector": {} } })),
            replicas
        );
        assert_eq!(stopped("apps", "StatefulSet", json!({ "spec": { "selector": {} } })), replicas);
        assert_eq!(stopped("batch", "CronJob", json!({})), json!({ "spec": { "suspend": true } }));
        let node =
            json!({ "spec": { "template": { "spec": { "nodeSelector": { "site/stopped": "true" } } } } });
        assert_eq!(stopped("apps", "DaemonSet", json!({ "spec": { "template": { "spec": null } } })), node);
        let odd = json!({ "spec": { "replicas": 3 } });
        assert_eq!(stopped("example.com", "Deployment", odd.clone()), odd);
        assert_eq!(
            stopped("apps", "Deployment", json!({ "spec": 5 })),
            json!({ "spec": 5 }),
            "the server refuses it"
        );
    }
}
