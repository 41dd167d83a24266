//! Admission webhooks: which are called, with what, and what their responses do.

use std::time::Duration;

use base64::{Engine, prelude::BASE64_STANDARD};
use http::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::conversion;
use crate::{
    case::{Case, core, since},
    check::{Failure, Outcome, at, equal, holds},
    client::ApiResponse,
    context::{Context, MERGE, pause},
    kinds::{CONFIG_MAP, DEPLOYMENT},
    webhook::{TestWebhook, WebhookResponse},
};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
/// The label that selects the case's namespace for its webhooks.
const CASE: &str = "conformance.example/case";
/// The label of probe objects, which show whether webhooks are active.
const PROBE: &str = "conformance.example/probe";

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    let refusals = refusals().into_iter().flat_map(|(id, rule, hook, answer, want)| {
        core(&format!("admission/{id}"), rule, move |cx| refusal(cx, hook.clone(), answer.clone(), want))
    });
    let configurations = configurations().into_iter().flat_map(|(id, rule, change, field, message)| {
        core(&format!("admission/refuses-{id}-422"), rule, move |cx| configuration(cx, change.clone(), field, message))
    });
    let others = [
        core("admission/create-review", "the review of a create", create_review),
        core("admission/user-review", "a review names the user: the administrator is in system:masters and system:authenticated", user_review),
        core("admission/impersonated-review", "a review names the impersonated user", impersonated_review),
        core("admission/update-review", "the review of an update: object and oldObject", update_review),
        core("admission/patch-is-update", "a patch is an UPDATE with the patched object", patch_review),
        core("admission/apply-is-create-or-update", "an apply is a CREATE, or an UPDATE", apply_review),
        core("admission/delete-review", "a DELETE has an oldObject only", delete_review),
        core("admission/deletecollection-review", "the webhook is called for each object of a collection", collection_review),
        core("admission/dry-run-review", "the webhook is called for a dry run, with dryRun set", dry_review),
        core("admission/generated-name", "mutating webhooks receive no generated name, validating webhooks do", generated),
        core("admission/delete-denied-400", "a denied deletion leaves the object", delete_denied),
        core("admission/other-operation-not-asked", "an operation without a matching rule: the webhook is not called", other_operation),
        core("admission/other-resource-not-asked", "a resource without a matching rule: the webhook is not called", other_resource),
        core("admission/namespace-selector", "a namespace that the selector excludes: the webhook is not called", namespace_selector),
        core("admission/object-selector", "an object that the selector excludes: the webhook is not called", object_selector),
        core("admission/object-selector-old", "an update whose old object is selected: the webhook is called", object_selector_old),
        core("admission/subresource-apart", "a rule for a resource does not match its subresources", subresource_apart),
        core("admission/scale-review", "webhooks receive the Scale of a scale request", scale_review),
        core("admission/configurations-not-asked", "webhook configurations: no webhook is called", not_called_for_configurations),
        since(28, core("admission/match-conditions", "a match condition that is false: the webhook is not called (since 1.28)", match_conditions)),
        core("admission/equivalent-versions-convert", "an object is converted to the version of the rule by the conversion webhook, and a patch of it back", equivalent_converts),
        core("admission/equivalent-versions", "a rule for one version matches requests in other versions, converted to that version", equivalent),
        core("admission/exact-version", "with matchPolicy Exact a rule matches its own version only", exact),
        core("admission/warnings", "warnings of a webhook reach the client, allowed or not", warnings),
        core("admission/mutates", "a JSON patch changes what is written", mutates),
        core("admission/mutates-update", "a JSON patch changes an update", mutates_update),
        core("admission/mutates-before-validating", "validating webhooks receive the mutated object", mutates_first),
        core("admission/mutated-is-validated-422", "the mutated object is validated", mutated_invalid),
        core("admission/mutates-in-order", "mutating webhooks are called one after the other", in_order),
        core("admission/reinvocation", "reinvocationPolicy IfNeeded: called again if a later webhook changed the object", reinvoked),
        core("admission/no-reinvocation", "without reinvocationPolicy: called once", not_reinvoked),
        core("admission/mutates-custom", "custom resources are mutated and then validated by their schema", custom_resource),
        core("admission/ignored-when-failing", "failurePolicy Ignore: a failing webhook is ignored", ignored),
        core("admission/denies-although-ignored-400", "failurePolicy Ignore: a denial is still a denial", denies_although_ignored),
        core("admission/defaults", "a webhook's defaults", defaults),
        core("admission/names-unique-422", "two webhooks of one name in a configuration: 422", unique),
        core("admission/gone-with-configuration", "a webhook is not called after its configuration is deleted", gone),
    ];
    refusals.chain(configurations).chain(others.into_iter().flatten()).collect()
}

#[derive(Clone)]
pub(super) enum Says {
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

/// Code, reason and message of the refusal.
type Refusal = (u16, &'static str, &'static str);

// One row per line.
#[rustfmt::skip]
fn refusals() -> Vec<(&'static str, &'static str, Value, Says, Refusal)> {
    let none = || json!({});
    let failing = "failed calling webhook \"v.conformance.example\"";
    vec![
        ("denied-400", "a denial without more: 400", none(), Says::Response(json!({"allowed": false})), (400, "", "admission webhook \"v.conformance.example\" denied the request without explanation")),
        ("denied-with-message-400", "a denial's message", none(), Says::Response(json!({"allowed": false, "status": {"message": "no way"}})), (400, "", "admission webhook \"v.conformance.example\" denied the request: no way")),
        ("denied-with-status", "a denial's code and reason", none(), Says::Response(json!({"allowed": false, "status": {"message": "no way", "code": 418, "reason": "Teapot"}})), (418, "Teapot", "denied the request: no way")),
        ("denied-with-success-400", "a denial with the code of a success: 400", none(), Says::Response(json!({"allowed": false, "status": {"code": 200, "message": "m"}})), (400, "", "denied the request: m")),
        ("fails-on-500", "a webhook that responds with 500: 500 InternalError", none(), Says::Raw(500, "oops"), (500, "InternalError", failing)),
        ("fails-on-404", "a webhook that responds with 404: 500 InternalError", none(), Says::Raw(404, "nothing"), (500, "InternalError", "the server could not find the requested resource")),
        ("fails-on-other-uid", "a response with another uid: 500 InternalError", none(), Says::Response(json!({"uid": "zz", "allowed": true})), (500, "InternalError", "expected response.uid=")),
        ("fails-without-response", "a review without response: 500 InternalError", none(), Says::Raw(200, "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\"}"), (500, "InternalError", "webhook response was absent")),
        ("fails-on-text", "a response that is no JSON: 500 InternalError", none(), Says::Raw(200, "hello"), (500, "InternalError", "json parse error")),
        ("fails-late", "a response after timeoutSeconds: 500 InternalError", json!({"timeoutSeconds": 1}), Says::Late(4), (500, "InternalError", "context deadline exceeded")),
        ("fails-on-validating-patch", "a validating webhook that patches: 500 InternalError", none(), Says::Response(json!({"allowed": true, "patchType": "JSONPatch", "patch": "W10="})), (500, "InternalError", "validating webhook may not return response.patch")),
        ("fails-on-missing-service", "a service that does not exist: 500 InternalError", json!({"clientConfig": {"service": {"namespace": "default", "name": "conformance-nobody", "path": "/x"}}}), Says::Response(json!({"allowed": true})), (500, "InternalError", "service \"conformance-nobody\" not found")),
        ("fails-on-closed-port", "a port without a listener: 500 InternalError", json!({"clientConfig": {"url": "https://127.0.0.1:1/x"}}), Says::Response(json!({"allowed": true})), (500, "InternalError", failing)),
    ]
}

// One row per line.
#[rustfmt::skip]
fn configurations() -> Vec<(&'static str, &'static str, Value, &'static str, &'static str)> {
    vec![
        ("side-effects-missing", "sideEffects is required", json!({"sideEffects": null}), "sideEffects", "must specify one of None, NoneOnDryRun"),
        ("side-effects-some", "sideEffects other than None and NoneOnDryRun", json!({"sideEffects": "Some"}), "sideEffects", "Unsupported value: \"Some\""),
        ("review-versions", "no version of reviews", json!({"admissionReviewVersions": []}), "admissionReviewVersions", "must specify one of v1, v1beta1"),
        ("plain-http", "a URL without TLS", json!({"clientConfig": {"url": "http://x/y"}}), "clientConfig.url", "'https' is the only allowed URL scheme"),
        ("no-client", "neither URL nor service", json!({"clientConfig": {}}), "clientConfig", "exactly one of url or service is required"),
        ("short-name", "a name of less than three parts", json!({"name": "x"}), "name", "should be a domain with at least three segments separated by dots"),
        ("long-timeout", "a timeout above 30 s", json!({"timeoutSeconds": 40}), "timeoutSeconds", "the timeout value must be between 1 and 30 seconds"),
        ("failure-policy", "a failurePolicy that is none", json!({"failurePolicy": "Nope"}), "failurePolicy", "supported values: \"Fail\", \"Ignore\""),
        ("operation", "an operation that is none", json!({"rules": [{"operations": ["X"], "apiGroups": [""], "apiVersions": ["*"], "resources": ["configmaps"]}]}), "rules[0].operations[0]", "\"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\""),
        ("empty-rule", "a rule without resources", json!({"rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["*"], "resources": []}]}), "rules[0].resources", "Required value"),
    ]
}

// ---- webhooks

pub(super) fn rule(group: &str, resource: &str, operations: &[&str]) -> Value {
    json!([{"operations": operations, "apiGroups": [group], "apiVersions": ["*"], "resources": [resource]}])
}

fn patch(operations: Value) -> Value {
    json!({"allowed": true, "patchType": "JSONPatch", "patch": BASE64_STANDARD.encode(operations.to_string())})
}

/// A webhook server with these responses by path; any other path allows.
pub(super) async fn hook(says: Vec<(&'static str, Says)>) -> Result<TestWebhook, Failure> {
    TestWebhook::start(move |path, _| {
        let found = says.iter().find(|(at, _)| *at == path);
        found.map_or_else(|| WebhookResponse::Response(json!({"allowed": true})), |(_, says)| says.response())
    })
    .await
}

/// A webhook for ConfigMaps in the case's namespace, with these fields changed.
fn webhook(cx: &Context, hook: &TestWebhook, path: &str, change: Value) -> Value {
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
async fn with<F>(
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

fn config_map(cx: &Context, name: &str, fields: Value) -> Value {
    let mut object = cx.object_of(&CONFIG_MAP, name, fields);
    if object.get("data").is_none() {
        object["data"] = json!({"x": "1"});
    }
    object
}

async fn create(cx: &Context, name: &str) -> Result<ApiResponse, Failure> {
    cx.post(cx.all_of(&CONFIG_MAP), &config_map(cx, name, json!({}))).await
}

/// The single request on `/v`.
pub(super) fn only(hook: &TestWebhook, path: &str) -> Result<Value, Failure> {
    let mut requests = hook.requests(path);
    match requests.len() {
        1 => Ok(requests.remove(0)),
        n => Err(Failure::new("requests to the webhook", "one".into(), format!("{n}: {requests:?}"))),
    }
}

pub(super) async fn validating<F>(cx: &Context, hook: &TestWebhook, change: Value, body: F) -> Outcome
where
    F: Future<Output = Outcome>,
{
    with(cx, hook, Vec::new(), vec![webhook(cx, hook, "/v", change)], body).await
}

async fn mutating<F>(cx: &Context, hook: &TestWebhook, change: Value, body: F) -> Outcome
where
    F: Future<Output = Outcome>,
{
    with(cx, hook, vec![webhook(cx, hook, "/m", change)], Vec::new(), body).await
}

// ---- refusals

async fn refusal(cx: Context, change: Value, says: Says, (code, reason, message): Refusal) -> Outcome {
    let hook = hook(vec![("/v", says)]).await?;
    validating(&cx, &hook, change, async {
        let reply = create(&cx, "a").await?;
        reply.is(code)?.eq("/status", "Failure")?.mentions(message)?;
        match reason {
            "" => reply.absent("/reason")?,
            reason => reply.eq("/reason", reason)?,
        };
        cx.get(cx.one_of(&CONFIG_MAP, "a")).await?.is(404)?;
        Ok(())
    })
    .await
}

async fn ignored(cx: Context) -> Outcome {
    let hook = hook(vec![("/v", Says::Raw(500, "oops"))]).await?;
    validating(&cx, &hook, json!({"failurePolicy": "Ignore"}), async {
        create(&cx, "a").await?.is(201)?;
        holds(!hook.requests("/v").is_empty(), "the webhook is called", "no request")
    })
    .await?;
    let untrusted = json!({"failurePolicy": "Ignore", "clientConfig": hook.untrusted("/v")});
    validating(&cx, &hook, untrusted, async {
        create(&cx, "b").await?.is(201)?;
        Ok(())
    })
    .await
}

async fn denies_although_ignored(cx: Context) -> Outcome {
    let hook = hook(vec![("/v", Says::Response(json!({"allowed": false})))]).await?;
    validating(&cx, &hook, json!({"failurePolicy": "Ignore"}), async {
        create(&cx, "a").await?.is(400)?;
        Ok(())
    })
    .await
}

async fn delete_denied(cx: Context) -> Outcome {
    create(&cx, "a").await?.is(201)?;
    let no = json!({"allowed": false, "status": {"message": "keep it"}});
    let hook = hook(vec![("/v", Says::Response(no))]).await?;
    validating(&cx, &hook, json!({"rules": rule("", "configmaps", &["DELETE"])}), async {
        cx.delete(cx.one_of(&CONFIG_MAP, "a")).await?.is(400)?.mentions("denied the request: keep it")?;
        cx.get(cx.one_of(&CONFIG_MAP, "a")).await?.is(200)?.absent("/metadata/deletionTimestamp")?;
        Ok(())
    })
    .await
}

async fn warnings(cx: Context) -> Outcome {
    let yes = Says::Response(json!({"allowed": true, "warnings": ["one", "two \"quoted\""]}));
    let no = Says::Response(json!({"allowed": false, "warnings": ["three"]}));
    let hook = hook(vec![("/v", yes), ("/w", no)]).await?;
    validating(&cx, &hook, json!({}), async {
        let reply = create(&cx, "a").await?;
        equal("warnings", ["one", "two \"quoted\""], reply.is(201)?.warnings())
    })
    .await?;
    with(&cx, &hook, Vec::new(), vec![webhook(&cx, &hook, "/w", json!({}))], async {
        let reply = create(&cx, "b").await?;
        equal("warnings", ["three"], reply.is(400)?.warnings())
    })
    .await
}

// ---- requests

async fn create_review(cx: Context) -> Outcome {
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, json!({}), async {
        let made = create(&cx, "a").await?;
        made.is(201)?;
        let request = only(&hook, "/v")?;
        let kind = json!({"group": "", "version": "v1", "kind": "ConfigMap"});
        let resource = json!({"group": "", "version": "v1", "resource": "configmaps"});
        for (pointer, want) in [
            ("/kind", kind.clone()),
            ("/requestKind", kind),
            ("/resource", resource.clone()),
            ("/requestResource", resource),
            ("/name", json!("a")),
            ("/namespace", json!(cx.ns)),
            ("/operation", json!("CREATE")),
            ("/oldObject", Value::Null),
            ("/dryRun", json!(false)),
            ("/object/kind", json!("ConfigMap")),
            ("/object/apiVersion", json!("v1")),
            ("/object/data", json!({"x": "1"})),
            ("/object/metadata/uid", made.body["metadata"]["uid"].clone()),
            ("/options/kind", json!("CreateOptions")),
            ("/options/apiVersion", json!("meta.k8s.io/v1")),
        ] {
            at(&request, pointer, want)?;
        }
        holds(request["userInfo"]["username"].is_string(), "a user", &request["userInfo"])?;
        holds(request.get("subResource").is_none(), "no subResource", &request)?;
        holds(request["uid"].as_str().is_some_and(|uid| uid.len() == 36), "a uid", &request["uid"])
    })
    .await
}

async fn user_review(cx: Context) -> Outcome {
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, json!({}), async {
        create(&cx, "a").await?.is(201)?;
        let user = only(&hook, "/v")?["userInfo"].clone();
        let groups = user["groups"].as_array().cloned().unwrap_or_default();
        for group in ["system:masters", "system:authenticated"] {
            holds(groups.contains(&json!(group)), group, &user)?;
        }
        Ok(())
    })
    .await
}

async fn impersonated_review(cx: Context) -> Outcome {
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, json!({}), async {
        let call = cx.call(http::Method::POST, cx.all_of(&CONFIG_MAP));
        let call = call.header("impersonate-user", "ann").header("impersonate-group", "system:masters");
        call.json(&config_map(&cx, "a", json!({}))).send().await?.is(201)?;
        let user = only(&hook, "/v")?["userInfo"].clone();
        at(&user, "/username", "ann")?;
        at(&user, "/groups", json!(["system:masters", "system:authenticated"]))
    })
    .await
}

async fn update_review(cx: Context) -> Outcome {
    let mut object = create(&cx, "a").await?.body;
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, json!({}), async {
        object["data"]["x"] = json!("2");
        cx.put(cx.one_of(&CONFIG_MAP, "a"), &object).await?.is(200)?;
        let request = only(&hook, "/v")?;
        at(&request, "/operation", "UPDATE")?;
        at(&request, "/object/data/x", "2")?;
        at(&request, "/oldObject/data/x", "1")?;
        at(&request, "/options/kind", "UpdateOptions")
    })
    .await
}

async fn patch_review(cx: Context) -> Outcome {
    create(&cx, "a").await?.is(201)?;
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, json!({}), async {
        cx.merge(cx.one_of(&CONFIG_MAP, "a"), &json!({"data": {"y": "2"}})).await?.is(200)?;
        let request = only(&hook, "/v")?;
        at(&request, "/operation", "UPDATE")?;
        at(&request, "/object/data", json!({"x": "1", "y": "2"}))?;
        at(&request, "/oldObject/data", json!({"x": "1"}))
    })
    .await
}

async fn apply_review(cx: Context) -> Outcome {
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, json!({}), async {
        let path = cx.one_of(&CONFIG_MAP, "a");
        cx.apply(&path, "me", &config_map(&cx, "a", json!({}))).await?.is(201)?;
        let object = config_map(&cx, "a", json!({"data": {"x": "2"}}));
        cx.apply(&path, "me", &object).await?.is(200)?;
        let operations: Vec<Value> =
            hook.requests("/v").iter().map(|request| request["operation"].clone()).collect();
        equal("operations", [json!("CREATE"), json!("UPDATE")], operations)
    })
    .await
}

async fn delete_review(cx: Context) -> Outcome {
    create(&cx, "a").await?.is(201)?;
    let hook = hook(Vec::new()).await?;
    let both = (vec![webhook(&cx, &hook, "/m", json!({}))], vec![webhook(&cx, &hook, "/v", json!({}))]);
    with(&cx, &hook, both.0, both.1, async {
        cx.delete(cx.one_of(&CONFIG_MAP, "a")).await?.is(200)?;
        for path in ["/m", "/v"] {
            let request = only(&hook, path)?;
            at(&request, "/operation", "DELETE")?;
            at(&request, "/object", Value::Null)?;
            at(&request, "/oldObject/metadata/name", "a")?;
            at(&request, "/options/kind", "DeleteOptions")?;
        }
        Ok(())
    })
    .await
}

async fn collection_review(cx: Context) -> Outcome {
    for name in ["a", "b"] {
        let object = config_map(&cx, name, json!({"metadata": {"labels": {"mine": "yes"}}}));
        cx.create_at(cx.all_of(&CONFIG_MAP), &object).await?;
    }
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, json!({}), async {
        cx.delete(format!("{}?labelSelector=mine", cx.all_of(&CONFIG_MAP))).await?.is(200)?;
        let mut names: Vec<String> = hook
            .requests("/v")
            .iter()
            .map(|request| request["oldObject"]["metadata"]["name"].to_string())
            .collect();
        names.sort();
        equal("objects asked about", ["\"a\"", "\"b\""], names)
    })
    .await
}

async fn dry_review(cx: Context) -> Outcome {
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, json!({"sideEffects": "NoneOnDryRun"}), async {
        let object = config_map(&cx, "a", json!({}));
        cx.post(format!("{}?dryRun=All", cx.all_of(&CONFIG_MAP)), &object).await?.is(201)?;
        let request = only(&hook, "/v")?;
        at(&request, "/dryRun", true)?;
        at(&request, "/options/dryRun", json!(["All"]))
    })
    .await
}

async fn generated(cx: Context) -> Outcome {
    let hook = hook(Vec::new()).await?;
    let both = (vec![webhook(&cx, &hook, "/m", json!({}))], vec![webhook(&cx, &hook, "/v", json!({}))]);
    with(&cx, &hook, both.0, both.1, async {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "made-"}});
        let made = cx.create_at(cx.all_of(&CONFIG_MAP), &object).await?;
        let name = made.body["metadata"]["name"].clone();
        let (first, second) = (only(&hook, "/m")?, only(&hook, "/v")?);
        holds(first.get("name").is_none(), "no name for the mutating one", &first)?;
        at(&second, "/name", name.clone())?;
        at(&second, "/object/metadata/name", name)
    })
    .await
}

async fn other_operation(cx: Context) -> Outcome {
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, json!({"rules": rule("", "configmaps", &["UPDATE"])}), async {
        create(&cx, "a").await?.is(201)?;
        equal("webhook calls", Vec::<String>::new(), hook.paths())
    })
    .await
}

async fn other_resource(cx: Context) -> Outcome {
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, json!({"rules": rule("", "limitranges", &["*"])}), async {
        create(&cx, "a").await?.is(201)?;
        equal("webhook calls", Vec::<String>::new(), hook.paths())
    })
    .await
}

async fn namespace_selector(cx: Context) -> Outcome {
    let hook = hook(Vec::new()).await?;
    let selector = json!({"namespaceSelector": {"matchExpressions": [{"key": CASE, "operator": "NotIn", "values": [cx.ns]},
        {"key": "conformance.example/run", "operator": "In", "values": [cx.server.run]}]},
        "objectSelector": {"matchLabels": {"of": cx.ns}}});
    validating(&cx, &hook, selector, async {
        let object = config_map(&cx, "a", json!({"metadata": {"labels": {"of": cx.ns}}}));
        cx.create_at(cx.all_of(&CONFIG_MAP), &object).await?;
        equal("webhook calls", Vec::<String>::new(), hook.paths())
    })
    .await
}

async fn object_selector(cx: Context) -> Outcome {
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, json!({"objectSelector": {"matchLabels": {"of": "mine"}}}), async {
        create(&cx, "a").await?.is(201)?;
        equal("webhook calls", Vec::<String>::new(), hook.paths())?;
        let object = config_map(&cx, "b", json!({"metadata": {"labels": {"of": "mine"}}}));
        cx.create_at(cx.all_of(&CONFIG_MAP), &object).await?;
        only(&hook, "/v").map(drop)
    })
    .await
}

async fn object_selector_old(cx: Context) -> Outcome {
    let object = config_map(&cx, "a", json!({"metadata": {"labels": {"of": "mine"}}}));
    cx.create_at(cx.all_of(&CONFIG_MAP), &object).await?;
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, json!({"objectSelector": {"matchLabels": {"of": "mine"}}}), async {
        let without = json!({"metadata": {"labels": {"of": null}}});
        cx.merge(cx.one_of(&CONFIG_MAP, "a"), &without).await?.is(200)?;
        only(&hook, "/v").map(drop)
    })
    .await
}

fn deployment(cx: &Context) -> Value {
    let template =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let spec = json!({"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template});
    cx.object_of(&DEPLOYMENT, "a", json!({"spec": spec}))
}

async fn subresource_apart(cx: Context) -> Outcome {
    cx.create_at(cx.all_of(&DEPLOYMENT), &deployment(&cx)).await?;
    let hook = hook(Vec::new()).await?;
    let rules = json!([{"operations": ["UPDATE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"]}]);
    validating(&cx, &hook, json!({"rules": rules}), async {
        let path = format!("{}/scale", cx.one_of(&DEPLOYMENT, "a"));
        cx.merge(path, &json!({"spec": {"replicas": 0}})).await?.is(200)?;
        let scales =
            hook.requests("/v").into_iter().filter(|request| request.get("subResource").is_some()).count();
        equal("requests about subresources", 0, scales)
    })
    .await
}

async fn scale_review(cx: Context) -> Outcome {
    cx.create_at(cx.all_of(&DEPLOYMENT), &deployment(&cx)).await?;
    let hook = hook(Vec::new()).await?;
    let rules = json!([{"operations": ["*"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments/scale"]}]);
    validating(&cx, &hook, json!({"rules": rules}), async {
        let path = format!("{}/scale", cx.one_of(&DEPLOYMENT, "a"));
        cx.call(Method::PATCH, path).typed(MERGE, &json!({"spec": {"replicas": 2}})).send().await?.is(200)?;
        let request = only(&hook, "/v")?;
        at(&request, "/kind", json!({"group": "autoscaling", "version": "v1", "kind": "Scale"}))?;
        at(&request, "/resource/resource", "deployments")?;
        at(&request, "/subResource", "scale")?;
        at(&request, "/object/kind", "Scale")?;
        at(&request, "/object/spec/replicas", 2)
    })
    .await
}

async fn not_called_for_configurations(cx: Context) -> Outcome {
    let hook = hook(vec![("/v", Says::Response(json!({"allowed": false})))]).await?;
    let everything =
        json!({"rules": rule("admissionregistration.k8s.io", "validatingwebhookconfigurations", &["*"])});
    let itself = format!("{GROUP}/validatingwebhookconfigurations/conformance-{}", cx.ns);
    validating(&cx, &hook, everything, async {
        cx.merge(itself, &json!({"metadata": {"labels": {"a": "b"}}})).await?.is(200)?;
        equal("webhook calls", Vec::<String>::new(), hook.paths())
    })
    .await
}

async fn match_conditions(cx: Context) -> Outcome {
    let hook = hook(Vec::new()).await?;
    let conditions = json!([
        {"name": "mine", "expression": "object.metadata.name.startsWith('mine') && request.operation == 'CREATE'"},
        {"name": "data", "expression": "has(object.data) && oldObject == null"},
    ]);
    validating(&cx, &hook, json!({"matchConditions": conditions}), async {
        create(&cx, "other").await?.is(201)?;
        let spared = hook.requests("/v").is_empty();
        holds(spared, "no request", spared)?;
        hook.clear();
        create(&cx, "mine").await?.is(201)?;
        only(&hook, "/v").map(drop)
    })
    .await
}

/// A CRD with two versions, `v1` stored.
async fn two_versions(cx: &Context) -> Outcome {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}}}});
    let mut crd = crate::kinds::plain_crd(&cx.own_group(), "Thing", "things", schema);
    let mut second = crd["spec"]["versions"][0].clone();
    second["name"] = json!("v2");
    second["storage"] = json!(false);
    crd["spec"]["versions"] = json!([crd["spec"]["versions"][0], second]);
    cx.establish(&crd).await?;
    Ok(())
}

fn thing(cx: &Context, version: &str, name: &str) -> Value {
    json!({"apiVersion": format!("{}/{version}", cx.own_group()), "kind": "Thing", "metadata": {"name": name}, "spec": {"n": 1}})
}

fn version_rule(cx: &Context, policy: &str) -> Value {
    let rules = json!([{"operations": ["*"], "apiGroups": [cx.own_group()], "apiVersions": ["v1"], "resources": ["things"]}]);
    json!({"matchPolicy": policy, "rules": rules})
}

async fn equivalent(cx: Context) -> Outcome {
    two_versions(&cx).await?;
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, version_rule(&cx, "Equivalent"), async {
        cx.create_at(cx.own("v2", "things"), &thing(&cx, "v2", "a")).await?;
        let request = only(&hook, "/v")?;
        at(&request, "/resource/version", "v1")?;
        at(&request, "/requestResource/version", "v2")?;
        at(&request, "/object/apiVersion", format!("{}/v1", cx.own_group()))
    })
    .await
}

async fn equivalent_converts(cx: Context) -> Outcome {
    let hook = TestWebhook::start(|path, request| match path {
        "/convert" => conversion::well(request),
        "/m" => {
            WebhookResponse::Response(patch(json!([{"op": "replace", "path": "/spec/size", "value": "7"}])))
        }
        _ => WebhookResponse::Response(json!({"allowed": true})),
    })
    .await?;
    cx.establish(&conversion::convertible(&cx, &hook)).await?;
    mutating(&cx, &hook, version_rule(&cx, "Equivalent"), async {
        let mut object = thing(&cx, "v2", "a");
        object["spec"] = json!({"width": "5"});
        let made = cx.create_at(cx.own("v2", "things"), &object).await?;
        let request = only(&hook, "/m")?;
        at(&request, "/object/apiVersion", format!("{}/v1", cx.own_group()))?;
        at(&request, "/object/spec", json!({"size": "5"}))?;
        made.eq("/spec", json!({"width": "7"}))?.eq("/apiVersion", format!("{}/v2", cx.own_group()))?;
        Ok(())
    })
    .await
}

async fn exact(cx: Context) -> Outcome {
    two_versions(&cx).await?;
    let hook = hook(Vec::new()).await?;
    validating(&cx, &hook, version_rule(&cx, "Exact"), async {
        cx.create_at(cx.own("v2", "things"), &thing(&cx, "v2", "a")).await?;
        equal("webhook calls", Vec::<String>::new(), hook.paths())
    })
    .await
}

// ---- mutation

fn adds(key: &str) -> Says {
    Says::Response(patch(json!([{"op": "add", "path": format!("/data/{key}"), "value": "1"}])))
}

async fn mutates(cx: Context) -> Outcome {
    let hook = hook(vec![("/m", adds("y"))]).await?;
    mutating(&cx, &hook, json!({}), async {
        create(&cx, "a").await?.is(201)?.eq("/data", json!({"x": "1", "y": "1"}))?;
        cx.get(cx.one_of(&CONFIG_MAP, "a")).await?.eq("/data/y", "1")?;
        Ok(())
    })
    .await
}

async fn mutates_update(cx: Context) -> Outcome {
    create(&cx, "a").await?.is(201)?;
    let hook = hook(vec![("/m", adds("y"))]).await?;
    mutating(&cx, &hook, json!({"rules": rule("", "configmaps", &["UPDATE"])}), async {
        let patched = cx.merge(cx.one_of(&CONFIG_MAP, "a"), &json!({"data": {"z": "1"}})).await?;
        patched.is(200)?.eq("/data", json!({"x": "1", "y": "1", "z": "1"}))?;
        Ok(())
    })
    .await
}

async fn mutates_first(cx: Context) -> Outcome {
    let hook = hook(vec![("/m", adds("y"))]).await?;
    let both = (vec![webhook(&cx, &hook, "/m", json!({}))], vec![webhook(&cx, &hook, "/v", json!({}))]);
    with(&cx, &hook, both.0, both.1, async {
        create(&cx, "a").await?.is(201)?;
        at(&only(&hook, "/v")?, "/object/data", json!({"x": "1", "y": "1"}))
    })
    .await
}

async fn mutated_invalid(cx: Context) -> Outcome {
    let bad = patch(json!([{"op": "add", "path": "/metadata/labels", "value": {"a b": "c"}}]));
    let hook = hook(vec![("/m", Says::Response(bad))]).await?;
    mutating(&cx, &hook, json!({}), async {
        create(&cx, "a").await?.fails(422, "Invalid")?.cause("FieldValueInvalid", "metadata.labels")?;
        Ok(())
    })
    .await?;
    for (response, message) in [
        (patch(json!([{"op": "replace", "path": "/nope/y", "value": "2"}])), "Internal error occurred"),
        (
            json!({"allowed": true, "patch": "W10="}),
            "webhook returned response.patch but not response.patchType",
        ),
        (json!({"allowed": true, "patchType": "JSONPatch", "patch": "enp6"}), "Internal error occurred"),
        (patch(json!([{"op": "add", "path": "/data/y", "value": 2}])), "Internal error occurred"),
    ] {
        let hook = self::hook(vec![("/m", Says::Response(response))]).await?;
        mutating(&cx, &hook, json!({}), async {
            create(&cx, "a").await?.fails(500, "InternalError")?.mentions(message)?;
            Ok(())
        })
        .await?;
    }
    Ok(())
}

async fn in_order(cx: Context) -> Outcome {
    let hook = hook(vec![("/m", adds("first")), ("/n", adds("second"))]).await?;
    let hooks = vec![webhook(&cx, &hook, "/m", json!({})), webhook(&cx, &hook, "/n", json!({}))];
    with(&cx, &hook, hooks, Vec::new(), async {
        create(&cx, "a").await?.is(201)?.eq("/data", json!({"x": "1", "first": "1", "second": "1"}))?;
        at(&only(&hook, "/n")?, "/object/data", json!({"x": "1", "first": "1"}))
    })
    .await
}

async fn reinvocation(cx: &Context, policies: [&str; 2], want: &[&str]) -> Outcome {
    // `add` of an existing value changes nothing.
    let hook = hook(vec![("/m", adds("first")), ("/n", adds("second"))]).await?;
    let hooks = vec![
        webhook(cx, &hook, "/m", json!({"reinvocationPolicy": policies[0]})),
        webhook(cx, &hook, "/n", json!({"reinvocationPolicy": policies[1]})),
    ];
    with(cx, &hook, hooks, Vec::new(), async {
        create(cx, "a").await?.is(201)?;
        equal("asked", want, hook.paths())
    })
    .await?;
    cx.delete(cx.one_of(&CONFIG_MAP, "a")).await?;
    Ok(())
}

async fn reinvoked(cx: Context) -> Outcome {
    reinvocation(&cx, ["IfNeeded", "Never"], &["/m", "/n", "/m"]).await?;
    reinvocation(&cx, ["IfNeeded", "IfNeeded"], &["/m", "/n", "/m"]).await
}

async fn not_reinvoked(cx: Context) -> Outcome {
    reinvocation(&cx, ["Never", "Never"], &["/m", "/n"]).await?;
    // No later webhook was called.
    reinvocation(&cx, ["Never", "IfNeeded"], &["/m", "/n"]).await
}

async fn custom_resource(cx: Context) -> Outcome {
    two_versions(&cx).await?;
    let sets = |n: u32| Says::Response(patch(json!([{"op": "replace", "path": "/spec/n", "value": n}])));
    let rules = json!({"rules": [{"operations": ["CREATE"], "apiGroups": [cx.own_group()], "apiVersions": ["*"], "resources": ["things"]}]});
    let fine = hook(vec![("/m", sets(5))]).await?;
    mutating(&cx, &fine, rules.clone(), async {
        cx.create_at(cx.own("v1", "things"), &thing(&cx, "v1", "a")).await?.eq("/spec/n", 5)?;
        Ok(())
    })
    .await?;
    let wrong = hook(vec![("/m", sets(50))]).await?;
    mutating(&cx, &wrong, rules, async {
        let reply = cx.post(cx.own("v1", "things"), &thing(&cx, "v1", "b")).await?;
        reply.fails(422, "Invalid")?.cause("FieldValueInvalid", "spec.n")?;
        Ok(())
    })
    .await
}

// ---- configurations

async fn configuration(cx: Context, change: Value, field: &str, message: &str) -> Outcome {
    let hook = hook(Vec::new()).await?;
    let body = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": format!("conformance-{}", cx.ns)}, "webhooks": [webhook(&cx, &hook, "/v", change)]});
    let reply = cx.post(format!("{GROUP}/validatingwebhookconfigurations?dryRun=All"), &body).await?;
    reply.fails(422, "Invalid")?.mentions(&format!("webhooks[0].{field}: "))?.mentions(message)?;
    Ok(())
}

async fn defaults(cx: Context) -> Outcome {
    let body = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": format!("conformance-{}", cx.ns)}, "webhooks": [{
            "name": "t.conformance.example", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"service": {"name": "n", "namespace": "m"}}, "rules": rule("", "configmaps", &["*"])}]});
    let reply = cx.create_at(format!("{GROUP}/mutatingwebhookconfigurations?dryRun=All"), &body).await?;
    for (pointer, want) in [
        ("/failurePolicy", json!("Fail")),
        ("/matchPolicy", json!("Equivalent")),
        ("/namespaceSelector", json!({})),
        ("/objectSelector", json!({})),
        ("/timeoutSeconds", json!(10)),
        ("/reinvocationPolicy", json!("Never")),
        ("/rules/0/scope", json!("*")),
        ("/clientConfig/service/port", json!(443)),
    ] {
        at(&reply.body["webhooks"][0], pointer, want)?;
    }
    reply.eq("/metadata/generation", 1)?;
    Ok(())
}

async fn unique(cx: Context) -> Outcome {
    let hook = hook(Vec::new()).await?;
    let one = webhook(&cx, &hook, "/v", json!({}));
    let body = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": format!("conformance-{}", cx.ns)}, "webhooks": [one, one]});
    let reply = cx.post(format!("{GROUP}/validatingwebhookconfigurations?dryRun=All"), &body).await?;
    reply.fails(422, "Invalid")?.mentions("webhooks[1].name: Duplicate value")?;
    Ok(())
}

async fn gone(cx: Context) -> Outcome {
    let hook = hook(vec![("/v", Says::Response(json!({"allowed": false})))]).await?;
    validating(&cx, &hook, json!({}), async {
        create(&cx, "a").await?.is(400)?;
        Ok(())
    })
    .await?;
    let until = Instant::now() + cx.server.wait;
    while create(&cx, "a").await?.code != 201 {
        holds(Instant::now() < until, "created once no webhook denies it", "still denied")?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}
