//! What writes of scale and status accept, for a custom resource and a Deployment.

use serde_json::{Value, json};

use crate::{
    case::{Case, core, custom, since},
    check::{Failure, Outcome, equal, holds},
    client::ApiResponse,
    context::{Context, JSON_PATCH, STRATEGIC},
    kinds::{DEPLOYMENT, POD, WIDGET},
    subject::Subject,
};

/// A rule of scale, for both subjects.
fn both<F, R>(id: &str, rule: &str, run: F) -> Vec<Case>
where
    F: Fn(Context) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Outcome> + Send + 'static,
{
    let mut cases = custom(&format!("scale/{id}@custom"), rule, run.clone());
    cases.extend(core(&format!("scale/{id}@builtin"), rule, run));
    cases
}

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        both("stale-409", "PUT and patch of scale with a stale resourceVersion: 409", stale),
        both("without-version", "PUT of scale needs no resourceVersion", without_version),
        custom("scale/version-zero-422", "PUT of scale with resourceVersion 0 of a custom resource: 422", version_zero),
        both("version-garbage-500", "a resourceVersion that is no number: 500", version_garbage),
        both("other-name-400", "a Scale of another name: 400, for PUT and patches", other_name),
        both("without-name-400", "a Scale without a name: 400, for PUT and patches", without_name),
        both("other-namespace-400", "a Scale of another namespace: 400", other_namespace),
        both("other-uid-409", "a Scale of another uid: 409", other_uid),
        both("other-kind-400", "PUT of another kind or version: 400", other_kind),
        both("other-kind-patched-422", "a patch of the kind: 422", other_kind_patched),
        both("without-kind", "a Scale may leave out its kind", without_kind),
        both("negative-422", "negative replicas: 422, for PUT and patches", negative),
        both("not-a-number", "replicas that are no 32-bit integer: 400 for PUT, 422 for a patch", not_a_number),
        both("nothing-is-zero", "no replicas are zero replicas, and are left out", nothing),
        both("json-patch", "a JSON patch of scale", json_patch),
        custom("scale/strategic-415", "a strategic merge patch of a custom resource's scale: 415", strategic_custom),
        core("scale/strategic", "a strategic merge patch of a Deployment's scale", strategic),
        core("scale/apply", "an apply of a Deployment's scale sets replicas", applied),
        since(22, core("scale/apply-conflict", "an apply of replicas that another manager owns: 409, unless forced; the owner is recorded with the subresource (since 1.22)", apply_conflict)),
        core("scale/apply-other-kind-400", "an apply of another kind: 400", apply_other_kind),
        since(22, custom("scale/apply-custom", "an apply of a custom resource's scale: 409 if another manager owns other replicas (since 1.22)", apply_custom)),
        custom("scale/status-without-version-422", "PUT of a custom resource's status without resourceVersion, or with 0: 422", status_without_version),
        core("scale/status-without-version", "PUT of a Deployment's status needs no resourceVersion", status_unconditional),
        custom("scale/status-patch-version-422", "a patch of a custom resource's status that removes the resourceVersion: 422", status_patch_version),
        both("status-other-name-400", "a status of another name: 400", status_other_name),
        both("status-without-metadata-400", "a patch of status that removes metadata: 400", status_without_metadata),
        custom("scale/status-metadata-ignored", "labels, annotations, finalizers and owners in a status write of a custom resource are ignored", status_metadata_ignored),
        core("scale/status-metadata-pod", "a status write of a Pod changes its metadata except owners", status_metadata_pod),
        core("scale/status-metadata-deployment", "a status write of a Deployment changes its metadata except labels", status_metadata_deployment),
        core("scale/status-metadata-service", "a status write of a Service changes its metadata", status_metadata_service),
    ]
    .concat()
}

/// The object that is scaled.
fn one(cx: &Context) -> String {
    match cx.subject {
        Subject::Custom => cx.one("a"),
        Subject::Builtin => cx.one_of(&DEPLOYMENT, "a"),
    }
}

fn scale(cx: &Context) -> String {
    format!("{}/scale", one(cx))
}

fn status(cx: &Context) -> String {
    format!("{}/status", one(cx))
}

/// Creates the object with two replicas, which no controller changes.
async fn scaled(cx: &Context) -> Result<ApiResponse, Failure> {
    match cx.subject {
        Subject::Custom => cx.create_at(cx.all(), &cx.with_spec("a", json!({"replicas": 2}))).await,
        Subject::Builtin => {
            let mut object = super::subresource::deployment(cx);
            object["spec"]["replicas"] = json!(2);
            object["spec"]["paused"] = json!(true);
            cx.create_at(cx.all_of(&DEPLOYMENT), &object).await
        }
    }
}

fn body(cx: &Context, metadata: Value, replicas: Value) -> Value {
    let mut body = json!({"apiVersion": "autoscaling/v1", "kind": "Scale",
        "metadata": {"name": "a", "namespace": cx.ns}, "spec": {"replicas": replicas}});
    for (key, value) in metadata.as_object().into_iter().flatten() {
        body["metadata"][key] = value.clone();
    }
    body
}

async fn stale(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let stale = body(&cx, json!({"resourceVersion": "1"}), json!(3));
    cx.put(scale(&cx), &stale).await?.fails(409, "Conflict")?.mentions("the object has been modified")?;
    let patch = json!({"metadata": {"resourceVersion": "1"}, "spec": {"replicas": 3}});
    cx.merge(scale(&cx), &patch).await?.fails(409, "Conflict")?;
    cx.get(one(&cx)).await?.eq("/spec/replicas", 2)?;
    Ok(())
}

async fn without_version(cx: Context) -> Outcome {
    scaled(&cx).await?;
    cx.put(scale(&cx), &body(&cx, json!({}), json!(3))).await?.is(200)?.eq("/spec/replicas", 3)?;
    cx.get(one(&cx)).await?.eq("/spec/replicas", 3)?;
    Ok(())
}

async fn version_zero(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let reply = cx.put(scale(&cx), &body(&cx, json!({"resourceVersion": "0"}), json!(3))).await?;
    reply.fails(422, "Invalid")?.cause("FieldValueInvalid", "metadata.resourceVersion")?;
    Ok(())
}

async fn version_garbage(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let reply = cx.put(scale(&cx), &body(&cx, json!({"resourceVersion": "zz"}), json!(3))).await?;
    reply.is(500)?.says("strconv.ParseUint: parsing \"zz\": invalid syntax")?;
    Ok(())
}

async fn other_name(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let message = "the name of the object (b) does not match the name on the URL (a)";
    let put = cx.put(scale(&cx), &body(&cx, json!({"name": "b"}), json!(3))).await?;
    put.fails(400, "BadRequest")?.says(message)?;
    let patch = cx.merge(scale(&cx), &json!({"metadata": {"name": "b"}})).await?;
    patch.fails(400, "BadRequest")?.says(message)?;
    Ok(())
}

async fn without_name(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let message = "the name of the object (a based on URL) was undeterminable: name must be provided";
    let mut body = body(&cx, json!({}), json!(3));
    body["metadata"] = json!({});
    cx.put(scale(&cx), &body).await?.fails(400, "BadRequest")?.says(message)?;
    let patch = json!({"metadata": null, "spec": {"replicas": 3}});
    cx.merge(scale(&cx), &patch).await?.fails(400, "BadRequest")?.says(message)?;
    cx.get(one(&cx)).await?.eq("/spec/replicas", 2)?;
    Ok(())
}

async fn other_namespace(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let reply = cx.put(scale(&cx), &body(&cx, json!({"namespace": "elsewhere"}), json!(3))).await?;
    reply.fails(400, "BadRequest")?.mentions("does not match the namespace")?;
    Ok(())
}

async fn other_uid(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let reply = cx.put(scale(&cx), &body(&cx, json!({"uid": "other"}), json!(3))).await?;
    reply.fails(409, "Conflict")?.mentions("Precondition failed: UID in precondition: other")?;
    Ok(())
}

async fn other_kind(cx: Context) -> Outcome {
    scaled(&cx).await?;
    for (version, kind) in
        [("autoscaling/v1", "Deployment"), ("apps/v1", "Deployment"), ("autoscaling/v9", "Scale")]
    {
        let mut body = body(&cx, json!({}), json!(3));
        body["apiVersion"] = json!(version);
        body["kind"] = json!(kind);
        cx.put(scale(&cx), &body).await?.fails(400, "BadRequest")?;
    }
    cx.get(one(&cx)).await?.eq("/spec/replicas", 2)?;
    Ok(())
}

async fn other_kind_patched(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let reply = cx.merge(scale(&cx), &json!({"kind": "Pod"})).await?;
    reply.fails(422, "Invalid")?.cause("FieldValueInvalid", "patch")?;
    Ok(())
}

async fn without_kind(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let body = json!({"metadata": {"name": "a", "namespace": cx.ns}, "spec": {"replicas": 3}});
    cx.put(scale(&cx), &body).await?.is(200)?.eq("/spec/replicas", 3)?;
    Ok(())
}

async fn negative(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let (kind, field, why) = match cx.subject {
        Subject::Custom => ("Widget", ".spec.replicas", "should be a non-negative integer"),
        Subject::Builtin => ("Scale", "spec.replicas", "must be greater than or equal to 0"),
    };
    let message = format!("Invalid value: -3: {why}");
    let put = cx.put(scale(&cx), &body(&cx, json!({}), json!(-3))).await?;
    let patch = cx.merge(scale(&cx), &json!({"spec": {"replicas": -3}})).await?;
    for reply in [put, patch] {
        reply.fails(422, "Invalid")?.eq("/details/kind", kind)?;
        reply.cause("FieldValueInvalid", field)?.mentions(&message)?;
    }
    Ok(())
}

async fn not_a_number(cx: Context) -> Outcome {
    scaled(&cx).await?;
    for replicas in [json!("3"), json!(2.5), json!(1_i64 << 40), json!({})] {
        cx.put(scale(&cx), &body(&cx, json!({}), replicas.clone())).await?.fails(400, "BadRequest")?;
        let patch = cx.merge(scale(&cx), &json!({"spec": {"replicas": replicas}})).await?;
        patch.fails(422, "Invalid")?.cause("FieldValueInvalid", "patch")?;
    }
    cx.get(one(&cx)).await?.eq("/spec/replicas", 2)?;
    Ok(())
}

async fn nothing(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let reply = cx.put(scale(&cx), &body(&cx, json!({}), Value::Null)).await?;
    reply.is(200)?.eq("/spec", json!({}))?;
    cx.get(one(&cx)).await?.eq("/spec/replicas", 0)?;
    cx.get(scale(&cx)).await?.eq("/spec", json!({}))?;
    Ok(())
}

async fn json_patch(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let patch = json!([{"op": "replace", "path": "/spec/replicas", "value": 4}]);
    cx.patch(scale(&cx), JSON_PATCH, &patch).await?.is(200)?.eq("/spec/replicas", 4)?;
    let patch = json!([{"op": "test", "path": "/spec/replicas", "value": 5}]);
    cx.patch(scale(&cx), JSON_PATCH, &patch).await?.fails(422, "Invalid")?;
    Ok(())
}

async fn strategic_custom(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let reply = cx.patch(scale(&cx), STRATEGIC, &json!({"spec": {"replicas": 4}})).await?;
    reply.fails(415, "UnsupportedMediaType")?;
    Ok(())
}

async fn strategic(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let reply = cx.patch(scale(&cx), STRATEGIC, &json!({"spec": {"replicas": 4}})).await?;
    reply.is(200)?.eq("/kind", "Scale")?.eq("/spec/replicas", 4)?;
    Ok(())
}

fn config(replicas: u32) -> Value {
    json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": replicas}})
}

async fn applied(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let reply = cx.apply(format!("{}?force=true", scale(&cx)), "m", &config(3)).await?;
    reply.is(200)?.eq("/kind", "Scale")?.eq("/spec/replicas", 3)?;
    cx.get(one(&cx)).await?.eq("/spec/replicas", 3)?.eq("/spec/paused", true)?;
    let mut negative = config(0);
    negative["spec"]["replicas"] = json!(-1);
    cx.apply(format!("{}?force=true", scale(&cx)), "m", &negative).await?.fails(422, "Invalid")?;
    Ok(())
}

async fn apply_conflict(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let reply = cx.apply(scale(&cx), "m", &config(3)).await?;
    reply.fails(409, "Conflict")?.cause("FieldManagerConflict", ".spec.replicas")?;
    cx.apply(format!("{}?force=true", scale(&cx)), "m", &config(3)).await?.is(200)?;
    let object = cx.get(one(&cx)).await?.body;
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let mine = entries.iter().find(|entry| entry["manager"] == "m").cloned().unwrap_or_default();
    equal("its subresource", json!("scale"), mine["subresource"].clone())?;
    equal("its fields", json!({"f:spec": {"f:replicas": {}}}), mine["fieldsV1"].clone())
}

async fn apply_other_kind(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let mut other = config(3);
    other["apiVersion"] = json!("apps/v1");
    other["kind"] = json!("Deployment");
    cx.apply(scale(&cx), "m", &other).await?.fails(400, "BadRequest")?;
    Ok(())
}

async fn apply_custom(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let reply = cx.apply(scale(&cx), "m", &config(3)).await?;
    reply.fails(409, "Conflict")?.cause("FieldManagerConflict", ".spec.replicas")?;
    cx.apply(scale(&cx), "m", &config(2)).await?.is(200)?.eq("/spec/replicas", 2)?;
    let forced = cx.apply(format!("{}?force=true", scale(&cx)), "m", &config(3)).await?;
    forced.is(500)?.mentions("request to convert CR to an invalid group/version: autoscaling/v1")?;
    Ok(())
}

async fn status_without_version(cx: Context) -> Outcome {
    let mut object = scaled(&cx).await?.body;
    object["status"] = json!({"phase": "x"});
    for version in [Value::Null, json!("0")] {
        object["metadata"]["resourceVersion"] = version;
        let reply = cx.put(status(&cx), &object).await?;
        reply.fails(422, "Invalid")?.cause("FieldValueInvalid", "metadata.resourceVersion")?;
    }
    Ok(())
}

async fn status_unconditional(cx: Context) -> Outcome {
    let mut object = scaled(&cx).await?.body;
    object["status"] = json!({"collisionCount": 4});
    object["metadata"]["resourceVersion"] = Value::Null;
    cx.put(status(&cx), &object).await?.is(200)?.eq("/status/collisionCount", 4)?;
    Ok(())
}

async fn status_patch_version(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let reply = cx.merge(status(&cx), &json!({"metadata": {"resourceVersion": null}})).await?;
    reply.fails(422, "Invalid")?.cause("FieldValueInvalid", "metadata.resourceVersion")?;
    Ok(())
}

async fn status_other_name(cx: Context) -> Outcome {
    let mut object = scaled(&cx).await?.body;
    object["metadata"]["name"] = json!("b");
    cx.put(status(&cx), &object).await?.fails(400, "BadRequest")?;
    Ok(())
}

async fn status_without_metadata(cx: Context) -> Outcome {
    scaled(&cx).await?;
    cx.merge(status(&cx), &json!({"metadata": null})).await?.fails(400, "BadRequest")?;
    Ok(())
}

/// Writes metadata through status, by patch; returns which of it was kept.
async fn metadata_through_status(cx: &Context, one: &str) -> Result<Vec<&'static str>, Failure> {
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "y"});
    let patch = json!({"metadata": {"labels": {"l": "1"}, "annotations": {"n": "1"},
        "finalizers": ["conformance.example/f"], "ownerReferences": [owner]}});
    let reply = cx.merge(format!("{one}/status"), &patch).await?;
    reply.is(200)?;
    let metadata = reply.body["metadata"].clone();
    // The garbage collector may delete the object at the same time, because its owner does not exist: some kinds answer that with 409.
    let cleared = json!({"metadata": {"finalizers": null, "ownerReferences": null}});
    cx.eventually("200", || cx.merge(one, &cleared), |reply| reply.code == 200).await?;
    let kept = [
        ("labels", metadata["labels"]["l"] == "1"),
        ("annotations", metadata["annotations"]["n"] == "1"),
        ("finalizers", metadata["finalizers"] == json!(["conformance.example/f"])),
        ("ownerReferences", metadata["ownerReferences"].is_array()),
    ];
    Ok(kept.into_iter().filter(|(_, kept)| *kept).map(|(field, _)| field).collect())
}

async fn status_metadata_ignored(cx: Context) -> Outcome {
    cx.create_at(cx.all(), &cx.object_of(&WIDGET, "a", json!({"metadata": {"labels": {"k": "1"}}}))).await?;
    let kept = metadata_through_status(&cx, &cx.one("a")).await?;
    holds(kept.is_empty(), "nothing kept", format!("{kept:?}"))?;
    cx.get(cx.one("a")).await?.eq("/metadata/labels", json!({"k": "1"}))?;
    Ok(())
}

async fn status_metadata_pod(cx: Context) -> Outcome {
    let spec = json!({"spec": {"nodeSelector": {"no": "node"}, "containers": [{"name": "c", "image": "i"}]}});
    cx.create_at(cx.all_of(&POD), &cx.object_of(&POD, "a", spec)).await?;
    let kept = metadata_through_status(&cx, &cx.one_of(&POD, "a")).await?;
    equal("metadata kept", ["labels", "annotations", "finalizers"], kept)
}

async fn status_metadata_deployment(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let kept = metadata_through_status(&cx, &one(&cx)).await?;
    equal("metadata kept", ["annotations", "finalizers", "ownerReferences"], kept)
}

async fn status_metadata_service(cx: Context) -> Outcome {
    let service = crate::kinds::SERVICE;
    let object = cx.object_of(&service, "a", json!({"spec": {"ports": [{"port": 80}]}}));
    cx.create_at(cx.all_of(&service), &object).await?;
    let kept = metadata_through_status(&cx, &cx.one_of(&service, "a")).await?;
    equal("metadata kept", ["labels", "annotations", "finalizers", "ownerReferences"], kept)
}
