//! Admission by the plugin ResourceQuota, and the status of quotas.

use serde_json::{Value, json};

use crate::{
    case::{Case, core, since},
    check::{Failure, Outcome},
    client::ApiResponse,
    context::{Context, pause},
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    let invalid = invalid().into_iter().flat_map(|(id, rule, spec, field, why)| {
        core(&format!("quota/{id}-422"), rule, move |cx| is_invalid(cx, spec.clone(), field, why))
    });
    let others = [
        core("quota/pods", "pods are counted, more are refused with 403, and a deleted pod is given back", pods),
        core("quota/requests-and-limits", "requests and limits are added; what is exceeded is named", amounts),
        since(24, core("quota/unspecified-403", "a pod that does not specify what is limited: 403, with its containers", unspecified)),
        core("quota/init-containers", "the largest init container counts if it is larger than the containers", init_containers),
        core("quota/objects", "objects are counted by plain names and by count/", objects),
        core("quota/group", "objects of a group are counted by count/resource.group", of_group),
        core("quota/services", "node ports and load balancers are counted, also in an update", services),
        core("quota/storage", "storage and claims are counted, also by class", storage),
        core("quota/best-effort", "the scopes BestEffort and NotBestEffort", best_effort),
        core("quota/terminating", "the scopes Terminating and NotTerminating", terminating),
        core("quota/priority-class", "the scope of priority classes", priority_class),
        core("quota/changed", "a changed quota is counted again", changed),
    ];
    invalid.chain(others.into_iter().flatten()).collect()
}

// One row per line.
#[rustfmt::skip]
fn invalid() -> Vec<(&'static str, &'static str, Value, &'static str, &'static str)> {
    let selector = |expression: Value| json!({"hard": {"pods": "1"}, "scopeSelector": {"matchExpressions": [expression]}});
    vec![
        ("unknown-resource", "a resource that is none", json!({"hard": {"bogus": "1"}}), "spec.hard[bogus]", "must be a standard resource for quota"),
        ("negative", "a negative amount", json!({"hard": {"pods": "-1"}}), "spec.hard[pods]", "Invalid value: \"-1\": must be greater than or equal to 0"),
        ("fraction", "a fraction of an object", json!({"hard": {"pods": "1500m"}}), "spec.hard[pods]", "must be an integer"),
        ("unknown-scope", "a scope that is none", json!({"hard": {"pods": "1"}, "scopes": ["Foo"]}), "spec.scopes", "unsupported scope"),
        ("conflicting-scopes", "scopes that exclude each other", json!({"hard": {"pods": "1"}, "scopes": ["BestEffort", "NotBestEffort"]}), "spec.scopes", "conflicting scopes"),
        ("scope-of-other-resource", "a scope that does not fit the resource", json!({"hard": {"cpu": "1"}, "scopes": ["BestEffort"]}), "spec.scopes", "unsupported scope applied to resource"),
        ("selector-without-values", "a selector of classes without classes", selector(json!({"scopeName": "PriorityClass", "operator": "In"})), "spec.scopeSelector.matchExpressions.values", "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"),
        ("selector-operator", "an operator that is none", selector(json!({"scopeName": "PriorityClass", "operator": "Foo"})), "spec.scopeSelector.matchExpressions.operator", "not a valid selector operator"),
    ]
}

fn path(cx: &Context, plural: &str) -> String {
    format!("/api/v1/namespaces/{}/{plural}", cx.ns)
}

/// Creates a quota and waits until it is in force.
async fn quota(cx: &Context, name: &str, spec: Value) -> Result<ApiResponse, Failure> {
    let quotas = path(cx, "resourcequotas");
    cx.create_at(&quotas, &json!({"metadata": {"name": name}, "spec": spec})).await?;
    let counted = cx
        .wait_for(&format!("{quotas}/{name}"), "a counted quota", |reply| {
            reply.body["status"]["hard"].is_object()
        })
        .await?;
    // Admission learns of the status a little later.
    pause(300).await;
    Ok(counted)
}

async fn used(cx: &Context, name: &str, want: Value) -> Outcome {
    let wanted = format!("used: {want}");
    cx.wait_for(&format!("{}/{name}", path(cx, "resourcequotas")), &wanted, |reply| {
        reply.body["status"]["used"] == want
    })
    .await?;
    Ok(())
}

fn pod(name: &str, more: Value) -> Value {
    let mut pod = json!({"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    for (field, value) in more.as_object().into_iter().flatten() {
        match field.as_str() {
            "resources" => pod["spec"]["containers"][0]["resources"] = value.clone(),
            _ => pod["spec"][field] = value.clone(),
        }
    }
    pod
}

async fn refused(cx: &Context, plural: &str, object: &Value, why: &str) -> Outcome {
    let reply = cx.post(path(cx, plural), object).await?;
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    reply.fails(403, "Forbidden")?.says(&format!("{plural} {name:?} is forbidden: {why}"))?;
    Ok(())
}

async fn is_invalid(cx: Context, spec: Value, field: &str, why: &str) -> Outcome {
    let reply =
        cx.post(path(&cx, "resourcequotas"), &json!({"metadata": {"name": "q"}, "spec": spec})).await?;
    reply.fails(422, "Invalid")?.mentions(&format!("{field}: "))?.mentions(why)?;
    Ok(())
}

async fn pods(cx: Context) -> Outcome {
    quota(&cx, "q", json!({"hard": {"pods": "1"}}))
        .await?
        .eq("/status", json!({"hard": {"pods": "1"}, "used": {"pods": "0"}}))?;
    let pods = path(&cx, "pods");
    cx.create_at(&pods, &pod("a", json!({}))).await?;
    used(&cx, "q", json!({"pods": "1"})).await?;
    let why = "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1";
    refused(&cx, "pods", &pod("b", json!({})), why).await?;
    let dry = cx.post(format!("{pods}?dryRun=All"), &pod("b", json!({}))).await?;
    dry.fails(403, "Forbidden")?.mentions(why)?;
    cx.delete(format!("{pods}/a?gracePeriodSeconds=0")).await?.is(200)?;
    used(&cx, "q", json!({"pods": "0"})).await
}

async fn amounts(cx: Context) -> Outcome {
    quota(&cx, "q", json!({"hard": {"requests.cpu": "1", "limits.memory": "1Gi", "cpu": "2"}})).await?;
    let of = |cpu: &str, memory: &str| json!({"resources": {"requests": {"cpu": cpu}, "limits": {"memory": memory}}});
    cx.create_at(path(&cx, "pods"), &pod("a", of("600m", "100Mi"))).await?;
    used(&cx, "q", json!({"cpu": "600m", "limits.memory": "100Mi", "requests.cpu": "600m"})).await?;
    let why = "exceeded quota: q, requested: limits.memory=1000Mi,requests.cpu=600m, used: limits.memory=100Mi,requests.cpu=600m, \
        limited: limits.memory=1Gi,requests.cpu=1";
    refused(&cx, "pods", &pod("b", of("600m", "1000Mi")), why).await
}

async fn unspecified(cx: Context) -> Outcome {
    quota(&cx, "q", json!({"hard": {"requests.cpu": "1", "limits.memory": "1Gi", "cpu": "2"}})).await?;
    let missing = "cpu for: c; limits.memory for: c; requests.cpu for: c";
    refused(&cx, "pods", &pod("a", json!({})), &format!("failed quota: q: must specify {missing}")).await
}

async fn init_containers(cx: Context) -> Outcome {
    quota(&cx, "q", json!({"hard": {"requests.cpu": "1"}})).await?;
    let request = |cpu: &str| json!({"requests": {"cpu": cpu}});
    let mut wanted = pod("a", json!({"resources": request("1m")}));
    wanted["spec"]["initContainers"] = json!([{"name": "z", "image": "i", "resources": request("100m")}]);
    cx.create_at(path(&cx, "pods"), &wanted).await?;
    used(&cx, "q", json!({"requests.cpu": "100m"})).await
}

async fn objects(cx: Context) -> Outcome {
    quota(
        &cx,
        "q",
        json!({"hard": {"secrets": "9", "count/endpoints": "1", "resourcequotas": "5", "a.b/c": "1"}}),
    )
    .await?;
    let endpoints = |name: &str| json!({"metadata": {"name": name}});
    cx.create_at(path(&cx, "endpoints"), &endpoints("a")).await?;
    let why = "exceeded quota: q, requested: count/endpoints=1, used: count/endpoints=1, limited: count/endpoints=1";
    refused(&cx, "endpoints", &endpoints("b"), why).await?;
    let quota = cx
        .wait_for(&format!("{}/q", path(&cx, "resourcequotas")), "an endpoint", |reply| {
            reply.body["status"]["used"]["count/endpoints"] == "1"
        })
        .await?;
    quota.eq("/status/used/resourcequotas", "1")?.absent("/status/used/a.b~1c")?;
    Ok(())
}

async fn of_group(cx: Context) -> Outcome {
    quota(&cx, "q", json!({"hard": {"count/jobs.batch": "0"}})).await?;
    let spec = json!({"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}});
    let reply = cx
        .post(
            format!("/apis/batch/v1/namespaces/{}/jobs", cx.ns),
            &json!({"metadata": {"name": "j"}, "spec": spec}),
        )
        .await?;
    reply.fails(403, "Forbidden")?.says(
        "jobs.batch \"j\" is forbidden: exceeded quota: q, requested: count/jobs.batch=1, used: count/jobs.batch=0, limited: \
         count/jobs.batch=0",
    )?;
    Ok(())
}

async fn services(cx: Context) -> Outcome {
    quota(
        &cx,
        "q",
        json!({"hard": {"services": "1", "services.nodeports": "1", "services.loadbalancers": "0"}}),
    )
    .await?;
    let services = path(&cx, "services");
    cx.create_at(
        &services,
        &json!({"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": [{"port": 1}]}}),
    )
    .await?;
    used(&cx, "q", json!({"services": "1", "services.nodeports": "1", "services.loadbalancers": "0"}))
        .await?;
    let second = json!({"metadata": {"name": "t"}, "spec": {"ports": [{"port": 1}]}});
    refused(
        &cx,
        "services",
        &second,
        "exceeded quota: q, requested: services=1, used: services=1, limited: services=1",
    )
    .await?;
    let two = json!({"spec": {"ports": [{"port": 1, "name": "a"}, {"port": 2, "name": "b"}]}});
    let reply = cx.merge(format!("{services}/s"), &two).await?;
    reply.fails(403, "Forbidden")?.mentions("exceeded quota: q, requested: services.nodeports=1, used: services.nodeports=1, limited: services.nodeports=1")?;
    let reply = cx.merge(format!("{services}/s"), &json!({"spec": {"type": "LoadBalancer"}})).await?;
    reply.fails(403, "Forbidden")?.mentions("requested: services.loadbalancers=1, used: services.loadbalancers=0, limited: services.loadbalancers=0")?;
    let inner = json!({"spec": {"type": "ClusterIP", "ports": [{"port": 1, "nodePort": null}]}});
    cx.merge(format!("{services}/s"), &inner).await?.is(200)?;
    used(&cx, "q", json!({"services": "1", "services.nodeports": "0", "services.loadbalancers": "0"})).await
}

async fn storage(cx: Context) -> Outcome {
    let of_class = |name: &str| format!("gold.storageclass.storage.k8s.io/{name}");
    let hard = json!({"requests.storage": "5Gi", of_class("requests.storage"): "2Gi", of_class("persistentvolumeclaims"): "1"});
    quota(&cx, "q", json!({"hard": hard})).await?;
    let claim = |name: &str, size: &str, class: &str| json!({"metadata": {"name": name}, "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": class, "resources": {"requests": {"storage": size}}}});
    cx.create_at(path(&cx, "persistentvolumeclaims"), &claim("a", "1Gi", "gold")).await?;
    used(&cx, "q", json!({"requests.storage": "1Gi", of_class("requests.storage"): "1Gi", of_class("persistentvolumeclaims"): "1"})).await?;
    let why = format!(
        "exceeded quota: q, requested: {0}=1, used: {0}=1, limited: {0}=1",
        of_class("persistentvolumeclaims")
    );
    refused(&cx, "persistentvolumeclaims", &claim("b", "1Gi", "gold"), &why).await?;
    let why = "exceeded quota: q, requested: requests.storage=9Gi, used: requests.storage=1Gi, limited: requests.storage=5Gi";
    refused(&cx, "persistentvolumeclaims", &claim("b", "9Gi", "tin"), why).await
}

async fn best_effort(cx: Context) -> Outcome {
    quota(&cx, "best", json!({"hard": {"pods": "1"}, "scopes": ["BestEffort"]})).await?;
    quota(&cx, "rest", json!({"hard": {"pods": "1"}, "scopes": ["NotBestEffort"]})).await?;
    let limited = || json!({"resources": {"requests": {"cpu": "1m"}}});
    cx.create_at(path(&cx, "pods"), &pod("a", json!({}))).await?;
    cx.create_at(path(&cx, "pods"), &pod("b", limited())).await?;
    for (more, quota) in [(json!({}), "best"), (limited(), "rest")] {
        used(&cx, quota, json!({"pods": "1"})).await?;
        let why = format!("exceeded quota: {quota}, requested: pods=1, used: pods=1, limited: pods=1");
        refused(&cx, "pods", &pod("c", more), &why).await?;
    }
    Ok(())
}

async fn terminating(cx: Context) -> Outcome {
    quota(&cx, "ends", json!({"hard": {"pods": "0"}, "scopes": ["Terminating"]})).await?;
    quota(&cx, "runs", json!({"hard": {"pods": "9"}, "scopes": ["NotTerminating"]})).await?;
    let why = "exceeded quota: ends, requested: pods=1, used: pods=0, limited: pods=0";
    refused(&cx, "pods", &pod("a", json!({"activeDeadlineSeconds": 5000})), why).await?;
    cx.create_at(path(&cx, "pods"), &pod("a", json!({}))).await?;
    used(&cx, "runs", json!({"pods": "1"})).await
}

async fn priority_class(cx: Context) -> Outcome {
    let expression =
        json!({"scopeName": "PriorityClass", "operator": "In", "values": ["system-cluster-critical"]});
    quota(&cx, "q", json!({"hard": {"pods": "0"}, "scopeSelector": {"matchExpressions": [expression]}}))
        .await?;
    let why = "exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0";
    refused(&cx, "pods", &pod("a", json!({"priorityClassName": "system-cluster-critical"})), why).await?;
    cx.create_at(path(&cx, "pods"), &pod("a", json!({}))).await?;
    Ok(())
}

async fn changed(cx: Context) -> Outcome {
    cx.create_at(path(&cx, "endpoints"), &json!({"metadata": {"name": "e"}})).await?;
    quota(&cx, "q", json!({"hard": {"pods": "3"}})).await?;
    let change = json!({"spec": {"hard": {"pods": null, "count/endpoints": "4"}}});
    cx.merge(format!("{}/q", path(&cx, "resourcequotas")), &change).await?.is(200)?;
    used(&cx, "q", json!({"count/endpoints": "1"})).await
}
