//! Evictions and disruption budgets.

use http::Method;
use serde_json::{Value, json};

use super::setup::{below, not_allowed, pods};
use crate::{
    case::{Case, core, since},
    check::{Failure, Outcome},
    client::ApiResponse,
    context::Context,
    kinds::POD,
};

// One row per line.
#[rustfmt::skip]
pub(super) fn cases() -> Vec<Case> {
    [
        core("pods/eviction", "an eviction deletes the pod: 201 and a Status", eviction),
        since(27, core("pods/eviction-unready", "a Pod that is not ready is evicted despite its budget, with unhealthyPodEvictionPolicy AlwaysAllow (since 1.27)", eviction_unready)),
        core("pods/eviction-missing-404", "the eviction of a missing pod: 404", eviction_missing),
        core("pods/eviction-other-name-400", "an Eviction with another name than the path: 400", eviction_other),
        core("pods/eviction-wrong-kind-400", "a body that is no Eviction: 400", eviction_kind),
        core("pods/eviction-verbs-405", "other verbs than POST on an eviction: 405", eviction_verbs),
        core("pods/eviction-dry-run", "a dry run, by query or by delete options, evicts no pod", eviction_dry),
        core("pods/eviction-precondition-409", "preconditions of the delete options that do not hold: 409", eviction_precondition),
        core("pods/eviction-budget-429", "a budget without allowed disruptions: 429 with cause DisruptionBudget, also as a dry run", eviction_budget),
        core("pods/eviction-after-budget", "after the budget is deleted the eviction succeeds", eviction_without_budget),
    ]
    .concat()
}

/// The version of evictions and budgets on this server.
fn policy(cx: &Context) -> &'static str {
    cx.api_by_version("policy/v1beta1", 22, "policy/v1")
}

async fn evict(cx: &Context, pod: &str, fields: Value) -> Result<ApiResponse, Failure> {
    let mut body = json!({"apiVersion": policy(cx), "kind": "Eviction", "metadata": {"name": pod}});
    for (key, value) in fields.as_object().into_iter().flatten() {
        body[key] = value.clone();
    }
    cx.post(below(cx, pod, "eviction"), &body).await
}

pub(super) fn is_success(r: &ApiResponse) -> Outcome {
    r.is(201)?.eq("/kind", "Status")?.eq("/status", "Success")?;
    Ok(())
}

async fn eviction(cx: Context) -> Outcome {
    pods(&cx).await?;
    is_success(&evict(&cx, "a", json!({})).await?)?;
    cx.get(cx.one_of(&POD, "a")).await?.is(404)?;
    Ok(())
}

async fn eviction_missing(cx: Context) -> Outcome {
    evict(&cx, "none", json!({})).await?.fails(404, "NotFound")?.says("pods \"none\" not found")?;
    Ok(())
}

async fn eviction_other(cx: Context) -> Outcome {
    pods(&cx).await?;
    let why = "name in URL does not match name in Eviction object";
    for metadata in [json!({"name": "other"}), json!({})] {
        evict(&cx, "a", json!({"metadata": metadata})).await?.fails(400, "BadRequest")?.says(why)?;
    }
    Ok(())
}

async fn eviction_kind(cx: Context) -> Outcome {
    pods(&cx).await?;
    evict(&cx, "a", json!({"kind": "PodDisruptionBudget"})).await?.fails(400, "BadRequest")?;
    cx.get(cx.one_of(&POD, "a")).await?.is(200)?;
    Ok(())
}

async fn eviction_verbs(cx: Context) -> Outcome {
    pods(&cx).await?;
    cx.get(below(&cx, "a", "eviction")).await?.fails(405, "MethodNotAllowed")?;
    not_allowed(&cx, &below(&cx, "a", "eviction"), &[Method::PUT, Method::DELETE]).await
}

async fn eviction_dry(cx: Context) -> Outcome {
    pods(&cx).await?;
    is_success(&evict(&cx, "a", json!({"deleteOptions": {"dryRun": ["All"]}})).await?)?;
    let body = json!({"apiVersion": policy(&cx), "kind": "Eviction", "metadata": {"name": "a"}});
    is_success(&cx.post(below(&cx, "a", "eviction?dryRun=All"), &body).await?)?;
    cx.get(cx.one_of(&POD, "a")).await?.is(200)?.absent("/metadata/deletionTimestamp")?;
    Ok(())
}

async fn eviction_precondition(cx: Context) -> Outcome {
    pods(&cx).await?;
    let options = json!({"deleteOptions": {"preconditions": {"uid": "another"}}});
    evict(&cx, "a", options)
        .await?
        .fails(409, "Conflict")?
        .mentions("the UID in the precondition (another)")?;
    cx.get(cx.one_of(&POD, "a")).await?.is(200)?;
    Ok(())
}

fn budgets(cx: &Context) -> String {
    format!("/apis/{}/namespaces/{}/poddisruptionbudgets", policy(cx), cx.ns)
}

/// A running pod `a` and a budget that requires more pods.
async fn budgeted(cx: &Context) -> Outcome {
    let pod =
        json!({"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    cx.create_at(cx.all_of(&POD), &cx.object_of(&POD, "a", pod)).await?;
    let ready = json!([{"type": "Ready", "status": "True"}]);
    cx.merge(below(cx, "a", "status"), &json!({"status": {"phase": "Running", "conditions": ready}}))
        .await?
        .is(200)?;
    let spec = json!({"minAvailable": 2, "selector": {"matchLabels": {"app": "x"}}});
    let budget = json!({"apiVersion": policy(cx), "kind": "PodDisruptionBudget", "metadata": {"name": "b"}, "spec": spec});
    cx.create_at(budgets(cx), &budget).await?;
    Ok(())
}

async fn eviction_unready(cx: Context) -> Outcome {
    budgeted(&cx).await?;
    let unready = json!([{"type": "Ready", "status": "False"}]);
    cx.merge(below(&cx, "a", "status"), &json!({"status": {"conditions": unready}})).await?.is(200)?;
    evict(&cx, "a", json!({})).await?.fails(429, "TooManyRequests")?;
    let policy = json!({"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}});
    cx.merge(format!("{}/b", budgets(&cx)), &policy).await?.is(200)?;
    is_success(&evict(&cx, "a", json!({})).await?)?;
    cx.get(cx.one_of(&POD, "a")).await?.is(404)?;
    Ok(())
}

async fn eviction_budget(cx: Context) -> Outcome {
    budgeted(&cx).await?;
    for options in [json!({}), json!({"dryRun": ["All"]})] {
        let r = evict(&cx, "a", json!({"deleteOptions": options})).await?;
        r.fails(429, "TooManyRequests")?.eq("/details/causes/0/reason", "DisruptionBudget")?;
        r.mentions("Cannot evict pod as it would violate the pod's disruption budget.")?;
    }
    cx.get(cx.one_of(&POD, "a")).await?.is(200)?.absent("/metadata/deletionTimestamp")?;
    Ok(())
}

async fn eviction_without_budget(cx: Context) -> Outcome {
    budgeted(&cx).await?;
    evict(&cx, "a", json!({})).await?.fails(429, "TooManyRequests")?;
    cx.delete(format!("{}/b", budgets(&cx))).await?.is(200)?;
    is_success(&evict(&cx, "a", json!({})).await?)?;
    Ok(())
}
