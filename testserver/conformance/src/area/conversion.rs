//! Conversion webhooks: when they are called, and what a conversion may not change.

use http::Method;
use serde_json::{Value, json};

use crate::{
    case::{Case, custom},
    check::{Failure, Outcome, at, equal, holds},
    context::Context,
    kinds::plain_crd,
    server::CRDS,
    webhook::{TestWebhook, WebhookResponse},
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    let broken = broken().into_iter().flat_map(|(id, rule, how, message)| {
        custom(&format!("conversion/{id}-500"), rule, move |cx| breaks(cx, how, message))
    });
    let refused = refused().into_iter().flat_map(|(id, rule, conversion, message)| {
        custom(&format!("conversion/refuses-{id}-422"), rule, move |cx| refuses(cx, conversion.clone(), message))
    });
    let others = [
        custom("conversion/create-in-other-version", "an object created in another version is stored converted, and returned as sent", create_other),
        custom("conversion/get-in-other-version", "an object is read in the requested version", get_other),
        custom("conversion/list-in-other-version", "a list is converted", list_other),
        custom("conversion/watch-in-other-version", "a watch is converted", watch_other),
        custom("conversion/update-in-other-version", "an update in another version", update_other),
        custom("conversion/patch-in-other-version", "a patch is applied in the version it is sent in", patch_other),
        custom("conversion/apply-in-other-version", "an apply is merged in the version it is sent in", apply_other),
        custom("conversion/review", "the ConversionReview that the webhook receives", review),
        custom("conversion/storage-version-needs-nobody", "the storage version can be read and written while the webhook fails", stored),
        custom("conversion/validated-in-own-version-422", "an object is validated by the schema of its version", validated),
        custom("conversion/labels", "a conversion may change labels", labels),
        custom("conversion/watch-waits", "an open watch is silent while an object cannot be converted, and then goes on", watch_waits),
        custom("conversion/metadata-kept", "a conversion cannot change the rest of metadata", metadata),
    ];
    broken.chain(refused).chain(others.into_iter().flatten()).collect()
}

// One row per line.
#[rustfmt::skip]
fn broken() -> Vec<(&'static str, &'static str, How, &'static str)> {
    vec![
        ("fails", "a conversion that fails, with its message", How::Fails, "failed: cannot"),
        ("count", "a conversion that returns too few objects", How::Nothing, "returned 0 objects, expected 1"),
        ("name", "a conversion that changes the name", How::Renames, "must have the same name: a != other"),
        ("version", "a conversion to another version", How::WrongVersion, "invalid groupVersion"),
        ("no-message", "a conversion that fails without a message", How::FailsSilently, "failed: response.result.status was 'Failure', not 'Success'"),
        ("uid", "a response to another request", How::OtherUid, "failed: expected response.uid="),
        ("no-response", "a review without a response", How::NoResponse, "failed: no response provided"),
        ("no-type", "a response that says not what it is", How::NoType, "failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind="),
        ("empty", "an empty response", How::Empty, "failed: 0-length response with status code: 200"),
        ("kind", "a conversion to another kind", How::WrongKind, "invalid kind (expected Thing, received Other)"),
        ("labels", "a conversion to an invalid label", How::WrongLabels, "returned invalid metadata: metadata.labels: Invalid value: \"no label\""),
        ("label-number", "a conversion to a label that is a number", How::NumberLabels, "returned invalid metadata: metadata.labels[converted] must be a string, but is int64 in converted object"),
        ("no-object", "a conversion to a text", How::Text, "json: cannot unmarshal string into Go value of type map[string]interface {}"),
        ("server-error", "a webhook that responds with 500", How::ServerError, "has prevented the request from succeeding"),
    ]
}

// One row per line.
#[rustfmt::skip]
fn refused() -> Vec<(&'static str, &'static str, Value, &'static str)> {
    let webhook = |versions: Value, client: Value| json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": versions, "clientConfig": client}});
    vec![
        ("no-webhook", "strategy Webhook without one", json!({"strategy": "Webhook"}), "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook"),
        ("no-review-versions", "no version of reviews", json!({"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://x/y"}}}), "conversionReviewVersions: Required value"),
        ("review-versions", "no known version of reviews", webhook(json!(["v9"]), json!({"url": "https://x/y"})), "must include at least one of v1, v1beta1"),
        ("plain-http", "a URL without TLS", webhook(json!(["v1"]), json!({"url": "http://x/y"})), "'https' is the only allowed URL scheme"),
        ("webhook-without-strategy", "a webhook with strategy None", json!({"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://x/y"}}}), "should not be set when strategy is not set to Webhook"),
        ("strategy", "a strategy that is none", json!({"strategy": "Nope"}), "supported values: \"None\", \"Webhook\""),
    ]
}

/// A faulty conversion.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Well,
    Fails,
    Nothing,
    Renames,
    WrongVersion,
    WrongKind,
    WrongLabels,
    NumberLabels,
    Text,
    FailsSilently,
    OtherUid,
    NoResponse,
    NoType,
    Empty,
    ServerError,
    Labels,
    Metadata,
}

/// `size` of v1 is `width` of v2.
fn converted(object: &Value, to: &str, how: How) -> Value {
    let mut out = object.clone();
    let (from, into) = if to.ends_with("/v2") { ("size", "width") } else { ("width", "size") };
    out["spec"] = json!({});
    if let Some(value) = object["spec"].get(from) {
        out["spec"][into] = value.clone();
    }
    out["apiVersion"] = json!(to);
    match how {
        How::Renames => out["metadata"]["name"] = json!("other"),
        How::WrongVersion => out["apiVersion"] = object["apiVersion"].clone(),
        How::WrongKind => out["kind"] = json!("Other"),
        How::WrongLabels => out["metadata"]["labels"] = json!({"converted": "no label"}),
        How::NumberLabels => out["metadata"]["labels"] = json!({"converted": 1}),
        How::Text => out = json!("text"),
        How::Labels => out["metadata"]["labels"] = json!({"converted": "yes"}),
        How::Metadata => out["metadata"]["finalizers"] = json!(["conformance.example/no"]),
        _ => {}
    }
    out
}

fn answer(request: &Value, how: How) -> WebhookResponse {
    let to = request["desiredAPIVersion"].as_str().unwrap_or_default();
    let objects = request["objects"].as_array().cloned().unwrap_or_default();
    let out: Vec<Value> = objects.iter().map(|object| converted(object, to, how)).collect();
    match how {
        How::ServerError => WebhookResponse::Raw(500, "oops".into()),
        How::Empty => WebhookResponse::Raw(200, String::new()),
        How::NoResponse => WebhookResponse::Raw(
            200,
            json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"}).to_string(),
        ),
        How::NoType => WebhookResponse::Raw(200, json!({"response": {"uid": request["uid"]}}).to_string()),
        How::FailsSilently => WebhookResponse::Response(json!({"result": {"status": "Failure"}})),
        How::OtherUid => WebhookResponse::Response(
            json!({"uid": "other", "result": {"status": "Success"}, "convertedObjects": out}),
        ),
        How::Fails => {
            WebhookResponse::Response(json!({"result": {"status": "Failure", "message": "cannot"}}))
        }
        How::Nothing => {
            WebhookResponse::Response(json!({"result": {"status": "Success"}, "convertedObjects": []}))
        }
        _ => WebhookResponse::Response(json!({"result": {"status": "Success"}, "convertedObjects": out})),
    }
}

/// Serves the CRD with this conversion to `v2`. Conversions to `v1` succeed.
async fn served(cx: &Context, how: How) -> Result<TestWebhook, Failure> {
    let hook = TestWebhook::start(move |_, request| {
        let to_stored = request["desiredAPIVersion"].as_str().unwrap_or_default().ends_with("/v1");
        answer(request, if to_stored { How::Well } else { how })
    })
    .await?;
    cx.establish(&convertible(cx, &hook)).await?;
    hook.clear();
    Ok(hook)
}

/// A conversion between both versions that succeeds.
pub(super) fn well(request: &Value) -> WebhookResponse {
    answer(request, How::Well)
}

/// A CRD with two versions, `v1` stored with `size`, and `v2` with `width`, which the webhook converts at `/convert`.
pub(super) fn convertible(cx: &Context, hook: &TestWebhook) -> Value {
    let schema = |field: &str| {
        let spec = json!({"type": "object", "properties": {field: {"type": "string", "maxLength": 5}}});
        json!({"type": "object", "properties": {"spec": spec}})
    };
    let mut crd = plain_crd(&cx.own_group(), "Thing", "things", schema("size"));
    let mut second = crd["spec"]["versions"][0].clone();
    second["name"] = json!("v2");
    second["storage"] = json!(false);
    second["schema"]["openAPIV3Schema"] = schema("width");
    crd["spec"]["versions"] = json!([crd["spec"]["versions"][0], second]);
    crd["spec"]["conversion"] = json!({"strategy": "Webhook",
        "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": hook.client("/convert")}});
    crd
}

fn thing(cx: &Context, version: &str, name: &str, value: &str) -> Value {
    let field = if version == "v2" { "width" } else { "size" };
    json!({"apiVersion": format!("{}/{version}", cx.own_group()), "kind": "Thing", "metadata": {"name": name}, "spec": {field: value}})
}

fn one(cx: &Context, version: &str, name: &str) -> String {
    format!("{}/{name}", cx.own(version, "things"))
}

async fn create_other(cx: Context) -> Outcome {
    let _hook = served(&cx, How::Well).await?;
    let made = cx.create_at(cx.own("v2", "things"), &thing(&cx, "v2", "a", "5")).await?;
    made.eq("/spec", json!({"width": "5"}))?.eq("/apiVersion", format!("{}/v2", cx.own_group()))?;
    let stored = cx.get(one(&cx, "v1", "a")).await?;
    stored.is(200)?.eq("/spec", json!({"size": "5"}))?.eq("/apiVersion", format!("{}/v1", cx.own_group()))?;
    equal("uid", &made.body["metadata"]["uid"], &stored.body["metadata"]["uid"])
}

async fn get_other(cx: Context) -> Outcome {
    let _hook = served(&cx, How::Well).await?;
    let made = cx.create_at(cx.own("v1", "things"), &thing(&cx, "v1", "a", "5")).await?;
    let other = cx.get(one(&cx, "v2", "a")).await?;
    other.is(200)?.eq("/spec", json!({"width": "5"}))?;
    equal("resourceVersion", made.revision()?, other.revision()?)
}

async fn list_other(cx: Context) -> Outcome {
    let hook = served(&cx, How::Well).await?;
    for (version, name) in [("v1", "a"), ("v2", "b")] {
        cx.create_at(cx.own(version, "things"), &thing(&cx, version, name, "5")).await?;
    }
    let list = cx.get(cx.own("v2", "things")).await?;
    list.lists(&["a", "b"])?
        .eq("/items/0/spec", json!({"width": "5"}))?
        .eq("/items/1/spec", json!({"width": "5"}))?;
    list.eq("/apiVersion", format!("{}/v2", cx.own_group()))?;
    holds(!hook.requests("/convert").is_empty(), "the webhook is called", "no request")
}

async fn watch_other(cx: Context) -> Outcome {
    let _hook = served(&cx, How::Well).await?;
    let revision = cx.get(cx.own("v2", "things")).await?.revision()?;
    let path = format!("{}?watch=true&timeoutSeconds=20&resourceVersion={revision}", cx.own("v2", "things"));
    let mut watch = cx.watch(path).await?;
    cx.create_at(cx.own("v1", "things"), &thing(&cx, "v1", "a", "5")).await?;
    let event = watch.expect("ADDED", "a").await?;
    at(&event, "/spec", json!({"width": "5"}))?;
    at(&event, "/apiVersion", format!("{}/v2", cx.own_group()))
}

async fn update_other(cx: Context) -> Outcome {
    let _hook = served(&cx, How::Well).await?;
    cx.create_at(cx.own("v1", "things"), &thing(&cx, "v1", "a", "5")).await?;
    let mut object = cx.get(one(&cx, "v2", "a")).await?.body;
    object["spec"]["width"] = json!("6");
    cx.put(one(&cx, "v2", "a"), &object)
        .await?
        .is(200)?
        .eq("/spec", json!({"width": "6"}))?
        .eq("/metadata/generation", 2)?;
    cx.get(one(&cx, "v1", "a")).await?.eq("/spec", json!({"size": "6"}))?;
    Ok(())
}

async fn patch_other(cx: Context) -> Outcome {
    let _hook = served(&cx, How::Well).await?;
    cx.create_at(cx.own("v1", "things"), &thing(&cx, "v1", "a", "5")).await?;
    let patched = cx.merge(one(&cx, "v2", "a"), &json!({"spec": {"width": "7"}})).await?;
    patched.is(200)?.eq("/spec", json!({"width": "7"}))?;
    cx.get(one(&cx, "v1", "a")).await?.eq("/spec", json!({"size": "7"}))?;
    Ok(())
}

async fn apply_other(cx: Context) -> Outcome {
    let _hook = served(&cx, How::Well).await?;
    let applied = cx.apply(one(&cx, "v2", "a"), "me", &thing(&cx, "v2", "a", "5")).await?;
    applied.is(201)?.eq("/spec", json!({"width": "5"}))?;
    let again = cx.apply(one(&cx, "v2", "a"), "me", &thing(&cx, "v2", "a", "8")).await?;
    again.is(200)?.eq("/spec", json!({"width": "8"}))?;
    cx.get(one(&cx, "v1", "a")).await?.eq("/spec", json!({"size": "8"}))?;
    Ok(())
}

async fn review(cx: Context) -> Outcome {
    let hook = served(&cx, How::Well).await?;
    cx.create_at(cx.own("v1", "things"), &thing(&cx, "v1", "a", "5")).await?;
    hook.clear();
    cx.get(one(&cx, "v2", "a")).await?.is(200)?;
    let requests = hook.requests("/convert");
    let request = requests.first().cloned().unwrap_or_default();
    at(&request, "/desiredAPIVersion", format!("{}/v2", cx.own_group()))?;
    at(&request, "/objects/0/apiVersion", format!("{}/v1", cx.own_group()))?;
    at(&request, "/objects/0/kind", "Thing")?;
    at(&request, "/objects/0/metadata/name", "a")?;
    at(&request, "/objects/0/spec", json!({"size": "5"}))
}

async fn stored(cx: Context) -> Outcome {
    let _hook = served(&cx, How::ServerError).await?;
    cx.create_at(cx.own("v1", "things"), &thing(&cx, "v1", "a", "5")).await?;
    cx.get(one(&cx, "v1", "a")).await?.is(200)?;
    cx.merge(one(&cx, "v1", "a"), &json!({"spec": {"size": "6"}})).await?.is(200)?;
    cx.get(cx.own("v1", "things")).await?.lists(&["a"])?;
    Ok(())
}

async fn validated(cx: Context) -> Outcome {
    let _hook = served(&cx, How::Well).await?;
    let reply = cx.post(cx.own("v2", "things"), &thing(&cx, "v2", "a", "far too long")).await?;
    reply.fails(422, "Invalid")?.mentions("spec.width")?;
    Ok(())
}

async fn labels(cx: Context) -> Outcome {
    let _hook = served(&cx, How::Labels).await?;
    cx.create_at(cx.own("v1", "things"), &thing(&cx, "v1", "a", "5")).await?.absent("/metadata/labels")?;
    cx.get(one(&cx, "v2", "a")).await?.is(200)?.eq("/metadata/labels", json!({"converted": "yes"}))?;
    Ok(())
}

async fn metadata(cx: Context) -> Outcome {
    let _hook = served(&cx, How::Metadata).await?;
    cx.create_at(cx.own("v1", "things"), &thing(&cx, "v1", "a", "5")).await?;
    cx.get(one(&cx, "v2", "a")).await?.is(200)?.absent("/metadata/finalizers")?;
    Ok(())
}

/// Each request that reads an object which the webhook cannot convert, also one that the response would not show.
async fn breaks(cx: Context, how: How, message: &str) -> Outcome {
    let _hook = served(&cx, how).await?;
    let thing = cx.create_at(cx.own("v1", "things"), &thing(&cx, "v1", "a", "5")).await?;
    let why = format!("object not decodable revision={}: ", thing.revision()?);
    let (all, one_of_it) = (cx.own("v2", "things"), one(&cx, "v2", "a"));
    for reply in [cx.get(&one_of_it).await?, cx.delete(&one_of_it).await?] {
        reply
            .fails(500, "InternalError")?
            .mentions("Internal error occurred: StorageError: corrupt object, Code: 7")?;
        reply.mentions(&why)?.mentions(message)?;
    }
    for query in ["", "?limit=1", "?labelSelector=no=label", "?fieldSelector=metadata.name=a"] {
        let reply = cx.get(format!("{all}{query}")).await?;
        reply.fails(500, "StorageReadError")?.eq("/details/kind", "things")?.eq("/details/name", "list")?;
        reply.mentions("failed to read one or more things.")?.mentions(&why)?.mentions(message)?;
    }
    cx.get(format!("{all}?fieldSelector=metadata.name=b")).await?.lists(&[])?;
    cx.call(Method::DELETE, &all).send().await?.fails(500, "StorageReadError")?;
    let reply = cx.merge(&one_of_it, &json!({"spec": {"width": "6"}})).await?;
    reply.is(500)?.absent("/reason")?.mentions(&why)?.mentions(message)?;
    let watched = || cx.get(format!("{all}?watch=true&timeoutSeconds=1&labelSelector=no=label"));
    // It takes a moment until the cache of the server has noticed.
    let refused = cx.eventually("429", watched, |reply| reply.code == 429).await?;
    refused.fails(429, "TooManyRequests")?.eq("/details/retryAfterSeconds", 1)?;
    refused.mentions("storage is (re)initializing")?;
    cx.get(one(&cx, "v1", "a")).await?.is(200)?;
    Ok(())
}

async fn watch_waits(cx: Context) -> Outcome {
    let fails = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let failing = fails.clone();
    let hook = TestWebhook::start(move |_, request| {
        let to_stored = request["desiredAPIVersion"].as_str().unwrap_or_default().ends_with("/v1");
        let fails = !to_stored && failing.load(std::sync::atomic::Ordering::Relaxed);
        answer(request, if fails { How::Fails } else { How::Well })
    })
    .await?;
    cx.establish(&convertible(&cx, &hook)).await?;
    let revision = cx.get(cx.own("v2", "things")).await?.revision()?;
    let path = format!("{}?watch=true&timeoutSeconds=60&resourceVersion={revision}", cx.own("v2", "things"));
    let mut watch = cx.watch(path).await?;
    cx.create_at(cx.own("v1", "things"), &thing(&cx, "v1", "a", "5")).await?;
    watch.expect("ADDED", "a").await?;
    fails.store(true, std::sync::atomic::Ordering::Relaxed);
    cx.create_at(cx.own("v1", "things"), &thing(&cx, "v1", "b", "5")).await?;
    watch.expect_idle(std::time::Duration::from_secs(2)).await?;
    fails.store(false, std::sync::atomic::Ordering::Relaxed);
    watch.expect("ADDED", "b").await?;
    Ok(())
}

async fn refuses(cx: Context, conversion: Value, message: &str) -> Outcome {
    let mut crd = plain_crd(&cx.own_group(), "Thing", "things", json!({"type": "object"}));
    crd["spec"]["conversion"] = conversion;
    cx.post(format!("{CRDS}?dryRun=All"), &crd).await?.fails(422, "Invalid")?.mentions(message)?;
    Ok(())
}
