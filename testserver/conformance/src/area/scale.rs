//! What writes of scale and status accept, for a custom resource and a Deployment.

use http::Method;
use serde_json::{Value, json};

use crate::{
    case::{Case, core, custom},
    check::{Failure, Outcome, equal, holds},
    client::ApiResponse,
    context::{Context, JSON_PATCH, MERGE, STRATEGIC},
    kinds::{DEPLOYMENT, POD, WIDGET},
    subject::Subject,
};

/// A rule of scale, for both subjects.
pub(super) fn both<F, R>(id: &str, rule: &str, run: F) -> Vec<Case>
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
        both("unknown-fields", "unknown and duplicate fields of a Scale: warnings, under strict validation 400 for PUT and 422 for a patch", unknown_fields),
        core("scale/strategic-nothing", "a strategic merge patch of scale: null changes nothing, another kind is ignored", strategic_nothing),
        custom("scale/unreadable-422", "values that scale reads are checked at every write of a custom resource", unreadable),
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
pub(super) fn one(cx: &Context) -> String {
    match cx.subject {
        Subject::Custom => cx.one("a"),
        Subject::Builtin => cx.one_of(&DEPLOYMENT, "a"),
    }
}

pub(super) fn scale(cx: &Context) -> String {
    format!("{}/scale", one(cx))
}

fn status(cx: &Context) -> String {
    format!("{}/status", one(cx))
}

/// Creates the object with two replicas, which no controller changes.
pub(super) async fn scaled(cx: &Context) -> Result<ApiResponse, Failure> {
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

/// With an unknown field in each part, and with a duplicate one.
pub(super) fn faulty(cx: &Context) -> (Value, &'static str) {
    let mut unknown = body(cx, json!({"bogus": 1}), json!(2));
    unknown["spec"]["bogus"] = json!(1);
    unknown["bogus"] = json!(1);
    let duplicate = r#"{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a"},"spec":{"replicas":2,"replicas":2}}"#;
    (unknown, duplicate)
}

async fn unknown_fields(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let (unknown, duplicate) = faulty(&cx);
    for query in ["", "?fieldValidation=Warn"] {
        let path = format!("{}{query}", scale(&cx));
        let fields =
            ["bogus", "metadata.bogus", "spec.bogus"].map(|field| format!("unknown field {field:?}"));
        for reply in [cx.put(&path, &unknown).await?, cx.merge(&path, &unknown).await?] {
            equal("warnings", fields.to_vec(), reply.warnings())?;
        }
        let twice = vec!["duplicate field \"spec.replicas\"".to_owned()];
        let put = cx.call(Method::PUT, &path).bytes("application/json", duplicate).send().await?;
        equal("warnings", twice.clone(), put.warnings())?;
        let patch = cx.call(Method::PATCH, &path).bytes(MERGE, duplicate).send().await?;
        equal("warnings", twice, patch.warnings())?;
    }
    let ignored = cx.put(format!("{}?fieldValidation=Ignore", scale(&cx)), &unknown).await?;
    ignored.is(200)?;
    equal("warnings", Vec::<String>::new(), ignored.warnings())?;
    let strict = format!("{}?fieldValidation=Strict", scale(&cx));
    for body in [unknown.to_string(), duplicate.to_owned()] {
        let put = cx.call(Method::PUT, &strict).bytes("application/json", body.clone()).send().await?;
        put.fails(400, "BadRequest")?;
        let patch = cx.call(Method::PATCH, &strict).bytes(MERGE, body).send().await?;
        patch.fails(422, "Invalid")?.mentions("strict decoding error")?;
    }
    let patch = json!([{"op": "add", "path": "/spec/bogus", "value": 1}]);
    cx.patch(strict, JSON_PATCH, &patch).await?.fails(422, "Invalid")?;
    Ok(())
}

async fn strategic_nothing(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let nothing = cx.call(Method::PATCH, scale(&cx)).bytes(STRATEGIC, "null").send().await?;
    nothing.is(200)?.eq("/spec/replicas", 2)?;
    let other = json!({"apiVersion": "autoscaling/v2", "kind": "Pod", "spec": {"replicas": 3}});
    cx.patch(scale(&cx), STRATEGIC, &other).await?.is(200)?.eq("/kind", "Scale")?.eq("/spec/replicas", 3)?;
    Ok(())
}

async fn unreadable(cx: Context) -> Outcome {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let mut crd = crate::kinds::plain_crd(&cx.own_group(), "Thing", "things", any);
    crd["spec"]["versions"][0]["subresources"] = json!({"status": {}, "scale": {
        "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}});
    cx.establish(&crd).await?;
    let (all, thing) = (cx.own("v1", "things"), format!("{}/a", cx.own("v1", "things")));
    let object = |replicas: Value| json!({"apiVersion": format!("{}/v1", cx.own_group()), "kind": "Thing", "metadata": {"name": "a"}, "spec": {"replicas": replicas}});
    for replicas in [json!("2"), json!(2.5), json!(true), json!({}), json!(-1), json!(1_i64 << 40)] {
        let reply = cx.post(&all, &object(replicas)).await?;
        reply.fails(422, "Invalid")?.cause("FieldValueInvalid", ".spec.replicas")?;
    }
    cx.create_at(&all, &object(json!(2))).await?;
    cx.merge(&thing, &json!({"spec": {"replicas": "2"}})).await?.fails(422, "Invalid")?;
    for (field, value) in [("replicas", json!("2")), ("replicas", json!(-1)), ("selector", json!(1))] {
        let status = cx.merge(format!("{thing}/status"), &json!({"status": {field: value}})).await?;
        status.fails(422, "Invalid")?.cause("FieldValueInvalid", &format!(".status.{field}"))?;
    }
    cx.get(format!("{thing}/scale")).await?.is(200)?.eq("/spec/replicas", 2)?;
    cx.merge(&thing, &json!({"spec": {"replicas": null}})).await?.is(200)?;
    let reply = cx.get(format!("{thing}/scale")).await?;
    reply
        .fails(500, "InternalError")?
        .mentions("the spec replicas field \".spec.replicas\" does not exist")?;
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
