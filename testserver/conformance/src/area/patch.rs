//! JSON patch and merge patch, on every kind.

use http::Method;
use serde_json::{Value, json};

use crate::{
    case::{Case, custom, each, since},
    check::{Outcome, equal, holds},
    context::{Context, JSON_PATCH, MERGE, STRATEGIC},
    kinds::COG,
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        each("patch/merge-sets-fields", "a merge patch sets the fields it names and leaves the others", merge_sets),
        each("patch/merge-null-removes", "null in a merge patch removes the field", merge_null),
        custom("patch/merge-replaces-arrays", "a merge patch replaces arrays as a whole", merge_arrays),
        each("patch/merge-empty-is-no-op", "an empty merge patch keeps the resourceVersion", merge_empty),
        each("patch/merge-without-change-is-no-op", "a merge patch that changes nothing keeps the resourceVersion", merge_same),
        each("patch/merge-stale-version-409", "a merge patch with a stale resourceVersion: 409 Conflict", merge_stale),
        each("patch/merge-current-version", "a merge patch with the current resourceVersion is applied", merge_current),
        each("patch/merge-wrong-uid-422", "a merge patch with another uid: 422, immutable", merge_uid),
        each("patch/merge-name-change-400", "a patch cannot change the name: 400", merge_name),
        since(25, each("patch/merge-malformed-400", "a patch that is not JSON: 400 (500 before 1.25)", merge_malformed)),
        each("patch/merge-label-removed", "null for a label removes that label only", merge_label),
        each("patch/merge-wrong-type", "a patch that makes the object invalid is rejected", merge_wrong_type),
        each("patch/merge-finalizers", "a merge patch of finalizers replaces the list", merge_finalizers),
        each("patch/merge-field-manager", "fieldManager names the manager of a patch", merge_manager),
        custom("patch/merge-generation", "a patch of spec adds 1 to generation, one of metadata does not", merge_generation),
        custom("patch/merge-status-ignored", "a patch of the main resource does not change status", merge_status),
        each("patch/json-add-replace-remove", "JSON patch add, replace and remove", json_basic),
        each("patch/json-move-copy", "JSON patch move and copy", json_move),
        each("patch/json-test-passes", "a JSON patch test that holds lets the rest apply", json_test),
        each("patch/json-test-fails-422", "a JSON patch test that fails: 422 Invalid, nothing applied", json_test_fails),
        each("patch/json-remove-missing-422", "a JSON patch that removes a missing path: 422 Invalid", json_remove_missing),
        since(25, each("patch/json-replace-missing", "a JSON patch that replaces a missing member adds it", json_replace_missing)),
        each("patch/json-atomic", "operations before a failing one are not applied", json_atomic),
        each("patch/json-escaped-path", "~1 in a path is a slash", json_escape),
        custom("patch/json-array-index", "JSON patch inserts into arrays by index and appends with -", json_array),
        each("patch/json-not-an-array-400", "a JSON patch that is no array: 400", json_not_array),
        since(30, each("patch/json-unknown-op", "an unknown operation is rejected", json_unknown_op)),
        each("patch/json-too-many-413", "more than 10000 operations: 413", json_too_many),
        each("patch/json-empty-is-no-op", "an empty JSON patch keeps the resourceVersion", json_empty),
        custom("patch/strategic-refused-415", "a strategic merge patch of a custom resource: 415", strategic_refused),
        custom("patch/cluster-scoped", "a cluster-scoped kind is patched", cluster_scoped),
        each("patch/concurrent-patches-all-apply", "patches without resourceVersion are retried by the server: all apply", concurrent),
    ]
    .concat()
}

async fn merge_sets(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r = cx.merge(cx.one("a"), &json!({"spec": {"leaseTransitions": 5}})).await?;
    r.is(200)?.eq("/spec", json!({"holderIdentity": "first", "leaseTransitions": 5}))?;
    Ok(())
}

async fn merge_null(cx: Context) -> Outcome {
    cx.create("a").await?;
    cx.merge(cx.one("a"), &json!({"spec": {"leaseTransitions": null}}))
        .await?
        .is(200)?
        .eq("/spec", json!({"holderIdentity": "first"}))?;
    Ok(())
}

async fn merge_arrays(cx: Context) -> Outcome {
    cx.create_at(cx.all(), &cx.with_spec("a", json!({"steps": ["x", "y"]}))).await?;
    cx.merge(cx.one("a"), &json!({"spec": {"steps": ["z"]}}))
        .await?
        .is(200)?
        .eq("/spec/steps", json!(["z"]))?;
    Ok(())
}

async fn unchanged(cx: &Context, content_type: &str, patch: Value) -> Outcome {
    let before = cx.create("a").await?;
    let after = cx.patch(cx.one("a"), content_type, &patch).await?;
    after.is(200)?;
    equal("the object after a patch without a change", &before.body, &after.body)
}

async fn merge_empty(cx: Context) -> Outcome {
    unchanged(&cx, MERGE, json!({})).await
}

async fn merge_same(cx: Context) -> Outcome {
    unchanged(&cx, MERGE, json!({"spec": {"holderIdentity": "first"}})).await
}

async fn json_empty(cx: Context) -> Outcome {
    unchanged(&cx, JSON_PATCH, json!([])).await
}

async fn merge_stale(cx: Context) -> Outcome {
    let old = cx.create("a").await?.revision()?;
    cx.merge(cx.one("a"), &json!({"spec": {"leaseTransitions": 2}})).await?.is(200)?;
    let r = cx
        .merge(cx.one("a"), &json!({"metadata": {"resourceVersion": old}, "spec": {"leaseTransitions": 3}}))
        .await?;
    r.fails(409, "Conflict")?.mentions("the object has been modified")?;
    Ok(())
}

async fn merge_current(cx: Context) -> Outcome {
    let now = cx.create("a").await?.revision()?;
    let patch = json!({"metadata": {"resourceVersion": now}, "spec": {"leaseTransitions": 3}});
    cx.merge(cx.one("a"), &patch).await?.is(200)?.eq("/spec/leaseTransitions", 3)?;
    Ok(())
}

async fn merge_uid(cx: Context) -> Outcome {
    cx.create("a").await?;
    let patch = json!({"metadata": {"uid": "11111111-1111-4111-8111-111111111111"}});
    cx.merge(cx.one("a"), &patch).await?.fails(422, "Invalid")?.cause("FieldValueInvalid", "metadata.uid")?;
    Ok(())
}

async fn merge_name(cx: Context) -> Outcome {
    cx.create("a").await?;
    cx.merge(cx.one("a"), &json!({"metadata": {"name": "b"}}))
        .await?
        .fails(400, "BadRequest")?
        .mentions("name of the object")?;
    Ok(())
}

async fn merge_malformed(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r = cx.call(Method::PATCH, cx.one("a")).bytes(MERGE, "{\"spec\": ").send().await?;
    r.is(400)?.eq("/status", "Failure")?;
    Ok(())
}

async fn merge_label(cx: Context) -> Outcome {
    cx.create_at(
        cx.all(),
        &cx.object_of(cx.kind(), "a", json!({"metadata": {"labels": {"x": "1", "y": "2"}}})),
    )
    .await?;
    let r = cx.merge(cx.one("a"), &json!({"metadata": {"labels": {"x": null, "z": "3"}}})).await?;
    r.is(200)?.eq("/metadata/labels", json!({"y": "2", "z": "3"}))?;
    Ok(())
}

async fn merge_wrong_type(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r = cx.merge(cx.one("a"), &json!({"spec": {"leaseTransitions": "many"}})).await?;
    holds(r.code == 422 || r.code == 400, "400 or 422", &r.text)?;
    cx.get(cx.one("a")).await?.eq("/spec/leaseTransitions", 1)?;
    Ok(())
}

async fn merge_finalizers(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r = cx.merge(cx.one("a"), &json!({"metadata": {"finalizers": ["conformance.example/f"]}})).await?;
    r.is(200)?.eq("/metadata/finalizers", json!(["conformance.example/f"]))?;
    let r = cx.merge(cx.one("a"), &json!({"metadata": {"finalizers": null}})).await?;
    r.is(200)?.absent("/metadata/finalizers")?;
    Ok(())
}

async fn merge_manager(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r = cx
        .merge(format!("{}?fieldManager=me", cx.one("a")), &json!({"spec": {"leaseTransitions": 2}}))
        .await?;
    let entries = r.body["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let mine = entries.iter().find(|e| e["manager"] == "me").cloned().unwrap_or_default();
    equal("fields of manager me", json!({"f:spec": {"f:leaseTransitions": {}}}), mine["fieldsV1"].clone())
}

async fn merge_generation(cx: Context) -> Outcome {
    cx.create("a").await?;
    cx.merge(cx.one("a"), &json!({"spec": {"leaseTransitions": 2}})).await?.eq("/metadata/generation", 2)?;
    cx.merge(cx.one("a"), &json!({"metadata": {"labels": {"x": "1"}}}))
        .await?
        .eq("/metadata/generation", 2)?;
    Ok(())
}

async fn merge_status(cx: Context) -> Outcome {
    cx.create("a").await?;
    cx.merge(cx.one("a"), &json!({"status": {"phase": "Ready"}})).await?.is(200)?.absent("/status")?;
    Ok(())
}

async fn json_basic(cx: Context) -> Outcome {
    cx.create("a").await?;
    let patch = json!([
        {"op": "add", "path": "/spec/leaseDurationSeconds", "value": 9},
        {"op": "replace", "path": "/spec/holderIdentity", "value": "second"},
        {"op": "remove", "path": "/spec/leaseTransitions"},
    ]);
    let r = cx.patch(cx.one("a"), JSON_PATCH, &patch).await?;
    r.is(200)?.eq("/spec", json!({"leaseDurationSeconds": 9, "holderIdentity": "second"}))?;
    Ok(())
}

async fn json_move(cx: Context) -> Outcome {
    cx.create_at(
        cx.all(),
        &cx.object_of(cx.kind(), "a", json!({"metadata": {"annotations": {"x": "1", "y": "2"}}})),
    )
    .await?;
    let patch = json!([
        {"op": "move", "from": "/metadata/annotations/x", "path": "/metadata/annotations/moved"},
        {"op": "copy", "from": "/metadata/annotations/y", "path": "/metadata/annotations/copied"},
    ]);
    let r = cx.patch(cx.one("a"), JSON_PATCH, &patch).await?;
    r.is(200)?.eq("/metadata/annotations", json!({"moved": "1", "y": "2", "copied": "2"}))?;
    Ok(())
}

async fn json_test(cx: Context) -> Outcome {
    cx.create("a").await?;
    let patch = json!([
        {"op": "test", "path": "/spec/holderIdentity", "value": "first"},
        {"op": "replace", "path": "/spec/holderIdentity", "value": "second"},
    ]);
    cx.patch(cx.one("a"), JSON_PATCH, &patch).await?.is(200)?.eq("/spec/holderIdentity", "second")?;
    Ok(())
}

async fn json_test_fails(cx: Context) -> Outcome {
    cx.create("a").await?;
    let patch = json!([
        {"op": "replace", "path": "/spec/leaseTransitions", "value": 7},
        {"op": "test", "path": "/spec/holderIdentity", "value": "other"},
    ]);
    cx.patch(cx.one("a"), JSON_PATCH, &patch).await?.fails(422, "Invalid")?;
    cx.get(cx.one("a")).await?.eq("/spec/leaseTransitions", 1)?;
    Ok(())
}

async fn json_remove_missing(cx: Context) -> Outcome {
    cx.create("a").await?;
    let patch = json!([{"op": "remove", "path": "/spec/nothing"}]);
    cx.patch(cx.one("a"), JSON_PATCH, &patch).await?.fails(422, "Invalid")?;
    Ok(())
}

async fn json_replace_missing(cx: Context) -> Outcome {
    cx.create("a").await?;
    let patch = json!([{"op": "replace", "path": "/spec/leaseDurationSeconds", "value": 1}]);
    cx.patch(cx.one("a"), JSON_PATCH, &patch).await?.is(200)?.eq("/spec/leaseDurationSeconds", 1)?;
    Ok(())
}

async fn json_atomic(cx: Context) -> Outcome {
    cx.create("a").await?;
    let patch = json!([
        {"op": "replace", "path": "/spec/holderIdentity", "value": "second"},
        {"op": "remove", "path": "/spec/nothing"},
    ]);
    cx.patch(cx.one("a"), JSON_PATCH, &patch).await?.is(422)?;
    cx.get(cx.one("a")).await?.eq("/spec/holderIdentity", "first")?;
    Ok(())
}

async fn json_escape(cx: Context) -> Outcome {
    cx.create_at(cx.all(), &cx.object_of(cx.kind(), "a", json!({"metadata": {"annotations": {"p/q": "1"}}})))
        .await?;
    let patch = json!([{"op": "replace", "path": "/metadata/annotations/p~1q", "value": "2"}]);
    cx.patch(cx.one("a"), JSON_PATCH, &patch).await?.is(200)?.eq("/metadata/annotations/p~1q", "2")?;
    Ok(())
}

async fn json_array(cx: Context) -> Outcome {
    cx.create_at(cx.all(), &cx.with_spec("a", json!({"steps": ["x", "y"]}))).await?;
    let patch = json!([
        {"op": "add", "path": "/spec/steps/1", "value": "between"},
        {"op": "add", "path": "/spec/steps/-", "value": "last"},
        {"op": "remove", "path": "/spec/steps/0"},
    ]);
    cx.patch(cx.one("a"), JSON_PATCH, &patch)
        .await?
        .is(200)?
        .eq("/spec/steps", json!(["between", "y", "last"]))?;
    Ok(())
}

async fn json_not_array(cx: Context) -> Outcome {
    cx.create("a").await?;
    cx.patch(cx.one("a"), JSON_PATCH, &json!({"op": "add"})).await?.fails(400, "BadRequest")?;
    Ok(())
}

async fn json_unknown_op(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r = cx.patch(cx.one("a"), JSON_PATCH, &json!([{"op": "nonsense", "path": "/spec"}])).await?;
    r.fails(422, "Invalid")?;
    Ok(())
}

async fn json_too_many(cx: Context) -> Outcome {
    cx.create("a").await?;
    let patch: Vec<Value> =
        (0..10_001).map(|_| json!({"op": "test", "path": "/kind", "value": cx.kind().kind})).collect();
    let r = cx.patch(cx.one("a"), JSON_PATCH, &json!(patch)).await?;
    r.fails(413, "RequestEntityTooLarge")?;
    Ok(())
}

async fn strategic_refused(cx: Context) -> Outcome {
    cx.create("a").await?;
    cx.patch(cx.one("a"), STRATEGIC, &json!({"spec": {"holderIdentity": "x"}}))
        .await?
        .fails(415, "UnsupportedMediaType")?;
    Ok(())
}

async fn cluster_scoped(cx: Context) -> Outcome {
    let name = cx.ns.clone();
    cx.create_at(cx.all_of(&COG), &cx.cog(&name, json!({"x": {"y": 1}}))).await?;
    cx.merge(cx.one_of(&COG, &name), &json!({"x": {"z": 2}}))
        .await?
        .is(200)?
        .eq("/x", json!({"y": 1, "z": 2}))?;
    Ok(())
}

async fn concurrent(cx: Context) -> Outcome {
    cx.create("a").await?;
    let one = |n: u32| {
        let cx = cx.clone();
        let patch = json!({"metadata": {"annotations": {format!("n{n}"): "set"}}});
        async move { cx.merge(cx.one("a"), &patch).await.map(|r| r.code) }
    };
    let codes = futures::future::try_join_all((0..4).map(one)).await?;
    equal("status codes", vec![200; 4], codes)?;
    let annotations =
        cx.get(cx.one("a")).await?.body["metadata"]["annotations"].as_object().map_or(0, |m| m.len());
    equal("annotations that were set", 4, annotations)
}
