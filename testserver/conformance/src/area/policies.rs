//! Validating and mutating admission policies. Neither genuine server of this project serves them: the expectations are those of the
//! Kubernetes documentation, KEP-3488 and KEP-3962.

use serde_json::{Value, json};

use crate::{
    case::{Case, core, since},
    check::{Failure, Outcome, holds},
    client::ApiResponse,
    context::Context,
};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
/// The minor versions of Kubernetes that began to serve the kinds as `v1`.
const VALIDATING: u32 = 30;
const MUTATING: u32 = 36;

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    let validated = validated().into_iter().flat_map(|(id, rule, spec, data, outcome)| {
        core(&format!("policies/{id}"), rule, move |cx| validates(cx, spec.clone(), data.clone(), outcome))
    });
    let mutated = mutated().into_iter().flat_map(|(id, rule, mutations, data, wanted)| {
        core(&format!("policies/{id}"), rule, move |cx| mutates(cx, mutations.clone(), data.clone(), wanted.clone()))
    });
    let invalid = invalid().into_iter().flat_map(|(id, rule, spec, field, why)| {
        core(&format!("policies/{id}-422"), rule, move |cx| is_invalid(cx, spec.clone(), field, why))
    });
    let others = [
        core("policies/warn", "a binding that warns", warn),
        core("policies/unbound", "a policy without a binding does nothing", unbound),
        core("policies/params", "a parameter that is an object", params),
        core("policies/params-missing", "a required parameter that does not exist denies the write", params_missing),
    ];
    let validating = validated.chain(invalid).chain(others.into_iter().flatten()).collect();
    [since(VALIDATING, validating), since(MUTATING, mutated.collect())].concat()
}

/// `None`: the write is permitted. Else code, reason and the message after "denied request: ".
type Denied = Option<(u16, &'static str, &'static str)>;

// One row per line.
#[rustfmt::skip]
fn validated() -> Vec<(&'static str, &'static str, Value, Value, Denied)> {
    let one = |expression: &str| json!({"validations": [{"expression": expression}]});
    let two = || json!({"a": "1", "b": "2"});
    vec![
        ("holds", "an expression that is true permits the write", one("size(object.data) == 2"), two(), None),
        ("fails", "an expression that is false denies the write", one("size(object.data) == 1"), two(), Some((422, "Invalid", "failed expression: size(object.data) == 1"))),
        ("message", "a validation with a message", json!({"validations": [{"expression": "false", "message": "never"}]}), two(), Some((422, "Invalid", "never"))),
        ("message-expression", "a message that is an expression", json!({"validations": [{"expression": "false", "message": "never", "messageExpression": "'has ' + string(size(object.data))"}]}), two(), Some((422, "Invalid", "has 2"))),
        ("message-expression-fails", "a message whose expression fails is the fixed one", json!({"validations": [{"expression": "false", "message": "never", "messageExpression": "string(object.data.missing)"}]}), two(), Some((422, "Invalid", "never"))),
        ("reason", "a validation with a reason", json!({"validations": [{"expression": "false", "message": "no", "reason": "Forbidden"}]}), two(), Some((403, "Forbidden", "no"))),
        ("variables", "variables use earlier ones", json!({"variables": [{"name": "n", "expression": "size(object.data)"}, {"name": "m", "expression": "variables.n * 2"}], "validations": [{"expression": "variables.m == 4"}, {"expression": "variables.m == 5", "message": "not five"}]}), two(), Some((422, "Invalid", "not five"))),
        ("unused-variable", "a variable that fails is only noticed where it is used", json!({"variables": [{"name": "n", "expression": "object.data.missing"}], "validations": [{"expression": "true"}]}), two(), None),
        ("match-condition", "a match condition that is false excludes the write", json!({"matchConditions": [{"name": "never", "expression": "false"}], "validations": [{"expression": "false"}]}), two(), None),
        ("error", "an expression that cannot be evaluated denies the write", one("object.data.missing == 'x'"), two(), Some((422, "Invalid", "expression 'object.data.missing == 'x'' resulted in error: no such key: missing"))),
        ("error-ignored", "failurePolicy Ignore permits it", json!({"failurePolicy": "Ignore", "validations": [{"expression": "object.data.missing == 'x'"}]}), two(), None),
        ("request", "what an expression sees of the request", one("request.operation == 'CREATE' && request.resource.resource == 'configmaps' && oldObject == null && namespaceObject.metadata.name == request.namespace"), two(), None),
    ]
}

// One row per line.
#[rustfmt::skip]
fn mutated() -> Vec<(&'static str, &'static str, Value, Value, Value)> {
    let apply = |expression: &str| json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}});
    let patch = |expression: &str| json!({"patchType": "JSONPatch", "jsonPatch": {"expression": expression}});
    vec![
        ("apply-configuration", "an apply configuration is merged", json!([apply("Object{data: {'b': '2'}}")]), json!({"a": "1"}), json!({"a": "1", "b": "2"})),
        ("json-patch", "a JSON patch is applied", json!([patch("[JSONPatch{op: 'test', path: '/data/a', value: '1'}, JSONPatch{op: 'replace', path: '/data/a', value: object.data.a + '0'}]")]), json!({"a": "1"}), json!({"a": "10"})),
        ("mutations-in-order", "later mutations see earlier ones", json!([apply("Object{data: {'b': '2'}}"), patch("[JSONPatch{op: 'move', from: '/data/b', path: '/data/c'}]")]), json!({"a": "1"}), json!({"a": "1", "c": "2"})),
    ]
}

// One row per line.
#[rustfmt::skip]
fn invalid() -> Vec<(&'static str, &'static str, Value, &'static str, &'static str)> {
    vec![
        ("no-validations", "a policy without validations", json!({}), "spec.validations", "Required value: validations or auditAnnotations must contain at least one item"),
        ("syntax", "an expression that is none", json!({"validations": [{"expression": "1 +"}]}), "spec.validations[0].expression", "compilation failed: "),
        ("undeclared", "a variable that does not exist", json!({"validations": [{"expression": "thing.x == 1"}]}), "spec.validations[0].expression", "undeclared reference to 'thing'"),
        ("not-bool", "a validation that is no condition", json!({"validations": [{"expression": "1 + 1"}]}), "spec.validations[0].expression", "must evaluate to bool but got int"),
        ("not-known-to-be-bool", "a validation of no known type", json!({"validations": [{"expression": "object.data.missing"}]}), "spec.validations[0].expression", "must evaluate to bool but got dyn"),
        ("annotation-not-string", "an audit annotation that is no text", json!({"auditAnnotations": [{"key": "a", "valueExpression": "1"}]}), "spec.auditAnnotations[0].valueExpression", "must evaluate to one of [string null_type] but got int"),
        ("message-not-string", "a message that is no text", json!({"validations": [{"expression": "true", "messageExpression": "1"}]}), "spec.validations[0].messageExpression", "must evaluate to string but got int"),
        ("unknown-reason", "a reason that is none", json!({"validations": [{"expression": "true", "reason": "Other"}]}), "spec.validations[0].reason", "Unsupported value: \"Other\""),
    ]
}

fn maps(cx: &Context) -> String {
    format!("/api/v1/namespaces/{}/configmaps", cx.ns)
}

/// The ConfigMaps of the case only.
fn constraints(cx: &Context) -> Value {
    let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]});
    let selector = json!({"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": [cx.ns]}]});
    json!({"resourceRules": [rule], "namespaceSelector": selector})
}

fn policy(cx: &Context, spec: &Value) -> Value {
    let mut policy = json!({"metadata": {"name": cx.ns}, "spec": {"matchConstraints": constraints(cx)}});
    for (field, value) in spec.as_object().into_iter().flatten() {
        policy["spec"][field] = value.clone();
    }
    policy
}

/// Creates a policy and its binding.
async fn bind(cx: &Context, kind: &str, spec: &Value, binding: Value) -> Outcome {
    cx.create_at(format!("{GROUP}/{kind}policies"), &policy(cx, spec)).await?;
    let mut bound = json!({"policyName": cx.ns});
    for (field, value) in binding.as_object().into_iter().flatten() {
        bound[field] = value.clone();
    }
    cx.create_at(
        format!("{GROUP}/{kind}policybindings"),
        &json!({"metadata": {"name": cx.ns}, "spec": bound}),
    )
    .await?;
    Ok(())
}

async fn unbind(cx: &Context, kind: &str) -> Outcome {
    cx.delete(format!("{GROUP}/{kind}policybindings/{}", cx.ns)).await?.is(200)?;
    cx.delete(format!("{GROUP}/{kind}policies/{}", cx.ns)).await?.is(200)?;
    Ok(())
}

async fn validates(cx: Context, spec: Value, data: Value, denied: Denied) -> Outcome {
    bind(&cx, "validatingadmission", &spec, json!({"validationActions": ["Deny"]})).await?;
    let reply = write(&cx, &data, denied.is_some()).await;
    unbind(&cx, "validatingadmission").await?;
    let reply = reply?;
    match denied {
        None => drop(reply.is(201)?),
        Some((code, reason, why)) => {
            let of =
                format!("ValidatingAdmissionPolicy '{0}' with binding '{0}' denied request: {why}", cx.ns);
            reply
                .fails(code, reason)?
                .says(&format!("configmaps \"a\" is forbidden: {of}"))?
                .eq("/details/causes/0/message", of)?;
        }
    }
    Ok(())
}

/// Writes until the policy is in force, if it denies.
async fn write(cx: &Context, data: &Value, denied: bool) -> Result<ApiResponse, Failure> {
    let (path, object) =
        (format!("{}?dryRun=All", maps(cx)), json!({"metadata": {"name": "a"}, "data": data}));
    cx.eventually("a refusal", || cx.post(&path, &object), |reply| !denied || reply.code != 201).await
}

async fn mutates(cx: Context, mutations: Value, data: Value, wanted: Value) -> Outcome {
    bind(
        &cx,
        "mutatingadmission",
        &json!({"mutations": mutations, "reinvocationPolicy": "Never"}),
        json!({}),
    )
    .await?;
    let (path, object) =
        (format!("{}?dryRun=All", maps(&cx)), json!({"metadata": {"name": "a"}, "data": data}));
    let reply = cx
        .eventually("a changed object", || cx.post(&path, &object), |reply| reply.body["data"] != data)
        .await;
    unbind(&cx, "mutatingadmission").await?;
    reply?.is(201)?.eq("/data", wanted)?;
    Ok(())
}

async fn is_invalid(cx: Context, spec: Value, field: &str, why: &str) -> Outcome {
    let reply = cx.post(format!("{GROUP}/validatingadmissionpolicies"), &policy(&cx, &spec)).await?;
    reply.fails(422, "Invalid")?.mentions(&format!("{field}: "))?.mentions(why)?;
    Ok(())
}

async fn warn(cx: Context) -> Outcome {
    let spec = json!({"validations": [{"expression": "false", "message": "never"}]});
    bind(&cx, "validatingadmission", &spec, json!({"validationActions": ["Warn", "Audit"]})).await?;
    let (path, object) = (format!("{}?dryRun=All", maps(&cx)), json!({"metadata": {"name": "a"}}));
    let reply =
        cx.eventually("a warning", || cx.post(&path, &object), |reply| !reply.warnings().is_empty()).await;
    unbind(&cx, "validatingadmission").await?;
    let reply = reply?;
    reply.is(201)?;
    let wanted =
        format!("Validation failed for ValidatingAdmissionPolicy '{0}' with binding '{0}': never", cx.ns);
    holds(
        reply.warnings().iter().any(|warning| warning.contains(&wanted)),
        &wanted,
        format!("{:?}", reply.warnings()),
    )
}

async fn unbound(cx: Context) -> Outcome {
    let path = format!("{GROUP}/validatingadmissionpolicies");
    cx.create_at(&path, &policy(&cx, &json!({"validations": [{"expression": "false"}]}))).await?;
    cx.create_at(maps(&cx), &json!({"metadata": {"name": "a"}})).await?;
    cx.delete(format!("{path}/{}", cx.ns)).await?.is(200)?;
    Ok(())
}

fn with_params() -> Value {
    json!({"paramKind": {"apiVersion": "v1", "kind": "Endpoints"}, "validations": [{"expression": "object.data.a == params.metadata.labels.a"}]})
}

async fn params(cx: Context) -> Outcome {
    let labels = json!({"metadata": {"name": "p", "labels": {"a": "1"}}});
    cx.create_at(format!("/api/v1/namespaces/{}/endpoints", cx.ns), &labels).await?;
    let reference = json!({"name": "p", "parameterNotFoundAction": "Deny"});
    bind(
        &cx,
        "validatingadmission",
        &with_params(),
        json!({"validationActions": ["Deny"], "paramRef": reference}),
    )
    .await?;
    let denied = write(&cx, &json!({"a": "2"}), true).await;
    let permitted = write(&cx, &json!({"a": "1"}), false).await;
    unbind(&cx, "validatingadmission").await?;
    denied?
        .fails(422, "Invalid")?
        .mentions("failed expression: object.data.a == params.metadata.labels.a")?;
    permitted?.is(201)?;
    Ok(())
}

async fn params_missing(cx: Context) -> Outcome {
    let reference = json!({"name": "p", "parameterNotFoundAction": "Deny"});
    bind(
        &cx,
        "validatingadmission",
        &with_params(),
        json!({"validationActions": ["Deny"], "paramRef": reference}),
    )
    .await?;
    let denied = write(&cx, &json!({"a": "1"}), true).await;
    unbind(&cx, "validatingadmission").await?;
    denied?
        .fails(422, "Invalid")?
        .mentions("no params found for policy binding with `Deny` parameterNotFoundAction")?;
    Ok(())
}
