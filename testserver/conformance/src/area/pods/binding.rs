//! Binding pods to nodes.

use http::Method;
use serde_json::{Value, json};

use super::{
    eviction::is_success,
    setup::{below, not_allowed, pods},
};
use crate::{
    case::{Case, core},
    check::Outcome,
    context::Context,
    kinds::POD,
};

// One row per line.
#[rustfmt::skip]
pub(super) fn cases() -> Vec<Case> {
    [
        core("pods/binding-missing-404", "binding a missing pod: 404", binding_missing),
        core("pods/binding-other-name-400", "a Binding with another name than the path: 400", binding_other),
        core("pods/binding-target-500", "a Binding without a node is rejected: 500 with a reason", binding_target),
        core("pods/binding-dry-run", "a dry run binds nothing", binding_dry),
        core("pods/binding-by-collection", "a Binding may be posted to `bindings` as well", binding_collection),
        core("pods/binding-twice-409", "binding a pod that already has a node: 409, naming it", binding_twice),
        core("pods/binding-verbs-405", "other verbs than POST on a binding: 405", binding_verbs),
    ]
    .concat()
}

pub(super) fn binding(pod: &str, target: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": target})
}

pub(super) fn node() -> Value {
    json!({"kind": "Node", "name": "n"})
}

async fn binding_missing(cx: Context) -> Outcome {
    let r = cx.post(below(&cx, "none", "binding"), &binding("none", node())).await?;
    r.fails(404, "NotFound")?.says("pods \"none\" not found")?;
    Ok(())
}

async fn binding_other(cx: Context) -> Outcome {
    pods(&cx).await?;
    let r = cx.post(below(&cx, "a", "binding"), &binding("other", node())).await?;
    r.fails(400, "BadRequest")?.says("name in URL does not match name in Binding object")?;
    Ok(())
}

async fn binding_target(cx: Context) -> Outcome {
    pods(&cx).await?;
    for (target, why) in [
        (json!({}), "target.name: Required value"),
        (
            json!({"kind": "Pod", "name": "x"}),
            "target.kind: Unsupported value: \"Pod\": supported values: \"Node\"",
        ),
    ] {
        let r = cx.post(below(&cx, "a", "binding"), &binding("a", target)).await?;
        r.is(500)?.eq("/status", "Failure")?.mentions(why)?;
    }
    cx.get(cx.one_of(&POD, "a")).await?.absent("/spec/nodeName")?;
    Ok(())
}

async fn binding_dry(cx: Context) -> Outcome {
    pods(&cx).await?;
    is_success(&cx.post(below(&cx, "a", "binding?dryRun=All"), &binding("a", node())).await?)?;
    cx.get(cx.one_of(&POD, "a")).await?.is(200)?.absent("/spec/nodeName")?;
    Ok(())
}

async fn binding_collection(cx: Context) -> Outcome {
    pods(&cx).await?;
    let path = format!("/api/v1/namespaces/{}/bindings", cx.ns);
    is_success(&cx.post(path, &binding("a", node())).await?)?;
    cx.get(cx.one_of(&POD, "a")).await?.eq("/spec/nodeName", "n")?;
    Ok(())
}

async fn binding_twice(cx: Context) -> Outcome {
    pods(&cx).await?;
    is_success(&cx.post(below(&cx, "a", "binding"), &binding("a", node())).await?)?;
    let r = cx.post(below(&cx, "a", "binding"), &binding("a", node())).await?;
    r.fails(409, "Conflict")?.mentions("\"a\": pod a is already assigned to node \"n\"")?;
    Ok(())
}

async fn binding_verbs(cx: Context) -> Outcome {
    pods(&cx).await?;
    cx.get(below(&cx, "a", "binding")).await?.fails(405, "MethodNotAllowed")?;
    not_allowed(&cx, &below(&cx, "a", "binding"), &[Method::PUT, Method::DELETE]).await
}
