//! RBAC objects: validation of roles and bindings, aggregation, reviews, impersonation.

use http::Method;
use serde_json::{Value, json};

use crate::{
    case::{Case, needing, since},
    check::{Failure, Outcome, holds},
    client::ApiResponse,
    context::Context,
    subject::Need,
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        needing(Need::Rbac, "rbac/rule-without-verbs-422", "a rule without verbs, groups or resources is rejected, naming each", rule_without_verbs),
        needing(Need::Rbac, "rbac/rule-of-urls-in-role-422", "a Role with rules about non-resource URLs: 422", urls_in_role),
        needing(Need::Rbac, "rbac/binding-malformed-422", "a binding without a role, and subjects without name or of unknown kind, are rejected", malformed_binding),
        needing(Need::Rbac, "rbac/binding-defaults", "the API group of role and subjects is filled in", binding_defaults),
        since(37, needing(Need::Rbac, "rbac/role-ref-immutable", "a binding's role cannot be changed: 422", role_ref)),
        needing(Need::Rbac, "rbac/aggregated-role", "a ClusterRole with an aggregation rule has the rules of those that it selects", aggregated),
        needing(Need::Rbac, "rbac/default-roles", "view, edit and admin exist; each has more rules than the one before", default_roles),
        needing(Need::Rbac, "rbac/bind-403", "binding a role whose rights the user lacks: 403, naming the missing rights", bind),
        since(37, needing(Need::Rbac, "rbac/bind-missing-role-404", "binding a role that does not exist, without the right to bind: 404", bind_missing)),
        needing(Need::Rbac, "rbac/escalate-verb", "the verb escalate allows granting rights that the user lacks", escalate_verb),
        needing(Need::Rbac, "rbac/list-by-name", "a rule with resourceNames grants a list that selects the name", list_by_name),
        needing(Need::Rbac, "rbac/service-account", "a binding to a ServiceAccount is one to its user", service_account),
        needing(Need::Rbac, "rbac/group", "a binding to a group is one to everyone in it", group),
        since(37, needing(Need::Rbac, "rbac/impersonate-group-alone-400", "a group cannot be impersonated without a user", group_alone)),
        needing(Need::Rbac, "rbac/impersonate-needs-each-right", "each impersonated group needs its own right", each_right),
        needing(Need::Rbac, "rbac/local-review", "LocalSubjectAccessReview applies to its own namespace only", local_review),
        needing(Need::Rbac, "rbac/review-of-nobody-422", "a SubjectAccessReview without a user and a group: 422", review_of_nobody),
        needing(Need::Rbac, "rbac/review-says-why", "an access review names the binding that allows", review_says_why),
        needing(Need::Rbac, "rbac/rules-review", "SelfSubjectRulesReview lists the user's rights in a namespace", rules_review),
        needing(Need::Rbac, "rbac/token-review", "TokenReview returns the user of a token, or authenticated: false", token_review),
        needing(Need::Identities, "rbac/path-403", "a denied non-resource URL: 403, naming the path", path_refused),
    ]
    .concat()
}

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const VERSION: &str = "rbac.authorization.k8s.io/v1";
const REVIEWS: &str = "/apis/authorization.k8s.io/v1";

fn base(cx: &Context) -> String {
    format!("{RBAC}/namespaces/{}", cx.ns)
}

fn role(name: &str, rules: Value) -> Value {
    json!({"apiVersion": VERSION, "kind": "Role", "metadata": {"name": name}, "rules": rules})
}

fn cluster_role(name: &str, fields: Value) -> Value {
    let mut role =
        json!({"apiVersion": VERSION, "kind": "ClusterRole", "metadata": {"name": name}, "rules": []});
    for (key, value) in fields.as_object().into_iter().flatten() {
        role[key] = value.clone();
        if key == "metadata" {
            role[key]["name"] = name.into();
        }
    }
    role
}

fn binding(name: &str, kind: &str, role: &str, subjects: Value) -> Value {
    json!({"apiVersion": VERSION, "kind": "RoleBinding", "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role}, "subjects": subjects})
}

fn user(name: &str) -> Value {
    json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}])
}

fn verbs(group: &str, resource: &str, verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": [resource], "verbs": verbs})
}

/// The case's own user with these permissions in the case's namespace.
async fn granted(cx: &Context, rules: Value) -> Result<String, Failure> {
    let name = format!("user-{}", cx.ns);
    cx.create_at(format!("{}/roles", base(cx)), &role("mine", rules)).await?;
    cx.create_at(format!("{}/rolebindings", base(cx)), &binding("mine", "Role", "mine", user(&name))).await?;
    Ok(name)
}

/// Polls as a user until the response has this code: authorizers follow changes with a watch.
async fn until(cx: &Context, path: &str, headers: &[(&str, &str)], code: u16) -> Outcome {
    let ask = || {
        headers.iter().fold(cx.call(Method::GET, path), |call, (name, value)| call.header(name, value)).send()
    };
    cx.eventually(&format!("{code} on {path}"), ask, |reply| reply.code == code).await.map(drop)
}

async fn rule_without_verbs(cx: Context) -> Outcome {
    let roles = format!("{}/roles", base(&cx));
    let r = cx.post(&roles, &role("bad", json!([{"resources": ["pods"]}]))).await?;
    r.fails(422, "Invalid")?.cause("FieldValueRequired", "rules[0].verbs")?;
    r.cause("FieldValueRequired", "rules[0].apiGroups")?;
    let r = cx.post(&roles, &role("bad", json!([{"apiGroups": [""], "verbs": ["get"]}]))).await?;
    r.fails(422, "Invalid")?
        .mentions("rules[0].resources: Required value: resource rules must supply at least one resource")?;
    Ok(())
}

async fn urls_in_role(cx: Context) -> Outcome {
    let rules = json!([{"nonResourceURLs": ["/x"], "verbs": ["get"]}]);
    let r = cx.post(format!("{}/roles", base(&cx)), &role("bad", rules)).await?;
    r.fails(422, "Invalid")?.mentions("namespaced rules cannot apply to non-resource URLs")?;
    Ok(())
}

async fn malformed_binding(cx: Context) -> Outcome {
    let bindings = format!("{}/rolebindings", base(&cx));
    let mut nothing = binding("bad", "Y", "", json!([{"kind": "User"}]));
    nothing["roleRef"]["apiGroup"] = "x".into();
    let r = cx.post(&bindings, &nothing).await?;
    r.fails(422, "Invalid")?.cause("FieldValueNotSupported", "roleRef.apiGroup")?;
    r.cause("FieldValueNotSupported", "roleRef.kind")?.cause("FieldValueRequired", "roleRef.name")?;
    r.cause("FieldValueRequired", "subjects[0].name")?;
    let robot = binding("bad", "Role", "x", json!([{"kind": "Robot", "name": "r"}]));
    cx.post(&bindings, &robot)
        .await?
        .fails(422, "Invalid")?
        .cause("FieldValueNotSupported", "subjects[0].kind")?;
    Ok(())
}

async fn binding_defaults(cx: Context) -> Outcome {
    let mut plain = binding(
        "b",
        "Role",
        "x",
        json!([{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s", "namespace": cx.ns}]),
    );
    plain["roleRef"] = json!({"kind": "Role", "name": "x"});
    let r = cx.create_at(format!("{}/rolebindings", base(&cx)), &plain).await?;
    r.eq("/roleRef/apiGroup", "rbac.authorization.k8s.io")?
        .eq("/subjects/0/apiGroup", "rbac.authorization.k8s.io")?;
    r.absent("/subjects/1/apiGroup")?;
    Ok(())
}

async fn role_ref(cx: Context) -> Outcome {
    let bindings = format!("{}/rolebindings", base(&cx));
    cx.create_at(&bindings, &binding("b", "Role", "one", user("u"))).await?;
    let r = cx.put(format!("{bindings}/b"), &binding("b", "Role", "two", user("u"))).await?;
    r.fails(422, "Invalid")?.cause("FieldValueInvalid", "roleRef")?.mentions("field is immutable")?;
    Ok(())
}

async fn aggregated(cx: Context) -> Outcome {
    let roles = format!("{RBAC}/clusterroles");
    let (whole, part) = (format!("whole-{}", cx.ns), format!("part-{}", cx.ns));
    let label = format!("{}.conformance.example/part", cx.ns);
    let rule = json!({"clusterRoleSelectors": [{"matchLabels": {label.as_str(): "yes"}}]});
    cx.create_at(&roles, &cluster_role(&whole, json!({"aggregationRule": rule}))).await?;
    let labelled =
        json!({"metadata": {"labels": {label.as_str(): "yes"}}, "rules": [verbs("x.io", "foos", &["get"])]});
    cx.create_at(&roles, &cluster_role(&part, labelled)).await?;
    let path = format!("{roles}/{whole}");
    let count = |r: &ApiResponse| r.body["rules"].as_array().map_or(0, Vec::len);
    cx.wait_for(&path, "1 rule", |r| count(r) == 1).await?.eq("/rules/0/apiGroups/0", "x.io")?;
    cx.delete(format!("{roles}/{part}")).await?.is(200)?;
    cx.wait_for(&path, "no rule", |r| count(r) == 0).await?;
    cx.delete(&path).await?.is(200)?;
    Ok(())
}

async fn default_roles(cx: Context) -> Outcome {
    let mut before = 0;
    for name in ["view", "edit", "admin"] {
        let r = cx.get(format!("{RBAC}/clusterroles/{name}")).await?;
        r.is(200)?.eq("/metadata/labels/kubernetes.io~1bootstrapping", "rbac-defaults")?;
        let count = r.body["rules"].as_array().map_or(0, Vec::len);
        holds(count > before, &format!("more than {before} rules in {name}"), &r.text)?;
        before = count;
    }
    Ok(())
}

async fn bind(cx: Context) -> Outcome {
    let rules = json!([verbs("rbac.authorization.k8s.io", "rolebindings", &["create", "list"])]);
    let name = granted(&cx, rules).await?;
    let bindings = format!("{}/rolebindings", base(&cx));
    until(&cx, &bindings, &[("impersonate-user", &name)], 200).await?;
    let all = binding("all", "ClusterRole", "cluster-admin", user(&name));
    let r = cx.call(Method::POST, &bindings).header("impersonate-user", &name).json(&all).send().await?;
    r.fails(403, "Forbidden")?.mentions("is attempting to grant RBAC permissions not currently held:")?;
    r.mentions("{APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}")?.eq("/details/name", "all")?;
    Ok(())
}

async fn bind_missing(cx: Context) -> Outcome {
    let rules = json!([verbs("rbac.authorization.k8s.io", "rolebindings", &["create", "list"])]);
    let name = granted(&cx, rules).await?;
    let bindings = format!("{}/rolebindings", base(&cx));
    until(&cx, &bindings, &[("impersonate-user", &name)], 200).await?;
    let none = binding("none", "Role", "no-such-role", user(&name));
    let r = cx.call(Method::POST, &bindings).header("impersonate-user", &name).json(&none).send().await?;
    r.fails(404, "NotFound")?.says("rolebindings.rbac.authorization.k8s.io \"no-such-role\" not found")?;
    Ok(())
}

async fn escalate_verb(cx: Context) -> Outcome {
    let rules = json!([verbs("rbac.authorization.k8s.io", "roles", &["create", "list", "escalate"])]);
    let name = granted(&cx, rules).await?;
    let roles = format!("{}/roles", base(&cx));
    until(&cx, &roles, &[("impersonate-user", &name)], 200).await?;
    let more = role("more", json!([verbs("", "secrets", &["*"])]));
    cx.call(Method::POST, &roles).header("impersonate-user", &name).json(&more).send().await?.is(201)?;
    Ok(())
}

async fn list_by_name(cx: Context) -> Outcome {
    cx.create_all(&["a", "b"]).await?;
    let mut rule = verbs(&cx.group(), "widgets", &["list"]);
    rule["resourceNames"] = json!(["a"]);
    let name = granted(&cx, json!([rule])).await?;
    let who = [("impersonate-user", name.as_str())];
    until(&cx, &format!("{}?fieldSelector=metadata.name%3Da", cx.all()), &who, 200).await?;
    until(&cx, &format!("{}?fieldSelector=metadata.name%3Db", cx.all()), &who, 403).await?;
    until(&cx, &cx.all(), &who, 403).await
}

async fn service_account(cx: Context) -> Outcome {
    cx.create_at(
        format!("{}/roles", base(&cx)),
        &role("r", json!([verbs(&cx.group(), "widgets", &["list"])])),
    )
    .await?;
    let subject = json!([{"kind": "ServiceAccount", "name": "robot", "namespace": cx.ns}]);
    cx.create_at(format!("{}/rolebindings", base(&cx)), &binding("b", "Role", "r", subject)).await?;
    let robot = format!("system:serviceaccount:{}:robot", cx.ns);
    until(&cx, &cx.all(), &[("impersonate-user", &robot)], 200).await?;
    until(&cx, &cx.all(), &[("impersonate-user", "system:serviceaccount:default:robot")], 403).await
}

async fn group(cx: Context) -> Outcome {
    cx.create_at(
        format!("{}/roles", base(&cx)),
        &role("r", json!([verbs(&cx.group(), "widgets", &["list"])])),
    )
    .await?;
    let team = format!("team-{}", cx.ns);
    let subject = json!([{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": team}]);
    cx.create_at(format!("{}/rolebindings", base(&cx)), &binding("b", "Role", "r", subject)).await?;
    until(&cx, &cx.all(), &[("impersonate-user", "ann"), ("impersonate-group", &team)], 200).await?;
    until(&cx, &cx.all(), &[("impersonate-user", "ann")], 403).await
}

async fn group_alone(cx: Context) -> Outcome {
    let r = cx.call(Method::GET, cx.all()).header("impersonate-group", "devs").send().await?;
    r.fails(400, "BadRequest")?.says(
        r#"requested &user.DefaultInfo{Name:"", UID:"", Groups:[]string{"devs"}, Extra:map[string][]string(nil)} without impersonating a user name"#,
    )?;
    Ok(())
}

async fn each_right(cx: Context) -> Outcome {
    let rule = json!([verbs("", "users", &["impersonate"])]);
    let name = format!("actor-{}", cx.ns);
    cx.create_at(format!("{RBAC}/clusterroles"), &cluster_role(&name, json!({"rules": rule}))).await?;
    let mut all = binding(&name, "ClusterRole", &name, user(&name));
    all["kind"] = "ClusterRoleBinding".into();
    cx.create_at(format!("{RBAC}/clusterrolebindings"), &all).await?;
    // Only identities of the kubeconfig can send requests; an access review shows the permissions of others.
    let may = |resource: &str| {
        let attributes = json!({"verb": "impersonate", "resource": resource, "name": "x"});
        json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {"user": name, "resourceAttributes": attributes}})
    };
    let path = format!("{REVIEWS}/subjectaccessreviews");
    let users = may("users");
    cx.eventually("allowed", || cx.post(&path, &users), |r| r.body["status"]["allowed"] == true).await?;
    cx.post(&path, &may("groups")).await?.is(201)?.eq("/status/allowed", false)?;
    for plural in ["clusterrolebindings", "clusterroles"] {
        cx.delete(format!("{RBAC}/{plural}/{name}")).await?.is(200)?;
    }
    Ok(())
}

async fn local_review(cx: Context) -> Outcome {
    let path = format!("{REVIEWS}/namespaces/{}/localsubjectaccessreviews", cx.ns);
    let ask = |namespace: &str| {
        let attributes = json!({"verb": "get", "resource": "pods", "namespace": namespace});
        json!({"apiVersion": "authorization.k8s.io/v1", "kind": "LocalSubjectAccessReview", "metadata": {"namespace": cx.ns},
            "spec": {"user": "somebody", "resourceAttributes": attributes}})
    };
    cx.post(&path, &ask(&cx.ns)).await?.is(201)?.eq("/status/allowed", false)?;
    let r = cx.post(&path, &ask("default")).await?;
    r.fails(422, "Invalid")?.mentions(
        "spec.resourceAttributes.namespace: Invalid value: \"default\": must match metadata.namespace",
    )?;
    Ok(())
}

async fn review_of_nobody(cx: Context) -> Outcome {
    let body = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}});
    let r = cx.post(format!("{REVIEWS}/subjectaccessreviews"), &body).await?;
    r.fails(422, "Invalid")?
        .mentions("spec.user: Invalid value: \"\": at least one of user or group must be specified")?;
    Ok(())
}

async fn review_says_why(cx: Context) -> Outcome {
    let name = granted(&cx, json!([verbs("", "pods", &["get"])])).await?;
    let attributes = json!({"verb": "get", "resource": "pods", "namespace": cx.ns});
    let body = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": name, "resourceAttributes": attributes}});
    let path = format!("{REVIEWS}/subjectaccessreviews");
    let r =
        cx.eventually("allowed", || cx.post(&path, &body), |r| r.body["status"]["allowed"] == true).await?;
    let reason =
        format!("RBAC: allowed by RoleBinding \"mine/{}\" of Role \"mine\" to User \"{name}\"", cx.ns);
    r.eq("/status/reason", reason)?;
    Ok(())
}

async fn rules_review(cx: Context) -> Outcome {
    let name = granted(&cx, json!([verbs("x.io", "foos", &["get"])])).await?;
    let body = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": cx.ns}});
    let path = format!("{REVIEWS}/selfsubjectrulesreviews");
    let has = |r: &ApiResponse| {
        let rules = r.body["status"]["resourceRules"].as_array().cloned().unwrap_or_default();
        rules.iter().any(|rule| rule["apiGroups"] == json!(["x.io"]) && rule["verbs"] == json!(["get"]))
    };
    let ask = || cx.call(Method::POST, &path).header("impersonate-user", &name).json(&body).send();
    cx.eventually("the rule", ask, has).await?.is(201)?.eq("/status/incomplete", false)?;
    Ok(())
}

async fn token_review(cx: Context) -> Outcome {
    let endpoint = cx.server.config.endpoint(Some("token-nobody"));
    let token = endpoint.map_err(|e| Failure::new("kubeconfig", "token-nobody".into(), e))?.token;
    let ask = |token: &str| json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}});
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    let r = cx.post(path, &ask(&token.unwrap_or_default())).await?;
    r.is(201)?.eq("/status/authenticated", true)?.eq("/status/user/username", "token-nobody")?;
    let r = cx.post(path, &ask("no-such-token")).await?;
    r.is(201)?.absent("/status/authenticated")?.has("/status/error")?;
    Ok(())
}

async fn path_refused(cx: Context) -> Outcome {
    let r = cx.identity("token-nobody")?.call(Method::GET, "/no-such-path").send().await?;
    r.fails(403, "Forbidden")?.says("forbidden: User \"token-nobody\" cannot get path \"/no-such-path\"")?;
    Ok(())
}
