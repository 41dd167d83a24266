//! Garbage collection by owner references; needs a server with built-in kinds.

use serde_json::{Value, json};

use crate::{
    case::{Case, core},
    check::{Failure, Outcome, holds},
    client::ApiResponse,
    context::{Context, pause},
    kinds::{COG, CONFIG_MAP, Kind, WIDGET},
};

pub(crate) fn cases() -> Vec<Case> {
    [
        core("gc/background", "a dependent is deleted after its owner", background),
        core(
            "gc/default-is-background",
            "without a policy, dependents of a custom resource are deleted too",
            default_policy,
        ),
        core(
            "gc/custom-owner-of-builtin",
            "a ConfigMap owned by a custom resource is collected",
            custom_owner,
        ),
        core(
            "gc/builtin-owner-of-custom",
            "a custom resource owned by a ConfigMap is collected",
            builtin_owner,
        ),
        core(
            "gc/cluster-scoped-owner",
            "a namespaced dependent of a cluster-scoped owner is collected",
            cluster_owner,
        ),
        core(
            "gc/foreground-waits",
            "Foreground: the owner stays with foregroundDeletion until blocking dependents are gone",
            foreground,
        ),
        core(
            "gc/foreground-ignores-non-blocking",
            "Foreground: a dependent without blockOwnerDeletion does not hold the owner",
            foreground_free,
        ),
        core("gc/orphan", "Orphan: dependents stay and lose the owner reference", orphan),
        core("gc/orphan-dependents-field", "orphanDependents: true is Orphan", orphan_field),
        core(
            "gc/one-owner-left",
            "a dependent with another owner left stays and loses the dead reference",
            one_left,
        ),
        core("gc/missing-owner", "an object whose owner does not exist is deleted", missing_owner),
        core("gc/wrong-uid", "an owner with another uid is treated as missing", wrong_uid),
        core("gc/wrong-namespace", "an owner in another namespace is treated as missing", wrong_namespace),
        core("gc/chain", "dependents of dependents are deleted too", chain),
        core(
            "gc/dependent-with-finalizer",
            "a dependent with a finalizer is marked and waits",
            with_finalizer,
        ),
        core("gc/owner-with-finalizer", "dependents stay while the owner is only marked", owner_finalizer),
        core("gc/no-owner-stays", "objects without owners are never collected", no_owner),
    ]
    .concat()
}

const HOLD: &str = "conformance.example/hold";

fn reference(cx: &Context, kind: &Kind, owner: &Value, block: bool) -> Value {
    json!({"apiVersion": cx.api_version(kind), "kind": kind.kind, "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "blockOwnerDeletion": block})
}

async fn owner(cx: &Context) -> Result<Value, Failure> {
    Ok(cx.create_at(cx.all_of(&WIDGET), &cx.object_of(&WIDGET, "owner", json!({}))).await?.body)
}

async fn owned(cx: &Context, name: &str, references: Value) -> Result<ApiResponse, Failure> {
    let fields = json!({"metadata": {"ownerReferences": references}});
    cx.create_at(cx.all_of(&CONFIG_MAP), &cx.object_of(&CONFIG_MAP, name, fields)).await
}

/// Deletes the widget `owner`.
async fn drop_owner(cx: &Context, policy: &str) -> Result<ApiResponse, Failure> {
    cx.delete_with(cx.one_of(&WIDGET, "owner"), &json!({"propagationPolicy": policy})).await
}

async fn gone(cx: &Context, kind: &Kind, name: &str) -> Outcome {
    cx.wait_for_code(&cx.one_of(kind, name), 404).await?;
    Ok(())
}

async fn background(cx: Context) -> Outcome {
    let owner = owner(&cx).await?;
    owned(&cx, "a", json!([reference(&cx, &WIDGET, &owner, false)])).await?;
    drop_owner(&cx, "Background").await?.is(200)?.eq("/status", "Success")?;
    gone(&cx, &CONFIG_MAP, "a").await
}

async fn default_policy(cx: Context) -> Outcome {
    let owner = owner(&cx).await?;
    owned(&cx, "a", json!([reference(&cx, &WIDGET, &owner, false)])).await?;
    cx.delete(cx.one_of(&WIDGET, "owner")).await?.is(200)?;
    gone(&cx, &CONFIG_MAP, "a").await
}

async fn custom_owner(cx: Context) -> Outcome {
    let owner = owner(&cx).await?;
    for name in ["a", "b", "c"] {
        owned(&cx, name, json!([reference(&cx, &WIDGET, &owner, true)])).await?;
    }
    drop_owner(&cx, "Background").await?.is(200)?;
    for name in ["a", "b", "c"] {
        gone(&cx, &CONFIG_MAP, name).await?;
    }
    Ok(())
}

async fn builtin_owner(cx: Context) -> Outcome {
    let owner = owned(&cx, "owner", json!([])).await?.body;
    let fields = json!({"metadata": {"ownerReferences": [reference(&cx, &CONFIG_MAP, &owner, false)]}});
    cx.create_at(cx.all_of(&WIDGET), &cx.object_of(&WIDGET, "a", fields)).await?;
    cx.delete(cx.one_of(&CONFIG_MAP, "owner")).await?.is(200)?;
    gone(&cx, &WIDGET, "a").await
}

async fn cluster_owner(cx: Context) -> Outcome {
    let owner = cx.create_at(cx.all_of(&COG), &cx.cog(&cx.ns, json!({}))).await?.body;
    owned(&cx, "a", json!([reference(&cx, &COG, &owner, false)])).await?;
    pause(300).await;
    cx.get(cx.one_of(&CONFIG_MAP, "a")).await?.is(200)?;
    cx.delete(cx.one_of(&COG, &cx.ns)).await?.is(200)?;
    gone(&cx, &CONFIG_MAP, "a").await
}

async fn foreground(cx: Context) -> Outcome {
    let owner = owner(&cx).await?;
    let fields = json!({"metadata": {"finalizers": [HOLD], "ownerReferences": [reference(&cx, &WIDGET, &owner, true)]}});
    cx.create_at(cx.all_of(&CONFIG_MAP), &cx.object_of(&CONFIG_MAP, "a", fields)).await?;
    let r = drop_owner(&cx, "Foreground").await?;
    r.is(200)?
        .has("/metadata/deletionTimestamp")?
        .eq("/metadata/finalizers", json!(["foregroundDeletion"]))?;
    let held = cx.one_of(&CONFIG_MAP, "a");
    cx.wait_for(&held, "a deletionTimestamp", |r| r.body["metadata"]["deletionTimestamp"].is_string())
        .await?;
    cx.get(cx.one_of(&WIDGET, "owner")).await?.is(200)?;
    cx.merge(&held, &json!({"metadata": {"finalizers": null}})).await?.is(200)?;
    gone(&cx, &WIDGET, "owner").await
}

async fn foreground_free(cx: Context) -> Outcome {
    let owner = owner(&cx).await?;
    let fields = json!({"metadata": {"finalizers": [HOLD], "ownerReferences": [reference(&cx, &WIDGET, &owner, false)]}});
    cx.create_at(cx.all_of(&CONFIG_MAP), &cx.object_of(&CONFIG_MAP, "a", fields)).await?;
    drop_owner(&cx, "Foreground").await?.is(200)?;
    gone(&cx, &WIDGET, "owner").await?;
    cx.merge(cx.one_of(&CONFIG_MAP, "a"), &json!({"metadata": {"finalizers": null}})).await?.is(200)?;
    Ok(())
}

async fn orphan(cx: Context) -> Outcome {
    let owner = owner(&cx).await?;
    owned(&cx, "a", json!([reference(&cx, &WIDGET, &owner, true)])).await?;
    let r = drop_owner(&cx, "Orphan").await?;
    r.is(200)?.eq("/metadata/finalizers", json!(["orphan"]))?;
    gone(&cx, &WIDGET, "owner").await?;
    cx.get(cx.one_of(&CONFIG_MAP, "a"))
        .await?
        .is(200)?
        .absent("/metadata/ownerReferences")?
        .absent("/metadata/deletionTimestamp")?;
    Ok(())
}

async fn orphan_field(cx: Context) -> Outcome {
    let owner = owner(&cx).await?;
    owned(&cx, "a", json!([reference(&cx, &WIDGET, &owner, true)])).await?;
    cx.delete_with(cx.one_of(&WIDGET, "owner"), &json!({"orphanDependents": true})).await?.is(200)?;
    gone(&cx, &WIDGET, "owner").await?;
    cx.get(cx.one_of(&CONFIG_MAP, "a")).await?.is(200)?.absent("/metadata/ownerReferences")?;
    Ok(())
}

async fn one_left(cx: Context) -> Outcome {
    let (owner, other) = (owner(&cx).await?, owned(&cx, "other", json!([])).await?.body);
    let references =
        json!([reference(&cx, &WIDGET, &owner, false), reference(&cx, &CONFIG_MAP, &other, false)]);
    owned(&cx, "a", references).await?;
    drop_owner(&cx, "Background").await?.is(200)?;
    let path = cx.one_of(&CONFIG_MAP, "a");
    let one = |r: &ApiResponse| {
        r.code == 200 && r.body["metadata"]["ownerReferences"].as_array().is_some_and(|a| a.len() == 1)
    };
    cx.wait_for(&path, "one owner reference", one).await?.eq("/metadata/ownerReferences/0/name", "other")?;
    Ok(())
}

async fn missing_owner(cx: Context) -> Outcome {
    let ghost = json!({"metadata": {"name": "ghost", "uid": "11111111-1111-4111-8111-111111111111"}});
    owned(&cx, "a", json!([reference(&cx, &CONFIG_MAP, &ghost, false)])).await?;
    gone(&cx, &CONFIG_MAP, "a").await
}

async fn wrong_uid(cx: Context) -> Outcome {
    let mut real = owned(&cx, "real", json!([])).await?.body;
    real["metadata"]["uid"] = json!("22222222-1111-4111-8111-111111111111");
    owned(&cx, "a", json!([reference(&cx, &CONFIG_MAP, &real, false)])).await?;
    gone(&cx, &CONFIG_MAP, "a").await?;
    cx.get(cx.one_of(&CONFIG_MAP, "real")).await?.is(200)?;
    Ok(())
}

async fn wrong_namespace(cx: Context) -> Outcome {
    let path = "/api/v1/namespaces/default/configmaps";
    let owner = cx.create_at(path, &cx.object_of(&CONFIG_MAP, &cx.ns, json!({}))).await?.body;
    owned(&cx, "a", json!([reference(&cx, &CONFIG_MAP, &owner, false)])).await?;
    gone(&cx, &CONFIG_MAP, "a").await?;
    cx.delete(format!("{path}/{}", cx.ns)).await?.is(200)?;
    Ok(())
}

async fn chain(cx: Context) -> Outcome {
    let owner = owner(&cx).await?;
    let a = owned(&cx, "a", json!([reference(&cx, &WIDGET, &owner, false)])).await?.body;
    let b = owned(&cx, "b", json!([reference(&cx, &CONFIG_MAP, &a, false)])).await?.body;
    owned(&cx, "c", json!([reference(&cx, &CONFIG_MAP, &b, false)])).await?;
    drop_owner(&cx, "Background").await?.is(200)?;
    for name in ["a", "b", "c"] {
        gone(&cx, &CONFIG_MAP, name).await?;
    }
    Ok(())
}

async fn with_finalizer(cx: Context) -> Outcome {
    let owner = owner(&cx).await?;
    let fields = json!({"metadata": {"finalizers": [HOLD], "ownerReferences": [reference(&cx, &WIDGET, &owner, false)]}});
    cx.create_at(cx.all_of(&CONFIG_MAP), &cx.object_of(&CONFIG_MAP, "a", fields)).await?;
    drop_owner(&cx, "Background").await?.is(200)?;
    let path = cx.one_of(&CONFIG_MAP, "a");
    cx.wait_for(&path, "a deletionTimestamp", |r| r.body["metadata"]["deletionTimestamp"].is_string())
        .await?;
    cx.merge(&path, &json!({"metadata": {"finalizers": null}})).await?.is(200)?;
    gone(&cx, &CONFIG_MAP, "a").await
}

async fn owner_finalizer(cx: Context) -> Outcome {
    let fields = json!({"metadata": {"finalizers": [HOLD]}});
    let owner = cx.create_at(cx.all_of(&WIDGET), &cx.object_of(&WIDGET, "owner", fields)).await?.body;
    owned(&cx, "a", json!([reference(&cx, &WIDGET, &owner, false)])).await?;
    drop_owner(&cx, "Background").await?.is(200)?;
    pause(500).await;
    cx.get(cx.one_of(&CONFIG_MAP, "a")).await?.is(200)?.absent("/metadata/deletionTimestamp")?;
    cx.merge(cx.one_of(&WIDGET, "owner"), &json!({"metadata": {"finalizers": null}})).await?.is(200)?;
    gone(&cx, &CONFIG_MAP, "a").await
}

async fn no_owner(cx: Context) -> Outcome {
    owned(&cx, "a", json!([])).await?;
    let owner = owner(&cx).await?;
    owned(&cx, "b", json!([reference(&cx, &WIDGET, &owner, false)])).await?;
    drop_owner(&cx, "Background").await?.is(200)?;
    gone(&cx, &CONFIG_MAP, "b").await?;
    let r = cx.get(cx.one_of(&CONFIG_MAP, "a")).await?;
    holds(r.code == 200, "still there", &r.text)
}
