//! The Node object of the built-in node.

use serde_json::{Value, json};

/// The name of the node that runs pods.
pub(crate) const NODE_NAME: &str = "testserver";

/// The only node on which a pod may run, by its affinity, as DaemonSets set it.
pub(crate) fn required_node(pod: &Value) -> Option<&str> {
    let required = &pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    let [term] = required["nodeSelectorTerms"].as_array()?.as_slice() else { return None };
    let [field] = term["matchFields"].as_array()?.as_slice() else { return None };
    let [node] = field["values"].as_array()?.as_slice() else { return None };
    node.as_str().filter(|_| field["key"] == "metadata.name" && field["operator"] == "In")
}

/// The Node object, as its kubelet registers it.
pub(crate) fn node_object(now: &str) -> Value {
    let condition = |kind: &str, status: &str, reason: &str, message: &str| {
        json!({"type": kind, "status": status, "reason": reason, "message": message,
            "lastHeartbeatTime": now, "lastTransitionTime": now})
    };
    let capacity = json!({"cpu": "8", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"});
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": NODE_NAME,
            "labels": {"kubernetes.io/hostname": NODE_NAME, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"},
        },
        "spec": {},
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "conditions": [
                condition("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
                condition("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
                condition("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
                condition("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
            ],
            "addresses": [
                {"type": "InternalIP", "address": "127.0.0.1"},
                {"type": "Hostname", "address": NODE_NAME},
            ],
            "nodeInfo": {
                "architecture": "amd64", "operatingSystem": "linux", "osImage": "kube-testserver", "kernelVersion": "none",
                "containerRuntimeVersion": "kube-testserver://scripts", "kubeletVersion": "v1.37.2", "kubeProxyVersion": "",
                "machineID": "", "systemUUID": "", "bootID": "",
            },
        },
    })
}
