//! The status and scale subresources.

use serde_json::json;

use crate::{
    case::{Case, core, custom, since},
    check::{Outcome, equal, holds},
    context::{APPLY, Context, JSON_PATCH},
    kinds::{DEPLOYMENT, GADGET, POD, WIDGET},
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        custom("subresource/status-get", "GET of status returns the whole object", status_get),
        custom("subresource/status-put", "PUT of status changes status only", status_put),
        custom("subresource/status-put-ignores-spec", "PUT of status ignores spec and labels", status_ignores_spec),
        custom("subresource/status-put-stale-409", "PUT of status with a stale resourceVersion: 409", status_stale),
        custom("subresource/status-merge-patch", "a merge patch of status", status_merge),
        custom("subresource/status-json-patch", "a JSON patch of status", status_json),
        since(22, custom("subresource/status-apply", "an apply of status; managedFields name the subresource (since 1.22)", status_apply)),
        custom("subresource/status-keeps-generation", "a change of status does not change generation", status_generation),
        custom("subresource/status-changes-version", "a change of status changes resourceVersion", status_version),
        custom("subresource/status-is-validated", "status is validated by the schema: 422", status_validated),
        since(22, custom("subresource/status-managed-field", "an update of status records subresource in managedFields (since 1.22)", status_managed)),
        custom("subresource/status-absent-404", "no status subresource in the CRD: 404", status_absent),
        custom("subresource/status-missing-object-404", "status of a missing object: 404", status_missing),
        custom("subresource/status-watch", "a change of status is a MODIFIED event of the object", status_watch),
        custom("subresource/status-finalizers-ignored", "status cannot remove finalizers", status_finalizers),
        custom("subresource/without-status-subresource", "without the subresource status is an ordinary field", plain_status),
        custom("subresource/scale-get", "GET of scale returns a Scale of autoscaling/v1", scale_get),
        custom("subresource/scale-put", "PUT of scale sets replicas of the object", scale_put),
        custom("subresource/scale-patch", "a merge patch of scale sets replicas", scale_patch),
        custom("subresource/scale-generation", "scaling adds 1 to generation", scale_generation),
        custom("subresource/scale-negative-422", "negative replicas: 422", scale_negative),
        custom("subresource/scale-stale-409", "PUT of scale with a stale resourceVersion: 409", scale_stale),
        custom("subresource/scale-absent-404", "no scale subresource in the CRD: 404", scale_absent),
        since(37, core("subresource/status-of-pods-422", "a status of a Pod: addresses, class, generation and nominated node are validated (as 1.37 does)", status_of_pods)),
        since(37, core("subresource/status-of-claims-422", "a status of a claim: amounts and resizes are validated (as 1.37 does)", status_of_claims)),
        core("subresource/deployment-scale", "scale of a Deployment", deployment_scale),
        core("subresource/deployment-status", "status of a Deployment is changed by its subresource only", deployment_status),
        core("subresource/pod-status", "a Pod's status is set by its subresource", pod_status),
        core("subresource/pod-binding", "binding a Pod sets its nodeName", pod_binding),
    ]
    .concat()
}

fn status(cx: &Context) -> String {
    format!("{}/status", cx.one("a"))
}

fn scale(cx: &Context) -> String {
    format!("{}/scale", cx.one("a"))
}

async fn status_get(cx: Context) -> Outcome {
    cx.create("a").await?;
    cx.get(status(&cx)).await?.is(200)?.eq("/kind", "Widget")?.eq("/spec/holderIdentity", "first")?;
    Ok(())
}

async fn status_put(cx: Context) -> Outcome {
    let mut object = cx.create("a").await?.body;
    object["status"] = json!({"phase": "Ready"});
    cx.put(status(&cx), &object).await?.is(200)?.eq("/status", json!({"phase": "Ready"}))?;
    cx.get(cx.one("a")).await?.eq("/status/phase", "Ready")?;
    Ok(())
}

async fn status_ignores_spec(cx: Context) -> Outcome {
    let mut object = cx.create("a").await?.body;
    object["status"] = json!({"phase": "Ready"});
    object["spec"]["holderIdentity"] = json!("other");
    object["metadata"]["labels"] = json!({"x": "1"});
    let r = cx.put(status(&cx), &object).await?;
    r.is(200)?
        .eq("/spec/holderIdentity", "first")?
        .absent("/metadata/labels")?
        .eq("/status/phase", "Ready")?;
    Ok(())
}

async fn status_stale(cx: Context) -> Outcome {
    let mut object = cx.create("a").await?.body;
    cx.merge(cx.one("a"), &json!({"spec": {"leaseTransitions": 2}})).await?.is(200)?;
    object["status"] = json!({"phase": "Ready"});
    cx.put(status(&cx), &object).await?.fails(409, "Conflict")?;
    Ok(())
}

async fn status_merge(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r = cx
        .merge(status(&cx), &json!({"status": {"phase": "Ready"}, "spec": {"holderIdentity": "other"}}))
        .await?;
    r.is(200)?.eq("/status/phase", "Ready")?.eq("/spec/holderIdentity", "first")?;
    Ok(())
}

async fn status_json(cx: Context) -> Outcome {
    cx.create("a").await?;
    let patch = json!([{"op": "add", "path": "/status", "value": {"phase": "Ready"}}]);
    cx.patch(status(&cx), JSON_PATCH, &patch).await?.is(200)?.eq("/status/phase", "Ready")?;
    Ok(())
}

async fn status_apply(cx: Context) -> Outcome {
    cx.create("a").await?;
    let body = cx.object_of(&WIDGET, "a", json!({"status": {"phase": "Ready"}}));
    let r = cx.patch(format!("{}?fieldManager=one", status(&cx)), APPLY, &body).await?;
    r.is(200)?.eq("/status/phase", "Ready")?;
    let entries = r.body["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let mine = entries.iter().find(|e| e["manager"] == "one").cloned().unwrap_or_default();
    equal("fields of one", json!({"f:status": {"f:phase": {}}}), mine["fieldsV1"].clone())?;
    equal("subresource of one", json!("status"), mine["subresource"].clone())
}

async fn status_generation(cx: Context) -> Outcome {
    cx.create("a").await?;
    cx.merge(status(&cx), &json!({"status": {"phase": "Ready"}})).await?.eq("/metadata/generation", 1)?;
    Ok(())
}

async fn status_version(cx: Context) -> Outcome {
    let before = cx.create("a").await?.revision()?;
    let r = cx.merge(status(&cx), &json!({"status": {"phase": "Ready"}})).await?;
    holds(r.revision()? != before, "a new resourceVersion", &r.text)?;
    let again = cx.merge(status(&cx), &json!({"status": {"phase": "Ready"}})).await?;
    equal("resourceVersion after the same again", r.revision()?, again.revision()?)
}

async fn status_validated(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r = cx.merge(status(&cx), &json!({"status": {"phase": 5}})).await?;
    r.fails(422, "Invalid")?.mentions("status.phase")?;
    Ok(())
}

async fn status_managed(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r =
        cx.merge(format!("{}?fieldManager=me", status(&cx)), &json!({"status": {"phase": "Ready"}})).await?;
    let entries = r.body["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let mine = entries.iter().find(|e| e["manager"] == "me").cloned().unwrap_or_default();
    equal("subresource of me", json!("status"), mine["subresource"].clone())
}

async fn status_absent(cx: Context) -> Outcome {
    cx.create_at(cx.all_of(&GADGET), &cx.gadget("a", json!({"size": 1}))).await?;
    cx.get(format!("{}/status", cx.one_of(&GADGET, "a"))).await?.is(404)?;
    Ok(())
}

async fn status_missing(cx: Context) -> Outcome {
    cx.get(status(&cx)).await?.fails(404, "NotFound")?;
    cx.merge(status(&cx), &json!({"status": {}})).await?.fails(404, "NotFound")?;
    Ok(())
}

async fn status_watch(cx: Context) -> Outcome {
    let revision = cx.create("a").await?.revision()?;
    let mut watch = cx.watch(format!("{}?watch=1&resourceVersion={revision}", cx.all())).await?;
    cx.merge(status(&cx), &json!({"status": {"phase": "Ready"}})).await?.is(200)?;
    let object = watch.expect("MODIFIED", "a").await?;
    crate::check::at(&object, "/status/phase", "Ready")
}

async fn status_finalizers(cx: Context) -> Outcome {
    let fields = json!({"metadata": {"finalizers": ["conformance.example/f"]}});
    cx.create_at(cx.all(), &cx.object_of(&WIDGET, "a", fields)).await?;
    let r =
        cx.merge(status(&cx), &json!({"metadata": {"finalizers": null}, "status": {"phase": "x"}})).await?;
    r.is(200)?.eq("/metadata/finalizers", json!(["conformance.example/f"]))?;
    Ok(())
}

async fn plain_status(cx: Context) -> Outcome {
    let group = cx.own_group();
    let schema = json!({"type": "object", "properties": {"status": {"type": "object", "properties": {"phase": {"type": "string"}}}}});
    cx.establish(&crate::kinds::plain_crd(&group, "Plain", "plains", schema)).await?;
    let object = json!({"apiVersion": format!("{group}/v1"), "kind": "Plain", "metadata": {"name": "a"}, "status": {"phase": "x"}});
    cx.create_at(cx.own("v1", "plains"), &object).await?.eq("/status/phase", "x")?;
    let r = cx.merge(format!("{}/a", cx.own("v1", "plains")), &json!({"status": {"phase": "y"}})).await?;
    r.is(200)?.eq("/status/phase", "y")?.eq("/metadata/generation", 2)?;
    Ok(())
}

async fn scaled(cx: &Context) -> Result<crate::client::ApiResponse, crate::check::Failure> {
    cx.create_at(cx.all(), &cx.with_spec("a", json!({"replicas": 2}))).await?;
    cx.merge(status(cx), &json!({"status": {"replicas": 1, "selector": "app=x"}})).await
}

async fn scale_get(cx: Context) -> Outcome {
    let object = scaled(&cx).await?;
    let r = cx.get(scale(&cx)).await?;
    r.is(200)?.eq("/kind", "Scale")?.eq("/apiVersion", "autoscaling/v1")?.eq("/metadata/name", "a")?;
    r.eq("/spec/replicas", 2)?.eq("/status/replicas", 1)?.eq("/status/selector", "app=x")?;
    r.eq("/metadata/uid", object.str("/metadata/uid")?)?
        .eq("/metadata/resourceVersion", object.revision()?)?;
    Ok(())
}

async fn scale_put(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let mut body = cx.get(scale(&cx)).await?.body;
    body["spec"]["replicas"] = json!(7);
    cx.put(scale(&cx), &body).await?.is(200)?.eq("/kind", "Scale")?.eq("/spec/replicas", 7)?;
    cx.get(cx.one("a")).await?.eq("/spec/replicas", 7)?;
    Ok(())
}

async fn scale_patch(cx: Context) -> Outcome {
    scaled(&cx).await?;
    cx.merge(scale(&cx), &json!({"spec": {"replicas": 5}}))
        .await?
        .is(200)?
        .eq("/kind", "Scale")?
        .eq("/spec/replicas", 5)?;
    cx.get(cx.one("a")).await?.eq("/spec/replicas", 5)?;
    Ok(())
}

async fn scale_generation(cx: Context) -> Outcome {
    scaled(&cx).await?;
    cx.merge(scale(&cx), &json!({"spec": {"replicas": 5}})).await?.is(200)?;
    cx.get(cx.one("a")).await?.eq("/metadata/generation", 2)?;
    Ok(())
}

async fn scale_negative(cx: Context) -> Outcome {
    scaled(&cx).await?;
    cx.merge(scale(&cx), &json!({"spec": {"replicas": -1}}))
        .await?
        .fails(422, "Invalid")?
        .mentions("spec.replicas")?;
    Ok(())
}

async fn scale_stale(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let mut body = cx.get(scale(&cx)).await?.body;
    cx.merge(cx.one("a"), &json!({"spec": {"leaseTransitions": 2}})).await?.is(200)?;
    body["spec"]["replicas"] = json!(7);
    cx.put(scale(&cx), &body).await?.fails(409, "Conflict")?;
    Ok(())
}

async fn scale_absent(cx: Context) -> Outcome {
    cx.create_at(cx.all_of(&GADGET), &cx.gadget("a", json!({"size": 1}))).await?;
    cx.get(format!("{}/scale", cx.one_of(&GADGET, "a"))).await?.is(404)?;
    Ok(())
}

pub(super) fn deployment(cx: &Context) -> serde_json::Value {
    let template =
        json!({"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"replicas": 0, "selector": {"matchLabels": {"app": "x"}}, "template": template});
    cx.object_of(&DEPLOYMENT, "a", json!({"spec": spec}))
}

async fn status_of_pods(cx: Context) -> Outcome {
    let spec = json!({"spec": {"nodeSelector": {"no": "node"}, "containers": [{"name": "c", "image": "i"}]}});
    cx.create_at(cx.all_of(&POD), &cx.object_of(&POD, "a", spec)).await?;
    for (status, field) in [
        (json!({"podIPs": [{"ip": "x"}]}), "status.podIPs[0]"),
        (json!({"hostIPs": [{"ip": "1.2.3.4"}]}), "status.hostIPs[0].ip"),
        (json!({"qosClass": "Guaranteed"}), "status.qosClass"),
        (json!({"nominatedNodeName": "A B"}), "status.nominatedNodeName"),
        (json!({"observedGeneration": -1}), "status.observedGeneration"),
    ] {
        let reply = cx.merge(format!("{}/status", cx.one_of(&POD, "a")), &json!({"status": status})).await?;
        reply.fails(422, "Invalid")?.cause("FieldValueInvalid", field)?;
    }
    Ok(())
}

async fn status_of_claims(cx: Context) -> Outcome {
    let claims = format!("/api/v1/namespaces/{}/persistentvolumeclaims", cx.ns);
    let spec = json!({"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}});
    cx.create_at(&claims, &json!({"metadata": {"name": "a"}, "spec": spec})).await?;
    for (status, reason, field) in [
        (json!({"capacity": {"storage": "-1"}}), "FieldValueInvalid", "status.capacity[storage]"),
        (
            json!({"allocatedResources": {"storage": "-1"}}),
            "FieldValueInvalid",
            "status.allocatedResources[storage]",
        ),
        (
            json!({"allocatedResourceStatuses": {"storage": "x"}}),
            "FieldValueNotSupported",
            "status.allocatedResourceStatuses",
        ),
    ] {
        let reply = cx.merge(format!("{claims}/a/status"), &json!({"status": status})).await?;
        reply.fails(422, "Invalid")?.cause(reason, field)?;
    }
    Ok(())
}

async fn deployment_scale(cx: Context) -> Outcome {
    cx.create_at(cx.all_of(&DEPLOYMENT), &deployment(&cx)).await?;
    let path = format!("{}/scale", cx.one_of(&DEPLOYMENT, "a"));
    let r = cx.get(&path).await?;
    r.is(200)?.eq("/kind", "Scale")?.eq("/apiVersion", "autoscaling/v1")?.eq("/status/selector", "app=x")?;
    cx.merge(&path, &json!({"spec": {"replicas": 0}})).await?.is(200)?;
    cx.merge(&path, &json!({"spec": {"replicas": -1}})).await?.fails(422, "Invalid")?;
    Ok(())
}

async fn deployment_status(cx: Context) -> Outcome {
    let mut object = deployment(&cx);
    object["spec"]["paused"] = json!(true);
    cx.create_at(cx.all_of(&DEPLOYMENT), &object).await?;
    let path = cx.one_of(&DEPLOYMENT, "a");
    let patch = json!({"status": {"collisionCount": 4}});
    holds(
        cx.merge(&path, &patch).await?.body["status"]["collisionCount"].is_null(),
        "no change",
        "a change",
    )?;
    cx.merge(format!("{path}/status"), &patch).await?.is(200)?.eq("/status/collisionCount", 4)?;
    Ok(())
}

async fn pod(cx: &Context) -> Outcome {
    let spec = json!({"spec": {"containers": [{"name": "c", "image": "i"}]}});
    cx.create_at(cx.all_of(&POD), &cx.object_of(&POD, "a", spec)).await?;
    Ok(())
}

async fn pod_status(cx: Context) -> Outcome {
    pod(&cx).await?;
    let path = cx.one_of(&POD, "a");
    cx.merge(&path, &json!({"status": {"phase": "Running"}}))
        .await?
        .is(200)?
        .eq("/status/phase", "Pending")?;
    cx.merge(format!("{path}/status"), &json!({"status": {"phase": "Running"}}))
        .await?
        .is(200)?
        .eq("/status/phase", "Running")?;
    Ok(())
}

async fn pod_binding(cx: Context) -> Outcome {
    pod(&cx).await?;
    let path = cx.one_of(&POD, "a");
    let body = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n1"}});
    cx.post(format!("{path}/binding"), &body)
        .await?
        .is(201)?
        .eq("/kind", "Status")?
        .eq("/status", "Success")?;
    cx.get(&path).await?.eq("/spec/nodeName", "n1")?;
    cx.post(format!("{path}/binding"), &body).await?.fails(409, "Conflict")?;
    Ok(())
}
