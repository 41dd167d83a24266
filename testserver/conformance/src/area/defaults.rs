//! Defaults of built-in kinds that depend on other fields, and validation across fields.

use serde_json::{Value, json};

use crate::{
    case::{Case, core, since},
    check::{Outcome, at, equal, holds},
    context::Context,
};

/// A field by JSON pointer, the minor version since which it has this value, and the value.
type Filled = (&'static str, u32, Value);

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    let filled = filled().into_iter().flat_map(|(id, rule, path, object, fields)| {
        let mut minors: Vec<u32> = fields.iter().map(|(_, minor, _)| *minor).collect();
        minors.sort_unstable();
        minors.dedup();
        minors.into_iter().flat_map(move |minor| {
            let id = if minor == 0 { format!("defaults/{id}") } else { format!("defaults/{id}-since-{minor}") };
            let fields: std::sync::Arc<[Filled]> = fields.iter().filter(|field| field.1 == minor).cloned().collect();
            let object = object.clone();
            since(minor, core(&id, rule, move |cx| fills(cx, path, object.clone(), fields.clone())))
        })
    });
    let refused = refused().into_iter().flat_map(|(id, rule, path, object, field, message)| {
        // Older versions permit fewer characters.
        let minor = if id == "variable-name" { 37 } else { 0 };
        since(minor, core(&format!("defaults/{id}-422"), rule, move |cx| refuses(cx, path, object.clone(), field, message)))
    });
    let others = [
        since(27, core("defaults/job-selector", "a Job selects its pods by its own uid", job_selector)),
        core("defaults/nothing-is-not-kept", "empty optional lists and maps are omitted", nothing_kept),
        core("defaults/claim-goes", "an unused claim is removed on delete, despite its finalizer", claim_goes),
        core("defaults/all-problems-at-once", "one response names all violated rules", all_problems),
        core("defaults/service-address", "a Service gets a cluster IP, and keeps it when patched", service_address),
        core("defaults/service-port-taken-422", "a node port that another Service has: 422", port_taken),
        since(37, core("defaults/service-port-twice-422", "a duplicate node port in a Service: 422", port_twice)),
        core("defaults/service-port-range-422", "a node port outside of the range: 422", port_range),
        core("defaults/service-address-taken-422", "a cluster IP that another Service has: 422", address_taken),
        core("defaults/service-node-port", "a NodePort Service gets a node port, and keeps it when patched", node_port),
    ];
    filled.chain(refused).chain(others.into_iter().flatten()).collect()
}

fn container(more: Value) -> Value {
    let mut container = json!({"name": "c", "image": "i"});
    for (field, value) in more.as_object().into_iter().flatten() {
        container[field] = value.clone();
    }
    json!({"containers": [container]})
}

fn workload(labels: &str, more: Value) -> Value {
    let template = json!({"metadata": {"labels": {"a": labels}}, "spec": container(json!({}))});
    let mut spec = json!({"selector": {"matchLabels": {"a": "b"}}, "template": template});
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    json!({"spec": spec})
}

const PODS: &str = "/api/v1/namespaces/{ns}/pods";
const SERVICES: &str = "/api/v1/namespaces/{ns}/services";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/{ns}/deployments";
const JOBS: &str = "/apis/batch/v1/namespaces/{ns}/jobs";

// One row per line.
#[rustfmt::skip]
fn filled() -> Vec<(&'static str, &'static str, &'static str, Value, Vec<Filled>)> {
    let port = || json!([{"port": 80}]);
    vec![
        ("pull-always", "an image without a tag is always pulled", PODS, json!({"spec": container(json!({}))}), vec![("/spec/containers/0/imagePullPolicy", 0, json!("Always"))]),
        ("pull-latest", "the latest image is always pulled", PODS, json!({"spec": container(json!({"image": "i:latest"}))}), vec![("/spec/containers/0/imagePullPolicy", 0, json!("Always"))]),
        ("pull-if-not-present", "an image with a tag is pulled once", PODS, json!({"spec": container(json!({"image": "r:5000/i:1"}))}), vec![("/spec/containers/0/imagePullPolicy", 0, json!("IfNotPresent"))]),
        ("pod", "a pod: service links, priority, tolerations of two taints", PODS, json!({"spec": container(json!({}))}), vec![
            ("/spec/enableServiceLinks", 0, json!(true)), ("/spec/priority", 0, json!(0)), ("/spec/preemptionPolicy", 0, json!("PreemptLowerPriority")),
            ("/spec/tolerations/0/key", 0, json!("node.kubernetes.io/not-ready")), ("/spec/tolerations/1/key", 0, json!("node.kubernetes.io/unreachable")),
            ("/spec/tolerations/1/tolerationSeconds", 0, json!(300)), ("/status/phase", 0, json!("Pending")), ("/status/qosClass", 0, json!("BestEffort"))]),
        ("pod-requests", "a pod asks for its limits, where it asks for nothing else", PODS, json!({"spec": container(json!({"resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}}))}), vec![
            ("/spec/containers/0/resources/requests", 0, json!({"cpu": "500m", "memory": "1Gi"})), ("/status/qosClass", 0, json!("Burstable"))]),
        ("pod-guaranteed", "a pod whose limits are its requests is guaranteed", PODS, json!({"spec": container(json!({"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}))}), vec![("/status/qosClass", 0, json!("Guaranteed"))]),
        ("merge-keys-repeated", "variables, ports and pull secrets of a Pod may have the same key twice", PODS, {
            let mut spec = container(json!({"env": [{"name": "a", "value": "1"}, {"name": "a", "value": "2"}], "ports": [{"containerPort": 80}, {"containerPort": 80}]}));
            spec["imagePullSecrets"] = json!([{"name": "a"}, {"name": "a"}]);
            json!({"spec": spec})
        }, vec![("/spec/containers/0/env/1/value", 0, json!("2")), ("/spec/imagePullSecrets/1/name", 0, json!("a"))]),
        ("probe", "a probe", PODS, json!({"spec": container(json!({"livenessProbe": {"httpGet": {"port": 80}}}))}), vec![
            ("/spec/containers/0/livenessProbe", 0, json!({"httpGet": {"path": "/", "port": 80, "scheme": "HTTP"}, "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}))]),
        ("deployment", "a Deployment, its template included", DEPLOYMENTS, workload("b", json!({})), vec![
            ("/spec/replicas", 0, json!(1)), ("/spec/template/spec/containers/0/imagePullPolicy", 0, json!("Always")),
            ("/spec/strategy/rollingUpdate", 0, json!({"maxUnavailable": "25%", "maxSurge": "25%"})), ("/status", 0, json!({}))]),
        ("strategy-empty", "a strategy that says nothing is that of the default", DEPLOYMENTS, workload("b", json!({"strategy": {}})), vec![
            ("/spec/strategy", 0, json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}))]),
        ("replication-controller", "a ReplicationController without labels has those of its pods", "/api/v1/namespaces/{ns}/replicationcontrollers", json!({"spec": {"replicas": 0, "template": {"metadata": {"labels": {"a": "b"}}, "spec": container(json!({}))}}}), vec![
            ("/metadata/labels", 0, json!({"a": "b"})), ("/spec/selector", 0, json!({"a": "b"}))]),
        ("statefulset", "a StatefulSet", "/apis/apps/v1/namespaces/{ns}/statefulsets", workload("b", json!({"serviceName": "s"})), vec![
            ("/spec/podManagementPolicy", 0, json!("OrderedReady")), ("/spec/updateStrategy/rollingUpdate/partition", 0, json!(0)), ("/status/replicas", 0, json!(0))]),
        ("daemonset", "a DaemonSet", "/apis/apps/v1/namespaces/{ns}/daemonsets", workload("b", json!({})), vec![
            ("/metadata/annotations/deprecated.daemonset.template.generation", 0, json!("1")), ("/status/numberReady", 0, json!(0)), ("/spec/updateStrategy/rollingUpdate/maxUnavailable", 0, json!(1))]),
        ("replicaset", "a ReplicaSet", "/apis/apps/v1/namespaces/{ns}/replicasets", workload("b", json!({})), vec![("/status", 0, json!({"replicas": 0}))]),
        ("job", "a Job runs one pod once", JOBS, json!({"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}}), vec![
            ("/spec/parallelism", 0, json!(1)), ("/spec/completions", 0, json!(1)), ("/spec/backoffLimit", 0, json!(6)), ("/spec/completionMode", 24, json!("NonIndexed"))]),
        ("service", "a Service", SERVICES, json!({"spec": {"ports": port()}}), vec![
            ("/spec/type", 0, json!("ClusterIP")), ("/spec/ports/0/targetPort", 0, json!(80)), ("/spec/ports/0/protocol", 0, json!("TCP")),
            ("/spec/sessionAffinity", 0, json!("None")), ("/spec/internalTrafficPolicy", 26, json!("Cluster")), ("/status", 0, json!({"loadBalancer": {}}))]),
        ("service-headless", "a Service without an address", SERVICES, json!({"spec": {"clusterIP": "None", "ports": port()}}), vec![("/spec/clusterIPs", 0, json!(["None"]))]),
        ("service-node-port-policy", "a NodePort Service takes traffic everywhere", SERVICES, json!({"spec": {"type": "NodePort", "ports": port()}}), vec![("/spec/externalTrafficPolicy", 0, json!("Cluster"))]),
        ("claim", "a PersistentVolumeClaim is held by a finalizer and pending", "/api/v1/namespaces/{ns}/persistentvolumeclaims", json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}), vec![
            ("/metadata/finalizers", 0, json!(["kubernetes.io/pvc-protection"])), ("/status/phase", 0, json!("Pending")), ("/spec/volumeMode", 0, json!("Filesystem"))]),
        ("network-policy", "a NetworkPolicy without egress is one of ingress", "/apis/networking.k8s.io/v1/namespaces/{ns}/networkpolicies", json!({"spec": {"podSelector": {}}}), vec![("/spec/policyTypes", 0, json!(["Ingress"]))]),
        ("autoscaler", "an autoscaler aims at 80%", "/apis/autoscaling/v1/namespaces/{ns}/horizontalpodautoscalers", json!({"spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}, "maxReplicas": 3}}), vec![
            ("/spec/minReplicas", 0, json!(1)), ("/spec/targetCPUUtilizationPercentage", 0, json!(80))]),
        ("role-binding", "a role and users are of the RBAC group, service accounts of none", "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings", json!({"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s", "namespace": "n"}]}), vec![
            ("/roleRef/apiGroup", 0, json!("rbac.authorization.k8s.io")), ("/subjects/0/apiGroup", 0, json!("rbac.authorization.k8s.io")), ("/subjects/1", 0, json!({"kind": "ServiceAccount", "name": "s", "namespace": "n"}))]),
    ]
}

// One row per line.
#[rustfmt::skip]
fn refused() -> Vec<(&'static str, &'static str, &'static str, Value, &'static str, &'static str)> {
    vec![
        ("selector-misses-template", "a Deployment that does not select its own pods", DEPLOYMENTS, workload("c", json!({})), "spec.template.metadata.labels", "`selector` does not match template `labels`"),
        ("pod-without-containers", "a pod without containers", PODS, json!({"spec": {"containers": []}}), "spec.containers", "Required value"),
        ("job-restarts-always", "a Job whose pods never end", JOBS, json!({"spec": {"template": {"spec": container(json!({}))}}}), "spec.template.spec.restartPolicy", "\"OnFailure\", \"Never\""),
        ("deployment-counts", "a Deployment of fewer than no pods", DEPLOYMENTS, workload("b", json!({"replicas": -1})), "spec.replicas", "Invalid value: -1: must be greater than or equal to 0"),
        ("deployment-restarts-never", "a Deployment whose pods end", DEPLOYMENTS, {
            let mut object = workload("b", json!({}));
            object["spec"]["template"]["spec"]["restartPolicy"] = json!("Never");
            object
        }, "spec.template.spec.restartPolicy", "Unsupported value: \"Never\": supported values: \"Always\""),
        ("container-name", "a container without a name", PODS, json!({"spec": container(json!({"name": ""}))}), "spec.containers[0].name", "Required value"),
        ("container-name-syntax", "a container whose name is no label", PODS, json!({"spec": container(json!({"name": "A_b"}))}), "spec.containers[0].name", "Invalid value: \"A_b\": a lowercase RFC 1123 label"),
        ("container-image", "a container without an image", PODS, json!({"spec": container(json!({"image": ""}))}), "spec.containers[0].image", "Required value"),
        ("container-twice", "two containers of one name", PODS, json!({"spec": {"containers": [{"name": "c", "image": "i"}, {"name": "c", "image": "i"}]}}), "spec.containers[1].name", "Duplicate value: \"c\""),
        ("container-port", "a port that is none", PODS, json!({"spec": container(json!({"ports": [{"containerPort": 70000}]}))}), "spec.containers[0].ports[0].containerPort", "Invalid value: 70000: must be between 1 and 65535, inclusive"),
        ("variable-name", "a variable whose name has an equals sign", PODS, json!({"spec": container(json!({"env": [{"name": "a=b"}]}))}), "spec.containers[0].env[0].name", "Invalid value: \"a=b\": a valid environment variable name must consist only of printable ASCII characters other than '='"),
        ("mount-of-nothing", "a mount of a volume that the pod does not have", PODS, json!({"spec": container(json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}]}))}), "spec.containers[0].volumeMounts[0].name", "Not found: \"v\""),
        ("volume-twice", "two volumes of one name", PODS, {
            let mut spec = container(json!({}));
            spec["volumes"] = json!([{"name": "v", "emptyDir": {}}, {"name": "v", "emptyDir": {}}]);
            json!({"spec": spec})
        }, "spec.volumes[1].name", "Duplicate value: \"v\""),
        ("config-map-key", "a key of a ConfigMap that is no name of a file", "/api/v1/namespaces/{ns}/configmaps", json!({"data": {"a b": "x"}}), "data[a b]", "a valid config key must consist of"),
        ("config-map-key-dots", "a key of a ConfigMap that leads out of its directory", "/api/v1/namespaces/{ns}/configmaps", json!({"data": {"..": "x"}}), "data[..]", "must not be '..'"),
        ("secret-type", "a Secret of TLS without a certificate", "/api/v1/namespaces/{ns}/secrets", json!({"type": "kubernetes.io/tls", "data": {"tls.key": "eA=="}}), "data[tls.crt]", "Required value"),
        ("service-port-names", "several ports of a Service without names", SERVICES, json!({"spec": {"ports": [{"port": 80}, {"port": 81}]}}), "spec.ports[1].name", "Required value"),
        ("service-port", "a port of a Service that is none", SERVICES, json!({"spec": {"ports": [{"port": 0}]}}), "spec.ports[0].port", "Invalid value: 0: must be between 1 and 65535, inclusive"),
        ("service-port-repeated", "two ports of a Service of one number", SERVICES, json!({"spec": {"ports": [{"name": "a", "port": 80}, {"name": "b", "port": 80}]}}), "spec.ports[1]", "Duplicate value"),
        ("service-port-name-repeated", "two ports of a Service of one name", SERVICES, json!({"spec": {"ports": [{"name": "a", "port": 80}, {"name": "a", "port": 81}]}}), "spec.ports[1].name", "Duplicate value: \"a\""),
        ("container-port-name-repeated", "two ports of a container of one name", PODS, json!({"spec": container(json!({"ports": [{"containerPort": 80, "name": "a"}, {"containerPort": 81, "name": "a"}]}))}), "spec.containers[0].ports[1].name", "Duplicate value: \"a\""),
        ("mount-repeated", "two mounts at one path", PODS, {
            let mut spec = container(json!({"volumeMounts": [{"name": "v", "mountPath": "/a"}, {"name": "v", "mountPath": "/a"}]}));
            spec["volumes"] = json!([{"name": "v", "emptyDir": {}}]);
            json!({"spec": spec})
        }, "spec.containers[0].volumeMounts[1].mountPath", "Invalid value: \"/a\": must be unique"),
        ("service-without-ports", "a Service without ports", SERVICES, json!({"spec": {"selector": {"a": "b"}}}), "spec.ports", "Required value"),
    ]
}

fn place(cx: &Context, path: &str) -> String {
    path.replace("{ns}", &cx.ns)
}

fn named(object: &Value) -> Value {
    let mut object = object.clone();
    object["metadata"]["name"] = json!("a");
    object
}

async fn fills(cx: Context, path: &str, object: Value, fields: std::sync::Arc<[Filled]>) -> Outcome {
    let made = cx.create_at(format!("{}?dryRun=All", place(&cx, path)), &named(&object)).await?;
    for (pointer, _, want) in fields.iter() {
        at(&made.body, pointer, want.clone())?;
    }
    Ok(())
}

async fn refuses(cx: Context, path: &str, object: Value, field: &str, message: &str) -> Outcome {
    let reply = cx.post(format!("{}?dryRun=All", place(&cx, path)), &named(&object)).await?;
    reply.fails(422, "Invalid")?.mentions(&format!("{field}: "))?.mentions(message)?;
    Ok(())
}

async fn job_selector(cx: Context) -> Outcome {
    let spec = json!({"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}}});
    let made = cx.create_at(format!("{}?dryRun=All", place(&cx, JOBS)), &named(&spec)).await?;
    let uid = made.body["metadata"]["uid"].clone();
    at(&made.body["spec"]["selector"], "/matchLabels", json!({"batch.kubernetes.io/controller-uid": uid}))?;
    let labels = &made.body["spec"]["template"]["metadata"]["labels"];
    holds(labels["controller-uid"] == uid && labels["job-name"] == "a", "the labels of its pods", labels)
}

async fn nothing_kept(cx: Context) -> Outcome {
    let object = json!({"data": {}, "metadata": {"labels": {}, "annotations": {}, "finalizers": []}});
    let made = cx.create_at(place(&cx, "/api/v1/namespaces/{ns}/configmaps"), &named(&object)).await?;
    made.absent("/data")?
        .absent("/metadata/labels")?
        .absent("/metadata/annotations")?
        .absent("/metadata/finalizers")?;
    let mut spec = container(json!({"env": [], "ports": []}));
    spec["volumes"] = json!([]);
    spec["nodeSelector"] = json!({});
    // The volume of its token.
    spec["automountServiceAccountToken"] = false.into();
    let made =
        cx.create_at(format!("{}?dryRun=All", place(&cx, PODS)), &named(&json!({"spec": spec}))).await?;
    made.absent("/spec/volumes")?.absent("/spec/nodeSelector")?.absent("/spec/containers/0/env")?;
    Ok(())
}

async fn claim_goes(cx: Context) -> Outcome {
    let claims = place(&cx, "/api/v1/namespaces/{ns}/persistentvolumeclaims");
    let spec = json!({"accessModes": ["ReadWriteOnce"], "storageClassName": "none", "resources": {"requests": {"storage": "1Gi"}}});
    cx.create_at(&claims, &named(&json!({"spec": spec}))).await?;
    cx.delete(format!("{claims}/a")).await?.is(200)?;
    cx.wait_for_code(&format!("{claims}/a"), 404).await?;
    Ok(())
}

async fn all_problems(cx: Context) -> Outcome {
    let mut object = workload("c", json!({"replicas": -1}));
    object["spec"]["template"]["spec"]["containers"][0]["name"] = json!("");
    let reply = cx.post(place(&cx, DEPLOYMENTS), &named(&object)).await?;
    reply.fails(422, "Invalid")?;
    let fields = ["spec.replicas", "spec.template.metadata.labels", "spec.template.spec.containers[0].name"];
    let causes = reply.body["details"]["causes"].as_array().cloned().unwrap_or_default();
    let found: Vec<_> = causes.iter().filter_map(|cause| cause["field"].as_str()).collect();
    equal("fields of the causes", fields, found)
}

async fn service_address(cx: Context) -> Outcome {
    let path = place(&cx, SERVICES);
    let made = cx.create_at(&path, &named(&json!({"spec": {"ports": [{"port": 80}]}}))).await?;
    let address = made.str("/spec/clusterIP")?;
    holds(address.split('.').count() == 4, "an address", &address)?;
    made.eq("/spec/clusterIPs", json!([address]))?;
    let other = json!({"spec": {"ports": [{"port": 81}]}});
    let patched = cx.merge(format!("{path}/a"), &other).await?;
    patched.is(200)?.eq("/spec/clusterIP", address)?.eq("/spec/ports/0/targetPort", 81)?;
    Ok(())
}

async fn node_port(cx: Context) -> Outcome {
    let path = place(&cx, SERVICES);
    let made =
        cx.create_at(&path, &named(&json!({"spec": {"type": "NodePort", "ports": [{"port": 80}]}}))).await?;
    let port = made.body["spec"]["ports"][0]["nodePort"].clone();
    holds(port.as_u64().is_some_and(|port| (30000..=32767).contains(&port)), "a port of the range", &port)?;
    let patched = cx.merge(format!("{path}/a"), &json!({"spec": {"selector": {"a": "b"}}})).await?;
    patched.is(200)?.eq("/spec/ports/0/nodePort", port)?;
    Ok(())
}

fn node_ports(name: &str, ports: &[(&str, u64)]) -> Value {
    let ports: Vec<Value> = (80..)
        .zip(ports)
        .map(|(port, (name, node))| json!({"name": name, "port": port, "nodePort": node}))
        .collect();
    json!({"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": ports}})
}

async fn port_taken(cx: Context) -> Outcome {
    let path = place(&cx, SERVICES);
    let made = cx
        .create_at(
            &path,
            &json!({"metadata": {"name": "a"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}}),
        )
        .await?;
    let port = made.body["spec"]["ports"][0]["nodePort"].as_u64().unwrap_or_default();
    let reply = cx.post(&path, &node_ports("b", &[("x", port)])).await?;
    reply.fails(422, "Invalid")?.cause("FieldValueInvalid", "spec.ports[0].nodePort")?;
    reply.mentions(&format!("Invalid value: {port}: provided port is already allocated"))?;
    Ok(())
}

async fn port_twice(cx: Context) -> Outcome {
    let reply = cx.post(place(&cx, SERVICES), &node_ports("a", &[("x", 31_987), ("y", 31_987)])).await?;
    reply.fails(422, "Invalid")?.cause("FieldValueInvalid", "spec.ports[1].nodePort")?;
    reply.mentions("provided port is already allocated")?;
    Ok(())
}

async fn port_range(cx: Context) -> Outcome {
    let reply = cx.post(place(&cx, SERVICES), &node_ports("a", &[("x", 80)])).await?;
    reply.fails(422, "Invalid")?.cause("FieldValueInvalid", "spec.ports[0].nodePort")?;
    reply.mentions("provided port is not in the valid range. The range of valid ports is 30000-32767")?;
    Ok(())
}

async fn address_taken(cx: Context) -> Outcome {
    let path = place(&cx, SERVICES);
    let made = cx.create_at(&path, &named(&json!({"spec": {"ports": [{"port": 80}]}}))).await?;
    let other = json!({"metadata": {"name": "b"}, "spec": {"clusterIP": made.str("/spec/clusterIP")?, "ports": [{"port": 80}]}});
    let reply = cx.post(&path, &other).await?;
    reply.fails(422, "Invalid")?.cause("FieldValueInvalid", "spec.clusterIPs")?;
    reply.mentions("provided IP is already allocated")?;
    Ok(())
}
