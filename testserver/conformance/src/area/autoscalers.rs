//! HorizontalPodAutoscalers: two versions, the first of which keeps fields it lacks in annotations.

use serde_json::{Value, json};

use crate::{
    case::{Case, core, since},
    check::{Failure, Outcome, at, equal},
    client::ApiResponse,
    context::Context,
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        core("autoscalers/old-as-new", "a v1 autoscaler's percentage is a metric of the newer version; it is one object", old_as_new),
        core("autoscalers/new-as-old", "of the newer version's metrics v1 has the percentage of cpu", new_as_old),
        core("autoscalers/metrics-annotation", "other metrics are in an annotation of v1", metrics),
        since(37, core("autoscalers/behavior-annotation", "behavior is in an annotation of v1", behavior)),
        core("autoscalers/annotations-as-new", "annotations of v1 are fields in the newer version", annotations),
        core("autoscalers/unreadable-annotations", "annotations of v1 that cannot be read are dropped", unreadable),
        core("autoscalers/annotations-of-new", "the newer version has none of these annotations; those in a request are dropped", annotations_of_new),
        core("autoscalers/default-metric", "without metrics the target is 80% of cpu, in both versions", default_metric),
        core("autoscalers/default-behavior", "missing fields of behavior are defaulted if behavior is set", default_behavior),
        core("autoscalers/patch-by-old", "a patch by v1 changes its own members and keeps the others", patch_by_old),
        core("autoscalers/annotations-removed", "removing the annotations of v1 removes the fields that they represent", removed),
        core("autoscalers/status-annotations", "v1 holds the metrics of its status in annotations, which only the status subresource changes", status),
        core("autoscalers/watch", "a watch of v1 sees what is created in the newer version, as v1", watch),
        core("autoscalers/list", "lists of both versions have what was created in either", list),
        core("autoscalers/delete", "what is deleted in one version is gone in the other", delete),
        core("autoscalers/exists-409", "a name that exists in one version: 409 AlreadyExists in the other", exists),
    ]
    .concat()
}

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";

/// The newer version was beta for a long time.
fn newer(cx: &Context) -> &'static str {
    cx.api_by_version("v2beta2", 23, "v2")
}

fn path(cx: &Context, version: &str) -> String {
    format!("/apis/autoscaling/{version}/namespaces/{}/horizontalpodautoscalers", cx.ns)
}

fn old(cx: &Context) -> String {
    path(cx, "v1")
}

fn new(cx: &Context) -> String {
    path(cx, newer(cx))
}

fn scaler(name: &str, more: Value) -> Value {
    let mut spec = json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}, "maxReplicas": 5});
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    json!({"metadata": {"name": name}, "spec": spec})
}

fn annotated(mut object: Value, annotations: Value) -> Value {
    object["metadata"]["annotations"] = annotations;
    object
}

fn cpu(percent: u8) -> Value {
    let target = json!({"type": "Utilization", "averageUtilization": percent});
    json!({"type": "Resource", "resource": {"name": "cpu", "target": target}})
}

fn annotation<'r>(reply: &'r ApiResponse, name: &str) -> &'r str {
    reply.body["metadata"]["annotations"][name].as_str().unwrap_or_default()
}

async fn both(cx: &Context, name: &str) -> Result<(ApiResponse, ApiResponse), Failure> {
    let replies =
        (cx.get(format!("{}/{name}", old(cx))).await?, cx.get(format!("{}/{name}", new(cx))).await?);
    replies.0.is(200)?.eq("/apiVersion", "autoscaling/v1")?.eq("/kind", "HorizontalPodAutoscaler")?;
    let version = format!("autoscaling/{}", newer(cx));
    replies.1.is(200)?.eq("/apiVersion", version)?.eq("/kind", "HorizontalPodAutoscaler")?;
    Ok(replies)
}

async fn old_as_new(cx: Context) -> Outcome {
    let made = cx.create_at(old(&cx), &scaler("a", json!({"targetCPUUtilizationPercentage": 50}))).await?;
    let (old, new) = both(&cx, "a").await?;
    old.eq("/spec/targetCPUUtilizationPercentage", 50)?.eq("/spec/minReplicas", 1)?;
    new.eq("/spec/metrics", json!([cpu(50)]))?.eq("/spec/maxReplicas", 5)?;
    new.eq("/metadata/uid", made.str("/metadata/uid")?)?.absent("/spec/targetCPUUtilizationPercentage")?;
    Ok(())
}

async fn new_as_old(cx: Context) -> Outcome {
    let made = cx.create_at(new(&cx), &scaler("a", json!({"minReplicas": 2, "metrics": [cpu(60)]}))).await?;
    let (old, _) = both(&cx, "a").await?;
    old.eq("/spec/targetCPUUtilizationPercentage", 60)?
        .eq("/spec/minReplicas", 2)?
        .absent("/spec/metrics")?;
    old.eq("/metadata/uid", made.str("/metadata/uid")?)?;
    equal(METRICS, "", annotation(&old, METRICS))
}

async fn metrics(cx: Context) -> Outcome {
    let object = json!({"describedObject": {"kind": "Service", "name": "s", "apiVersion": "v1"}, "metric": {"name": "hits"},
        "target": {"type": "Value", "value": "10"}});
    let pods = json!({"metric": {"name": "rps", "selector": {"matchLabels": {"b": "c", "a": "b"}}},
        "target": {"type": "AverageValue", "averageValue": "1k"}});
    let memory = json!({"name": "memory", "target": {"type": "Utilization", "averageUtilization": 60}});
    let external = json!({"metric": {"name": "q"}, "target": {"type": "AverageValue", "averageValue": "30"}});
    let all = json!([{"type": "Resource", "resource": memory}, {"type": "Pods", "pods": pods},
        {"type": "Object", "object": object}, {"type": "External", "external": external}, cpu(70)]);
    cx.create_at(new(&cx), &annotated(scaler("a", json!({"metrics": all})), json!({"x": "y"}))).await?;
    let (old, new) = both(&cx, "a").await?;
    equal(
        METRICS,
        r#"[{"type":"Resource","resource":{"name":"memory","targetAverageUtilization":60}},{"type":"Pods","pods":{"metricName":"rps","targetAverageValue":"1k","selector":{"matchLabels":{"a":"b","b":"c"}}}},{"type":"Object","object":{"target":{"kind":"Service","name":"s","apiVersion":"v1"},"metricName":"hits","targetValue":"10"}},{"type":"External","external":{"metricName":"q","targetAverageValue":"30"}}]"#,
        annotation(&old, METRICS),
    )?;
    old.eq("/spec/targetCPUUtilizationPercentage", 70)?.eq("/metadata/annotations/x", "y")?;
    new.eq("/spec/metrics", all)?.eq("/metadata/annotations", json!({"x": "y"}))?;
    Ok(())
}

async fn behavior(cx: Context) -> Outcome {
    let up = json!({"stabilizationWindowSeconds": 3, "selectPolicy": "Min", "policies": [{"type": "Pods", "value": 1, "periodSeconds": 3}]});
    let down =
        json!({"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 50, "periodSeconds": 9}]});
    let given = json!({"scaleUp": up, "scaleDown": down});
    cx.create_at(new(&cx), &scaler("a", json!({"behavior": given}))).await?;
    let (old, new) = both(&cx, "a").await?;
    equal(
        BEHAVIOR,
        r#"{"ScaleUp":{"StabilizationWindowSeconds":3,"SelectPolicy":"Min","Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":3}],"Tolerance":null},"ScaleDown":{"StabilizationWindowSeconds":null,"SelectPolicy":"Max","Policies":[{"Type":"Percent","Value":50,"PeriodSeconds":9}],"Tolerance":null}}"#,
        annotation(&old, BEHAVIOR),
    )?;
    old.absent("/spec/behavior")?;
    new.eq("/spec/behavior", given)?;
    Ok(())
}

async fn annotations(cx: Context) -> Outcome {
    let metrics = r#"[{"pods":{"targetAverageValue":"1k","metricName":"rps"},"type":"Pods"}]"#;
    let behavior =
        r#"{"ScaleDown":{"SelectPolicy":"Min","Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":3}]}}"#;
    let given = json!({METRICS: metrics, BEHAVIOR: behavior, "x": "y"});
    cx.create_at(old(&cx), &annotated(scaler("a", json!({})), given)).await?;
    let (old, new) = both(&cx, "a").await?;
    let canonical = r#"[{"type":"Pods","pods":{"metricName":"rps","targetAverageValue":"1k"}}]"#;
    equal(METRICS, canonical, annotation(&old, METRICS))?;
    old.absent("/spec/targetCPUUtilizationPercentage")?;
    let pods = json!({"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": "1k"}});
    new.eq("/spec/metrics", json!([{"type": "Pods", "pods": pods}]))?;
    new.eq("/spec/behavior/scaleDown/selectPolicy", "Min")?.eq("/metadata/annotations", json!({"x": "y"}))?;
    new.eq("/spec/behavior/scaleDown/policies", json!([{"type": "Pods", "value": 1, "periodSeconds": 3}]))?;
    Ok(())
}

async fn unreadable(cx: Context) -> Outcome {
    let given = json!({METRICS: "nope", BEHAVIOR: "[]", CURRENT_METRICS: "1"});
    let made = cx.create_at(old(&cx), &annotated(scaler("a", json!({})), given)).await?;
    made.absent("/metadata/annotations")?.eq("/spec/targetCPUUtilizationPercentage", 80)?;
    both(&cx, "a").await?.1.eq("/spec/metrics", json!([cpu(80)]))?.absent("/spec/behavior")?;
    Ok(())
}

async fn annotations_of_new(cx: Context) -> Outcome {
    let given = json!({METRICS: "[]", BEHAVIOR: "x", "x": "y"});
    let made = cx.create_at(new(&cx), &annotated(scaler("a", json!({})), given)).await?;
    made.eq("/metadata/annotations", json!({"x": "y"}))?.eq("/spec/metrics", json!([cpu(80)]))?;
    Ok(())
}

async fn default_metric(cx: Context) -> Outcome {
    cx.create_at(old(&cx), &scaler("a", json!({}))).await?;
    cx.create_at(new(&cx), &scaler("b", json!({}))).await?;
    for name in ["a", "b"] {
        let (old, new) = both(&cx, name).await?;
        old.eq("/spec/targetCPUUtilizationPercentage", 80)?;
        new.eq("/spec/metrics", json!([cpu(80)]))?;
    }
    Ok(())
}

async fn default_behavior(cx: Context) -> Outcome {
    let doubled = json!({"type": "Percent", "value": 100, "periodSeconds": 15});
    let four = json!({"type": "Pods", "value": 4, "periodSeconds": 15});
    let made = cx.create_at(new(&cx), &scaler("a", json!({"behavior": {}}))).await?;
    let up = json!({"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [four, doubled]});
    let down = json!({"selectPolicy": "Max", "policies": [doubled]});
    made.eq("/spec/behavior", json!({"scaleUp": up, "scaleDown": down}))?;
    let given = json!({"behavior": {"scaleDown": {"selectPolicy": "Min", "stabilizationWindowSeconds": 7}}});
    let made = cx.create_at(new(&cx), &scaler("b", given)).await?;
    let down = json!({"stabilizationWindowSeconds": 7, "selectPolicy": "Min", "policies": [doubled]});
    made.eq("/spec/behavior", json!({"scaleUp": up, "scaleDown": down}))?;
    cx.create_at(new(&cx), &scaler("c", json!({}))).await?.absent("/spec/behavior")?;
    Ok(())
}

async fn patch_by_old(cx: Context) -> Outcome {
    let given = json!({"metrics": [cpu(60)], "behavior": {"scaleDown": {"stabilizationWindowSeconds": 7}}});
    cx.create_at(new(&cx), &scaler("a", given)).await?;
    let one = format!("{}/a", old(&cx));
    let change = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"targetCPUUtilizationPercentage": 44}});
    cx.merge(&one, &change).await?.is(200)?.eq("/spec/targetCPUUtilizationPercentage", 44)?;
    let (_, new) = both(&cx, "a").await?;
    new.eq("/spec/metrics", json!([cpu(44)]))?.eq("/metadata/labels/a", "b")?;
    new.eq("/spec/behavior/scaleDown/stabilizationWindowSeconds", 7)?;
    Ok(())
}

async fn removed(cx: Context) -> Outcome {
    cx.create_at(new(&cx), &scaler("a", json!({"metrics": [cpu(60)], "behavior": {}}))).await?;
    let one = format!("{}/a", old(&cx));
    cx.merge(&one, &json!({"metadata": {"annotations": null}})).await?.is(200)?;
    both(&cx, "a").await?.1.absent("/spec/behavior")?.eq("/spec/metrics", json!([cpu(60)]))?;
    let without = cx.merge(&one, &json!({"spec": {"targetCPUUtilizationPercentage": null}})).await?;
    without.is(200)?.eq("/spec/targetCPUUtilizationPercentage", 80)?;
    Ok(())
}

/// Checked on one response: the cluster's own controller also writes this status.
async fn status(cx: Context) -> Outcome {
    cx.create_at(old(&cx), &scaler("a", json!({}))).await?;
    let found = r#"[{"pods":{"currentAverageValue":"1","metricName":"m"},"type":"Pods"}]"#;
    let given = json!({"metadata": {"annotations": {CURRENT_METRICS: found}}});
    let main = cx.merge(format!("{}/a", old(&cx)), &given).await?;
    main.is(200)?;
    equal(CURRENT_METRICS, "", annotation(&main, CURRENT_METRICS))?;
    let written = cx.merge(format!("{}/a/status", old(&cx)), &given).await?;
    written.is(200)?;
    let canonical = r#"[{"type":"Pods","pods":{"metricName":"m","currentAverageValue":"1"}}]"#;
    equal(CURRENT_METRICS, canonical, annotation(&written, CURRENT_METRICS))?;
    let current = json!({"averageUtilization": 33, "averageValue": "100m"});
    let metrics = json!([{"type": "Resource", "resource": {"name": "cpu", "current": current}}]);
    let status = json!({"status": {"currentReplicas": 2, "desiredReplicas": 3, "currentMetrics": metrics}});
    let written = cx.merge(format!("{}/a/status", new(&cx)), &status).await?;
    written.is(200)?.eq("/status/currentMetrics", metrics)?.absent("/metadata/annotations")?;
    Ok(())
}

async fn watch(cx: Context) -> Outcome {
    let from = cx.get(old(&cx)).await?.revision()?;
    let mut watch = cx.watch(format!("{}?watch=1&resourceVersion={from}", old(&cx))).await?;
    cx.create_at(new(&cx), &scaler("a", json!({"metrics": [cpu(60)]}))).await?;
    let event = watch.expect("ADDED", "a").await?;
    at(&event, "/apiVersion", "autoscaling/v1")?;
    at(&event, "/spec/targetCPUUtilizationPercentage", 60)
}

async fn list(cx: Context) -> Outcome {
    cx.create_at(new(&cx), &scaler("a", json!({"metrics": [cpu(60)]}))).await?;
    cx.create_at(old(&cx), &scaler("b", json!({"targetCPUUtilizationPercentage": 50}))).await?;
    let list = cx.get(old(&cx)).await?;
    list.lists(&["a", "b"])?
        .eq("/kind", "HorizontalPodAutoscalerList")?
        .eq("/apiVersion", "autoscaling/v1")?;
    list.eq("/items/0/spec/targetCPUUtilizationPercentage", 60)?;
    let list = cx.get(new(&cx)).await?;
    list.lists(&["a", "b"])?.eq("/items/1/spec/metrics", json!([cpu(50)]))?;
    Ok(())
}

async fn delete(cx: Context) -> Outcome {
    cx.create_at(new(&cx), &scaler("a", json!({}))).await?;
    cx.delete(format!("{}/a", old(&cx))).await?.is(200)?;
    cx.get(format!("{}/a", new(&cx))).await?.fails(404, "NotFound")?;
    Ok(())
}

async fn exists(cx: Context) -> Outcome {
    cx.create_at(old(&cx), &scaler("a", json!({}))).await?;
    cx.post(new(&cx), &scaler("a", json!({}))).await?.fails(409, "AlreadyExists")?;
    Ok(())
}
