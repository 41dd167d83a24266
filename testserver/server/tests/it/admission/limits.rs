//! LimitRanges. The expected messages are those of a genuine server.

use kube_testserver::{AdmissionPlugin, ApiServer};
use serde_json::{Value, json};

use crate::client::{JSON, TestClient};

const PODS: &str = "/api/v1/namespaces/default/pods";
const RANGES: &str = "/api/v1/namespaces/default/limitranges";
const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";

fn container(name: &str, resources: Value) -> Value {
    json!({"name": name, "image": "i", "resources": resources})
}

fn pod(containers: Value, init: Value) -> Value {
    json!({"metadata": {"name": "p"}, "spec": {"containers": containers, "initContainers": init}})
}

fn one(resources: Value) -> Value {
    pod(json!([container("c", resources)]), json!([]))
}

async fn with(limits: Value) -> TestClient {
    let client = TestClient::new();
    client.post(RANGES, json!({"metadata": {"name": "r"}, "spec": {"limits": limits}})).await.ok();
    client
}

#[tokio::test]
async fn containers_get_the_defaults_of_their_namespace() {
    let client = with(json!([{"type": "Container", "default": {"cpu": "500m", "memory": "64Mi"},
        "defaultRequest": {"cpu": "100m"}}]))
    .await;
    let range = client.get(&format!("{RANGES}/r")).await.ok();
    assert_eq!(range["spec"]["limits"][0]["defaultRequest"], json!({"cpu": "100m", "memory": "64Mi"}));
    let containers = json!([
        container("a", json!({})),
        container("b", json!({"requests": {"cpu": "1m"}, "limits": {"cpu": "2"}}))
    ]);
    let pod = client.post(PODS, pod(containers, json!([container("z", json!({}))]))).await.ok();
    let complete =
        json!({"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "500m", "memory": "64Mi"}});
    assert_eq!(pod["spec"]["containers"][0]["resources"], complete);
    assert_eq!(pod["spec"]["initContainers"][0]["resources"], complete);
    assert_eq!(
        pod["spec"]["containers"][1]["resources"],
        json!({"requests": {"cpu": "1m", "memory": "64Mi"}, "limits": {"cpu": "2", "memory": "64Mi"}})
    );
    assert_eq!(
        pod["metadata"]["annotations"]["kubernetes.io/limit-ranger"],
        "LimitRanger plugin set: cpu, memory request for container a; cpu, memory limit for container a; memory request \
         for container b; memory limit for container b; cpu, memory request for init container z; cpu, memory limit for \
         init container z"
    );
    assert_eq!(pod["status"]["qosClass"], "Burstable", "defaults count");
}

#[tokio::test]
async fn limits_of_containers_default_to_the_largest_and_requests_to_the_smallest() {
    for (item, complete) in [
        (json!({"max": {"cpu": "1"}}), json!({"requests": {"cpu": "1"}, "limits": {"cpu": "1"}})),
        (json!({"min": {"cpu": "100m"}}), json!({"requests": {"cpu": "100m"}})),
    ] {
        let mut item = item;
        item["type"] = "Container".into();
        let client = with(json!([item])).await;
        let pod = client.post(PODS, one(json!({}))).await.ok();
        assert_eq!(pod["spec"]["containers"][0]["resources"], complete);
    }
}

#[tokio::test]
async fn pods_outside_of_the_limits_are_refused() {
    let of_containers = json!([{"type": "Container", "min": {"cpu": "100m", "memory": "10Mi"},
        "max": {"cpu": "1", "memory": "100Mi"}, "maxLimitRequestRatio": {"cpu": "2"}}]);
    let of_pods = json!([{"type": "Pod", "min": {"cpu": "200m"}, "max": {"cpu": "1", "memory": "1Gi"},
        "maxLimitRequestRatio": {"cpu": "3"}}]);
    let ratio = json!([{"type": "Container", "maxLimitRequestRatio": {"memory": "1.5"}}]);
    let limited = |cpu: &str| json!({"limits": {"cpu": cpu, "memory": "1Mi"}});
    for (limits, pod, why) in [
        (
            &of_containers,
            one(json!({"limits": {"cpu": "2", "memory": "1Gi"}})),
            "[maximum cpu usage per Container is 1, but limit is 2, maximum memory usage per Container is 100Mi, but limit is 1Gi]",
        ),
        (
            &of_containers,
            one(
                json!({"requests": {"cpu": "50m", "memory": "1Mi"}, "limits": {"cpu": "1", "memory": "20Mi"}}),
            ),
            "[minimum cpu usage per Container is 100m, but request is 50m, minimum memory usage per Container is 10Mi, \
             but request is 1Mi, cpu max limit to request ratio per Container is 2, but provided ratio is 20.000000]",
        ),
        (
            &of_containers,
            pod(json!([container("c", json!({}))]), json!([container("z", json!({"limits": {"cpu": "3"}}))])),
            "maximum cpu usage per Container is 1, but limit is 3",
        ),
        (
            &ratio,
            one(json!({})),
            "memory max limit to request ratio per Container is 1500m, but no request is specified or request is 0",
        ),
        (
            &ratio,
            one(json!({"requests": {"memory": "100Mi"}})),
            "memory max limit to request ratio per Container is 1500m, but no limit is specified or limit is 0",
        ),
        (
            &of_pods,
            one(json!({})),
            "[minimum cpu usage per Pod is 200m.  No request is specified, maximum cpu usage per Pod is 1.  No limit is \
             specified, maximum memory usage per Pod is 1Gi.  No limit is specified, cpu max limit to request ratio per Pod \
             is 3, but no request is specified or request is 0]",
        ),
        (
            &of_pods,
            pod(json!([container("a", limited("600m")), container("b", limited("600m"))]), json!([])),
            "maximum cpu usage per Pod is 1, but limit is 1200m",
        ),
        (
            &of_pods,
            pod(json!([container("a", limited("600m"))]), json!([container("z", limited("2"))])),
            "maximum cpu usage per Pod is 1, but limit is 2",
        ),
    ] {
        let refused = with(limits.clone()).await.post(PODS, pod).await.refused(403, "Forbidden");
        assert_eq!(refused, format!("pods \"p\" is forbidden: {why}"));
    }
}

#[tokio::test]
async fn two_containers_with_one_problem_are_one_problem() {
    let client = with(json!([{"type": "Container", "max": {"cpu": "1"}}])).await;
    let large = json!({"limits": {"cpu": "2"}});
    let refused = client
        .post(PODS, pod(json!([container("a", large.clone()), container("b", large)]), json!([])))
        .await;
    let why = refused.refused(403, "Forbidden");
    assert_eq!(why, "pods \"p\" is forbidden: maximum cpu usage per Container is 1, but limit is 2");
}

#[tokio::test]
async fn claims_outside_of_the_limits_are_refused() {
    let client = with(
        json!([{"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "5Gi"}}]),
    )
    .await;
    let claim = |size: &str| json!({"metadata": {"name": "c"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}});
    for (size, why) in [
        ("500Mi", "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi"),
        ("6Gi", "maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 6Gi"),
    ] {
        let refused = client.post(CLAIMS, claim(size)).await.refused(403, "Forbidden");
        assert_eq!(refused, format!("persistentvolumeclaims \"c\" is forbidden: {why}"));
    }
    client.post(CLAIMS, claim("5Gi")).await.ok();
}

#[tokio::test]
async fn existing_pods_and_subresources_are_not_checked_again() {
    let client = TestClient::new();
    client.post(PODS, one(json!({"limits": {"cpu": "4"}}))).await.ok();
    client.post(RANGES, json!({"metadata": {"name": "r"}, "spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}}]}})).await.ok();
    let label = r#"[{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]"#;
    client.send("PATCH", &format!("{PODS}/p"), &[("content-type", JSON)], label).await.ok();
    client
        .send(
            "PATCH",
            &format!("{PODS}/p/status"),
            &[("content-type", JSON)],
            r#"[{"op": "add", "path": "/status/phase", "value": "Running"}]"#,
        )
        .await
        .ok();
}

#[tokio::test]
async fn contradicting_limits_are_refused() {
    for (item, field, message) in [
        (
            json!({"type": "Foo"}),
            "spec.limits[0].type",
            "Invalid value: \"Foo\": must be a standard limit type or fully qualified",
        ),
        (
            json!({"type": "PersistentVolumeClaim"}),
            "spec.limits[0].limits",
            "Required value: either minimum or maximum storage value is required, but neither was provided",
        ),
        (
            json!({"type": "Pod", "default": {"cpu": "1"}}),
            "spec.limits[0].default",
            "Forbidden: may not be specified when `type` is 'Pod'",
        ),
        (
            json!({"type": "Pod", "min": {"cpu": "2"}, "max": {"cpu": "1"}}),
            "spec.limits[0].min[cpu]",
            "Invalid value: \"2\": min value 2 is greater than max value 1",
        ),
        (
            json!({"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "2"}}),
            "spec.limits[0].defaultRequest[cpu]",
            "Invalid value: \"2\": default request value 2 is greater than default limit value 1",
        ),
        (
            json!({"type": "Container", "maxLimitRequestRatio": {"cpu": "500m"}}),
            "spec.limits[0].maxLimitRequestRatio[cpu]",
            "Invalid value: \"500m\": ratio 500m is less than 1",
        ),
        (
            json!({"type": "Pod", "min": {"cpu": "1"}, "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "4"}}),
            "spec.limits[0].maxLimitRequestRatio[cpu]",
            "Invalid value: \"4\": ratio 4 is greater than max/min = 2.000000",
        ),
        (
            json!({"type": "Pod", "max": {"bogus": "2"}}),
            "spec.limits[0].max[bogus]",
            "Invalid value: \"bogus\": must be a standard resource type or fully qualified",
        ),
    ] {
        let range = json!({"metadata": {"name": "r"}, "spec": {"limits": [item]}});
        let refused = TestClient::new().post(RANGES, range).await;
        let cause = &refused.body["details"]["causes"][0];
        assert_eq!((&cause["field"], &cause["message"]), (&json!(field), &json!(message)));
        refused.refused(422, "Invalid");
    }
}

#[tokio::test]
async fn without_the_plugin_limit_ranges_are_only_stored() {
    let api = ApiServer::builder().disable_admission_plugin(AdmissionPlugin::LimitRanger).service().unwrap();
    let client = TestClient { api };
    client.post(RANGES, json!({"metadata": {"name": "r"}, "spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}}]}})).await.ok();
    let pod = client.post(PODS, one(json!({"limits": {"cpu": "2"}}))).await.ok();
    assert!(pod["metadata"]["annotations"].is_null());
}
