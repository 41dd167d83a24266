//! Webhooks for subresources: connections, evictions, bindings, tokens.

use http::Method;
use serde_json::{Value, json};

use super::admission::{Says, hook, only, rule, validating};
use crate::{
    case::{Case, core},
    check::{Outcome, at, equal},
    client::ApiResponse,
    context::Context,
    kinds::POD,
    webhook::TestWebhook,
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        core("admission/connect-review", "the review of an exec: CONNECT, with the options of the request", connect),
        core("admission/connect-denied-400", "a denied connection is not opened", connect_denied),
        core("admission/connect-object-selector", "an object selector does not match connections", connect_unselected),
        core("admission/eviction-review", "the review of an eviction: CREATE of an Eviction", eviction),
        core("admission/eviction-denied-400", "a denied eviction leaves the pod", eviction_denied),
        core("admission/binding-review", "the review of a binding: CREATE of a Binding", binding),
        core("admission/token-review", "the review of a token: CREATE of a TokenRequest", token),
        core("admission/token-denied-400", "a denied token is not issued", token_denied),
    ]
    .concat()
}

const EXEC: &str = "exec?command=ls&command=-l&stdout=true&container=c";

async fn pod(cx: &Context) -> Outcome {
    let spec = json!({"containers": [{"name": "c", "image": "i"}]});
    cx.create_at(cx.all_of(&POD), &cx.object_of(&POD, "a", json!({"spec": spec}))).await?;
    Ok(())
}

fn below(cx: &Context, rest: &str) -> String {
    format!("{}/{rest}", cx.one_of(&POD, "a"))
}

/// Options have no labels: only an empty selector matches.
fn connections() -> Value {
    json!({"rules": rule("", "pods/exec", &["CONNECT"]), "objectSelector": {}})
}

/// A webhook that refuses.
async fn refusing() -> Result<TestWebhook, crate::check::Failure> {
    let no = json!({"allowed": false, "status": {"message": "not today"}});
    hook(vec![("/v", Says::Response(no))]).await
}

fn denied(reply: &ApiResponse) -> Outcome {
    reply.is(400)?.eq("/status", "Failure")?.mentions("denied the request: not today")?;
    Ok(())
}

/// Kind, resource and subresource of the request.
fn is_about(request: &Value, operation: &str, kind: Value, resource: &str, sub: &str) -> Outcome {
    at(request, "/operation", operation)?;
    at(request, "/kind", kind)?;
    at(request, "/resource/resource", resource)?;
    at(request, "/subResource", sub)
}

fn kind(group: &str, version: &str, kind: &str) -> Value {
    json!({"group": group, "version": version, "kind": kind})
}

async fn connect(cx: Context) -> Outcome {
    pod(&cx).await?;
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, connections(), async {
        // The pod is unscheduled: the webhook is called first.
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

async fn connect_denied(cx: Context) -> Outcome {
    pod(&cx).await?;
    let hook = refusing().await?;
    validating(&cx, &hook, connections(), async {
        denied(&cx.call(Method::POST, below(&cx, EXEC)).send().await?)
    })
    .await
}

async fn connect_unselected(cx: Context) -> Outcome {
    pod(&cx).await?;
    let hook = refusing().await?;
    validating(&cx, &hook, json!({"rules": rule("", "pods/exec", &["CONNECT"])}), async {
        cx.get(below(&cx, EXEC))
            .await?
            .fails(400, "BadRequest")?
            .says("pod a does not have a host assigned")?;
        equal("requests to the webhook", Vec::<String>::new(), hook.paths())
    })
    .await
}

/// `policy/v1` evictions exist since 1.22.
fn policy(cx: &Context) -> &'static str {
    cx.api_by_version("v1beta1", 22, "v1")
}

async fn evict(cx: &Context) -> Result<ApiResponse, crate::check::Failure> {
    let version = format!("policy/{}", policy(cx));
    let body = json!({"apiVersion": version, "kind": "Eviction", "metadata": {"name": "a"}});
    cx.post(below(cx, "eviction"), &body).await
}

async fn eviction(cx: Context) -> Outcome {
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

async fn eviction_denied(cx: Context) -> Outcome {
    pod(&cx).await?;
    let hook = refusing().await?;
    validating(&cx, &hook, json!({"rules": rule("", "pods/eviction", &["*"])}), async {
        denied(&evict(&cx).await?)?;
        cx.get(cx.one_of(&POD, "a")).await?.is(200)?.absent("/metadata/deletionTimestamp")?;
        Ok(())
    })
    .await
}

async fn binding(cx: Context) -> Outcome {
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

/// The account `robot` and its token path.
async fn ask(cx: &Context) -> Result<ApiResponse, crate::check::Failure> {
    let accounts = format!("/api/v1/namespaces/{}/serviceaccounts", cx.ns);
    cx.create_at(
        &accounts,
        &json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}),
    )
    .await?;
    let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": ["one"]}});
    cx.post(format!("{accounts}/robot/token"), &body).await
}

async fn token(cx: Context) -> Outcome {
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

async fn token_denied(cx: Context) -> Outcome {
    let hook = refusing().await?;
    validating(&cx, &hook, json!({"rules": rule("", "serviceaccounts/token", &["*"])}), async {
        denied(&ask(&cx).await?)
    })
    .await
}
