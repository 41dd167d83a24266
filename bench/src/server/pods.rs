//! A typical Pod of 7.7 KB: one container with probes and mounts, conditions, and managedFields of two managers.

use serde_json::{Map, Value, json};

pub(super) fn pod(index: usize) -> Value {
    let (mut metadata, spec, status) = (metadata(index), spec(index), status(index));
    metadata["managedFields"] = managed_fields(&metadata, &spec, &status);
    json!({"metadata": metadata, "spec": spec, "status": status})
}

fn metadata(index: usize) -> Value {
    json!({
        "name": format!("checkout-7c9d8f6b54-{index:05}"),
        "generateName": "checkout-7c9d8f6b54-",
        "namespace": "default",
        "uid": format!("0c6c1f0a-9b1e-4d6e-8f3a-{index:012}"),
        "resourceVersion": (100_000 + index).to_string(),
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "labels": {
            "app.kubernetes.io/name": "checkout",
            "app.kubernetes.io/instance": format!("checkout-{}", index % 40),
            "app.kubernetes.io/part-of": "shop",
            "pod-template-hash": "7c9d8f6b54",
        },
        "annotations": {
            "kubectl.kubernetes.io/restartedAt": "2026-01-02T03:00:00+00:00",
            "prometheus.io/port": "15020",
            "prometheus.io/scrape": "true",
            "prometheus.io/path": "/stats/prometheus",
        },
        "ownerReferences": [{
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "checkout-7c9d8f6b54",
            "uid": "dcf1a1a0-2f0e-4f0e-9c55-0c2a3b4c5d6e", "controller": true, "blockOwnerDeletion": true,
        }],
    })
}

fn spec(index: usize) -> Value {
    json!({
        "volumes": [
            {"name": "config", "configMap": {"name": "checkout-config", "defaultMode": 420}},
            {"name": "cache", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}},
            {"name": "kube-api-access-x7k2p", "projected": {"defaultMode": 420, "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}},
            ]}},
        ],
        "containers": [container("checkout", 8080)],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "checkout",
        "serviceAccount": "checkout",
        "nodeName": format!("node-{:03}.eu-west-1.compute.internal", index % 250),
        "securityContext": {"fsGroup": 1000, "runAsNonRoot": true},
        "schedulerName": "default-scheduler",
        "tolerations": [
            {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
            {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
        ],
        "priority": 0,
        "enableServiceLinks": true,
        "preemptionPolicy": "PreemptLowerPriority",
    })
}

fn container(name: &str, port: u16) -> Value {
    json!({
        "name": name,
        "image": format!("registry.example.com/shop/{name}:2026.1.2"),
        "args": ["--config=/etc/checkout/config.yaml", "--log-level=info"],
        "ports": [{"name": "http", "containerPort": port, "protocol": "TCP"}],
        "env": [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}},
            {"name": "DATABASE_URL", "value": "postgres://checkout@db.shop.svc.cluster.local:5432/checkout"},
        ],
        "resources": {"limits": {"cpu": "500m", "memory": "512Mi"}, "requests": {"cpu": "100m", "memory": "256Mi"}},
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/checkout", "readOnly": true},
            {"name": "kube-api-access-x7k2p", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": true},
        ],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "http", "scheme": "HTTP"}, "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "http", "scheme": "HTTP"}, "timeoutSeconds": 1, "periodSeconds": 5, "successThreshold": 1, "failureThreshold": 3},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}},
    })
}

fn status(index: usize) -> Value {
    let ip = format!("10.{}.{}.{}", index / 65_536, index / 256 % 256, index % 256);
    let conditions = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"];
    let containers = ["checkout"];
    json!({
        "phase": "Running",
        "conditions": conditions.map(|kind| json!({
            "type": kind, "status": "True", "lastProbeTime": null, "lastTransitionTime": "2026-01-02T03:04:09Z",
        })),
        "hostIP": "10.200.3.4",
        "hostIPs": [{"ip": "10.200.3.4"}],
        "podIP": ip,
        "podIPs": [{"ip": ip}],
        "startTime": "2026-01-02T03:04:05Z",
        "containerStatuses": containers.map(|name| json!({
            "name": name,
            "state": {"running": {"startedAt": "2026-01-02T03:04:08Z"}},
            "lastState": {},
            "ready": true,
            "restartCount": 0,
            "image": format!("registry.example.com/shop/{name}:2026.1.2"),
            "imageID": format!("registry.example.com/shop/{name}@sha256:3f1c5e0d9a7b4c2e8f6a1d3b5c7e9f0a2b4c6d8e0f1a3b5c7d9e1f3a5b7c9d1e"),
            "containerID": format!("containerd://9d1e3f1c5e0d9a7b4c2e8f6a1d3b5c7e9f0a2b4c6d8e0f1a3b5c7d9e{index:08}"),
            "started": true,
        })),
        "qosClass": "Burstable",
    })
}

/// `metadata.managedFields`, as an API server records them.
fn managed_fields(metadata: &Value, spec: &Value, status: &Value) -> Value {
    let labelled = json!({
        "generateName": "", "labels": metadata["labels"], "annotations": metadata["annotations"],
        "ownerReferences": [{"uid": metadata["ownerReferences"][0]["uid"]}],
    });
    let mut reported = owned(status);
    // An atomic list has one entry for all items.
    reported["f:containerStatuses"] = json!({});
    json!([
        {
            "manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1",
            "time": "2026-01-02T03:04:05Z", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": owned(&labelled), "f:spec": owned(spec)},
        },
        {
            "manager": "kubelet", "operation": "Update", "apiVersion": "v1", "time": "2026-01-02T03:04:09Z",
            "fieldsType": "FieldsV1", "subresource": "status", "fieldsV1": {"f:status": reported},
        },
    ])
}

/// All fields of a value in the form of `fieldsV1`.
fn owned(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (format!("f:{name}"), owned(value))).collect()
        }
        Value::Array(items) => {
            let keys = ["containerPort", "mountPath", "name", "type", "uid"];
            let Some(key) = keys.into_iter().find(|key| items.iter().all(|item| item.get(key).is_some()))
            else {
                return json!({});
            };
            let items = items.iter().map(|item| {
                let mut fields = owned(item);
                fields["."] = json!({});
                (format!("k:{}", json!({key: item[key]})), fields)
            });
            items.chain([(".".to_owned(), json!({}))]).collect::<Map<_, _>>().into()
        }
        _ => json!({}),
    }
}

#[cfg(test)]
mod tests {
    use super::pod;

    #[test]
    fn a_pod_is_7_7_kilobytes() {
        let size = pod(12_345).to_string().len();
        assert!((7_700..7_900).contains(&size), "{size}");
    }
}
