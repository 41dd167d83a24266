//! Server-side apply: ownership, conflicts, removal of fields.

use http::Method;
use serde_json::{Value, json};

use crate::{
    case::{Case, custom, each},
    check::{Failure, Outcome, equal, holds},
    client::ApiResponse,
    context::{APPLY, Context},
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        each("apply/creates", "apply of a missing object creates it: 201, operation Apply", creates),
        each("apply/updates-200", "apply of an existing object: 200", updates),
        each("apply/same-again-is-no-op", "the same apply again keeps the resourceVersion", same_again),
        each("apply/yaml-body", "the body may be YAML", yaml),
        each("apply/manager-required-400", "apply without fieldManager: 400", manager_required),
        each("apply/force-only-for-apply-422", "force with another patch type: 422", force_elsewhere),
        each("apply/managed-fields-in-body-400", "a body with managedFields: 400", managed_in_body),
        each("apply/name-mismatch-400", "a body with another name than the path: 400", name_mismatch),
        each("apply/api-version-required", "a body without apiVersion or kind is rejected", type_required),
        each("apply/wrong-api-version", "a body of another apiVersion than the path: 400", wrong_version),
        each("apply/resource-version-stale-409", "a stale resourceVersion in the body: 409", stale),
        each("apply/uid-on-create-409", "a uid in the body of an apply that would create: 409", uid_on_create),
        each("apply/conflict-409", "a field of another manager with another value: 409 with a cause per field", conflict),
        each("apply/conflict-message", "the conflict names manager and field", conflict_message),
        each("apply/conflict-with-update-manager", "a conflict with a manager that updated names its API version", conflict_with_update),
        each("apply/conflict-causes-all", "every conflicting field is a cause", conflict_all),
        each("apply/conflict-changes-nothing", "a rejected apply changes nothing", conflict_changes_nothing),
        each("apply/same-value-is-shared", "the same value from another manager: no conflict, both own it", shared),
        each("apply/force-takes-over", "force takes the field from the other manager", force),
        each("apply/given-up-field-removed", "a field that its only manager omits is removed", given_up),
        each("apply/given-up-shared-field-stays", "a field that another manager owns too stays", given_up_shared),
        each("apply/unowned-fields-stay", "fields that were never applied stay", unowned_stay),
        each("apply/labels-merge", "labels of two managers are merged", labels_merge),
        each("apply/label-given-up", "an omitted label is removed, others stay", label_given_up),
        each("apply/finalizers-are-a-set", "finalizers of two managers are merged as a set", finalizers),
        each("apply/update-does-not-conflict", "an update may change an applied field and takes it over", update_takes),
        each("apply/delete-field-by-update", "a field removed by an update is in no manager's set", update_removes),
        each("apply/dry-run", "an apply with dryRun=All returns the result and stores nothing", dry_run),
        each("apply/empty-object", "an apply without fields is accepted and owns nothing of spec", empty),
        custom("apply/generation", "an apply that changes spec adds 1 to generation, the same again does not", generation),
        each("apply/managed-fields-order", "Apply entries come before Update entries", order),
        each("apply/malformed-400", "a body that is no YAML: 400", malformed),
        each("apply/null-value", "an applied null removes nothing of another manager", null_value),
    ]
    .concat()
}

fn spec(cx: &Context, spec: Value) -> Value {
    cx.with_spec("a", spec)
}

/// The fields of a manager; null if it has none.
pub(super) fn fields(r: &ApiResponse, manager: &str, operation: &str) -> Value {
    let entries = r.body["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let found = entries
        .iter()
        .find(|e| e["manager"] == manager && e["operation"] == operation && e["subresource"].is_null());
    found.map(|e| e["fieldsV1"].clone()).unwrap_or_default()
}

async fn apply(cx: &Context, manager: &str, fields: Value) -> Result<ApiResponse, Failure> {
    let r = cx.apply(cx.one("a"), manager, &spec(cx, fields)).await?;
    holds(r.code == 200 || r.code == 201, "200 or 201", &r.text)?;
    Ok(r)
}

async fn force_apply(cx: &Context, manager: &str, fields: Value) -> Result<ApiResponse, Failure> {
    cx.apply(format!("{}?force=true", cx.one("a")), manager, &spec(cx, fields)).await
}

async fn creates(cx: Context) -> Outcome {
    let r = cx.apply(cx.one("a"), "one", &cx.object("a")).await?;
    r.is(201)?.eq("/spec/holderIdentity", "first")?.eq("/metadata/managedFields/0/operation", "Apply")?;
    let want = json!({"f:spec": {"f:holderIdentity": {}, "f:leaseTransitions": {}}});
    equal("fields of one", want, fields(&r, "one", "Apply"))
}

async fn updates(cx: Context) -> Outcome {
    cx.create("a").await?;
    cx.apply(cx.one("a"), "one", &spec(&cx, json!({"leaseDurationSeconds": 5})))
        .await?
        .is(200)?
        .eq("/spec/leaseDurationSeconds", 5)?;
    Ok(())
}

async fn same_again(cx: Context) -> Outcome {
    let one = apply(&cx, "one", json!({"holderIdentity": "x"})).await?;
    crate::context::pause(1100).await;
    let two = apply(&cx, "one", json!({"holderIdentity": "x"})).await?;
    equal("the object after the same apply", &one.body, &two.body)
}

async fn yaml(cx: Context) -> Outcome {
    let body = format!(
        "apiVersion: {}\nkind: {}\nmetadata:\n  name: a\nspec:\n  holderIdentity: x\n",
        cx.api_version(cx.kind()),
        cx.kind().kind
    );
    let call = cx.call(Method::PATCH, format!("{}?fieldManager=one", cx.one("a"))).bytes(APPLY, body);
    call.send().await?.is(201)?.eq("/spec/holderIdentity", "x")?;
    Ok(())
}

async fn manager_required(cx: Context) -> Outcome {
    let r = cx.patch(cx.one("a"), APPLY, &cx.object("a")).await?;
    r.fails(422, "Invalid")?.cause("FieldValueRequired", "fieldManager")?;
    Ok(())
}

async fn force_elsewhere(cx: Context) -> Outcome {
    cx.create("a").await?;
    let r = cx.merge(format!("{}?force=true", cx.one("a")), &json!({})).await?;
    r.fails(422, "Invalid")?.cause("FieldValueForbidden", "force")?;
    Ok(())
}

async fn managed_in_body(cx: Context) -> Outcome {
    let mut object = cx.object("a");
    object["metadata"]["managedFields"] = json!([{"manager": "x", "operation": "Apply", "apiVersion": cx.api_version(cx.kind()), "fieldsType": "FieldsV1", "fieldsV1": {}}]);
    let r = cx.apply(cx.one("a"), "one", &object).await?;
    r.fails(400, "BadRequest")?.mentions("metadata.managedFields must be nil")?;
    Ok(())
}

async fn name_mismatch(cx: Context) -> Outcome {
    let r = cx.apply(cx.one("a"), "one", &cx.object("b")).await?;
    r.fails(400, "BadRequest")?.mentions("name")?;
    Ok(())
}

async fn type_required(cx: Context) -> Outcome {
    let mut object = cx.object("a");
    object["kind"].take();
    let r = cx.apply(cx.one("a"), "one", &object).await?;
    holds((400..=500).contains(&r.code), "a refusal", &r.text)?;
    cx.get(cx.one("a")).await?.is(404)?;
    Ok(())
}

async fn wrong_version(cx: Context) -> Outcome {
    let mut object = cx.object("a");
    object["apiVersion"] = json!("nonsense.example/v1");
    let r = cx.apply(cx.one("a"), "one", &object).await?;
    holds((400..=500).contains(&r.code), "a refusal", &r.text)?;
    cx.get(cx.one("a")).await?.is(404)?;
    Ok(())
}

async fn stale(cx: Context) -> Outcome {
    let old = cx.create("a").await?.revision()?;
    cx.merge(cx.one("a"), &json!({"spec": {"leaseTransitions": 2}})).await?.is(200)?;
    let mut object = spec(&cx, json!({"leaseDurationSeconds": 5}));
    object["metadata"]["resourceVersion"] = json!(old);
    cx.apply(cx.one("a"), "one", &object)
        .await?
        .fails(409, "Conflict")?
        .mentions("the object has been modified")?;
    Ok(())
}

async fn uid_on_create(cx: Context) -> Outcome {
    let mut object = cx.object("a");
    object["metadata"]["uid"] = json!("11111111-1111-4111-8111-111111111111");
    cx.apply(cx.one("a"), "one", &object).await?.fails(409, "Conflict")?.mentions("uid mismatch")?;
    Ok(())
}

async fn conflict(cx: Context) -> Outcome {
    apply(&cx, "one", json!({"holderIdentity": "x"})).await?;
    let r = cx.apply(cx.one("a"), "two", &spec(&cx, json!({"holderIdentity": "y"}))).await?;
    r.fails(409, "Conflict")?.cause("FieldManagerConflict", ".spec.holderIdentity")?;
    Ok(())
}

async fn conflict_message(cx: Context) -> Outcome {
    apply(&cx, "one", json!({"holderIdentity": "x"})).await?;
    let r = cx.apply(cx.one("a"), "two", &spec(&cx, json!({"holderIdentity": "y"}))).await?;
    r.says("Apply failed with 1 conflict: conflict with \"one\": .spec.holderIdentity")?;
    r.eq("/details/causes/0/message", "conflict with \"one\"")?;
    Ok(())
}

async fn conflict_with_update(cx: Context) -> Outcome {
    cx.create_at(format!("{}?fieldManager=editor", cx.all()), &spec(&cx, json!({"holderIdentity": "x"})))
        .await?;
    let r = cx.apply(cx.one("a"), "two", &spec(&cx, json!({"holderIdentity": "y"}))).await?;
    let cause = r.fails(409, "Conflict")?.str("/details/causes/0/message")?;
    let start = format!("conflict with \"editor\" using {}", cx.api_version(cx.kind()));
    holds(cause.starts_with(&start), &start, cause)
}

async fn conflict_all(cx: Context) -> Outcome {
    apply(&cx, "one", json!({"holderIdentity": "x", "leaseTransitions": 1})).await?;
    let r = cx
        .apply(cx.one("a"), "two", &spec(&cx, json!({"holderIdentity": "y", "leaseTransitions": 2})))
        .await?;
    r.fails(409, "Conflict")?.cause("FieldManagerConflict", ".spec.holderIdentity")?;
    r.cause("FieldManagerConflict", ".spec.leaseTransitions")?
        .mentions("Apply failed with 2 conflicts: conflicts with \"one\":")?;
    Ok(())
}

async fn conflict_changes_nothing(cx: Context) -> Outcome {
    let before = apply(&cx, "one", json!({"holderIdentity": "x"})).await?;
    cx.apply(cx.one("a"), "two", &spec(&cx, json!({"holderIdentity": "y", "leaseTransitions": 2})))
        .await?
        .is(409)?;
    let after = cx.get(cx.one("a")).await?;
    equal("the object", &before.body, &after.body)
}

async fn shared(cx: Context) -> Outcome {
    apply(&cx, "one", json!({"holderIdentity": "x"})).await?;
    let r = apply(&cx, "two", json!({"holderIdentity": "x"})).await?;
    for manager in ["one", "two"] {
        equal(manager, json!({"f:spec": {"f:holderIdentity": {}}}), fields(&r, manager, "Apply"))?;
    }
    Ok(())
}

async fn force(cx: Context) -> Outcome {
    apply(&cx, "one", json!({"holderIdentity": "x", "leaseTransitions": 1})).await?;
    let r = force_apply(&cx, "two", json!({"holderIdentity": "y"})).await?;
    r.is(200)?.eq("/spec/holderIdentity", "y")?;
    equal("fields of one", json!({"f:spec": {"f:leaseTransitions": {}}}), fields(&r, "one", "Apply"))?;
    equal("fields of two", json!({"f:spec": {"f:holderIdentity": {}}}), fields(&r, "two", "Apply"))
}

async fn given_up(cx: Context) -> Outcome {
    apply(&cx, "one", json!({"holderIdentity": "x", "leaseTransitions": 1})).await?;
    let r = apply(&cx, "one", json!({"holderIdentity": "x"})).await?;
    r.eq("/spec", json!({"holderIdentity": "x"}))?;
    Ok(())
}

async fn given_up_shared(cx: Context) -> Outcome {
    apply(&cx, "one", json!({"holderIdentity": "x", "leaseTransitions": 1})).await?;
    apply(&cx, "two", json!({"leaseTransitions": 1})).await?;
    let r = apply(&cx, "one", json!({"holderIdentity": "x"})).await?;
    r.eq("/spec", json!({"holderIdentity": "x", "leaseTransitions": 1}))?;
    Ok(())
}

async fn unowned_stay(cx: Context) -> Outcome {
    cx.create("a").await?;
    apply(&cx, "one", json!({"leaseDurationSeconds": 5})).await?;
    let r = apply(&cx, "one", json!({})).await?;
    r.eq("/spec", json!({"holderIdentity": "first", "leaseTransitions": 1}))?;
    Ok(())
}

fn labels(cx: &Context, labels: Value) -> Value {
    cx.object_of(cx.kind(), "a", json!({"metadata": {"labels": labels}}))
}

async fn labels_merge(cx: Context) -> Outcome {
    cx.apply(cx.one("a"), "one", &labels(&cx, json!({"x": "1"}))).await?.is(201)?;
    let r = cx.apply(cx.one("a"), "two", &labels(&cx, json!({"y": "2"}))).await?;
    r.is(200)?.eq("/metadata/labels", json!({"x": "1", "y": "2"}))?;
    equal("fields of two", json!({"f:metadata": {"f:labels": {"f:y": {}}}}), fields(&r, "two", "Apply"))
}

async fn label_given_up(cx: Context) -> Outcome {
    cx.apply(cx.one("a"), "one", &labels(&cx, json!({"x": "1", "y": "2"}))).await?.is(201)?;
    cx.apply(cx.one("a"), "one", &labels(&cx, json!({"y": "2"})))
        .await?
        .is(200)?
        .eq("/metadata/labels", json!({"y": "2"}))?;
    Ok(())
}

async fn finalizers(cx: Context) -> Outcome {
    let with = |f: &str| cx.object_of(cx.kind(), "a", json!({"metadata": {"finalizers": [f]}}));
    cx.apply(cx.one("a"), "one", &with("conformance.example/x")).await?.is(201)?;
    let r = cx.apply(cx.one("a"), "two", &with("conformance.example/y")).await?;
    r.is(200)?.eq("/metadata/finalizers", json!(["conformance.example/x", "conformance.example/y"]))?;
    let own = json!({"f:metadata": {"f:finalizers": {"v:\"conformance.example/y\"": {}}}});
    equal("fields of two", own, fields(&r, "two", "Apply"))
}

async fn update_takes(cx: Context) -> Outcome {
    apply(&cx, "one", json!({"holderIdentity": "x", "leaseTransitions": 1})).await?;
    let r = cx
        .merge(format!("{}?fieldManager=editor", cx.one("a")), &json!({"spec": {"holderIdentity": "y"}}))
        .await?;
    equal("fields of one", json!({"f:spec": {"f:leaseTransitions": {}}}), fields(&r, "one", "Apply"))?;
    equal("fields of editor", json!({"f:spec": {"f:holderIdentity": {}}}), fields(&r, "editor", "Update"))
}

async fn update_removes(cx: Context) -> Outcome {
    apply(&cx, "one", json!({"holderIdentity": "x", "leaseTransitions": 1})).await?;
    let r = cx
        .merge(format!("{}?fieldManager=editor", cx.one("a")), &json!({"spec": {"holderIdentity": null}}))
        .await?;
    equal("fields of one", json!({"f:spec": {"f:leaseTransitions": {}}}), fields(&r, "one", "Apply"))
}

async fn dry_run(cx: Context) -> Outcome {
    let r = cx.apply(format!("{}?dryRun=All", cx.one("a")), "one", &cx.object("a")).await?;
    r.is(201)?.eq("/spec/holderIdentity", "first")?;
    cx.get(cx.one("a")).await?.is(404)?;
    Ok(())
}

async fn empty(cx: Context) -> Outcome {
    cx.create("a").await?;
    let bare = cx.object_of(cx.kind(), "a", json!({}));
    let r = cx.apply(cx.one("a"), "one", &bare).await?;
    r.is(200)?.eq("/spec/holderIdentity", "first")?;
    Ok(())
}

async fn generation(cx: Context) -> Outcome {
    apply(&cx, "one", json!({"holderIdentity": "x"})).await?.eq("/metadata/generation", 1)?;
    apply(&cx, "one", json!({"holderIdentity": "y"})).await?.eq("/metadata/generation", 2)?;
    apply(&cx, "one", json!({"holderIdentity": "y"})).await?.eq("/metadata/generation", 2)?;
    Ok(())
}

async fn order(cx: Context) -> Outcome {
    cx.create_at(format!("{}?fieldManager=editor", cx.all()), &spec(&cx, json!({"holderIdentity": "x"})))
        .await?;
    let r = apply(&cx, "one", json!({"leaseTransitions": 1})).await?;
    r.eq("/metadata/managedFields/0/manager", "one")?.eq("/metadata/managedFields/1/manager", "editor")?;
    Ok(())
}

async fn malformed(cx: Context) -> Outcome {
    let call = cx.call(Method::PATCH, format!("{}?fieldManager=one", cx.one("a"))).bytes(APPLY, "a: [b");
    call.send().await?.fails(400, "BadRequest")?;
    Ok(())
}

async fn null_value(cx: Context) -> Outcome {
    apply(&cx, "one", json!({"holderIdentity": "x"})).await?;
    let r = cx
        .apply(cx.one("a"), "two", &cx.object_of(cx.kind(), "a", json!({"metadata": {"labels": null}})))
        .await?;
    r.is(200)?.eq("/spec/holderIdentity", "x")?;
    Ok(())
}
