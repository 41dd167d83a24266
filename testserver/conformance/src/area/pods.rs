//! Subresources of pods: log, exec, attach, portforward, eviction and binding; and service account tokens.
//!
//! No case needs a node that runs pods: pods stay unscheduled.

use http::Method;
use serde_json::{Value, json};

use crate::{
    case::{Case, core, since},
    check::{Outcome, equal, holds},
    client::ApiResponse,
    context::Context,
    kinds::POD,
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        core("pods/log-waiting", "the log of a container that has not started is empty: 204, with or without previous", log_waiting),
        core("pods/log-missing-404", "the log of a missing pod: 404", |cx| missing(cx, "log")),
        core("pods/log-which-container-400", "the log of one of several containers needs its name: 400, naming them", |cx| which(cx, "log")),
        core("pods/log-wrong-container-400", "the log of a container that the pod does not have: 400", |cx| wrong_container(cx, "log")),
        core("pods/log-options-422", "log options out of range: 422 of PodLogOptions with their causes", log_options),
        core("pods/log-options-400", "log options of the wrong type: 400", log_unreadable),
        core("pods/log-one-since-422", "sinceTime and sinceSeconds exclude each other: 422", log_one_since),
        core("pods/log-verbs-405", "other verbs than GET on a log: 405", log_verbs),
        core("pods/exec-missing-404", "exec in a missing pod: 404", |cx| missing(cx, "exec?command=ls&stdout=true")),
        core("pods/exec-no-host-400", "exec in a pod without node: 400, for GET and POST", |cx| no_host(cx, "exec?command=ls&stdout=true")),
        core("pods/exec-upgrade-no-host-400", "the same for requests to upgrade the connection: an ordinary HTTP response", |cx| no_host_upgrade(cx, "exec?command=ls&stdout=true")),
        core("pods/exec-which-container-400", "exec in one of several containers needs its name: 400, naming them", |cx| which(cx, "exec?command=ls&stdout=true")),
        core("pods/exec-wrong-container-400", "exec in a container that the pod does not have: 400", |cx| wrong_container(cx, "exec?command=ls&stdout=true")),
        core("pods/exec-verbs-405", "exec is GET or POST: 405 for others", |cx| get_or_post(cx, "exec?command=ls&stdout=true")),
        core("pods/attach-missing-404", "attach to a missing pod: 404", |cx| missing(cx, "attach?stdout=true")),
        core("pods/attach-no-host-400", "attach to a pod without node: 400, for GET and POST", |cx| no_host(cx, "attach?stdout=true")),
        core("pods/attach-upgrade-no-host-400", "the same for requests to upgrade the connection", |cx| no_host_upgrade(cx, "attach?stdout=true")),
        core("pods/attach-which-container-400", "attach to one of several containers needs its name: 400, naming them", |cx| which(cx, "attach?stdout=true")),
        core("pods/attach-wrong-container-400", "attach to a container that the pod does not have: 400", |cx| wrong_container(cx, "attach?stdout=true")),
        core("pods/attach-verbs-405", "attach is GET or POST: 405 for others", |cx| get_or_post(cx, "attach?stdout=true")),
        core("pods/portforward-missing-404", "port-forward to a missing pod: 404", |cx| missing(cx, "portforward?ports=80")),
        core("pods/portforward-no-host-400", "port-forward to a pod without node: 400, for GET and POST", |cx| no_host(cx, "portforward?ports=80")),
        core("pods/portforward-upgrade-no-host-400", "the same for requests to upgrade the connection", |cx| no_host_upgrade(cx, "portforward")),
        core("pods/portforward-verbs-405", "port-forward is GET or POST: 405 for others", |cx| get_or_post(cx, "portforward?ports=80")),
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
        core("pods/binding-missing-404", "binding a missing pod: 404", binding_missing),
        core("pods/binding-other-name-400", "a Binding with another name than the path: 400", binding_other),
        core("pods/binding-target-500", "a Binding without a node is rejected: 500 with a reason", binding_target),
        core("pods/binding-dry-run", "a dry run binds nothing", binding_dry),
        core("pods/binding-by-collection", "a Binding may be posted to `bindings` as well", binding_collection),
        core("pods/binding-twice-409", "binding a pod that already has a node: 409, naming it", binding_twice),
        core("pods/binding-verbs-405", "other verbs than POST on a binding: 405", binding_verbs),
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

// ---- log, exec, attach, portforward

/// Pod `a` with one container, pod `two` with three; neither is scheduled.
async fn pods(cx: &Context) -> Outcome {
    let spec = json!({"containers": [{"name": "c", "image": "i"}]});
    cx.create_at(cx.all_of(&POD), &cx.object_of(&POD, "a", json!({"spec": spec}))).await?;
    let spec = json!({"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}],
        "initContainers": [{"name": "i", "image": "i"}]});
    cx.create_at(cx.all_of(&POD), &cx.object_of(&POD, "two", json!({"spec": spec}))).await?;
    Ok(())
}

fn below(cx: &Context, pod: &str, rest: &str) -> String {
    format!("{}/{rest}", cx.one_of(&POD, pod))
}

fn with_container(rest: &str, container: &str) -> String {
    format!("{rest}{}container={container}", if rest.contains('?') { '&' } else { '?' })
}

async fn log_waiting(cx: Context) -> Outcome {
    pods(&cx).await?;
    for (pod, query) in
        [("a", "log"), ("a", "log?previous=true"), ("two", "log?container=d"), ("two", "log?container=i")]
    {
        let r = cx.get(below(&cx, pod, query)).await?;
        equal("body", "", &r.is(204)?.text)?;
    }
    Ok(())
}

async fn missing(cx: Context, rest: &'static str) -> Outcome {
    let r = cx.get(below(&cx, "none", rest)).await?;
    r.fails(404, "NotFound")?
        .says("pods \"none\" not found")?
        .eq("/details/name", "none")?
        .eq("/details/kind", "pods")?;
    Ok(())
}

async fn which(cx: Context, rest: &'static str) -> Outcome {
    pods(&cx).await?;
    let r = cx.get(below(&cx, "two", rest)).await?;
    r.fails(400, "BadRequest")?
        .mentions("a container name must be specified for pod two, choose one of: [")?;
    ["c", "d", "i"].iter().try_for_each(|name| r.mentions(name).map(drop))
}

async fn wrong_container(cx: Context, rest: &'static str) -> Outcome {
    pods(&cx).await?;
    let r = cx.get(below(&cx, "a", &with_container(rest, "none"))).await?;
    r.fails(400, "BadRequest")?.says("container none is not valid for pod a")?;
    Ok(())
}

async fn log_options(cx: Context) -> Outcome {
    pods(&cx).await?;
    for (field, value, why) in [
        ("tailLines", "-1", "Invalid value: -1: must be greater than or equal to 0"),
        ("sinceSeconds", "0", "Invalid value: 0: must be greater than 0"),
        ("limitBytes", "0", "Invalid value: 0: must be greater than 0"),
    ] {
        let r = cx.get(below(&cx, "a", &format!("log?{field}={value}"))).await?;
        r.fails(422, "Invalid")?.says(&format!("PodLogOptions \"a\" is invalid: {field}: {why}"))?;
        r.cause("FieldValueInvalid", field)?
            .eq("/details/kind", "PodLogOptions")?
            .eq("/details/name", "a")?;
    }
    Ok(())
}

async fn log_unreadable(cx: Context) -> Outcome {
    pods(&cx).await?;
    for query in ["tailLines=x", "sinceSeconds=x", "limitBytes=1.5", "sinceTime=yesterday"] {
        cx.get(below(&cx, "a", &format!("log?{query}"))).await?.fails(400, "BadRequest")?;
    }
    let r = cx.get(below(&cx, "a", "log?tailLines=x")).await?;
    r.says("strconv.ParseInt: parsing \"x\": invalid syntax")?;
    Ok(())
}

async fn log_one_since(cx: Context) -> Outcome {
    pods(&cx).await?;
    let r = cx.get(below(&cx, "a", "log?sinceSeconds=5&sinceTime=2020-01-01T00:00:00Z")).await?;
    r.fails(422, "Invalid")?.mentions("at most one of `sinceTime` or `sinceSeconds` may be specified")?;
    Ok(())
}

async fn log_verbs(cx: Context) -> Outcome {
    pods(&cx).await?;
    not_allowed(&cx, &below(&cx, "a", "log"), &[Method::POST, Method::PUT, Method::DELETE]).await
}

async fn no_host(cx: Context, rest: &'static str) -> Outcome {
    pods(&cx).await?;
    for method in [Method::GET, Method::POST] {
        let r = cx.call(method, below(&cx, "a", rest)).send().await?;
        r.fails(400, "BadRequest")?.says("pod a does not have a host assigned")?;
    }
    Ok(())
}

async fn no_host_upgrade(cx: Context, rest: &'static str) -> Outcome {
    pods(&cx).await?;
    let call = cx.call(Method::POST, below(&cx, "a", rest));
    let call = call.header("connection", "Upgrade").header("upgrade", "SPDY/3.1");
    let r = call.header("x-stream-protocol-version", "v4.channel.k8s.io").send().await?;
    r.fails(400, "BadRequest")?.says("pod a does not have a host assigned")?;
    Ok(())
}

async fn get_or_post(cx: Context, rest: &'static str) -> Outcome {
    pods(&cx).await?;
    not_allowed(&cx, &below(&cx, "a", rest), &[Method::PUT, Method::DELETE]).await
}

async fn not_allowed(cx: &Context, path: &str, methods: &[Method]) -> Outcome {
    for method in methods {
        let r = cx.call(method.clone(), path).json(&json!({})).send().await?;
        r.fails(405, "MethodNotAllowed")?;
    }
    Ok(())
}

// ---- eviction

/// The version of evictions and budgets on this server.
fn policy(cx: &Context) -> &'static str {
    cx.api_by_version("policy/v1beta1", 22, "policy/v1")
}

async fn evict(cx: &Context, pod: &str, fields: Value) -> Result<ApiResponse, crate::check::Failure> {
    let mut body = json!({"apiVersion": policy(cx), "kind": "Eviction", "metadata": {"name": pod}});
    for (key, value) in fields.as_object().into_iter().flatten() {
        body[key] = value.clone();
    }
    cx.post(below(cx, pod, "eviction"), &body).await
}

fn is_success(r: &ApiResponse) -> Outcome {
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

// ---- binding

fn binding(pod: &str, target: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": target})
}

fn node() -> Value {
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

// ---- tokens

/// Creates the account `robot` and requests a token.
async fn ask(cx: &Context, spec: Value) -> Result<ApiResponse, crate::check::Failure> {
    let accounts = format!("/api/v1/namespaces/{}/serviceaccounts", cx.ns);
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}});
    cx.create_at(&accounts, &account).await?;
    cx.post(format!("{accounts}/robot/token"), &request(spec)).await
}

fn request(spec: Value) -> Value {
    json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})
}

/// The claims of a token.
fn claims(r: &ApiResponse) -> Result<Value, crate::check::Failure> {
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
    let spec = json!({"serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]});
    // Without service account admission, the account need not exist.
    let pod = cx.create_at(cx.all_of(&POD), &cx.object_of(&POD, "a", json!({"spec": spec}))).await?;
    let r = ask(&cx, bound_to("Pod", "a")).await?;
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
