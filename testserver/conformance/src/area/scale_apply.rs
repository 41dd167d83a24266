//! Server-side apply of scale, for a custom resource and a Deployment.

use http::Method;
use serde_json::{Value, json};

use super::scale::{both, faulty, one, scale, scaled};
use crate::{
    case::{Case, core, custom, since},
    check::{Failure, Outcome, equal, holds},
    context::{APPLY, Context},
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        core("scale/apply", "an apply of a Deployment's scale sets replicas", applied),
        since(22, core("scale/apply-conflict", "an apply of replicas that another manager owns: 409, unless forced; the owner is recorded with the subresource (since 1.22)", apply_conflict)),
        core("scale/apply-other-kind-400", "an apply of another kind: 400", apply_other_kind),
        since(22, custom("scale/apply-custom", "an apply of a custom resource's scale: 409 if another manager owns other replicas (since 1.22)", apply_custom)),
        since(25, custom("scale/apply-custom-changed-500", "an apply that changes anything of a custom resource's Scale: 500, as it cannot be converted (since 1.25)", apply_custom_changed)),
        custom("scale/apply-custom-unowned-500", "an apply of a custom resource's scale whose replicas nobody owns: 500, and an update takes no ownership", apply_custom_unowned),
        core("scale/apply-given-up", "an applier who names no replicas any more keeps them in the object", apply_given_up),
        both("apply-unknown-fields-500", "an apply of unknown fields of a Scale: 500 whatever the validation; of duplicate ones: a warning, under strict validation 400", apply_unknown_fields),
        since(25, both("apply-shares", "an apply of the same replicas: a second owner, and that of the creator moves to an entry that the next write drops (since 1.25)", apply_shares)),
    ]
    .concat()
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

async fn apply_custom_changed(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let path = format!("{}?force=true", scale(&cx));
    cx.apply(&path, "m", &config(2)).await?.is(200)?;
    let mut labels = config(2);
    labels["metadata"]["labels"] = json!({"a": "b"});
    let mut status = config(2);
    status["status"] = json!({"replicas": 7});
    let mut other_name = config(2);
    other_name["metadata"]["name"] = json!("b");
    let mut given_up = config(2);
    given_up["spec"] = json!({});
    for changed in [config(3), labels, status, other_name, given_up] {
        let reply = cx.apply(&path, "m", &changed).await?;
        reply.is(500)?.mentions("failed to convert new object (/")?;
        reply.mentions("request to convert CR to an invalid group/version: autoscaling/v1")?;
    }
    cx.get(one(&cx)).await?.eq("/spec/replicas", 2)?;
    Ok(())
}

async fn apply_custom_unowned(cx: Context) -> Outcome {
    cx.create_at(cx.all(), &cx.with_spec("a", json!({"size": 1}))).await?;
    cx.merge(scale(&cx), &json!({"spec": {"replicas": 2}})).await?.is(200)?.eq("/spec/replicas", 2)?;
    let reply = cx.apply(scale(&cx), "m", &config(2)).await?;
    reply.is(500)?.mentions("failed to create manager for existing fields: failed to convert live object")?;
    let owners = owners(&cx).await?;
    holds(owners.is_empty(), "no owner of the replicas", format!("{owners:?}"))
}

async fn apply_shares(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let creator = owners(&cx).await?;
    cx.apply(scale(&cx), "m", &config(2)).await?.is(200)?;
    let mut both = creator;
    both.push("m".to_owned());
    both.sort();
    equal("owners", both, owners(&cx).await?)?;
    cx.apply(scale(&cx), "n", &config(2)).await?.is(200)?;
    equal("owners", vec!["m".to_owned(), "n".to_owned()], owners(&cx).await?)?;
    let reply = cx.apply(scale(&cx), "m", &config(3)).await?;
    reply
        .fails(409, "Conflict")?
        .mentions("conflict with \"n\" with subresource \"scale\": .spec.replicas")?;
    Ok(())
}

async fn apply_given_up(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let path = format!("{}?force=true", scale(&cx));
    for manager in ["m", "n"] {
        cx.apply(&path, manager, &config(3)).await?.is(200)?;
    }
    let mut given_up = config(3);
    given_up["spec"] = json!({});
    cx.apply(&path, "m", &given_up).await?.is(200)?.eq("/spec/replicas", 3)?;
    equal("owners", vec!["m".to_owned(), "n".to_owned()], owners(&cx).await?)
}

async fn apply_unknown_fields(cx: Context) -> Outcome {
    scaled(&cx).await?;
    let (_, duplicate) = faulty(&cx);
    for validation in ["Ignore", "Warn", "Strict"] {
        let path = format!("{}?fieldManager=m&fieldValidation={validation}", scale(&cx));
        for at in ["/bogus", "/spec/bogus", "/metadata/bogus"] {
            let mut unknown = config(2);
            let (parent, _) = at.rsplit_once('/').unwrap_or_default();
            if let Some(parent) = unknown.pointer_mut(parent) {
                parent["bogus"] = json!(1);
            }
            let reply = cx.patch(&path, APPLY, &unknown).await?;
            reply.is(500)?.mentions(&format!("{}: field not declared in schema", at.replace('/', ".")))?;
        }
        let twice = cx.call(Method::PATCH, &path).bytes(APPLY, duplicate).send().await?;
        if validation == "Strict" {
            twice.fails(400, "BadRequest")?.mentions("key \"replicas\" already set in map")?;
        } else {
            twice.is(200)?;
            equal("the number of warnings", usize::from(validation == "Warn"), twice.warnings().len())?;
        }
    }
    let mut text = config(2);
    text["spec"]["replicas"] = json!("2");
    let reply = cx.apply(scale(&cx), "m", &text).await?;
    reply.is(500)?.mentions(".spec.replicas: expected numeric (int or float), got string")?;
    Ok(())
}

/// The managers that own the replicas of the object.
async fn owners(cx: &Context) -> Result<Vec<String>, Failure> {
    let object = cx.get(one(cx)).await?.body;
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let owning = entries.iter().filter(|entry| entry["fieldsV1"]["f:spec"].get("f:replicas").is_some());
    let mut owners: Vec<String> =
        owning.map(|entry| entry["manager"].as_str().unwrap_or_default().to_owned()).collect();
    owners.sort();
    Ok(owners)
}
