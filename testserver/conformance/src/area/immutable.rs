//! Fields that an update cannot change, by every way of writing.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    case::{Case, core, custom, since},
    check::{Outcome, holds},
    context::Context,
    server::CRDS,
};

/// A change that is refused.
struct Refused {
    id: &'static str,
    rule: &'static str,
    path: &'static str,
    object: Value,
    /// As a merge patch.
    change: Value,
    /// The minor version since which this is the field in the error, and the field; 0 if it is in every supported version.
    field: (u32, &'static str),
    message: &'static str,
}

/// A change that is accepted: id, rule, path, object, merge patch.
type Accepted = (&'static str, &'static str, &'static str, Value, Value);

pub(crate) fn cases() -> Vec<Case> {
    let tables = [workloads(), data(), network(), volumes(), cluster(), pods()];
    let refused = tables.into_iter().flatten().flat_map(|row| {
        let (id, row) = (format!("immutable/{}", row.id), Arc::new(row));
        since(row.field.0, core(&id, row.rule, move |cx| refuses(cx, row.clone())))
    });
    let accepted = accepted().into_iter().flat_map(|(id, rule, path, object, change)| {
        core(&format!("immutable/{id}"), rule, move |cx| accepts(cx, path, object.clone(), change.clone()))
    });
    let others = [
        since(
            37,
            core("immutable/several-at-once", "one response names all immutable fields that change", several),
        ),
        core(
            "immutable/status-write-ignores-spec",
            "a write of status that has another spec is accepted without it",
            status_write,
        ),
        core(
            "immutable/request-of-a-certificate",
            "the spec of a CertificateSigningRequest is kept without an error",
            certificate_request,
        ),
        custom(
            "immutable/definition",
            "scope, kind, plural and group of a CRD: 422; its other names change",
            definition,
        ),
    ];
    refused.chain(accepted).chain(others.into_iter().flatten()).collect()
}

const APPS: &str = "/apis/apps/v1/namespaces/{ns}/";
const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";
const PRIORITIES: &str = "/apis/scheduling.k8s.io/v1/priorityclasses";
const CONFIG_MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";
const SECRETS: &str = "/api/v1/namespaces/{ns}/secrets";
const SERVICES: &str = "/api/v1/namespaces/{ns}/services";
const CLAIMS: &str = "/api/v1/namespaces/{ns}/persistentvolumeclaims";
const VOLUMES: &str = "/api/v1/persistentvolumes";
const NODES: &str = "/api/v1/nodes";
const PODS: &str = "/api/v1/namespaces/{ns}/pods";
const JOBS: &str = "/apis/batch/v1/namespaces/{ns}/jobs";
const IMMUTABLE: &str = "field is immutable";
const SEALED: &str = "Forbidden: field is immutable when `immutable` is set";
const OF_CLAIM: &str = "spec is immutable after creation except resources.requests";
const OF_POD: &str = "pod updates may not change fields other than `spec.containers[*].image`";
const ONLY_ONCE: &str = "except from \"\" to valid";

fn workload(more: Value) -> Value {
    let template = json!({"metadata": {"labels": {"a": "b", "c": "d"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    merged(
        &json!({"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}}),
        &json!({"spec": more}),
    )
}

fn job() -> Value {
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
    json!({"spec": {"parallelism": 0, "template": template}})
}

// One row per line.
#[rustfmt::skip]
fn workloads() -> Vec<Refused> {
    let row = |id, rule, path, object, change, field, message| Refused { id, rule, path, object, change, field: (0, field), message };
    let selector = || json!({"spec": {"selector": {"matchLabels": {"c": "d"}}}});
    let of_set = || workload(json!({"serviceName": "s", "replicas": 0}));
    const SETS: &str = "/apis/apps/v1/namespaces/{ns}/statefulsets";
    vec![
        row("deployment-selector", "the selector of a Deployment", "/apis/apps/v1/namespaces/{ns}/deployments", workload(json!({"replicas": 0})), selector(), "spec.selector", IMMUTABLE),
        row("replica-set-selector", "the selector of a ReplicaSet", "/apis/apps/v1/namespaces/{ns}/replicasets", workload(json!({"replicas": 0})), selector(), "spec.selector", IMMUTABLE),
        row("daemon-set-selector", "the selector of a DaemonSet", "/apis/apps/v1/namespaces/{ns}/daemonsets", workload(json!({})), selector(), "spec.selector", IMMUTABLE),
        Refused { field: (37, "spec.selector"), ..row("stateful-set-selector", "the selector of a StatefulSet", SETS, of_set(), selector(), "", IMMUTABLE) },
        Refused { field: (37, "spec.serviceName"), ..row("stateful-set-service", "the Service of a StatefulSet", SETS, of_set(), json!({"spec": {"serviceName": "t"}}), "", IMMUTABLE) },
        Refused { field: (37, "spec.podManagementPolicy"), ..row("stateful-set-policy", "the order in which a StatefulSet creates pods", SETS, of_set(), json!({"spec": {"podManagementPolicy": "Parallel"}}), "", IMMUTABLE) },
        Refused { field: (37, "spec.volumeClaimTemplates"), ..row("stateful-set-claims", "the claim templates of a StatefulSet", SETS, of_set(), json!({"spec": {"volumeClaimTemplates": [{"metadata": {"name": "v"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}}), "", IMMUTABLE) },
        row("revision-data", "the data of a ControllerRevision", "/apis/apps/v1/namespaces/{ns}/controllerrevisions", json!({"revision": 1, "data": {"a": 1}}), json!({"data": {"a": 2}}), "data", IMMUTABLE),
        row("job-completions", "the completions of a Job", JOBS, job(), json!({"spec": {"completions": 3}}), "spec.completions", "Invalid value: 3: field is immutable"),
        row("job-template", "the template of a Job", JOBS, job(), json!({"spec": {"template": {"spec": {"restartPolicy": "OnFailure"}}}}), "spec.template", IMMUTABLE),
        row("job-template-labels", "the labels of a Job's pods", JOBS, job(), json!({"spec": {"template": {"metadata": {"labels": {"x": "y"}}}}}), "spec.template", IMMUTABLE),
    ]
}

// One row per line.
#[rustfmt::skip]
fn data() -> Vec<Refused> {
    let row = |id, rule, path, object, change, field, message| Refused { id, rule, path, object, change, field: (0, field), message };
    let map = || json!({"immutable": true, "data": {"a": "b"}, "binaryData": {"c": "eA=="}});
    let secret = || json!({"immutable": true, "data": {"a": "eA=="}});
    vec![
        row("config-map-data", "the data of an immutable ConfigMap", CONFIG_MAPS, map(), json!({"data": {"a": "c"}}), "data", SEALED),
        row("config-map-binary-data", "the binary data of an immutable ConfigMap", CONFIG_MAPS, map(), json!({"binaryData": {"c": "eQ=="}}), "binaryData", SEALED),
        row("config-map-immutable", "an immutable ConfigMap stays immutable", CONFIG_MAPS, map(), json!({"immutable": false}), "immutable", SEALED),
        row("config-map-immutable-removed", "an immutable ConfigMap stays immutable when the field is removed", CONFIG_MAPS, map(), json!({"immutable": null}), "immutable", SEALED),
        row("secret-data", "the data of an immutable Secret", SECRETS, secret(), json!({"data": {"a": "eQ=="}}), "data", SEALED),
        row("secret-string-data", "the data of an immutable Secret, written as text", SECRETS, secret(), json!({"stringData": {"a": "y"}}), "data", SEALED),
        row("secret-immutable", "an immutable Secret stays immutable", SECRETS, secret(), json!({"immutable": false}), "immutable", SEALED),
        row("secret-type", "the type of a Secret", SECRETS, json!({"type": "x/y"}), json!({"type": "x/z"}), "type", "Invalid value: \"x/z\": field is immutable"),
        row("secret-type-removed", "a Secret without a type is of another type", SECRETS, json!({"type": "x/y"}), json!({"type": null}), "type", "Invalid value: \"Opaque\": field is immutable"),
    ]
}

// One row per line.
#[rustfmt::skip]
fn network() -> Vec<Refused> {
    let row = |id, rule, path, object, change, field, message| Refused { id, rule, path, object, change, field: (0, field), message };
    let service = || json!({"spec": {"ports": [{"port": 80, "protocol": "TCP"}]}});
    vec![
        row("service-address", "the cluster IP of a Service", SERVICES, service(), json!({"spec": {"clusterIP": "10.96.250.250", "clusterIPs": ["10.96.250.250"]}}), "spec.clusterIPs[0]", "may not change once set"),
        row("service-first-address", "the cluster IP of a Service without the list of addresses", SERVICES, service(), json!({"spec": {"clusterIP": "10.96.250.250"}}), "spec.clusterIPs[0]", "may not change once set"),
        Refused { field: (37, "spec.clusterIPs"), ..row("service-addresses", "the list of addresses of a Service without the first one", SERVICES, service(), json!({"spec": {"clusterIPs": ["10.96.250.250"]}}), "", "first value must match `clusterIP`") },
        row("service-headless", "a Service with an address does not become headless", SERVICES, service(), json!({"spec": {"clusterIP": "None", "clusterIPs": ["None"]}}), "spec.clusterIPs[0]", "may not change once set"),
        row("service-no-longer-headless", "a headless Service gets no address", SERVICES, json!({"spec": {"clusterIP": "None", "selector": {"a": "b"}, "ports": [{"port": 80, "protocol": "TCP"}]}}), json!({"spec": {"clusterIP": "10.96.250.250", "clusterIPs": ["10.96.250.250"]}}), "spec.clusterIPs[0]", "may not change once set"),
        Refused { field: (37, "addressType"), ..row("slice-address-type", "the address type of an EndpointSlice", "/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices", json!({"addressType": "IPv4", "endpoints": []}), json!({"addressType": "IPv6"}), "", "Invalid value: null: field is immutable") },
        row("ingress-class-controller", "the controller of an IngressClass", "/apis/networking.k8s.io/v1/ingressclasses", json!({"spec": {"controller": "a.b/c"}}), json!({"spec": {"controller": "a.b/d"}}), "spec.controller", "Invalid value: \"a.b/d\": field is immutable"),
        Refused { field: (37, "roleRef"), ..row("role-binding-role", "the role of a RoleBinding", "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings", binding(), json!({"roleRef": {"name": "edit"}}), "", "Invalid value: {\"APIGroup\":\"rbac.authorization.k8s.io\",\"Kind\":\"ClusterRole\",\"Name\":\"edit\"}: field is immutable") },
        Refused { field: (37, "roleRef"), ..row("cluster-role-binding-role", "the role of a ClusterRoleBinding", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding(), json!({"roleRef": {"name": "edit"}}), "", "Invalid value: {\"APIGroup\":\"rbac.authorization.k8s.io\",\"Kind\":\"ClusterRole\",\"Name\":\"edit\"}: field is immutable") },
    ]
}

fn binding() -> Value {
    json!({"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}})
}

fn claim(more: Value) -> Value {
    // Not the class of the volumes of other cases, which would be bound to it.
    let spec = json!({"accessModes": ["ReadWriteOnce"], "storageClassName": "without-volumes", "resources": {"requests": {"storage": "1Gi"}}});
    json!({"spec": merged(&spec, &more)})
}

fn volume() -> Value {
    let terms = json!([{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]);
    json!({"spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "none",
        "hostPath": {"path": "/x"}, "nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}})
}

// One row per line.
#[rustfmt::skip]
fn volumes() -> Vec<Refused> {
    let row = |id, rule, path, object, change, field, message| Refused { id, rule, path, object, change, field: (0, field), message };
    let class = || json!({"provisioner": "p", "parameters": {"a": "b"}});
    let driver = || json!({"spec": {"attachRequired": true}});
    const DRIVERS: &str = "/apis/storage.k8s.io/v1/csidrivers";
    vec![
        row("claim-access-modes", "the access modes of a PersistentVolumeClaim", CLAIMS, claim(json!({})), json!({"spec": {"accessModes": ["ReadWriteMany"]}}), "spec", OF_CLAIM),
        row("claim-class", "the class of a PersistentVolumeClaim", CLAIMS, claim(json!({})), json!({"spec": {"storageClassName": "other"}}), "spec", OF_CLAIM),
        row("claim-mode", "the mode of a PersistentVolumeClaim", CLAIMS, claim(json!({})), json!({"spec": {"volumeMode": "Block"}}), "volumeMode", "Invalid value: \"Block\": field is immutable"),
        row("claim-selector", "the selector of a PersistentVolumeClaim", CLAIMS, claim(json!({})), json!({"spec": {"selector": {"matchLabels": {"a": "b"}}}}), "spec", OF_CLAIM),
        row("claim-size-unbound", "the size of a PersistentVolumeClaim that is not bound", CLAIMS, claim(json!({})), json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}}), "spec", OF_CLAIM),
        row("claim-volume", "the volume of a PersistentVolumeClaim that has one", CLAIMS, claim(json!({"volumeName": "v"})), json!({"spec": {"volumeName": "w"}}), "spec", OF_CLAIM),
        row("volume-source", "the source of a PersistentVolume", VOLUMES, volume(), json!({"spec": {"hostPath": {"path": "/y"}}}), "spec.persistentvolumesource", "Forbidden: spec.persistentvolumesource is immutable after creation"),
        row("volume-mode", "the mode of a PersistentVolume", VOLUMES, volume(), json!({"spec": {"volumeMode": "Block"}}), "volumeMode", "Invalid value: \"Block\": field is immutable"),
        row("volume-affinity", "the nodes of a PersistentVolume", VOLUMES, volume(), json!({"spec": {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "b", "operator": "Exists"}]}]}}}}), "nodeAffinity", IMMUTABLE),
        Refused { field: (37, "provisioner"), ..row("class-provisioner", "the provisioner of a StorageClass", CLASSES, class(), json!({"provisioner": "q"}), "", "Invalid value: null: field is immutable") },
        Refused { field: (37, "parameters"), ..row("class-parameters", "the parameters of a StorageClass", CLASSES, class(), json!({"parameters": {"a": "c"}}), "", "Invalid value: null: field is immutable") },
        Refused { field: (37, "reclaimPolicy"), ..row("class-reclaim-policy", "the reclaim policy of a StorageClass", CLASSES, class(), json!({"reclaimPolicy": "Retain"}), "", "Invalid value: null: field is immutable") },
        Refused { field: (37, "volumeBindingMode"), ..row("class-binding-mode", "the binding mode of a StorageClass", CLASSES, class(), json!({"volumeBindingMode": "WaitForFirstConsumer"}), "", "Invalid value: null: field is immutable") },
        Refused { field: (37, "spec"), ..row("attachment", "the spec of a VolumeAttachment", "/apis/storage.k8s.io/v1/volumeattachments", json!({"spec": {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "p"}}}), json!({"spec": {"nodeName": "m"}}), "", "Invalid value: null: field is immutable") },
        Refused { field: (37, "spec.attachedRequired"), ..row("driver-attach", "whether a CSIDriver attaches volumes", DRIVERS, driver(), json!({"spec": {"attachRequired": false}}), "", IMMUTABLE) },
        Refused { field: (22, "spec.volumeLifecycleModes"), ..row("driver-modes", "the modes of a CSIDriver's volumes", DRIVERS, driver(), json!({"spec": {"volumeLifecycleModes": ["Ephemeral"]}}), "", IMMUTABLE) },
        Refused { field: (37, "spec.drivers"), ..row("csi-node-driver", "a driver of a CSINode", "/apis/storage.k8s.io/v1/csinodes", json!({"spec": {"drivers": [{"name": "a.b", "nodeID": "x", "topologyKeys": ["k"]}]}}), json!({"spec": {"drivers": [{"name": "a.b", "nodeID": "y", "topologyKeys": ["k"]}]}}), "", "Invalid value: {\"Name\":\"a.b\",\"NodeID\":\"y\",\"TopologyKeys\":[\"k\"],\"Allocatable\":null}: field is immutable") },
    ]
}

// One row per line.
#[rustfmt::skip]
fn cluster() -> Vec<Refused> {
    let row = |id, rule, path, object, change, field, message| Refused { id, rule, path, object, change, field: (0, field), message };
    vec![
        row("node-pod-addresses", "the pod addresses of a Node", NODES, json!({"spec": {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"]}}), json!({"spec": {"podCIDR": "10.2.0.0/24", "podCIDRs": ["10.2.0.0/24"]}}), "spec.podCIDRs", ONLY_ONCE),
        Refused { field: (37, "spec.providerID"), ..row("node-provider", "the provider's id of a Node", NODES, json!({"spec": {"providerID": "x"}}), json!({"spec": {"providerID": "y"}}), "", "Invalid value: null: field cannot be modified once set") },
        Refused { field: (37, "spec.externalID"), ..row("node-other", "other fields of a Node", NODES, json!({"spec": {}}), json!({"spec": {"externalID": "y"}}), "", "Forbidden: may not be updated") },
        row("priority-preemption", "the preemption policy of a PriorityClass", PRIORITIES, json!({"value": 5}), json!({"preemptionPolicy": "Never"}), "preemptionPolicy", "Invalid value: \"Never\": field is immutable"),
        Refused { field: (24, "value"), ..row("priority-value", "the value of a PriorityClass", PRIORITIES, json!({"value": 5}), json!({"value": 6}), "", "Forbidden: may not be changed in an update.") },
        Refused { field: (37, "handler"), ..row("runtime-class-handler", "the handler of a RuntimeClass", "/apis/node.k8s.io/v1/runtimeclasses", json!({"handler": "a"}), json!({"handler": "b"}), "", "Invalid value: null: field is immutable") },
        row("quota-scopes", "the scopes of a ResourceQuota", "/api/v1/namespaces/{ns}/resourcequotas", json!({"spec": {"hard": {"pods": "1"}, "scopes": ["NotTerminating"]}}), json!({"spec": {"scopes": ["Terminating"]}}), "spec.scopes", IMMUTABLE),
    ]
}

fn pod(more: Value) -> Value {
    // Without the volume of a token, which a merge patch of the containers would unmount.
    let spec = json!({"nodeSelector": {"no": "node"}, "automountServiceAccountToken": false, "containers": [{"name": "c", "image": "i:1"}]});
    json!({"spec": merged(&spec, &more)})
}

// One row per line.
#[rustfmt::skip]
fn pods() -> Vec<Refused> {
    let row = |id, rule, object, change, field, message| Refused { id, rule, path: PODS, object, change, field: (0, field), message };
    let plain = || pod(json!({}));
    vec![
        row("pod-command", "the command of a container", plain(), json!({"spec": {"containers": [{"name": "c", "image": "i:1", "command": ["x"]}]}}), "spec", OF_POD),
        row("pod-node", "the node of a Pod", plain(), json!({"spec": {"nodeName": "n"}}), "spec", OF_POD),
        row("pod-account", "the service account of a Pod", plain(), json!({"spec": {"serviceAccountName": "x"}}), "spec", OF_POD),
        row("pod-grace", "the grace period of a Pod", plain(), json!({"spec": {"terminationGracePeriodSeconds": 5}}), "spec", OF_POD),
        row("pod-containers", "the number of containers of a Pod", plain(), json!({"spec": {"containers": [{"name": "c", "image": "i:1"}, {"name": "d", "image": "i:1"}]}}), "spec.containers", "Forbidden: pod updates may not add or remove containers"),
        row("pod-init-containers", "the number of init containers of a Pod", plain(), json!({"spec": {"initContainers": [{"name": "d", "image": "i:1"}]}}), "spec.initContainers", "Forbidden: pod updates may not add or remove containers"),
        row("pod-deadline-later", "the deadline of a Pod is not put off", pod(json!({"activeDeadlineSeconds": 5})), json!({"spec": {"activeDeadlineSeconds": 6}}), "spec.activeDeadlineSeconds", "Invalid value: 6: must be less than or equal to previous value"),
        row("pod-deadline-removed", "the deadline of a Pod is not removed", pod(json!({"activeDeadlineSeconds": 5})), json!({"spec": {"activeDeadlineSeconds": null}}), "spec.activeDeadlineSeconds", "must not update from a positive integer to nil value"),
        row("pod-toleration-removed", "a toleration of a Pod is not removed", pod(json!({"tolerations": [{"key": "z", "operator": "Exists"}]})), json!({"spec": {"tolerations": [{"key": "y", "operator": "Exists"}]}}), "spec.tolerations", "Forbidden: existing toleration can not be modified except its tolerationSeconds"),
    ]
}

// One row per line.
#[rustfmt::skip]
fn accepted() -> Vec<Accepted> {
    let expires = |seconds: u32| json!([{"key": "z", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}]);
    vec![
        ("pod-image", "the image of a container changes", PODS, pod(json!({})), json!({"spec": {"containers": [{"name": "c", "image": "j:1", "imagePullPolicy": "IfNotPresent"}]}})),
        ("pod-deadline", "a Pod gets a deadline", PODS, pod(json!({})), json!({"spec": {"activeDeadlineSeconds": 5}})),
        ("pod-deadline-sooner", "the deadline of a Pod is brought forward", PODS, pod(json!({"activeDeadlineSeconds": 5})), json!({"spec": {"activeDeadlineSeconds": 4}})),
        ("pod-toleration", "a Pod gets a toleration; those of every Pod need not be repeated", PODS, pod(json!({})), json!({"spec": {"tolerations": [{"key": "z", "operator": "Exists"}]}})),
        ("pod-toleration-seconds", "the time of a toleration changes", PODS, pod(json!({"tolerations": expires(5)})), json!({"spec": {"tolerations": expires(6)}})),
        ("stateful-set-changes", "replicas, template and strategy of a StatefulSet change", "/apis/apps/v1/namespaces/{ns}/statefulsets", workload(json!({"serviceName": "s", "replicas": 0})), json!({"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": null}, "template": {"metadata": {"labels": {"x": "y"}}}}})),
        ("job-parallelism", "the parallelism of a Job changes", JOBS, job(), json!({"spec": {"parallelism": 1}})),
        ("config-map-labels", "the labels of an immutable ConfigMap change", CONFIG_MAPS, json!({"immutable": true, "data": {"a": "b"}}), json!({"metadata": {"labels": {"a": "b"}}})),
        ("config-map-sealed", "a ConfigMap becomes immutable together with its last change", CONFIG_MAPS, json!({"data": {"a": "b"}}), json!({"immutable": true, "data": {"a": "c"}})),
        ("claim-volume-set", "a PersistentVolumeClaim gets its volume", CLAIMS, claim(json!({})), json!({"spec": {"volumeName": "nothing"}})),
        ("class-expansion", "a StorageClass allows expansion", CLASSES, json!({"provisioner": "p"}), json!({"allowVolumeExpansion": true})),
        ("node-provider-set", "a Node gets its provider's id, and is cordoned", NODES, json!({"spec": {}}), json!({"spec": {"providerID": "x", "unschedulable": true}})),
        ("priority-description", "the description of a PriorityClass changes", PRIORITIES, json!({"value": 5}), json!({"description": "x"})),
        ("service-external", "a Service becomes an ExternalName", SERVICES, json!({"spec": {"ports": [{"port": 80, "protocol": "TCP"}]}}), json!({"spec": {"type": "ExternalName", "externalName": "a.b", "clusterIP": null, "clusterIPs": null}})),
        ("csi-node-driver-added", "a CSINode gets another driver", "/apis/storage.k8s.io/v1/csinodes", json!({"spec": {"drivers": [{"name": "a.b", "nodeID": "x", "topologyKeys": []}]}}), json!({"spec": {"drivers": [{"name": "a.b", "nodeID": "x", "topologyKeys": []}, {"name": "a.c", "nodeID": "x", "topologyKeys": []}]}})),
    ]
}

fn place(cx: &Context, path: &str) -> String {
    let slices = format!("discovery.k8s.io/{}/", cx.api_by_version("v1beta1", 21, "v1"));
    path.replace("{ns}", &cx.ns).replace("discovery.k8s.io/v1/", &slices)
}

/// Objects of all scopes have the unique name of the case.
fn named(cx: &Context, object: &Value) -> Value {
    merged(object, &json!({"metadata": {"name": cx.ns}}))
}

/// The result of a merge patch.
fn merged(object: &Value, change: &Value) -> Value {
    let Some(change) = change.as_object() else { return change.clone() };
    let mut result = object.as_object().cloned().unwrap_or_default();
    for (name, value) in change {
        if value.is_null() {
            result.remove(name);
        } else {
            let before = result.remove(name).unwrap_or_default();
            result.insert(name.clone(), merged(&before, value));
        }
    }
    result.into()
}

fn removes(change: &Value) -> bool {
    change.is_null() || change.as_object().is_some_and(|members| members.values().any(removes))
}

/// PUT, merge patch and apply are refused alike, and change nothing.
async fn refuses(cx: Context, row: Arc<Refused>) -> Outcome {
    let (all, object) = (place(&cx, row.path), named(&cx, &row.object));
    let one = format!("{all}/{}", cx.ns);
    let made = cx.create_at(&all, &object).await?;
    // Controllers write as well.
    let put = || async {
        let live = cx.get(&one).await?;
        cx.put(&one, &merged(&live.body, &row.change)).await
    };
    let mut replies = vec![
        cx.merge(&one, &row.change).await?,
        cx.eventually("no conflict", put, |reply| reply.code != 409).await?,
    ];
    // What an apply leaves out is kept.
    if !removes(&row.change) && row.id != "secret-string-data" {
        let mut config = merged(&object, &row.change);
        config["apiVersion"] = made.body["apiVersion"].clone();
        config["kind"] = made.body["kind"].clone();
        replies.push(cx.apply(format!("{one}?force=true"), "m", &config).await?);
    }
    for reply in &replies {
        reply.fails(422, "Invalid")?.mentions(row.message)?;
        let (_, field) = row.field;
        let causes = reply.body["details"]["causes"].as_array();
        let named = causes.is_some_and(|causes| causes.iter().any(|cause| cause["field"] == field));
        holds(named, &format!("a cause of {field}"), &reply.text)?;
    }
    cx.delete(format!("{one}?gracePeriodSeconds=0")).await?;
    Ok(())
}

async fn accepts(cx: Context, path: &str, object: Value, change: Value) -> Outcome {
    let all = place(&cx, path);
    let one = format!("{all}/{}", cx.ns);
    cx.create_at(&all, &named(&cx, &object)).await?;
    cx.merge(&one, &change).await?.is(200)?;
    cx.delete(format!("{one}?gracePeriodSeconds=0")).await?;
    Ok(())
}

async fn several(cx: Context) -> Outcome {
    let one = format!("{CLASSES}/{}", cx.ns);
    cx.create_at(CLASSES, &named(&cx, &json!({"provisioner": "p", "parameters": {"a": "b"}}))).await?;
    let change = json!({"provisioner": "q", "parameters": null, "reclaimPolicy": "Retain"});
    let reply = cx.merge(&one, &change).await?;
    for field in ["parameters", "provisioner", "reclaimPolicy"] {
        reply.fails(422, "Invalid")?.cause("FieldValueInvalid", field)?;
    }
    cx.delete(one).await?;
    Ok(())
}

async fn status_write(cx: Context) -> Outcome {
    let all = place(&cx, &format!("{APPS}deployments"));
    let one = format!("{all}/{}/status", cx.ns);
    cx.create_at(&all, &named(&cx, &workload(json!({"replicas": 0})))).await?;
    let change =
        json!({"spec": {"selector": {"matchLabels": {"c": "d"}}}, "status": {"observedGeneration": 7}});
    let reply = cx.merge(one, &change).await?;
    reply.is(200)?.eq("/spec/selector/matchLabels", json!({"a": "b"}))?;
    Ok(())
}

async fn certificate_request(cx: Context) -> Outcome {
    const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let one = format!("{REQUESTS}/{}", cx.ns);
    let spec = json!({"signerName": "a.b/c", "usages": ["client auth"], "request": CERTIFICATE_REQUEST});
    cx.create_at(REQUESTS, &named(&cx, &json!({"spec": spec}))).await?;
    let change = json!({"spec": {"signerName": "a.b/d"}, "metadata": {"labels": {"x": "y"}}});
    let reply = cx.merge(&one, &change).await?;
    reply.is(200)?.eq("/spec/signerName", "a.b/c")?.eq("/metadata/labels/x", "y")?;
    cx.delete(one).await?;
    Ok(())
}

async fn definition(cx: Context) -> Outcome {
    let group = cx.own_group();
    let crd = crate::kinds::plain_crd(&group, "Thing", "things", json!({"type": "object"}));
    cx.establish(&crd).await?;
    let one = format!("{CRDS}/things.{group}");
    for (field, change) in [
        ("spec.group", json!({"group": "other.example"})),
        ("spec.scope", json!({"scope": "Cluster"})),
        ("spec.names.kind", json!({"names": {"kind": "Other"}})),
        ("spec.names.plural", json!({"names": {"plural": "others"}})),
    ] {
        let reply = cx.merge(&one, &json!({"spec": change})).await?;
        reply.fails(422, "Invalid")?.cause("FieldValueInvalid", field)?.mentions(IMMUTABLE)?;
    }
    cx.merge(&one, &json!({"spec": {"names": {"singular": "other", "listKind": "Others"}}}))
        .await?
        .is(200)?;
    cx.delete(one).await?;
    Ok(())
}

/// A request for `CN=x`, base64 of PEM.
const CERTIFICATE_REQUEST: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIRk1HNENBUUF3RERFS01BZ0dBMVVFQXd3QmVEQlpNQk1HQnlxR1NNNDlBZ0VHQ0NxR1NNNDlBd0VIQTBJQQpCUHpkQnBtR05iUDRscWFXZ1F0WVIwWlJWNHhRSzRZSW8wWlJhbGFyV3ZCTjhyc05oYjFKTnkwdTQwcVdzS1hECjhudzJCSnpkTmR0bDROQVBZeHdEQ2VTZ0FEQUtCZ2dxaGtqT1BRUURBZ05IQURCRUFpQVA0dFZzc2Z1L2taN3cKczQxUTJON0IxbXY0N2IxVWRiRWczQWc3RW82ZnB3SWdidWNUYjEvSVppY3NwUW11M2Y1Um4xZE16RXRYeWpkbgpJZlc0YzU4Rm83TT0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==";
