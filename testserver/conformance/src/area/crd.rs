//! CustomResourceDefinitions: registration, names, versions, deletion.

use serde_json::{Value, json};

use crate::{
    case::{Case, custom, since},
    check::{Failure, Outcome, equal, holds},
    client::ApiResponse,
    context::Context,
    kinds::plain_crd,
    server::CRDS,
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        custom("crd/established", "a CRD gets NamesAccepted and Established and is served", established),
        custom("crd/defaults", "singular, listKind and conversion strategy None are filled in", defaults),
        custom("crd/stored-versions", "status.storedVersions has the storage version", stored_versions),
        custom("crd/accepted-names", "status.acceptedNames has the names", accepted_names),
        custom("crd/generation-1", "a new CRD has generation 1", generation),
        custom("crd/name-must-be-plural-dot-group-422", "metadata.name that is not plural.group: 422", bad_name),
        custom("crd/one-storage-version-422", "not exactly one storage version: 422", storage_versions),
        since(30, custom("crd/schema-required-422", "a version without schema: 422", no_schema)),
        custom("crd/schema-must-be-structural-422", "a schema without type: 422", not_structural),
        custom("crd/default-must-validate-422", "a default that its schema rejects: 422", bad_default),
        custom("crd/scope-unknown-422", "a scope other than Cluster or Namespaced: 422", bad_scope),
        custom("crd/group-needs-dots-422", "a group without a dot: 422", bad_group),
        custom("crd/duplicate-version-422", "two versions of one name: 422", duplicate_version),
        custom("crd/conflicting-kind-not-established", "a kind that another CRD of the group has: NamesAccepted False", conflicting),
        custom("crd/two-versions-served", "both versions are served, with the same objects", two_versions),
        custom("crd/storage-version-in-apiversion", "an object is returned in the requested version", version_of_answer),
        custom("crd/unserved-version-404", "a version that is not served: 404", unserved),
        custom("crd/schema-change-takes-effect", "an updated schema applies to the next request", schema_change),
        custom("crd/old-objects-pruned-by-new-schema", "a field that the new schema lacks is dropped on read", pruned_on_read),
        custom("crd/new-default-on-read", "a new default is applied to objects that were stored before", default_on_read),
        custom("crd/new-version-added", "a version added later is served", version_added),
        custom("crd/delete-removes-objects", "deleting a CRD deletes its objects and stops serving", delete_crd),
        custom("crd/terminating-condition", "a CRD with objects that are held has the condition Terminating", terminating_condition),
        since(36, custom("crd/terminating-refuses-creates", "nothing is created while the CRD is terminating, also by apply: 403 (1.20: 405, and an apply creates; the versions in between were not asked)", terminating_create)),
        custom("crd/terminating-discovery", "discovery of a terminating CRD has the verbs that read and delete", terminating_discovery),
        custom("crd/terminating-ends", "a CRD is removed with its last object", terminating_ends),
        custom("crd/recreated-is-empty", "a recreated CRD has none of the old objects", recreated),
        custom("crd/get-list-patch", "CRDs can be read, listed and patched like any object", verbs),
        custom("crd/discovery-while-established", "the resource is in the discovery of its group", discovery),
        since(25, custom("crd/watch-ends-on-delete", "a watch of a CRD's resource sends DELETED for its objects when the CRD is deleted (since 1.25)", watch_delete)),
        custom("crd/no-status-from-client", "status sent on create is ignored", client_status),
    ]
    .concat()
}

fn open() -> Value {
    json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"x": {"type": "string"}}}}})
}

fn crd(cx: &Context) -> Value {
    plain_crd(&cx.own_group(), "Thing", "things", open())
}

/// A terminating CRD, held by an object with a finalizer. Returns the path of the object.
async fn terminating(cx: &Context) -> Result<String, Failure> {
    cx.establish(&crd(cx)).await?;
    let held = json!({"apiVersion": format!("{}/v1", cx.own_group()), "kind": "Thing",
        "metadata": {"name": "held", "finalizers": ["conformance.example/hold"]}});
    cx.create_at(cx.own("v1", "things"), &held).await?;
    cx.delete(crd_path(cx)).await?.is(200)?;
    let object = format!("{}/held", cx.own("v1", "things"));
    cx.wait_for(&object, "a deleted object", |reply| reply.body["metadata"]["deletionTimestamp"].is_string())
        .await?;
    Ok(object)
}

async fn terminating_condition(cx: Context) -> Outcome {
    terminating(&cx).await?;
    let condition = |reply: &ApiResponse| {
        let conditions = reply.body["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.into_iter().find(|condition| condition["type"] == "Terminating")
    };
    let reply =
        cx.wait_for(&crd_path(&cx), "condition Terminating", |reply| condition(reply).is_some()).await?;
    let found = condition(&reply).unwrap_or_default();
    equal("status", "True", found["status"].as_str().unwrap_or_default())?;
    equal("reason", "InstanceDeletionInProgress", found["reason"].as_str().unwrap_or_default())?;
    equal("message", "CustomResource deletion is in progress", found["message"].as_str().unwrap_or_default())
}

async fn terminating_create(cx: Context) -> Outcome {
    terminating(&cx).await?;
    let object = |name: &str| json!({"apiVersion": format!("{}/v1", cx.own_group()), "kind": "Thing", "metadata": {"name": name}});
    let refused = |reply: &ApiResponse| reply.code == 403;
    let all = cx.own("v1", "things");
    let new = object("new");
    let reply = cx.eventually("Forbidden", || cx.post(all.clone(), &new), refused).await?;
    let message = "create not allowed while custom resource definition is terminating";
    reply.fails(403, "Forbidden")?.mentions(message)?.eq("/details/kind", "things")?;
    let applied = cx.apply(format!("{all}/new"), "m", &new).await?;
    applied.fails(403, "Forbidden")?.mentions(message)?;
    Ok(())
}

async fn terminating_discovery(cx: Context) -> Outcome {
    terminating(&cx).await?;
    let verbs = |reply: &ApiResponse| reply.body["resources"][0]["verbs"].clone();
    let wanted = json!(["delete", "deletecollection", "get", "list", "watch"]);
    let path = format!("/apis/{}/v1", cx.own_group());
    cx.wait_for(&path, "verbs that read and delete", |reply| verbs(reply) == wanted).await?;
    Ok(())
}

async fn terminating_ends(cx: Context) -> Outcome {
    let object = terminating(&cx).await?;
    let mut held = cx.get(&object).await?.body;
    held["metadata"]["finalizers"] = json!([]);
    cx.put(&object, &held).await?.is(200)?;
    cx.wait_for_code(&crd_path(&cx), 404).await?;
    Ok(())
}

fn crd_path(cx: &Context) -> String {
    format!("{CRDS}/things.{}", cx.own_group())
}

fn thing(cx: &Context, version: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": format!("{}/{version}", cx.own_group()), "kind": "Thing", "metadata": {"name": name}, "spec": spec})
}

fn condition(r: &ApiResponse, kind: &str) -> Value {
    let all = r.body["status"]["conditions"].as_array().cloned().unwrap_or_default();
    all.into_iter().find(|c| c["type"] == kind).unwrap_or_default()
}

async fn refused(cx: &Context, crd: &Value, part: &str) -> Outcome {
    cx.post(CRDS, crd).await?.fails(422, "Invalid")?.mentions(part)?;
    Ok(())
}

async fn established(cx: Context) -> Outcome {
    cx.establish(&crd(&cx)).await?;
    let r = cx.get(crd_path(&cx)).await?;
    equal("NamesAccepted", json!("True"), condition(&r, "NamesAccepted")["status"].clone())?;
    equal("Established", json!("True"), condition(&r, "Established")["status"].clone())?;
    equal(
        "reason of Established",
        json!("InitialNamesAccepted"),
        condition(&r, "Established")["reason"].clone(),
    )?;
    cx.create_at(cx.own("v1", "things"), &thing(&cx, "v1", "a", json!({"x": "1"}))).await?;
    Ok(())
}

async fn defaults(cx: Context) -> Outcome {
    let mut body = crd(&cx);
    body["spec"]["names"] = json!({"kind": "Thing", "plural": "things"});
    let r = cx.create_at(CRDS, &body).await?;
    r.eq("/spec/names/singular", "thing")?
        .eq("/spec/names/listKind", "ThingList")?
        .eq("/spec/conversion/strategy", "None")?;
    Ok(())
}

async fn stored_versions(cx: Context) -> Outcome {
    cx.create_at(CRDS, &crd(&cx)).await?.eq("/status/storedVersions", json!(["v1"]))?;
    Ok(())
}

async fn accepted_names(cx: Context) -> Outcome {
    cx.establish(&crd(&cx)).await?;
    let names = json!({"kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing"});
    cx.get(crd_path(&cx)).await?.eq("/status/acceptedNames", names)?;
    Ok(())
}

async fn generation(cx: Context) -> Outcome {
    cx.create_at(CRDS, &crd(&cx)).await?.eq("/metadata/generation", 1)?;
    Ok(())
}

async fn bad_name(cx: Context) -> Outcome {
    let mut body = crd(&cx);
    body["metadata"]["name"] = json!(format!("other.{}", cx.own_group()));
    refused(&cx, &body, "must be spec.names.plural+\".\"+spec.group").await
}

async fn storage_versions(cx: Context) -> Outcome {
    let mut body = crd(&cx);
    body["spec"]["versions"][0]["storage"] = json!(false);
    refused(&cx, &body, "must have exactly one version marked as storage version").await
}

async fn no_schema(cx: Context) -> Outcome {
    let mut body = crd(&cx);
    body["spec"]["versions"][0]["schema"].take();
    refused(&cx, &body, "spec.versions[0].schema.openAPIV3Schema: Required value").await
}

async fn not_structural(cx: Context) -> Outcome {
    let schema = json!({"type": "object", "properties": {"spec": {"properties": {"x": {"type": "string"}}}}});
    let body = plain_crd(&cx.own_group(), "Thing", "things", schema);
    refused(&cx, &body, "must not be empty for specified object fields").await
}

async fn bad_default(cx: Context) -> Outcome {
    let schema = json!({"type": "object", "properties": {"x": {"type": "string", "default": 5}}});
    let body = plain_crd(&cx.own_group(), "Thing", "things", schema);
    refused(&cx, &body, "default").await
}

async fn bad_scope(cx: Context) -> Outcome {
    let mut body = crd(&cx);
    body["spec"]["scope"] = json!("Nonsense");
    refused(&cx, &body, "spec.scope").await
}

async fn bad_group(cx: Context) -> Outcome {
    refused(&cx, &plain_crd("nodots", "Thing", "things", open()), "should be a domain with at least one dot")
        .await
}

async fn duplicate_version(cx: Context) -> Outcome {
    let mut body = crd(&cx);
    let mut second = body["spec"]["versions"][0].clone();
    second["storage"] = json!(false);
    body["spec"]["versions"] = json!([body["spec"]["versions"][0], second]);
    refused(&cx, &body, "spec.versions").await
}

async fn conflicting(cx: Context) -> Outcome {
    cx.establish(&crd(&cx)).await?;
    let mut other = plain_crd(&cx.own_group(), "Thing", "others", open());
    other["spec"]["names"]["singular"] = json!("other");
    other["spec"]["names"]["listKind"] = json!("OtherList");
    cx.create_at(CRDS, &other).await?;
    let path = format!("{CRDS}/others.{}", cx.own_group());
    let r = cx
        .wait_for(&path, "NamesAccepted False", |r| condition(r, "NamesAccepted")["status"] == "False")
        .await?;
    equal("reason", json!("KindConflict"), condition(&r, "NamesAccepted")["reason"].clone())?;
    equal("Established", json!("False"), condition(&r, "Established")["status"].clone())
}

fn two(cx: &Context) -> Value {
    let mut body = crd(cx);
    let mut second = body["spec"]["versions"][0].clone();
    second["name"] = json!("v2");
    second["storage"] = json!(false);
    body["spec"]["versions"] = json!([body["spec"]["versions"][0], second]);
    body
}

async fn two_versions(cx: Context) -> Outcome {
    cx.establish(&two(&cx)).await?;
    cx.create_at(cx.own("v1", "things"), &thing(&cx, "v1", "a", json!({"x": "1"}))).await?;
    cx.get(cx.own("v2", "things"))
        .await?
        .lists(&["a"])?
        .eq("/items/0/apiVersion", format!("{}/v2", cx.own_group()))?;
    Ok(())
}

async fn version_of_answer(cx: Context) -> Outcome {
    cx.establish(&two(&cx)).await?;
    let made = cx.create_at(cx.own("v2", "things"), &thing(&cx, "v2", "a", json!({"x": "1"}))).await?;
    made.eq("/apiVersion", format!("{}/v2", cx.own_group()))?;
    let one = cx.get(format!("{}/a", cx.own("v1", "things"))).await?;
    one.eq("/apiVersion", format!("{}/v1", cx.own_group()))?
        .eq("/metadata/uid", made.str("/metadata/uid")?)?;
    one.eq("/metadata/managedFields/0/apiVersion", format!("{}/v2", cx.own_group()))?;
    Ok(())
}

async fn unserved(cx: Context) -> Outcome {
    let mut body = two(&cx);
    body["spec"]["versions"][1]["served"] = json!(false);
    cx.establish(&body).await?;
    cx.get(cx.own("v2", "things")).await?.is(404)?;
    Ok(())
}

/// Patches the CRD's only version and waits until the change is active.
async fn change_schema(
    cx: &Context,
    schema: Value,
    path: &str,
    done: impl Fn(&ApiResponse) -> bool,
) -> Result<ApiResponse, Failure> {
    let mut versions = cx.get(crd_path(cx)).await?.body["spec"]["versions"].clone();
    versions[0]["schema"]["openAPIV3Schema"] = schema;
    cx.merge(crd_path(cx), &json!({"spec": {"versions": versions}})).await?.is(200)?;
    cx.wait_for(path, "the new schema at work", done).await
}

async fn schema_change(cx: Context) -> Outcome {
    cx.establish(&crd(&cx)).await?;
    let mut schema = open();
    schema["properties"]["spec"]["properties"]["x"]["default"] = json!("new");
    cx.create_at(cx.own("v1", "things"), &thing(&cx, "v1", "a", json!({}))).await?.eq("/spec", json!({}))?;
    let path = format!("{}/a", cx.own("v1", "things"));
    change_schema(&cx, schema, &path, |r| r.body["spec"]["x"] == "new").await?;
    cx.create_at(cx.own("v1", "things"), &thing(&cx, "v1", "b", json!({}))).await?.eq("/spec/x", "new")?;
    Ok(())
}

async fn pruned_on_read(cx: Context) -> Outcome {
    cx.establish(&crd(&cx)).await?;
    let made = cx.create_at(cx.own("v1", "things"), &thing(&cx, "v1", "a", json!({"x": "1"}))).await?;
    let path = format!("{}/a", cx.own("v1", "things"));
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"y": {"type": "string"}}}}});
    let r = change_schema(&cx, schema, &path, |r| r.body["spec"]["x"].is_null()).await?;
    r.eq("/metadata/resourceVersion", made.revision()?)?;
    Ok(())
}

async fn default_on_read(cx: Context) -> Outcome {
    cx.establish(&crd(&cx)).await?;
    let made = cx.create_at(cx.own("v1", "things"), &thing(&cx, "v1", "a", json!({}))).await?;
    let mut schema = open();
    schema["properties"]["spec"]["properties"]["x"]["default"] = json!("new");
    let path = format!("{}/a", cx.own("v1", "things"));
    let r = change_schema(&cx, schema, &path, |r| r.body["spec"]["x"] == "new").await?;
    r.eq("/metadata/resourceVersion", made.revision()?)?;
    Ok(())
}

async fn version_added(cx: Context) -> Outcome {
    cx.establish(&crd(&cx)).await?;
    cx.create_at(cx.own("v1", "things"), &thing(&cx, "v1", "a", json!({}))).await?;
    cx.merge(crd_path(&cx), &json!({"spec": {"versions": two(&cx)["spec"]["versions"]}}))
        .await?
        .is(200)?
        .eq("/metadata/generation", 2)?;
    cx.wait_for_code(&cx.own("v2", "things"), 200).await?.lists(&["a"])?;
    Ok(())
}

async fn delete_crd(cx: Context) -> Outcome {
    cx.establish(&crd(&cx)).await?;
    cx.create_at(cx.own("v1", "things"), &thing(&cx, "v1", "a", json!({}))).await?;
    cx.delete(crd_path(&cx)).await?.is(200)?;
    cx.wait_for_code(&crd_path(&cx), 404).await?;
    cx.wait_for_code(&cx.own("v1", "things"), 404).await?;
    Ok(())
}

async fn recreated(cx: Context) -> Outcome {
    cx.establish(&crd(&cx)).await?;
    cx.create_at(cx.own("v1", "things"), &thing(&cx, "v1", "a", json!({}))).await?;
    cx.delete(crd_path(&cx)).await?.is(200)?;
    cx.wait_for_code(&crd_path(&cx), 404).await?;
    cx.wait_for_code(&cx.own("v1", "things"), 404).await?;
    cx.establish(&crd(&cx)).await?;
    cx.wait_for_code(&cx.own("v1", "things"), 200).await?.lists(&[])?;
    Ok(())
}

async fn verbs(cx: Context) -> Outcome {
    cx.establish(&crd(&cx)).await?;
    cx.get(crd_path(&cx)).await?.is(200)?.eq("/kind", "CustomResourceDefinition")?;
    let name = format!("things.{}", cx.own_group());
    holds(cx.get(CRDS).await?.names()?.contains(&name), &name, "a list without it")?;
    let r = cx.merge(crd_path(&cx), &json!({"metadata": {"labels": {"x": "1"}}})).await?;
    r.is(200)?.eq("/metadata/labels/x", "1")?.eq("/metadata/generation", 1)?;
    Ok(())
}

async fn discovery(cx: Context) -> Outcome {
    cx.establish(&crd(&cx)).await?;
    let path = format!("/apis/{}/v1", cx.own_group());
    let r = cx.wait_for_code(&path, 200).await?;
    r.eq("/kind", "APIResourceList")?.eq("/groupVersion", format!("{}/v1", cx.own_group()))?;
    r.eq("/resources/0/name", "things")?
        .eq("/resources/0/kind", "Thing")?
        .eq("/resources/0/namespaced", true)?;
    Ok(())
}

async fn watch_delete(cx: Context) -> Outcome {
    cx.establish(&crd(&cx)).await?;
    let revision =
        cx.create_at(cx.own("v1", "things"), &thing(&cx, "v1", "a", json!({}))).await?.revision()?;
    let mut watch =
        cx.watch(format!("{}?watch=1&resourceVersion={revision}", cx.own("v1", "things"))).await?;
    cx.delete(crd_path(&cx)).await?.is(200)?;
    watch.expect("DELETED", "a").await?;
    Ok(())
}

async fn client_status(cx: Context) -> Outcome {
    let mut body = crd(&cx);
    body["status"] =
        json!({"storedVersions": ["v9"], "conditions": [], "acceptedNames": {"plural": "z", "kind": "Z"}});
    cx.create_at(CRDS, &body).await?.eq("/status/storedVersions", json!(["v1"]))?;
    Ok(())
}
