//! Field selectors of built-in kinds: fields with a default, and fields whose value is elsewhere.

use serde_json::{Value, json};

use crate::{
    case::{Case, core, since},
    check::Outcome,
    context::Context,
    kinds::{POD, SECRET},
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        core("fields/job-successful", "status.successful of a Job counts its succeeded pods, and is 0 without any", job),
        since(37, core("fields/job-other-400", "another field of a Job: 400", job_other)),
        core("fields/node-unschedulable", "spec.unschedulable of a Node is false when it is absent", node),
        core("fields/controller-replicas", "status.replicas of a ReplicationController is 0 when it is absent", controller),
        core("fields/pod-phase", "status.phase of a Pod, and its negation", pod_phase),
        core("fields/pod-scheduler", "spec.schedulerName and spec.restartPolicy of a Pod have defaults", pod_defaults),
        since(28, core("fields/pod-host-network", "spec.hostNetwork of a Pod is false when it is absent (since 1.28)", pod_network)),
        core("fields/namespace-phase", "status.phase of a Namespace", namespace),
        core("fields/secret-type", "type of a Secret is Opaque when it is absent", secret),
        core("fields/event-source", "source of an Event is the component of its source, else its reporting component", event_source),
    ]
    .concat()
}

/// Checks which of the two objects `a` and `b` a selector takes.
async fn takes(cx: &Context, all: &str, selector: &str, names: &[&str]) -> Outcome {
    let reply = cx.get(format!("{all}?fieldSelector={selector}")).await?;
    reply.is(200)?.lists(names)?;
    Ok(())
}

async fn job(cx: Context) -> Outcome {
    let all = format!("/apis/batch/v1/namespaces/{}/jobs", cx.ns);
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
    for name in ["a", "b"] {
        let object = json!({"metadata": {"name": name}, "spec": {"parallelism": 0, "completions": 9, "suspend": true, "template": template}});
        cx.create_at(&all, &object).await?;
    }
    takes(&cx, &all, "status.successful=0", &["a", "b"]).await?;
    takes(&cx, &all, "status.successful=1", &[]).await?;
    takes(&cx, &all, "status.successful=", &[]).await?;
    takes(&cx, &all, "status.successful!=1", &["a", "b"]).await
}

async fn job_other(cx: Context) -> Outcome {
    let reply =
        cx.get(format!("/apis/batch/v1/namespaces/{}/jobs?fieldSelector=status.active=0", cx.ns)).await?;
    reply.fails(400, "BadRequest")?.says("field label \"status.active\" not supported for Job")?;
    Ok(())
}

async fn node(cx: Context) -> Outcome {
    let (open, shut) = (format!("{}-a", cx.ns), format!("{}-b", cx.ns));
    cx.create_at("/api/v1/nodes", &json!({"metadata": {"name": open}})).await?;
    cx.create_at("/api/v1/nodes", &json!({"metadata": {"name": shut}, "spec": {"unschedulable": true}}))
        .await?;
    for (selector, name, names) in [
        ("spec.unschedulable=false", &open, vec![&*open]),
        ("spec.unschedulable=true", &open, vec![]),
        ("spec.unschedulable=true", &shut, vec![&*shut]),
        ("spec.unschedulable!=true", &open, vec![&*open]),
        ("spec.unschedulable=", &open, vec![]),
    ] {
        takes(&cx, "/api/v1/nodes", &format!("{selector},metadata.name={name}"), &names).await?;
    }
    cx.delete(format!("/api/v1/nodes/{open}")).await?.is(200)?;
    cx.delete(format!("/api/v1/nodes/{shut}")).await?.is(200)?;
    Ok(())
}

async fn controller(cx: Context) -> Outcome {
    let all = format!("/api/v1/namespaces/{}/replicationcontrollers", cx.ns);
    let template =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let object = json!({"metadata": {"name": "a"}, "spec": {"replicas": 0, "selector": {"a": "b"}, "template": template}});
    cx.create_at(&all, &object).await?;
    takes(&cx, &all, "status.replicas=0", &["a"]).await?;
    takes(&cx, &all, "status.replicas=1", &[]).await?;
    takes(&cx, &all, "status.replicas=", &[]).await
}

async fn pods(cx: &Context) -> Outcome {
    for (name, more) in [("a", json!({})), ("b", json!({"restartPolicy": "Never", "schedulerName": "mine"}))]
    {
        let mut spec = json!({"nodeSelector": {"no": "node"}, "containers": [{"name": "c", "image": "i"}]});
        for (field, value) in more.as_object().into_iter().flatten() {
            spec[field] = value.clone();
        }
        cx.create_at(cx.all_of(&POD), &cx.object_of(&POD, name, json!({"spec": spec}))).await?;
    }
    Ok(())
}

async fn pod_phase(cx: Context) -> Outcome {
    pods(&cx).await?;
    let all = cx.all_of(&POD);
    cx.merge(format!("{all}/b/status"), &json!({"status": {"phase": "Running"}})).await?.is(200)?;
    takes(&cx, &all, "status.phase=Running", &["b"]).await?;
    takes(&cx, &all, "status.phase!=Running", &["a"]).await?;
    takes(&cx, &all, "status.phase=Pending,spec.nodeName=", &["a"]).await
}

async fn pod_defaults(cx: Context) -> Outcome {
    pods(&cx).await?;
    let all = cx.all_of(&POD);
    takes(&cx, &all, "spec.schedulerName=default-scheduler", &["a"]).await?;
    takes(&cx, &all, "spec.restartPolicy=Always", &["a"]).await?;
    takes(&cx, &all, "spec.restartPolicy!=Always", &["b"]).await
}

async fn pod_network(cx: Context) -> Outcome {
    pods(&cx).await?;
    takes(&cx, &cx.all_of(&POD), "spec.hostNetwork=false", &["a", "b"]).await?;
    takes(&cx, &cx.all_of(&POD), "spec.hostNetwork=true", &[]).await
}

async fn namespace(cx: Context) -> Outcome {
    let this = format!("metadata.name={}", cx.ns);
    takes(&cx, "/api/v1/namespaces", &format!("status.phase=Active,{this}"), &[&cx.ns]).await?;
    takes(&cx, "/api/v1/namespaces", &format!("status.phase!=Active,{this}"), &[]).await
}

async fn secret(cx: Context) -> Outcome {
    let all = cx.all_of(&SECRET);
    cx.create_at(&all, &cx.object_of(&SECRET, "a", json!({}))).await?;
    cx.create_at(&all, &cx.object_of(&SECRET, "b", json!({"type": "x/y"}))).await?;
    takes(&cx, &all, "type=Opaque", &["a"]).await?;
    takes(&cx, &all, "type=x/y", &["b"]).await
}

async fn event_source(cx: Context) -> Outcome {
    let all = format!("/api/v1/namespaces/{}/events", cx.ns);
    let event = |name: &str, fields: Value| {
        let mut event = json!({"metadata": {"name": name}, "reason": "R",
            "involvedObject": {"kind": "Pod", "namespace": cx.ns, "name": "p"}});
        for (field, value) in fields.as_object().into_iter().flatten() {
            event[field] = value.clone();
        }
        event
    };
    cx.create_at(&all, &event("a", json!({"source": {"component": "one"}, "reportingComponent": "two"})))
        .await?;
    cx.create_at(&all, &event("b", json!({"reportingComponent": "two"}))).await?;
    takes(&cx, &all, "source=one", &["a"]).await?;
    takes(&cx, &all, "source=two", &["b"]).await?;
    takes(&cx, &all, "reportingComponent=two", &["a", "b"]).await?;
    takes(&cx, &all, "source=", &[]).await
}
