//! Admission by the plugin LimitRanger: defaults, limits, and LimitRanges that contradict themselves.

use serde_json::{Value, json};

use crate::{
    case::{Case, core},
    check::{Outcome, equal},
    context::Context,
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    let refused = refused().into_iter().flat_map(|(id, rule, item, pod, why)| {
        core(&format!("limitrange/{id}-403"), rule, move |cx| refuses(cx, item.clone(), pod.clone(), why.clone()))
    });
    let invalid = invalid().into_iter().flat_map(|(id, rule, item, field, why)| {
        core(&format!("limitrange/{id}-422"), rule, move |cx| is_invalid(cx, item.clone(), field, why))
    });
    let others = [
        core("limitrange/defaults", "containers and init containers get the requests and limits that they leave out", defaults),
        core("limitrange/defaults-of-range", "defaults that a LimitRange leaves out are its largest, else its smallest amounts", defaults_of_range),
        core("limitrange/claims-403", "claims that are too small or too large: 403", claims),
        core("limitrange/old-pods", "pods that were there before are not checked again", old_pods),
    ];
    refused.chain(invalid).chain(others.into_iter().flatten()).collect()
}

fn container(name: &str, resources: Value) -> Value {
    json!({"name": name, "image": "i", "resources": resources})
}

fn pod(containers: Value, init: Value) -> Value {
    json!({"metadata": {"name": "a"}, "spec": {"containers": containers, "initContainers": init}})
}

fn one(resources: Value) -> Value {
    pod(json!([container("c", resources)]), json!([]))
}

// One row per line.
#[rustfmt::skip]
fn refused() -> Vec<(&'static str, &'static str, Value, Value, Vec<&'static str>)> {
    let of_containers = || json!({"type": "Container", "min": {"cpu": "100m", "memory": "10Mi"}, "max": {"cpu": "1", "memory": "100Mi"}, "maxLimitRequestRatio": {"cpu": "2"}});
    let of_pods = || json!({"type": "Pod", "min": {"cpu": "200m"}, "max": {"cpu": "1", "memory": "1Gi"}, "maxLimitRequestRatio": {"cpu": "3"}});
    let ratio = || json!({"type": "Container", "maxLimitRequestRatio": {"memory": "1500m"}});
    let limited = |cpu: &str| json!({"limits": {"cpu": cpu, "memory": "1Mi"}});
    vec![
        ("container-maximum", "limits of a container that are too large", of_containers(), one(json!({"limits": {"cpu": "2", "memory": "1Gi"}})),
            vec!["maximum cpu usage per Container is 1, but limit is 2", "maximum memory usage per Container is 100Mi, but limit is 1Gi"]),
        ("container-minimum", "requests of a container that are too small", of_containers(), one(json!({"requests": {"cpu": "50m", "memory": "1Mi"}, "limits": {"cpu": "1", "memory": "20Mi"}})),
            vec!["minimum cpu usage per Container is 100m, but request is 50m", "minimum memory usage per Container is 10Mi, but request is 1Mi", "cpu max limit to request ratio per Container is 2, but provided ratio is 20.000000"]),
        ("container-ratio", "a limit that is too many times the request", of_containers(), one(json!({"requests": {"cpu": "200m"}, "limits": {"cpu": "1"}})), vec!["cpu max limit to request ratio per Container is 2, but provided ratio is 5.000000"]),
        ("init-container-maximum", "a limit of an init container that is too large", of_containers(), pod(json!([container("c", json!({}))]), json!([container("z", json!({"limits": {"cpu": "3"}}))])), vec!["maximum cpu usage per Container is 1, but limit is 3"]),
        ("ratio-without-request", "a ratio without a request", ratio(), one(json!({})), vec!["memory max limit to request ratio per Container is 1500m, but no request is specified or request is 0"]),
        ("ratio-without-limit", "a ratio without a limit", ratio(), one(json!({"requests": {"memory": "100Mi"}})), vec!["memory max limit to request ratio per Container is 1500m, but no limit is specified or limit is 0"]),
        ("pod-unspecified", "a pod without the amounts that are limited", of_pods(), one(json!({})),
            vec!["minimum cpu usage per Pod is 200m.  No request is specified", "maximum cpu usage per Pod is 1.  No limit is specified", "maximum memory usage per Pod is 1Gi.  No limit is specified", "cpu max limit to request ratio per Pod is 3, but no request is specified or request is 0"]),
        ("pod-sum", "containers that are too large together", of_pods(), pod(json!([container("a", limited("600m")), container("b", limited("600m"))]), json!([])), vec!["maximum cpu usage per Pod is 1, but limit is 1200m"]),
        ("pod-minimum", "a pod that is too small", of_pods(), one(limited("100m")), vec!["minimum cpu usage per Pod is 200m, but request is 100m"]),
        ("pod-init-container", "an init container that is larger than the pod may be", of_pods(), pod(json!([container("a", limited("600m"))]), json!([container("z", limited("2"))])), vec!["maximum cpu usage per Pod is 1, but limit is 2"]),
    ]
}

// One row per line.
#[rustfmt::skip]
fn invalid() -> Vec<(&'static str, &'static str, Value, &'static str, &'static str)> {
    vec![
        ("unknown-type", "a type that is none", json!({"type": "Foo", "max": {"cpu": "1"}}), "spec.limits[0].type", "must be a standard limit type or fully qualified"),
        ("empty-claim-limit", "a limit of claims without amounts", json!({"type": "PersistentVolumeClaim"}), "spec.limits[0].limits", "either minimum or maximum storage value is required, but neither was provided"),
        ("pod-default", "defaults of pods", json!({"type": "Pod", "default": {"cpu": "1"}}), "spec.limits[0].default", "may not be specified when `type` is 'Pod'"),
        ("minimum-above-maximum", "a minimum above the maximum", json!({"type": "Pod", "min": {"cpu": "2"}, "max": {"cpu": "1"}}), "spec.limits[0].min[cpu]", "min value 2 is greater than max value 1"),
        ("request-above-limit", "a default request above the default limit", json!({"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "2"}}), "spec.limits[0].defaultRequest[cpu]", "default request value 2 is greater than default limit value 1"),
        ("default-above-maximum", "a default above the maximum", json!({"type": "Container", "default": {"cpu": "2"}, "max": {"cpu": "1"}}), "spec.limits[0].default[cpu]", "default value 2 is greater than max value 1"),
        ("small-ratio", "a ratio below 1", json!({"type": "Container", "maxLimitRequestRatio": {"cpu": "500m"}}), "spec.limits[0].maxLimitRequestRatio[cpu]", "ratio 500m is less than 1"),
        ("impossible-ratio", "a ratio that maximum and minimum exclude", json!({"type": "Container", "min": {"cpu": "1"}, "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "4"}}), "spec.limits[0].maxLimitRequestRatio[cpu]", "ratio 4 is greater than max/min = 2.000000"),
        ("unknown-resource", "a resource that is none", json!({"type": "Container", "max": {"bogus": "1"}}), "spec.limits[0].max[bogus]", "must be a standard resource for containers"),
    ]
}

fn path(cx: &Context, plural: &str) -> String {
    format!("/api/v1/namespaces/{}/{plural}", cx.ns)
}

async fn limit(cx: &Context, item: Value) -> Outcome {
    cx.create_at(path(cx, "limitranges"), &json!({"metadata": {"name": "r"}, "spec": {"limits": [item]}}))
        .await?;
    Ok(())
}

/// The order of the problems is not defined.
async fn refuses(cx: Context, item: Value, pod: Value, problems: Vec<&str>) -> Outcome {
    limit(&cx, item).await?;
    let pods = format!("{}?dryRun=All", path(&cx, "pods"));
    let reply = cx.eventually("403", || cx.post(&pods, &pod), |reply| reply.code != 201).await?;
    let refused = reply.fails(403, "Forbidden")?.mentions("pods \"a\" is forbidden: ")?;
    for problem in &problems {
        refused.mentions(problem)?;
    }
    let count = refused.str("/message")?.matches(" per ").count();
    equal("number of problems", problems.len(), count)?;
    Ok(())
}

async fn is_invalid(cx: Context, item: Value, field: &str, why: &str) -> Outcome {
    let reply = cx
        .post(path(&cx, "limitranges"), &json!({"metadata": {"name": "r"}, "spec": {"limits": [item]}}))
        .await?;
    reply.fails(422, "Invalid")?.mentions(&format!("{field}: "))?.mentions(why)?;
    Ok(())
}

async fn defaults(cx: Context) -> Outcome {
    limit(&cx, json!({"type": "Container", "default": {"cpu": "500m", "memory": "64Mi"}, "defaultRequest": {"cpu": "100m"}})).await?;
    let containers = json!([
        container("a", json!({})),
        container("b", json!({"requests": {"cpu": "1m"}, "limits": {"cpu": "2"}}))
    ]);
    let wanted = pod(containers, json!([container("z", json!({}))]));
    let pods = format!("{}?dryRun=All", path(&cx, "pods"));
    let annotation = "/metadata/annotations/kubernetes.io~1limit-ranger";
    let made = cx
        .eventually("defaults", || cx.post(&pods, &wanted), |reply| reply.body.pointer(annotation).is_some())
        .await?;
    let complete =
        json!({"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"cpu": "500m", "memory": "64Mi"}});
    made.is(201)?
        .eq("/spec/containers/0/resources", complete.clone())?
        .eq("/spec/containers/1/resources", json!({"requests": {"cpu": "1m", "memory": "64Mi"}, "limits": {"cpu": "2", "memory": "64Mi"}}))?
        .eq("/spec/initContainers/0/resources", complete)?
        .eq(
            annotation,
            "LimitRanger plugin set: cpu, memory request for container a; cpu, memory limit for container a; memory request for \
             container b; memory limit for container b; cpu, memory request for init container z; cpu, memory limit for init \
             container z",
        )?;
    Ok(())
}

async fn defaults_of_range(cx: Context) -> Outcome {
    let limits = json!([{"type": "Container", "max": {"cpu": "1"}, "min": {"memory": "1Mi"}}]);
    let made = cx
        .create_at(path(&cx, "limitranges"), &json!({"metadata": {"name": "r"}, "spec": {"limits": limits}}))
        .await?;
    made.eq("/spec/limits/0/default", json!({"cpu": "1"}))?
        .eq("/spec/limits/0/defaultRequest", json!({"cpu": "1", "memory": "1Mi"}))?;
    Ok(())
}

async fn claims(cx: Context) -> Outcome {
    limit(
        &cx,
        json!({"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "5Gi"}}),
    )
    .await?;
    let claims = format!("{}?dryRun=All", path(&cx, "persistentvolumeclaims"));
    for (size, why) in [
        ("500Mi", "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 500Mi"),
        ("6Gi", "maximum storage usage per PersistentVolumeClaim is 5Gi, but request is 6Gi"),
    ] {
        let claim = json!({"metadata": {"name": "a"}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "none", "resources": {"requests": {"storage": size}}}});
        let reply = cx.eventually("403", || cx.post(&claims, &claim), |reply| reply.code != 201).await?;
        reply.fails(403, "Forbidden")?.says(&format!("persistentvolumeclaims \"a\" is forbidden: {why}"))?;
    }
    Ok(())
}

async fn old_pods(cx: Context) -> Outcome {
    let pods = path(&cx, "pods");
    cx.create_at(&pods, &one(json!({"limits": {"cpu": "4"}}))).await?;
    limit(&cx, json!({"type": "Container", "max": {"cpu": "1"}})).await?;
    cx.merge(format!("{pods}/a"), &json!({"metadata": {"labels": {"a": "b"}}})).await?.is(200)?;
    Ok(())
}
