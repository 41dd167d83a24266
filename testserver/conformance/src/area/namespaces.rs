//! Namespaces: lifecycle and contents.

use serde_json::{Value, json};

use crate::{
    case::{Case, core, since},
    check::{Failure, Outcome, holds},
    client::ApiResponse,
    context::Context,
    kinds::{CONFIG_MAP, WIDGET},
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        core("namespaces/create-defaults", "a namespace is Active with the finalizer kubernetes", create_defaults),
        since(21, core("namespaces/name-label", "a namespace has the label kubernetes.io/metadata.name (since 1.21)", name_label)),
        core("namespaces/name-is-dns-label", "a namespace's name is a DNS label: 422", bad_name),
        core("namespaces/create-in-missing-404", "creating in a namespace that does not exist: 404 NotFound of the namespace", create_in_missing),
        core("namespaces/custom-in-missing-404", "creating a custom resource in a namespace that does not exist: 404", custom_in_missing),
        core("namespaces/list-in-missing-is-empty", "listing in a namespace that does not exist: an empty list", list_in_missing),
        core("namespaces/get-in-missing-404", "getting in a namespace that does not exist: 404 of the object", get_in_missing),
        core("namespaces/apply-in-missing-404", "applying in a namespace that does not exist: 404", apply_in_missing),
        core("namespaces/delete-answers-terminating", "DELETE returns the namespace with phase Terminating", delete_answer),
        core("namespaces/delete-removes-contents", "deleting a namespace deletes its objects, then the namespace", delete_contents),
        core("namespaces/create-in-terminating-403", "creating in a terminating namespace: 403 Forbidden, with the name, the cause NamespaceTerminating and its text", create_in_terminating),
        core("namespaces/update-in-terminating", "objects in a terminating namespace can be updated", update_in_terminating),
        core("namespaces/held-by-finalizer-inside", "an object with a finalizer holds its namespace", held),
        core("namespaces/default-cannot-be-deleted", "the namespace default cannot be deleted: 403", default_stays),
        core("namespaces/deletecollection-not-allowed", "DELETE of all namespaces: 405", no_delete_collection),
        core("namespaces/finalize-subresource", "spec.finalizers is changed by the finalize subresource only", finalize),
        core("namespaces/well-known-exist", "default, kube-system and kube-public exist", well_known),
        core("namespaces/no-recreate-while-terminating", "creating a namespace whose name is still terminating: 409", no_recreate),
        core("namespaces/table", "a namespace's table has Name, Status and Age", table),
    ]
    .concat()
}

const ALL: &str = "/api/v1/namespaces";
const HOLD: &str = "conformance.example/hold";

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// A second namespace of the case, to be deleted.
async fn second(cx: &Context) -> Result<(Context, String), Failure> {
    let other = Context { ns: format!("{}-x", cx.ns), ..cx.clone() };
    cx.create_at(ALL, &namespace(&other.ns)).await?;
    let path = format!("{ALL}/{}", other.ns);
    Ok((other, path))
}

fn config_map(cx: &Context, fields: Value) -> Value {
    cx.object_of(&CONFIG_MAP, "a", fields)
}

/// A terminating namespace, held by an object with a finalizer until `release`.
async fn terminating(cx: &Context) -> Result<(Context, String), Failure> {
    let (inside, path) = second(cx).await?;
    inside
        .create_at(
            inside.all_of(&CONFIG_MAP),
            &config_map(&inside, json!({"metadata": {"finalizers": [HOLD]}})),
        )
        .await?;
    cx.delete(&path).await?.is(200)?;
    Ok((inside, path))
}

async fn release(inside: &Context) -> Result<ApiResponse, Failure> {
    inside.merge(inside.one_of(&CONFIG_MAP, "a"), &json!({"metadata": {"finalizers": null}})).await
}

async fn create_defaults(cx: Context) -> Outcome {
    let r = cx.get(format!("{ALL}/{}", cx.ns)).await?;
    r.is(200)?.eq("/status/phase", "Active")?.eq("/spec/finalizers", json!(["kubernetes"]))?;
    Ok(())
}

async fn name_label(cx: Context) -> Outcome {
    let r = cx.get(format!("{ALL}/{}", cx.ns)).await?;
    r.eq("/metadata/labels/kubernetes.io~1metadata.name", cx.ns.clone())?;
    Ok(())
}

async fn bad_name(cx: Context) -> Outcome {
    cx.post(ALL, &namespace("with.dot"))
        .await?
        .fails(422, "Invalid")?
        .cause("FieldValueInvalid", "metadata.name")?;
    Ok(())
}

async fn create_in_missing(cx: Context) -> Outcome {
    let r = cx.post(format!("{ALL}/none/configmaps"), &config_map(&cx, json!({}))).await?;
    r.fails(404, "NotFound")?.says("namespaces \"none\" not found")?.eq("/details/kind", "namespaces")?;
    Ok(())
}

async fn custom_in_missing(cx: Context) -> Outcome {
    let path = cx.server.collection(&WIDGET, "none");
    cx.post(path, &cx.object_of(&WIDGET, "a", json!({})))
        .await?
        .fails(404, "NotFound")?
        .says("namespaces \"none\" not found")?;
    Ok(())
}

async fn list_in_missing(cx: Context) -> Outcome {
    cx.get(format!("{ALL}/none/configmaps")).await?.lists(&[])?;
    Ok(())
}

async fn get_in_missing(cx: Context) -> Outcome {
    cx.get(format!("{ALL}/none/configmaps/a"))
        .await?
        .fails(404, "NotFound")?
        .says("configmaps \"a\" not found")?;
    Ok(())
}

async fn apply_in_missing(cx: Context) -> Outcome {
    let r = cx.apply(format!("{ALL}/none/configmaps/a"), "one", &config_map(&cx, json!({}))).await?;
    r.fails(404, "NotFound")?.says("namespaces \"none\" not found")?;
    Ok(())
}

async fn delete_answer(cx: Context) -> Outcome {
    let (_, path) = second(&cx).await?;
    let r = cx.delete(path).await?;
    r.is(200)?
        .eq("/kind", "Namespace")?
        .eq("/status/phase", "Terminating")?
        .has("/metadata/deletionTimestamp")?;
    Ok(())
}

async fn delete_contents(cx: Context) -> Outcome {
    let (inside, path) = second(&cx).await?;
    inside.create_at(inside.all_of(&CONFIG_MAP), &config_map(&inside, json!({}))).await?;
    inside.create_at(inside.all_of(&WIDGET), &inside.object_of(&WIDGET, "a", json!({}))).await?;
    cx.delete(&path).await?.is(200)?;
    cx.wait_for_code(&path, 404).await?;
    inside.get(inside.one_of(&CONFIG_MAP, "a")).await?.is(404)?;
    inside.get(inside.one_of(&WIDGET, "a")).await?.is(404)?;
    Ok(())
}

async fn create_in_terminating(cx: Context) -> Outcome {
    let (inside, path) = terminating(&cx).await?;
    let mut body = config_map(&inside, json!({}));
    body["metadata"]["name"] = json!("b");
    let r = inside.post(inside.all_of(&CONFIG_MAP), &body).await?;
    let refused = |reply: &ApiResponse, name: &str| -> Outcome {
        let ns = &inside.ns;
        let why = format!("unable to create new content in namespace {ns} because it is being terminated");
        reply.fails(403, "Forbidden")?.says(&format!("configmaps \"{name}\" is forbidden: {why}"))?;
        let causes = json!([{"reason": "NamespaceTerminating", "message": format!("namespace {ns} is being terminated"), "field": "metadata.namespace"}]);
        reply.eq("/details", json!({"name": name, "kind": "configmaps", "causes": causes})).map(drop)
    };
    refused(&r, "b")?;
    body["metadata"] = json!({"generateName": "g-"});
    refused(&inside.post(inside.all_of(&CONFIG_MAP), &body).await?, "g-")?;
    body["metadata"] = json!({});
    refused(&inside.post(inside.all_of(&CONFIG_MAP), &body).await?, "Unknown")?;
    release(&inside).await?.is(200)?;
    cx.wait_for_code(&path, 404).await?;
    Ok(())
}

async fn update_in_terminating(cx: Context) -> Outcome {
    let (inside, path) = terminating(&cx).await?;
    inside
        .merge(inside.one_of(&CONFIG_MAP, "a"), &json!({"data": {"k": "v"}}))
        .await?
        .is(200)?
        .eq("/data/k", "v")?;
    release(&inside).await?.is(200)?;
    cx.wait_for_code(&path, 404).await?;
    Ok(())
}

async fn held(cx: Context) -> Outcome {
    let (inside, path) = terminating(&cx).await?;
    let object = inside.one_of(&CONFIG_MAP, "a");
    cx.wait_for(&object, "a deletionTimestamp", |r| r.body["metadata"]["deletionTimestamp"].is_string())
        .await?;
    cx.get(&path).await?.is(200)?.eq("/status/phase", "Terminating")?;
    release(&inside).await?.is(200)?;
    cx.wait_for_code(&path, 404).await?;
    Ok(())
}

async fn default_stays(cx: Context) -> Outcome {
    let r = cx.delete(format!("{ALL}/default?dryRun=All")).await?;
    r.fails(403, "Forbidden")?.mentions("this namespace may not be deleted")?;
    Ok(())
}

async fn no_delete_collection(cx: Context) -> Outcome {
    cx.delete(format!("{ALL}?labelSelector=conformance.example/none%3D1"))
        .await?
        .fails(405, "MethodNotAllowed")?;
    Ok(())
}

async fn finalize(cx: Context) -> Outcome {
    let path = format!("{ALL}/{}", cx.ns);
    let mut object = cx.get(&path).await?.body;
    object["spec"]["finalizers"] = json!(["kubernetes", HOLD]);
    cx.put(&path, &object).await?.is(200)?.eq("/spec/finalizers", json!(["kubernetes"]))?;
    object["metadata"]["resourceVersion"] = json!("");
    cx.put(format!("{path}/finalize"), &object)
        .await?
        .is(200)?
        .eq("/spec/finalizers", json!(["kubernetes", HOLD]))?;
    object["spec"]["finalizers"] = json!(["kubernetes"]);
    cx.put(format!("{path}/finalize"), &object).await?.is(200)?;
    Ok(())
}

async fn well_known(cx: Context) -> Outcome {
    let names = cx.get(ALL).await?.names()?;
    for name in ["default", "kube-system", "kube-public"] {
        holds(names.iter().any(|n| n == name), name, format!("{names:?}"))?;
    }
    Ok(())
}

async fn no_recreate(cx: Context) -> Outcome {
    let (inside, path) = terminating(&cx).await?;
    cx.post(ALL, &namespace(&inside.ns))
        .await?
        .fails(409, "AlreadyExists")?
        .mentions("object is being deleted")?;
    release(&inside).await?.is(200)?;
    cx.wait_for_code(&path, 404).await?;
    Ok(())
}

async fn table(cx: Context) -> Outcome {
    let accept = "application/json;as=Table;g=meta.k8s.io;v=v1";
    let r = cx.call(http::Method::GET, format!("{ALL}/{}", cx.ns)).accept(accept).send().await?;
    r.eq("/columnDefinitions/1/name", "Status")?
        .eq("/columnDefinitions/2/name", "Age")?
        .eq("/rows/0/cells/1", "Active")?;
    Ok(())
}
