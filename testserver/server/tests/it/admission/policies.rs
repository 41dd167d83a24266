//! Validating admission policies. No genuine server of the project serves them: the expectations are those of the documentation and of
//! KEP-3488.

use kube_testserver::{AdmissionPlugin, ApiServer, User};
use serde_json::{Value, json};

use crate::client::{MERGE, TestClient};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

pub(super) fn rules(group: &str, resource: &str) -> Value {
    json!({"resourceRules": [{"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": [resource]}]})
}

fn merge(into: &mut Value, more: Value) {
    for (field, value) in more.as_object().unwrap() {
        into[field] = value.clone();
    }
}

/// A policy `p` on ConfigMaps.
fn policy(spec: Value) -> Value {
    let mut policy =
        json!({"metadata": {"name": "p"}, "spec": {"matchConstraints": rules("", "configmaps")}});
    merge(&mut policy["spec"], spec);
    policy
}

fn binding(spec: Value) -> Value {
    let mut binding =
        json!({"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}});
    merge(&mut binding["spec"], spec);
    binding
}

async fn with(policy_spec: Value, binding_spec: Value) -> TestClient {
    let client = TestClient::new();
    client.post(&format!("{GROUP}/validatingadmissionpolicies"), policy(policy_spec)).await.ok();
    client.post(&format!("{GROUP}/validatingadmissionpolicybindings"), binding(binding_spec)).await.ok();
    client
}

fn map(name: &str, data: Value) -> Value {
    json!({"metadata": {"name": name}, "data": data})
}

fn denied(why: &str) -> String {
    format!(
        "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: {why}"
    )
}

#[tokio::test]
async fn a_failed_expression_denies_the_write() {
    let client = with(
        json!({"matchConstraints": rules("apps", "deployments"), "validations": [{"expression": "object.spec.replicas <= 5"}]}),
        json!({}),
    )
    .await;
    let made = client.get(&format!("{GROUP}/validatingadmissionpolicies/p")).await.ok();
    assert_eq!(
        (&made["spec"]["failurePolicy"], &made["spec"]["matchConstraints"]["matchPolicy"]),
        (&json!("Fail"), &json!("Equivalent"))
    );
    let deployment = |replicas: u32| {
        let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
        json!({"metadata": {"name": "web"}, "spec": {"replicas": replicas, "selector": {"matchLabels": {"a": "b"}}, "template": template}})
    };
    let refused = client.post(DEPLOYMENTS, deployment(6)).await;
    let message = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed expression: object.spec.replicas <= 5";
    assert_eq!(refused.body["details"]["causes"], json!([{"message": message}]));
    assert_eq!(refused.refused(422, "Invalid"), format!("deployments.apps \"web\" is forbidden: {message}"));
    client.post(DEPLOYMENTS, deployment(5)).await.ok();
    let patched = client
        .send(
            "PATCH",
            &format!("{DEPLOYMENTS}/web"),
            &[("content-type", MERGE)],
            r#"{"spec": {"replicas": 9}}"#,
        )
        .await;
    patched.refused(422, "Invalid");
    client.delete(&format!("{DEPLOYMENTS}/web")).await.ok();
}

#[tokio::test]
async fn messages_reasons_and_variables() {
    let client = with(
        json!({
            "variables": [
                {"name": "size", "expression": "has(object.data) ? size(object.data) : 0"},
                {"name": "twice", "expression": "variables.size * 2"},
                {"name": "broken", "expression": "object.data.missing"},
            ],
            "validations": [
                {"expression": "variables.twice < 4", "message": "fixed", "messageExpression": "'has ' + string(variables.size) + ' of ' + request.name", "reason": "Forbidden"},
                {"expression": "!has(object.data.x)", "message": "no x"},
                {"expression": "!has(object.data.y) || variables.broken == 'a'"},
            ],
        }),
        json!({}),
    )
    .await;
    let of = async |data: Value| client.post(MAPS, map("a", data)).await;
    of(json!({"a": "1"})).await.ok();
    assert_eq!(of(json!({"a": "1", "b": "2"})).await.refused(403, "Forbidden"), denied("has 2 of a"));
    assert_eq!(of(json!({"x": "1"})).await.refused(422, "Invalid"), denied("no x"));
    assert_eq!(
        of(json!({"y": "1"})).await.refused(422, "Invalid"),
        denied(
            "expression '!has(object.data.y) || variables.broken == 'a'' resulted in error: composited variable \"broken\" \
             fails to evaluate: no such key: missing"
        )
    );
}

#[tokio::test]
async fn old_objects_namespaces_and_users_are_seen() {
    let client = with(
        json!({"validations": [{"expression": "request.operation == 'CREATE' ? oldObject == null : oldObject.data.a == object.data.a", "message": "changed"},
            {"expression": "namespaceObject.metadata.name == request.namespace && request.resource.resource == 'configmaps' && request.userInfo.username == 'system:admin'"}]}),
        json!({}),
    )
    .await;
    client.post(MAPS, map("a", json!({"a": "1"}))).await.ok();
    let change = async |body: &str| {
        client.send("PATCH", &format!("{MAPS}/a"), &[("content-type", MERGE)], body.to_owned()).await
    };
    change(r#"{"data": {"b": "1"}}"#).await.ok();
    assert_eq!(change(r#"{"data": {"a": "2"}}"#).await.refused(422, "Invalid"), denied("changed"));
}

#[tokio::test]
async fn bindings_warn_or_audit_instead_of_denying() {
    let validations = json!([{"expression": "false", "message": "no"}]);
    let client =
        with(json!({"validations": validations}), json!({"validationActions": ["Warn", "Audit"]})).await;
    let reply = client.post(MAPS, map("a", json!({}))).await;
    assert_eq!(
        reply.warnings(),
        ["299 - \"Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': no\""]
    );
    reply.ok();
    let client = with(json!({"validations": validations}), json!({"validationActions": ["Audit"]})).await;
    let reply = client.post(MAPS, map("a", json!({}))).await;
    assert!(reply.warnings().is_empty());
    reply.ok();
}

#[tokio::test]
async fn a_policy_without_a_binding_does_nothing_and_bindings_narrow_it() {
    let client = TestClient::new();
    let never = policy(json!({"validations": [{"expression": "false"}]}));
    client.post(&format!("{GROUP}/validatingadmissionpolicies"), never).await.ok();
    client.post(MAPS, map("free", json!({}))).await.ok();
    let resources = json!({"namespaceSelector": {"matchLabels": {"strict": "yes"}}, "objectSelector": {"matchExpressions": [{"key": "skip", "operator": "DoesNotExist"}]}});
    client
        .post(
            &format!("{GROUP}/validatingadmissionpolicybindings"),
            binding(json!({"matchResources": resources})),
        )
        .await
        .ok();
    client.post(MAPS, map("still-free", json!({}))).await.ok();
    client
        .post("/api/v1/namespaces", json!({"metadata": {"name": "strict", "labels": {"strict": "yes"}}}))
        .await
        .ok();
    client.post("/api/v1/namespaces/strict/configmaps", map("a", json!({}))).await.refused(422, "Invalid");
    let skipped = json!({"metadata": {"name": "a", "labels": {"skip": "1"}}});
    client.post("/api/v1/namespaces/strict/configmaps", skipped).await.ok();
    client.delete(&format!("{GROUP}/validatingadmissionpolicybindings/b")).await.ok();
    client.post("/api/v1/namespaces/strict/configmaps", map("b", json!({}))).await.ok();
}

#[tokio::test]
async fn rules_exclude_resources_and_name_objects() {
    let mut constraints = rules("", "*");
    constraints["excludeResourceRules"] = rules("", "secrets")["resourceRules"].clone();
    constraints["resourceRules"][0]["resourceNames"] = json!(["a"]);
    let client =
        with(json!({"matchConstraints": constraints, "validations": [{"expression": "false"}]}), json!({}))
            .await;
    client.post(MAPS, map("a", json!({}))).await.refused(422, "Invalid");
    client.post(MAPS, map("b", json!({}))).await.ok();
    client.post("/api/v1/namespaces/default/secrets", json!({"metadata": {"name": "a"}})).await.ok();
}

#[tokio::test]
async fn match_conditions_and_failure_policies() {
    let validations = json!([{"expression": "object.data.size() < 2"}]);
    let conditions = json!([{"name": "not-exempt", "expression": "!has(object.metadata.labels) || !('exempt' in object.metadata.labels)"}]);
    let client = with(json!({"validations": validations, "matchConditions": conditions}), json!({})).await;
    let two = json!({"a": "1", "b": "1"});
    client.post(MAPS, map("a", two.clone())).await.refused(422, "Invalid");
    client.post(MAPS, json!({"metadata": {"name": "e", "labels": {"exempt": ""}}, "data": two})).await.ok();
    let why = client.post(MAPS, json!({"metadata": {"name": "a"}})).await.refused(422, "Invalid");
    assert_eq!(why, denied("expression 'object.data.size() < 2' resulted in error: no such key: data"));
    let client = with(json!({"validations": validations, "failurePolicy": "Ignore"}), json!({})).await;
    client.post(MAPS, json!({"metadata": {"name": "a"}})).await.ok();
    client.post(MAPS, map("b", json!({"a": "1", "b": "1"}))).await.refused(422, "Invalid");
}

#[tokio::test]
async fn parameters_are_objects() {
    let spec = json!({"paramKind": {"apiVersion": "v1", "kind": "Secret"},
        "validations": [{"expression": "object.data.size() <= int(params.metadata.labels.most)", "messageExpression": "'more than ' + params.metadata.labels.most"}]});
    let client =
        with(spec.clone(), json!({"paramRef": {"name": "limit", "parameterNotFoundAction": "Deny"}})).await;
    let one = json!({"a": "1"});
    let two = json!({"a": "1", "b": "1"});
    let why = client.post(MAPS, map("a", one.clone())).await.refused(422, "Invalid");
    assert_eq!(
        why,
        denied(
            "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
        )
    );
    let secret = |name: &str, most: &str| json!({"metadata": {"name": name, "labels": {"most": most, "limit": "yes"}}});
    client.post("/api/v1/namespaces/default/secrets", secret("limit", "1")).await.ok();
    client.post(MAPS, map("one", one)).await.ok();
    assert_eq!(client.post(MAPS, map("a", two.clone())).await.refused(422, "Invalid"), denied("more than 1"));

    let selected = json!({"paramRef": {"selector": {"matchLabels": {"limit": "yes"}}, "parameterNotFoundAction": "Allow", "namespace": "default"}});
    let client = with(spec, selected).await;
    client.post(MAPS, map("free", two.clone())).await.ok();
    for (name, most) in [("high", "9"), ("low", "0")] {
        client.post("/api/v1/namespaces/default/secrets", secret(name, most)).await.ok();
    }
    assert_eq!(
        client.post(MAPS, map("a", two)).await.refused(422, "Invalid"),
        denied("more than 0"),
        "every parameter counts"
    );
}

#[tokio::test]
async fn expressions_ask_the_authorizer() {
    let api = ApiServer::builder().with_rbac().service().unwrap();
    let admin = TestClient { api };
    let may_write = json!({"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]});
    let may_delete = json!({"apiGroups": [""], "resources": ["configmaps/extra"], "resourceNames": ["a"], "verbs": ["delete"]});
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    for (user, rules) in [("ann", json!([may_write, may_delete])), ("bob", json!([may_write]))] {
        admin
            .post(&format!("{rbac}/clusterroles"), json!({"metadata": {"name": user}, "rules": rules}))
            .await
            .ok();
        let subject = json!({"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"});
        let role = json!({"kind": "ClusterRole", "name": user, "apiGroup": "rbac.authorization.k8s.io"});
        let binding = json!({"metadata": {"name": user}, "subjects": [subject], "roleRef": role});
        admin.post(&format!("{rbac}/clusterrolebindings"), binding).await.ok();
    }
    let validations = json!([
        {"expression": "authorizer.group('').resource('configmaps').subresource('extra').namespace('default').name('a').check('delete').allowed()", "message": "may not delete"},
        {"expression": "authorizer.requestResource.check('create').allowed() && !authorizer.path('/metrics').check('get').allowed()"},
        {"expression": "authorizer.serviceAccount('default', 'none').group('').resource('configmaps').check('create').reason() == ''"},
    ]);
    admin
        .post(&format!("{GROUP}/validatingadmissionpolicies"), policy(json!({"validations": validations})))
        .await
        .ok();
    admin.post(&format!("{GROUP}/validatingadmissionpolicybindings"), binding(json!({}))).await.ok();
    let of = |user: &str| TestClient { api: admin.api.as_user(User::new(user)) };
    of("ann").post(MAPS, map("a", json!({}))).await.ok();
    assert_eq!(
        of("bob").post(MAPS, map("a", json!({}))).await.refused(422, "Invalid"),
        denied("may not delete")
    );
}

#[tokio::test]
async fn deletions_and_subresources_are_reviewed() {
    let constraints = json!({"resourceRules": [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["configmaps"]},
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods/eviction"]}]});
    let validations = json!([{"expression": "request.operation != 'DELETE' || !has(oldObject.data.keep)"}, {"expression": "!has(request.subResource) || request.subResource != 'eviction'"}]);
    let client = with(json!({"matchConstraints": constraints, "validations": validations}), json!({})).await;
    client.post(MAPS, map("a", json!({"keep": ""}))).await.ok();
    client.delete(&format!("{MAPS}/a")).await.refused(422, "Invalid");
    client
        .post(
            "/api/v1/namespaces/default/pods",
            json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}),
        )
        .await
        .ok();
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p", "namespace": "default"}});
    client.post("/api/v1/namespaces/default/pods/p/eviction", eviction).await.refused(422, "Invalid");
}

#[tokio::test]
async fn loops_that_would_block_the_server_fail() {
    let loops =
        "object.data.all(a, object.data.all(b, object.data.all(c, object.data.all(d, a + b + c != d))))";
    let client = with(json!({"validations": [{"expression": loops, "message": "no"}]}), json!({})).await;
    let data: serde_json::Map<String, Value> = (0..200).map(|i| (format!("k{i}"), json!("v"))).collect();
    let why = client.post(MAPS, map("a", data.into())).await.refused(422, "Invalid");
    assert!(why.ends_with("resulted in error: operation cancelled: actual cost limit exceeded"), "{why}");
}

#[tokio::test]
async fn the_configuration_of_admission_is_never_denied() {
    let mut constraints = rules("*", "*");
    constraints["resourceRules"][0]["operations"] = json!(["*"]);
    constraints["resourceRules"][0]["apiVersions"] = json!(["*"]);
    let client =
        with(json!({"matchConstraints": constraints, "validations": [{"expression": "false"}]}), json!({}))
            .await;
    client.post(MAPS, map("a", json!({}))).await.refused(422, "Invalid");
    client.delete(&format!("{GROUP}/validatingadmissionpolicybindings/b")).await.ok();
    client.post(MAPS, map("a", json!({}))).await.ok();
}

#[tokio::test]
#[expect(clippy::too_many_lines, reason = "a table: one row for each field")]
async fn expressions_are_checked_when_they_are_written() {
    for (spec, field, message) in [
        (
            json!({}),
            "spec.validations",
            "Required value: validations or auditAnnotations must contain at least one item",
        ),
        (
            json!({"matchConstraints": {}, "validations": [{"expression": "true"}]}),
            "spec.matchConstraints.resourceRules",
            "Required value",
        ),
        (
            json!({"validations": [{"expression": ""}]}),
            "spec.validations[0].expression",
            "Required value: expression is not specified",
        ),
        (
            json!({"validations": [{"expression": "thing.x == 1"}]}),
            "spec.validations[0].expression",
            "Invalid value: \"thing.x == 1\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'thing' (in container '')\n | thing.x == 1\n | ^",
        ),
        (
            json!({"validations": [{"expression": "params == null"}]}),
            "spec.validations[0].expression",
            "Invalid value: \"params == null\": compilation failed: ERROR: <input>:1:1: undeclared reference to 'params' (in container '')\n | params == null\n | ^",
        ),
        (
            json!({"validations": [{"expression": "1 + 1"}]}),
            "spec.validations[0].expression",
            "Invalid value: \"1 + 1\": must evaluate to bool but got int",
        ),
        (
            json!({"validations": [{"expression": "true", "messageExpression": "1"}]}),
            "spec.validations[0].messageExpression",
            "Invalid value: \"1\": must evaluate to string but got int",
        ),
        (
            json!({"validations": [{"expression": "true", "message": "a\nb"}]}),
            "spec.validations[0].message",
            "Invalid value: \"a\\nb\": message must not contain line breaks",
        ),
        (
            json!({"validations": [{"expression": "true", "reason": "Other"}]}),
            "spec.validations[0].reason",
            "Unsupported value: \"Other\": supported values: \"Forbidden\", \"Invalid\", \"RequestEntityTooLarge\"",
        ),
        (
            json!({"validations": [{"expression": "true"}], "variables": [{"name": "a-b", "expression": "1"}]}),
            "spec.variables[0].name",
            "Invalid value: \"a-b\": name is not a valid CEL identifier",
        ),
        (
            json!({"validations": [{"expression": "true"}], "failurePolicy": "Maybe"}),
            "spec.failurePolicy",
            "Unsupported value: \"Maybe\": supported values: \"Fail\", \"Ignore\"",
        ),
    ] {
        let refused =
            TestClient::new().post(&format!("{GROUP}/validatingadmissionpolicies"), policy(spec)).await;
        let cause = &refused.body["details"]["causes"][0];
        assert_eq!((&cause["field"], &cause["message"]), (&json!(field), &json!(message)));
        refused.refused(422, "Invalid");
    }
    for (spec, field, message) in [
        (
            json!({"validationActions": []}),
            "spec.validationActions",
            "Required value: at least one validation action is required",
        ),
        (
            json!({"validationActions": ["Deny", "Deny"]}),
            "spec.validationActions[1]",
            "Duplicate value: \"Deny\"",
        ),
        (
            json!({"paramRef": {"parameterNotFoundAction": "Deny"}}),
            "spec.paramRef",
            "Required value: one of name or selector must be specified",
        ),
        (json!({"paramRef": {"name": "a"}}), "spec.paramRef.parameterNotFoundAction", "Required value"),
    ] {
        let refused = TestClient::new()
            .post(&format!("{GROUP}/validatingadmissionpolicybindings"), binding(spec))
            .await;
        let cause = &refused.body["details"]["causes"][0];
        assert_eq!((&cause["field"], &cause["message"]), (&json!(field), &json!(message)));
        refused.refused(422, "Invalid");
    }
}

#[tokio::test]
async fn without_the_plugin_policies_are_only_stored() {
    let api = ApiServer::builder()
        .disable_admission_plugin(AdmissionPlugin::ValidatingAdmissionPolicy)
        .service()
        .unwrap();
    let client = TestClient { api };
    client
        .post(
            &format!("{GROUP}/validatingadmissionpolicies"),
            policy(json!({"validations": [{"expression": "false"}]})),
        )
        .await
        .ok();
    client.post(&format!("{GROUP}/validatingadmissionpolicybindings"), binding(json!({}))).await.ok();
    client.post(MAPS, map("a", json!({}))).await.ok();
}
