//! Smallest inputs of earlier differences from genuine servers, with what `v1.37` answered.

use serde_json::{Value, json};

use crate::client::*;

fn input(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

async fn causes(path: &str, object: Value) -> Vec<(String, String)> {
    let reply = TestClient::new().post(path, object).await;
    assert_eq!(reply.code, 422, "{}", reply.body);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let causes = reply.body["details"]["causes"].as_array().unwrap();
    causes.iter().map(|cause| (text(&cause["field"]), text(&cause["message"]))).collect()
}

#[tokio::test(start_paused = true)]
async fn a_definition_loses_zero_values_05() {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let definition = TestClient::new()
        .post(path, input(include_str!("recorded/05-zero-values-of-definition.json")))
        .await
        .ok();
    assert_eq!(
        definition["spec"],
        json!({"group": "mini.example.com", "names": {"plural": "tests", "singular": "test", "kind": "Test", "listKind": "TestList"},
            "scope": "Namespaced", "conversion": {"strategy": "None"}, "versions": [{"name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object"}}, "additionalPrinterColumns": [{"name": "a", "type": "string", "jsonPath": ".a"}]}]})
    );
}

#[tokio::test(start_paused = true)]
async fn a_pod_is_stored_in_the_form_of_go_09() {
    let path = "/api/v1/namespaces/default/pods";
    let pod = TestClient::new()
        .post(path, input(include_str!("recorded/09-builtin-pod-normal-form.json")))
        .await
        .ok();
    assert_eq!(
        pod["spec"],
        json!({"volumes": [{"name": "v", "emptyDir": {}}],
            "containers": [{"name": "c", "image": "i",
                "env": [{"name": "A"}, {"name": "B", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}}}],
                "resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "1", "memory": "1Gi"}},
                "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "imagePullPolicy": "Always"}],
            "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst", "securityContext": {},
            "schedulerName": "default-scheduler",
            "tolerations": [
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
                {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}],
            "priority": 0, "enableServiceLinks": true, "preemptionPolicy": "PreemptLowerPriority"})
    );
    assert_eq!(pod["status"], json!({"phase": "Pending", "qosClass": "Burstable"}));
}

#[tokio::test(start_paused = true)]
async fn a_null_in_a_map_is_an_empty_text_10() {
    let path = "/api/v1/namespaces/default/configmaps";
    let map = TestClient::new()
        .post(path, input(include_str!("recorded/10-builtin-configmap-null.json")))
        .await
        .ok();
    assert_eq!(map["data"], json!({"x": "", "y": "z"}));
}

#[tokio::test(start_paused = true)]
async fn a_job_with_labels_keeps_them_11() {
    let client = TestClient::new();
    let path = "/apis/batch/v1/namespaces/default/jobs?dryRun=All";
    let own = input(include_str!("recorded/11-job-own-labels.json"));
    let job = client.post(path, own.clone()).await.ok();
    assert_eq!(job["metadata"]["labels"], json!({"own": "1"}));
    let uid = &job["metadata"]["uid"];
    let labels = json!({"batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": "a",
        "controller-uid": uid, "job-name": "a", "t": "1"});
    assert_eq!(job["spec"]["template"]["metadata"], json!({"labels": labels}));
    assert_eq!(job["spec"]["manualSelector"], false);

    let mut bare = own;
    bare["metadata"] = json!({"name": "a"});
    let job = client.post(path, bare.clone()).await.ok();
    assert_eq!(job["metadata"]["labels"], job["spec"]["template"]["metadata"]["labels"]);
    assert_eq!(job["metadata"]["labels"]["t"], "1");
    bare["spec"]["manualSelector"] = true.into();
    bare["spec"]["selector"] = json!({"matchLabels": {"t": "1"}});
    assert_eq!(client.post(path, bare).await.ok()["metadata"]["labels"], json!({"t": "1"}));
}

#[tokio::test(start_paused = true)]
async fn subjects_have_names_of_their_kind_12() {
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    let causes = causes(path, input(include_str!("recorded/12-clusterrolebinding-subject-name.json"))).await;
    assert_eq!(causes.len(), 1);
    assert_eq!(causes[0].0, "subjects[0].name");
    assert!(
        causes[0].1.starts_with("Invalid value: \"Bad_Name\": a lowercase RFC 1123 subdomain must consist")
    );
}

#[tokio::test(start_paused = true)]
async fn taints_are_unique_13() {
    let causes = causes("/api/v1/nodes", input(include_str!("recorded/13-node-taints-twice.json"))).await;
    let message = "Duplicate value: {\"Key\":\"k\",\"Value\":\"\",\"Effect\":\"NoSchedule\",\"TimeAdded\":null}: taints must be unique by key and effect pair";
    assert_eq!(causes, [("metadata.taints[1]".to_owned(), message.to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn local_load_balancers_have_a_health_check_port_14() {
    let client = TestClient::new();
    let path = "/api/v1/namespaces/default/services";
    let service =
        client.post(path, input(include_str!("recorded/14-service-health-check-port.json"))).await.ok();
    let port = service["spec"]["healthCheckNodePort"].as_u64().unwrap();
    assert!((30_000..32_768).contains(&port));
    assert_ne!(service["spec"]["ports"][0]["nodePort"], port);
    let at = format!("{path}/a?dryRun=All");
    let changed = async |members: Value| {
        let mut service = service.clone();
        for (name, value) in members.as_object().unwrap() {
            service["spec"][name] = value.clone();
        }
        client.put(&at, service).await
    };
    assert_eq!(changed(json!({"healthCheckNodePort": null})).await.ok()["spec"]["healthCheckNodePort"], port);
    let cluster = changed(json!({"externalTrafficPolicy": "Cluster"})).await.ok();
    assert_eq!(cluster["spec"].get("healthCheckNodePort"), None);
    let message = changed(json!({"healthCheckNodePort": 30_005})).await.refused(422, "Invalid");
    assert!(message.ends_with("spec.healthCheckNodePort: Forbidden: field is immutable"), "{message}");

    let new = |members: Value| {
        let mut service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "b"},
            "spec": {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{"port": 80}]}});
        for (name, value) in members.as_object().unwrap() {
            service["spec"][name] = value.clone();
        }
        service
    };
    let dry = format!("{path}?dryRun=All");
    let given = client.post(&dry, new(json!({"healthCheckNodePort": 30_007}))).await.ok();
    assert_eq!(given["spec"]["healthCheckNodePort"], 30_007);
    assert!(!client.post(&dry, new(json!({"healthCheckNodePort": port}))).await.code.is_success());
    for other in [json!({"externalTrafficPolicy": "Cluster"}), json!({"type": "NodePort"})] {
        let mut service = new(other);
        service["spec"]["healthCheckNodePort"] = 30_007.into();
        let message = client.post(&dry, service).await.refused(422, "Invalid");
        assert!(
            message.contains(
                "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
            ),
            "{message}"
        );
    }
}

/// Ephemeral containers are added to pods that run.
#[tokio::test(start_paused = true)]
async fn a_new_pod_has_no_ephemeral_containers() {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
        "spec": {"containers": [{"name": "c", "image": "i"}], "ephemeralContainers": [{"name": "e", "image": "i"}]}});
    let found = causes("/api/v1/namespaces/default/pods", pod).await;
    assert_eq!(
        found,
        [("spec.ephemeralContainers".to_owned(), "Forbidden: cannot be set on create".to_owned())]
    );
}

/// Kinds and fields that came with 1.37.
#[tokio::test(start_paused = true)]
async fn what_is_new_in_1_37_is_kept() {
    let client = TestClient::new();
    let rule = json!({"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule", "metadata": {"name": "a"}, "spec":
        {"deviceSelector": {"driver": "d.example"}, "taint": {"key": "a.b/c", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}}});
    let made = client.post("/apis/resource.k8s.io/v1/devicetaintrules", rule.clone()).await.ok();
    assert_eq!(made["spec"], rule["spec"]);
    let scalers = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
    let scaler = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"}, "spec":
        {"maxReplicas": 2, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}}});
    let mut scaler = client.post(scalers, scaler).await.ok();
    let condition = json!({"type": "AbleToScale", "status": "True", "observedGeneration": 3});
    scaler["status"]["conditions"] = json!([condition]);
    let written = client.put(&format!("{scalers}/a/status"), scaler).await.ok();
    assert_eq!(written["status"]["conditions"][0]["observedGeneration"], 3);
}

/// A field whose feature gate is off is read and left out.
#[tokio::test(start_paused = true)]
async fn fields_behind_gates_are_left_out() {
    let client = TestClient::new();
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i", "volumeMounts":
        [{"name": "v", "mountPath": "/v", "bindMountOptions": ["noexec"]}]}], "volumes": [{"name": "v", "emptyDir": {"mode": 448}}]}});
    let job = |scheduling: Value| {
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec":
            {"template": template, "scheduling": scheduling}})
    };
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    let made = client.post(jobs, job(json!({"resourceClaims": []}))).await.ok();
    let pod = &made["spec"]["template"]["spec"];
    assert!(made["spec"].get("scheduling").is_none(), "{made}");
    assert_eq!(pod["containers"][0]["volumeMounts"], json!([{"name": "v", "mountPath": "/v"}]));
    assert_eq!(pod["volumes"][0]["emptyDir"], json!({}));
    assert_eq!(client.post(jobs, job(json!([]))).await.code, 400);
}

/// `kubectl explain` shows the words that a field may hold.
#[tokio::test(start_paused = true)]
async fn documents_name_the_values_of_fields() {
    let document = TestClient::new().get("/openapi/v3/api/v1").await.ok();
    let policy =
        &document["components"]["schemas"]["io.k8s.api.core.v1.Container"]["properties"]["imagePullPolicy"];
    assert_eq!(policy["enum"], json!(["Always", "IfNotPresent", "Never"]));
}

/// The kinds whose objects have a generation on 1.37.
#[cfg(feature = "cel")]
const GENERATIONS: &str = "Pod PodTemplate ReplicationController Deployment ReplicaSet DaemonSet StatefulSet Job CronJob HorizontalPodAutoscaler \
    PodDisruptionBudget Ingress IngressClass NetworkPolicy EndpointSlice ValidatingWebhookConfiguration MutatingWebhookConfiguration \
    ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding PriorityClass FlowSchema PriorityLevelConfiguration DeviceClass ResourceSlice \
    CustomResourceDefinition";

#[cfg(feature = "cel")]
#[tokio::test(start_paused = true)]
async fn some_kinds_count_their_generations() {
    let client = TestClient::new();
    let bases = include_str!("recorded/base.jsonl").lines().map(input);
    let counted: Vec<&str> = GENERATIONS.split_whitespace().collect();
    for base in bases {
        let path = format!("{}?dryRun=All", base["path"].as_str().unwrap());
        let made = client.post(&path, base["object"].clone()).await.ok();
        let kind = made["kind"].as_str().unwrap();
        let expected = if counted.contains(&kind) { json!(1) } else { Value::Null };
        assert_eq!(made["metadata"]["generation"], expected, "{path}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_allocation_is_set_and_removed_but_not_changed() {
    const CLAIMS: &str = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
    let client = TestClient::new();
    let requests = json!([{"name": "r", "exactly": {"deviceClassName": "c"}}]);
    let claim = json!({"metadata": {"name": "a"}, "spec": {"devices": {"requests": requests}}});
    let mut claim = client.post(CLAIMS, claim).await.ok();
    let status = |device: &str| {
        let result = json!({"request": "r", "driver": "a.b", "pool": "p", "device": device});
        json!({"allocation": {"devices": {"results": [result]}}})
    };
    let path = format!("{CLAIMS}/a/status");
    claim["status"] = status("d");
    let mut claim = client.put(&path, claim).await.ok();
    claim["status"] = status("e");
    let why = client.put(&path, claim.clone()).await.refused(422, "Invalid");
    assert!(
        why.ends_with("status.allocation: Invalid value: null: field cannot be modified once set"),
        "{why}"
    );
    claim["status"] = json!({});
    assert_eq!(client.put(&path, claim).await.ok()["status"], json!({}));
}

#[tokio::test(start_paused = true)]
async fn names_of_bundles_and_addresses_have_their_own_form() {
    let client = TestClient::new();
    let parent = json!({"parentRef": {"resource": "services", "namespace": "a", "name": "b"}});
    for (name, code) in [("10.0.0.9", 201), ("fe80::1", 201), ("a", 422), ("FE80::1", 422)] {
        let address = json!({"metadata": {"name": name}, "spec": parent});
        assert_eq!(client.post("/apis/networking.k8s.io/v1/ipaddresses", address).await.code, code, "{name}");
    }
    for (name, signer, why) in [
        ("a:b", "", "ClusterTrustBundle without signer name must not have \":\" in its name"),
        ("a.b:d:x", "a.b/c", "ClusterTrustBundle for signerName a.b/c must be named with prefix a.b:c:"),
        ("a.b:c:X", "a.b/c", "a lowercase RFC 1123 subdomain must consist of lower case"),
        ("a.b:c:x", "a.b/c", "at least one trust anchor must be provided"),
    ] {
        let bundle = json!({"metadata": {"name": name}, "spec": {"signerName": signer, "trustBundle": ""}});
        let refused = client.post("/apis/certificates.k8s.io/v1/clustertrustbundles", bundle).await;
        let refused = refused.refused(422, "Invalid");
        assert!(refused.contains(why), "{refused}");
    }
    let range = client.get("/apis/networking.k8s.io/v1/servicecidrs/kubernetes").await.ok();
    assert_eq!(range["status"]["conditions"][0]["status"], "True");
}

#[tokio::test(start_paused = true)]
async fn every_response_about_endpoints_says_that_they_are_deprecated() {
    let client = TestClient::new();
    let path = "/api/v1/namespaces/default/endpoints";
    let wanted = r#"299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice""#;
    let object = |name: &str| json!({"metadata": {"name": name}});
    let change = json!({"metadata": {"labels": {"a": "b"}}});
    for reply in [
        client.post(path, object("e")).await,
        client.post(path, object("E!")).await,
        client.get(&format!("{path}/e")).await,
        client.get(&format!("{path}/none")).await,
        client.get(path).await,
        client.patch(MERGE, &format!("{path}/e"), change).await,
        client.delete(&format!("{path}/e")).await,
    ] {
        assert_eq!(reply.headers["warning"], wanted, "{}", reply.body);
    }
    let reply = client.get("/api/v1/namespaces/default/services").await;
    assert!(reply.headers.get("warning").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_class_of_attributes_stays_while_a_claim_has_it() {
    let client = TestClient::new();
    let classes = "/apis/storage.k8s.io/v1/volumeattributesclasses";
    let claims = "/api/v1/namespaces/default/persistentvolumeclaims";
    let class = json!({"metadata": {"name": "c"}, "driverName": "d.example.com", "parameters": {"a": "b"}});
    let class = client.post(classes, class).await.ok();
    assert_eq!(class["metadata"]["finalizers"], json!(["kubernetes.io/vac-protection"]));
    let claim = json!({"metadata": {"name": "p"}, "spec": {"accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}}, "volumeAttributesClassName": "c"}});
    client.post(claims, claim).await.ok();
    client.delete(&format!("{classes}/c")).await.ok();
    assert!(client.get(&format!("{classes}/c")).await.ok()["metadata"]["deletionTimestamp"].is_string());
    client.delete(&format!("{claims}/p")).await.ok();
    assert_eq!(client.get(&format!("{classes}/c")).await.code, 404);
}

#[tokio::test(start_paused = true)]
async fn unknown_versions_of_known_groups_are_not_found_with_a_status() {
    let client = TestClient::new();
    for path in ["/api/v2", "/apis/apps/v9", "/apis/apps/v9/deployments"] {
        let why = client.get(path).await.refused(404, "NotFound");
        assert_eq!(why, "the server could not find the requested resource", "{path}");
    }
    assert_eq!(client.get("/apis/none/v1").await.body, "404 page not found\n");
}
