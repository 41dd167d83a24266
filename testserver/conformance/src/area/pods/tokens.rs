//! Tokens of service accounts.

use http::Method;
use serde_json::{Value, json};

use super::setup::{not_allowed, pods};
use crate::{
    case::{Case, core},
    check::{Failure, Outcome, equal, holds},
    client::ApiResponse,
    context::Context,
    kinds::POD,
};

// One row per line.
#[rustfmt::skip]
pub(super) fn cases() -> Vec<Case> {
    [
        core("pods/token", "a token has subject, audience and expiry", token),
        core("pods/token-default-expiry", "a token without a requested expiry is valid for an hour", token_default),
        core("pods/token-missing-404", "a token of a missing account: 404", token_missing),
        core("pods/token-expiry-422", "an expiry below ten minutes or above 2^32 seconds: 422", token_expiry),
        core("pods/token-bound", "a token bound to a pod of the account", token_bound),
        core("pods/token-bound-missing-404", "a token bound to a missing pod: 404", token_bound_missing),
        core("pods/token-bound-kind-400", "a token bound to an object that is neither pod nor secret: 400", token_bound_kind),
        core("pods/token-bound-other-account-400", "a token bound to a pod of another account: 400", token_bound_other),
        core("pods/token-wrong-kind-400", "a body that is no TokenRequest: 400", token_kind),
        core("pods/token-verbs-405", "a token can only be requested by POST: 405", token_verbs),
    ]
    .concat()
}

/// Creates the account `robot` and requests a token.
async fn ask(cx: &Context, spec: Value) -> Result<ApiResponse, Failure> {
    let accounts = account(cx).await?;
    cx.post(format!("{accounts}/robot/token"), &request(spec)).await
}

/// Creates the account `robot`; returns the path of accounts.
async fn account(cx: &Context) -> Result<String, Failure> {
    let accounts = format!("/api/v1/namespaces/{}/serviceaccounts", cx.ns);
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}});
    cx.create_at(&accounts, &account).await?;
    Ok(accounts)
}

fn request(spec: Value) -> Value {
    json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})
}

/// The claims of a token.
fn claims(r: &ApiResponse) -> Result<Value, Failure> {
    use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
    let token = r.str("/status/token")?;
    let decoded = token.split('.').nth(1).and_then(|part| BASE64_URL_SAFE_NO_PAD.decode(part).ok());
    let claims = decoded.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    claims.ok_or_else(|| r.failure("a token with readable claims", &token))
}

async fn token(cx: Context) -> Outcome {
    let r = ask(&cx, json!({"audiences": ["one", "two"], "expirationSeconds": 1200})).await?;
    r.is(201)?.eq("/kind", "TokenRequest")?.eq("/spec/audiences", json!(["one", "two"]))?;
    r.has("/status/expirationTimestamp")?;
    let claims = claims(&r)?;
    equal("aud", json!(["one", "two"]), &claims["aud"])?;
    equal("sub", json!(format!("system:serviceaccount:{}:robot", cx.ns)), &claims["sub"])?;
    let life = claims["exp"].as_i64().unwrap_or(0) - claims["iat"].as_i64().unwrap_or(0);
    equal("life in seconds", 1200, life)?;
    equal("namespace", json!(cx.ns), &claims["kubernetes.io"]["namespace"])
}

async fn token_default(cx: Context) -> Outcome {
    let r = ask(&cx, json!({})).await?;
    r.is(201)?.eq("/spec/expirationSeconds", 3600)?;
    let audiences = r.body["spec"]["audiences"].as_array().map_or(0, Vec::len);
    holds(audiences > 0, "the audiences of the server", &r.text)
}

async fn token_missing(cx: Context) -> Outcome {
    let path = format!("/api/v1/namespaces/{}/serviceaccounts/none/token", cx.ns);
    let r = cx.post(path, &request(json!({}))).await?;
    r.fails(404, "NotFound")?.says("serviceaccounts \"none\" not found")?;
    Ok(())
}

async fn token_expiry(cx: Context) -> Outcome {
    let r = ask(&cx, json!({"expirationSeconds": 599})).await?;
    r.fails(422, "Invalid")?.cause("FieldValueInvalid", "spec.expirationSeconds")?;
    r.mentions("Invalid value: 599: may not specify a duration less than 10 minutes")?;
    let path = format!("/api/v1/namespaces/{}/serviceaccounts/robot/token", cx.ns);
    let r = cx.post(path, &request(json!({"expirationSeconds": 5_000_000_000_i64}))).await?;
    r.fails(422, "Invalid")?.mentions("may not specify a duration larger than 2^32 seconds")?;
    Ok(())
}

fn bound_to(kind: &str, name: &str) -> Value {
    json!({"boundObjectRef": {"apiVersion": "v1", "kind": kind, "name": name}})
}

async fn token_bound(cx: Context) -> Outcome {
    let accounts = account(&cx).await?;
    let spec = json!({"serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]});
    let pod = cx.object_of(&POD, "a", json!({"spec": spec}));
    // Admission learns of the account a little later.
    let create = || cx.post(cx.all_of(&POD), &pod);
    let pod = cx.eventually("a pod", create, |reply| reply.code == 201).await?;
    let r = cx.post(format!("{accounts}/robot/token"), &request(bound_to("Pod", "a"))).await?;
    let claims = claims(r.is(201)?)?;
    equal("pod", json!("a"), &claims["kubernetes.io"]["pod"]["name"])?;
    equal("uid of the pod", &pod.body["metadata"]["uid"], &claims["kubernetes.io"]["pod"]["uid"])
}

async fn token_bound_missing(cx: Context) -> Outcome {
    ask(&cx, bound_to("Pod", "none")).await?.fails(404, "NotFound")?.says("pods \"none\" not found")?;
    Ok(())
}

async fn token_bound_kind(cx: Context) -> Outcome {
    let r = ask(&cx, bound_to("ConfigMap", "none")).await?;
    r.fails(400, "BadRequest")?.says("cannot bind token to object of type /v1, Kind=ConfigMap")?;
    Ok(())
}

async fn token_bound_other(cx: Context) -> Outcome {
    pods(&cx).await?;
    let r = ask(&cx, bound_to("Pod", "a")).await?;
    let why =
        "cannot bind token for serviceaccount \"robot\" to pod running with different serviceaccount name.";
    r.fails(400, "BadRequest")?.says(why)?;
    Ok(())
}

async fn token_kind(cx: Context) -> Outcome {
    ask(&cx, json!({})).await?.is(201)?;
    let path = format!("/api/v1/namespaces/{}/serviceaccounts/robot/token", cx.ns);
    let r = cx.post(path, &json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}})).await?;
    r.fails(400, "BadRequest")?;
    Ok(())
}

async fn token_verbs(cx: Context) -> Outcome {
    ask(&cx, json!({})).await?.is(201)?;
    let path = format!("/api/v1/namespaces/{}/serviceaccounts/robot/token", cx.ns);
    cx.get(&path).await?.fails(405, "MethodNotAllowed")?;
    not_allowed(&cx, &path, &[Method::PUT, Method::DELETE]).await
}
