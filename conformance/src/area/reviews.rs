//! Webhooks that are asked about what happens below an object: connections, evictions, bindings, tokens.

use http::Method;
use serde_json::{Value, json};

use super::admission::{Says, hook, only, rule, validating};
use crate::{
    case::{Case, core},
    check::{Outcome, at, equal},
    client::Reply,
    context::Cx,
    hook::Hook,
    kinds::POD,
};

// One row a line: a table.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        core("admission/connect-review", "what a webhook hears of an exec: CONNECT, and what was asked for", connect),
        core("admission/connect-denied-400", "a denied connection is not made", connect_denied),
        core("admission/connect-object-selector", "an object selector selects no connection", connect_unselected),
        core("admission/eviction-review", "what a webhook hears of an eviction: CREATE of an Eviction", eviction),
        core("admission/eviction-denied-400", "a denied eviction leaves the pod", eviction_denied),
        core("admission/binding-review", "what a webhook hears of a binding: CREATE of a Binding", binding),
        core("admission/token-review", "what a webhook hears of a token: CREATE of a TokenRequest", token),
        core("admission/token-denied-400", "a denied token is not given", token_denied),
    ]
    .concat()
}

const EXEC: &str = "exec?command=ls&command=-l&stdout=true&container=c";

async fn pod(cx: &Cx) -> Outcome {
    let spec = json!({"containers": [{"name": "c", "image": "i"}]});
    cx.made(cx.all_of(&POD), &cx.object_of(&POD, "a", json!({"spec": spec}))).await?;
    Ok(())
}

fn below(cx: &Cx, rest: &str) -> String {
    format!("{}/{rest}", cx.one_of(&POD, "a"))
}

/// What was asked for has no labels, so that only an empty selector selects it.
fn connections() -> Value {
    json!({"rules": rule("", "pods/exec", &["CONNECT"]), "objectSelector": {}})
}

/// A hook that says no.
async fn refusing() -> Result<Hook, crate::check::Failure> {
    let no = json!({"allowed": false, "status": {"message": "not today"}});
    hook(vec![("/v", Says::Response(no))]).await
}

fn denied(reply: &Reply) -> Outcome {
    reply.is(400)?.eq("/status", "Failure")?.mentions("denied the request: not today")?;
    Ok(())
}

/// The kind, the resource and the subresource of what was heard.
fn is_about(request: &Value, operation: &str, kind: Value, resource: &str, sub: &str) -> Outcome {
    at(request, "/operation", operation)?;
    at(request, "/kind", kind)?;
    at(request, "/resource/resource", resource)?;
    at(request, "/subResource", sub)
}

fn kind(group: &str, version: &str, kind: &str) -> Value {
    json!({"group": group, "version": version, "kind": kind})
}

async fn connect(cx: Cx) -> Outcome {
    pod(&cx).await?;
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, connections(), async {
        // The pod has no node: the webhook is asked first.
        cx.get(below(&cx, EXEC)).await?.fails(400, "BadRequest")?;
        let request = only(&hook, "/v")?;
        is_about(&request, "CONNECT", kind("", "v1", "PodExecOptions"), "pods", "exec")?;
        at(&request, "/name", "a")?;
        at(&request, "/object/kind", "PodExecOptions")?;
        at(&request, "/object/command", json!(["ls", "-l"]))?;
        at(&request, "/object/stdout", true)?;
        at(&request, "/object/container", "c")?;
        equal(
            "options and oldObject",
            (&Value::Null, &Value::Null),
            (&request["options"], &request["oldObject"]),
        )
    })
    .await
}

async fn connect_denied(cx: Cx) -> Outcome {
    pod(&cx).await?;
    let hook = refusing().await?;
    validating(&cx, &hook, connections(), async {
        denied(&cx.call(Method::POST, below(&cx, EXEC)).send().await?)
    })
    .await
}

async fn connect_unselected(cx: Cx) -> Outcome {
    pod(&cx).await?;
    let hook = refusing().await?;
    validating(&cx, &hook, json!({"rules": rule("", "pods/exec", &["CONNECT"])}), async {
        cx.get(below(&cx, EXEC))
            .await?
            .fails(400, "BadRequest")?
            .says("pod a does not have a host assigned")?;
        equal("heard", Vec::<String>::new(), hook.paths())
    })
    .await
}

/// Evictions of `policy/v1` came with 1.22.
fn policy(cx: &Cx) -> &'static str {
    cx.by_version("v1beta1", 22, "v1")
}

async fn evict(cx: &Cx) -> Result<Reply, crate::check::Failure> {
    let version = format!("policy/{}", policy(cx));
    let body = json!({"apiVersion": version, "kind": "Eviction", "metadata": {"name": "a"}});
    cx.post(below(cx, "eviction"), &body).await
}

async fn eviction(cx: Cx) -> Outcome {
    pod(&cx).await?;
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, json!({"rules": rule("", "pods/eviction", &["*"])}), async {
        evict(&cx).await?.is(201)?;
        let request = only(&hook, "/v")?;
        is_about(&request, "CREATE", kind("policy", policy(&cx), "Eviction"), "pods", "eviction")?;
        at(&request, "/object/kind", "Eviction")?;
        at(&request, "/object/metadata/name", "a")
    })
    .await
}

async fn eviction_denied(cx: Cx) -> Outcome {
    pod(&cx).await?;
    let hook = refusing().await?;
    validating(&cx, &hook, json!({"rules": rule("", "pods/eviction", &["*"])}), async {
        denied(&evict(&cx).await?)?;
        cx.get(cx.one_of(&POD, "a")).await?.is(200)?.absent("/metadata/deletionTimestamp")?;
        Ok(())
    })
    .await
}

async fn binding(cx: Cx) -> Outcome {
    pod(&cx).await?;
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, json!({"rules": rule("", "pods/binding", &["*"])}), async {
        let target = json!({"kind": "Node", "name": "n"});
        let body =
            json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "a"}, "target": target});
        cx.post(below(&cx, "binding"), &body).await?.is(201)?;
        let request = only(&hook, "/v")?;
        is_about(&request, "CREATE", kind("", "v1", "Binding"), "pods", "binding")?;
        at(&request, "/object/target/name", "n")
    })
    .await
}

/// The account `robot`, and a token of it.
async fn ask(cx: &Cx) -> Result<Reply, crate::check::Failure> {
    let accounts = format!("/api/v1/namespaces/{}/serviceaccounts", cx.ns);
    cx.made(&accounts, &json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}))
        .await?;
    let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": ["one"]}});
    cx.post(format!("{accounts}/robot/token"), &body).await
}

async fn token(cx: Cx) -> Outcome {
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, json!({"rules": rule("", "serviceaccounts/token", &["*"])}), async {
        ask(&cx).await?.is(201)?;
        let request = only(&hook, "/v")?;
        let wanted = kind("authentication.k8s.io", "v1", "TokenRequest");
        is_about(&request, "CREATE", wanted, "serviceaccounts", "token")?;
        at(&request, "/name", "robot")?;
        at(&request, "/object/spec/audiences", json!(["one"]))
    })
    .await
}

async fn token_denied(cx: Cx) -> Outcome {
    let hook = refusing().await?;
    validating(&cx, &hook, json!({"rules": rule("", "serviceaccounts/token", &["*"])}), async {
        denied(&ask(&cx).await?)
    })
    .await
}
