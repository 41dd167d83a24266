//! Registers webhooks of a case and waits until they are active.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    check::{Failure, Outcome},
    client::ApiResponse,
    context::{Context, pause},
    kinds::CONFIG_MAP,
    webhook::{TestWebhook, WebhookResponse},
};

pub(super) const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
/// The label that selects the case's namespace for its webhooks.
pub(super) const CASE: &str = "conformance.example/case";
/// The label of probe objects, which show whether webhooks are active.
const PROBE: &str = "conformance.example/probe";

#[derive(Clone)]
pub(in crate::area) enum Says {
    Response(Value),
    Raw(u16, &'static str),
    Late(u64),
}

impl Says {
    fn response(&self) -> WebhookResponse {
        match self {
            Self::Response(response) => WebhookResponse::Response(response.clone()),
            Self::Raw(code, body) => WebhookResponse::Raw(*code, (*body).to_owned()),
            Self::Late(seconds) => WebhookResponse::Late(*seconds),
        }
    }
}

pub(in crate::area) fn rule(group: &str, resource: &str, operations: &[&str]) -> Value {
    json!([{"operations": operations, "apiGroups": [group], "apiVersions": ["*"], "resources": [resource]}])
}

pub(super) fn patch(operations: Value) -> Value {
    json!({"allowed": true, "patchType": "JSONPatch", "patch": BASE64_STANDARD.encode(operations.to_string())})
}

/// A webhook server with these responses by path; any other path allows.
pub(in crate::area) async fn hook(says: Vec<(&'static str, Says)>) -> Result<TestWebhook, Failure> {
    TestWebhook::start(move |path, _| {
        let found = says.iter().find(|(at, _)| *at == path);
        found.map_or_else(|| WebhookResponse::Response(json!({"allowed": true})), |(_, says)| says.response())
    })
    .await
}

/// A webhook for ConfigMaps in the case's namespace, with these fields changed.
pub(super) fn webhook(cx: &Context, hook: &TestWebhook, path: &str, change: Value) -> Value {
    let mut out = json!({
        "name": format!("{}.conformance.example", path.trim_start_matches('/')),
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": hook.client(path),
        "namespaceSelector": {"matchLabels": {CASE: cx.ns}},
        "objectSelector": {"matchExpressions": [{"key": PROBE, "operator": "DoesNotExist"}]},
        "rules": rule("", "configmaps", &["*"]),
    });
    for (field, value) in change.as_object().into_iter().flatten() {
        out[field] = value.clone();
    }
    out
}

/// Registers webhooks, waits until they are active, runs the body, and removes them.
pub(super) async fn with<F>(
    cx: &Context,
    hook: &TestWebhook,
    mutating: Vec<Value>,
    validating: Vec<Value>,
    body: F,
) -> Outcome
where
    F: Future<Output = Outcome>,
{
    let label = json!({"metadata": {"labels": {CASE: cx.ns}}});
    cx.merge(format!("/api/v1/namespaces/{}", cx.ns), &label).await?.is(200)?;
    let probe = |path: &str| {
        let selector = json!({"objectSelector": {"matchLabels": {PROBE: "yes"}}, "rules": rule("", "configmaps", &["CREATE"])});
        webhook(cx, hook, path, selector)
    };
    let mut made = Vec::new();
    for (kind, plural, mut hooks, path) in [
        ("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", mutating, "/probe-m"),
        ("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", validating, "/probe-v"),
    ] {
        if hooks.is_empty() {
            continue;
        }
        hooks.push(probe(path));
        let name = format!("conformance-{}", cx.ns);
        let configuration = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "webhooks": hooks});
        let reply = cx.post(format!("{GROUP}/{plural}"), &configuration).await?;
        made.push((format!("{GROUP}/{plural}/{name}"), path));
        if let Err(failure) = reply.is(201) {
            take_away(cx, &made).await;
            return Err(failure);
        }
    }
    let outcome = match settled(cx, hook, &made).await {
        Ok(()) => body.await,
        Err(failure) => Err(failure),
    };
    take_away(cx, &made).await;
    outcome
}

async fn take_away(cx: &Context, made: &[(String, &str)]) {
    for (path, _) in made {
        // Remaining webhooks match only their own namespace.
        let _ = cx.delete(path).await;
    }
}

/// Waits until every configuration is active.
async fn settled(cx: &Context, hook: &TestWebhook, made: &[(String, &str)]) -> Outcome {
    let until = Instant::now() + cx.server.wait;
    let probe = config_map(cx, "probe", json!({"metadata": {"labels": {PROBE: "yes"}}}));
    while made.iter().any(|(_, path)| hook.requests(path).is_empty()) {
        if Instant::now() > until {
            return Err(Failure::new("webhooks", "called".into(), format!("{:?}", hook.paths())));
        }
        cx.post(format!("{}?dryRun=All", cx.all_of(&CONFIG_MAP)), &probe).await?;
        pause(50).await;
    }
    hook.clear();
    Ok(())
}

pub(super) fn config_map(cx: &Context, name: &str, fields: Value) -> Value {
    let mut object = cx.object_of(&CONFIG_MAP, name, fields);
    if object.get("data").is_none() {
        object["data"] = json!({"x": "1"});
    }
    object
}

pub(super) async fn create(cx: &Context, name: &str) -> Result<ApiResponse, Failure> {
    cx.post(cx.all_of(&CONFIG_MAP), &config_map(cx, name, json!({}))).await
}

/// The single request on `/v`.
pub(in crate::area) fn only(hook: &TestWebhook, path: &str) -> Result<Value, Failure> {
    let mut requests = hook.requests(path);
    match requests.len() {
        1 => Ok(requests.remove(0)),
        n => Err(Failure::new("requests to the webhook", "one".into(), format!("{n}: {requests:?}"))),
    }
}

pub(in crate::area) async fn validating<F>(
    cx: &Context,
    hook: &TestWebhook,
    change: Value,
    body: F,
) -> Outcome
where
    F: Future<Output = Outcome>,
{
    with(cx, hook, Vec::new(), vec![webhook(cx, hook, "/v", change)], body).await
}

pub(super) async fn mutating<F>(cx: &Context, hook: &TestWebhook, change: Value, body: F) -> Outcome
where
    F: Future<Output = Outcome>,
{
    with(cx, hook, vec![webhook(cx, hook, "/m", change)], Vec::new(), body).await
}
