//! Authentication and authorization, on servers whose kubeconfig has several identities.

use http::Method;
use serde_json::{Value, json};

use crate::{
    case::{Case, needing},
    check::{Failure, Outcome, holds},
    client::{ApiResponse, Client},
    context::Context,
    subject::Need,
};

// One row per line.
#[rustfmt::skip]
pub(crate) fn cases() -> Vec<Case> {
    [
        needing(Need::Identities, "auth/bad-token-401", "an unknown bearer token: 401 Unauthorized with a Status", bad_token),
        needing(Need::Identities, "auth/token", "a known bearer token is accepted", token),
        needing(Need::Identities, "auth/client-certificate", "a client certificate is accepted, with the rights of its groups", certificate),
        needing(Need::Identities, "auth/read-only-may-read", "a reader may get, list and watch", reader_reads),
        needing(Need::Identities, "auth/read-only-may-not-write-403", "a reader may not create: 403 Forbidden with user, verb and resource", reader_writes),
        needing(Need::Identities, "auth/nobody-403", "a user without rights: 403, naming the namespace", without_rights),
        needing(Need::Identities, "auth/nobody-may-discover", "every user may read discovery and /version", discovery),
        needing(Need::Identities, "auth/forbidden-even-if-missing", "a missing object is 403 for a user who may not get it", forbidden_missing),
        needing(Need::Identities, "auth/delete-403", "a reader may not delete: 403, the object stays", delete),
        needing(Need::Identities, "auth/patch-403", "a reader may not patch: 403", patch),
        needing(Need::Identities, "auth/impersonate-user", "an administrator may impersonate another user by Impersonate-User", impersonate),
        needing(Need::Identities, "auth/impersonate-403", "impersonation without the right: 403", impersonate_forbidden),
        needing(Need::Rbac, "auth/self-subject-access-review", "SelfSubjectAccessReview returns allowed", self_review),
        needing(Need::Rbac, "auth/subject-access-review-denied", "SubjectAccessReview of a user without rights: not allowed", subject_review),
        needing(Need::Rbac, "auth/role-grants", "a Role and its binding grant the rights of its rules, in their namespace only", role_grants),
        needing(Need::Rbac, "auth/resource-names", "a rule with resourceNames grants those objects only", resource_names),
        needing(Need::Rbac, "auth/subresource-apart", "rights on a resource are not rights on its subresource", subresource),
        needing(Need::Rbac, "auth/escalation-403", "granting a right that the user lacks: 403", escalation),
    ]
    .concat()
}

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

async fn ask(client: &Client, path: String) -> Result<ApiResponse, Failure> {
    client.call(Method::GET, path).send().await
}

async fn bad_token(cx: Context) -> Outcome {
    let mut endpoint = cx
        .server
        .config
        .endpoint(Some("token-admin"))
        .map_err(|e| Failure::new("kubeconfig", "token-admin".into(), e))?;
    endpoint.token = Some("no-such-token".to_owned());
    let client = Client::new(&endpoint).map_err(|e| Failure::new("kubeconfig", "a client".into(), e))?;
    ask(&client, cx.all()).await?.fails(401, "Unauthorized")?.says("Unauthorized")?;
    Ok(())
}

async fn token(cx: Context) -> Outcome {
    ask(&cx.identity("token-admin")?, cx.all()).await?.is(200)?;
    Ok(())
}

async fn certificate(cx: Context) -> Outcome {
    ask(&cx.identity("viewer")?, cx.all()).await?.is(200)?;
    Ok(())
}

async fn reader_reads(cx: Context) -> Outcome {
    cx.create("a").await?;
    let viewer = cx.identity("viewer")?;
    ask(&viewer, cx.one("a")).await?.is(200)?;
    ask(&viewer, cx.all()).await?.lists(&["a"])?;
    ask(&viewer, format!("{}?watch=1&timeoutSeconds=1", cx.all())).await?.is(200)?;
    Ok(())
}

/// The message of a refusal after the name of the resource.
fn refusal(cx: &Context, user: &str, verb: &str) -> String {
    format!(
        "User \"{user}\" cannot {verb} resource \"widgets\" in API group \"{}\" in the namespace \"{}\"",
        cx.group(),
        cx.ns
    )
}

async fn reader_writes(cx: Context) -> Outcome {
    let r = cx.identity("viewer")?.call(Method::POST, cx.all()).json(&cx.object("a")).send().await?;
    r.fails(403, "Forbidden")?.mentions(&refusal(&cx, "viewer", "create"))?.eq("/details/kind", "widgets")?;
    Ok(())
}

async fn without_rights(cx: Context) -> Outcome {
    let r = ask(&cx.identity("token-nobody")?, cx.all()).await?;
    r.fails(403, "Forbidden")?.mentions(&refusal(&cx, "token-nobody", "list"))?;
    Ok(())
}

async fn discovery(cx: Context) -> Outcome {
    let client = cx.identity("token-nobody")?;
    for path in ["/api", "/apis", "/version", "/healthz"] {
        ask(&client, path.to_owned()).await?.is(200)?;
    }
    ask(&client, format!("/apis/{}/v1", cx.group())).await?.is(200)?;
    Ok(())
}

async fn forbidden_missing(cx: Context) -> Outcome {
    ask(&cx.identity("token-nobody")?, cx.one("none"))
        .await?
        .fails(403, "Forbidden")?
        .eq("/details/name", "none")?;
    Ok(())
}

async fn delete(cx: Context) -> Outcome {
    cx.create("a").await?;
    cx.identity("viewer")?.call(Method::DELETE, cx.one("a")).send().await?.fails(403, "Forbidden")?;
    cx.get(cx.one("a")).await?.is(200)?;
    Ok(())
}

async fn patch(cx: Context) -> Outcome {
    cx.create("a").await?;
    let call =
        cx.identity("viewer")?.call(Method::PATCH, cx.one("a")).typed(crate::context::MERGE, &json!({}));
    call.send().await?.fails(403, "Forbidden")?.mentions(&refusal(&cx, "viewer", "patch"))?;
    Ok(())
}

async fn impersonate(cx: Context) -> Outcome {
    let r = cx.call(Method::GET, cx.all()).header("impersonate-user", "somebody").send().await?;
    r.fails(403, "Forbidden")?.mentions(&refusal(&cx, "somebody", "list"))?;
    Ok(())
}

async fn impersonate_forbidden(cx: Context) -> Outcome {
    let call = cx.identity("viewer")?.call(Method::GET, cx.all()).header("impersonate-user", "admin");
    call.send().await?.fails(403, "Forbidden")?.mentions("User \"viewer\" cannot impersonate")?;
    Ok(())
}

async fn self_review(cx: Context) -> Outcome {
    let attributes = json!({"verb": "create", "resource": "configmaps", "namespace": cx.ns});
    let body = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes": attributes}});
    let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    cx.post(path, &body).await?.is(201)?.eq("/status/allowed", true)?;
    let r = cx.identity("viewer")?.call(Method::POST, path).json(&body).send().await?;
    r.is(201)?.eq("/status/allowed", false)?;
    Ok(())
}

async fn subject_review(cx: Context) -> Outcome {
    let spec = json!({"user": "somebody", "resourceAttributes": {"verb": "get", "resource": "pods", "namespace": cx.ns}});
    let body = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec});
    cx.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", &body)
        .await?
        .is(201)?
        .eq("/status/allowed", false)?;
    Ok(())
}

/// Grants rules to the case's own user in the case's namespace; returns the user's name.
async fn grant(cx: &Context, rules: Value) -> Result<String, Failure> {
    let user = format!("user-{}", cx.ns);
    let base = format!("{RBAC}/namespaces/{}", cx.ns);
    let version = "rbac.authorization.k8s.io/v1";
    let role = json!({"apiVersion": version, "kind": "Role", "metadata": {"name": "r"}, "rules": rules});
    cx.create_at(format!("{base}/roles"), &role).await?;
    let binding = json!({"apiVersion": version, "kind": "RoleBinding", "metadata": {"name": "r"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}]});
    cx.create_at(format!("{base}/rolebindings"), &binding).await?;
    Ok(user)
}

/// Polls as that user until the response has this code: authorizers follow changes with a watch.
async fn as_user(cx: &Context, user: &str, path: String, code: u16) -> Outcome {
    let mut last = String::new();
    for _ in 0..100 {
        let r = cx.call(Method::GET, &path).header("impersonate-user", user).send().await?;
        if r.code == code {
            return Ok(());
        }
        last = format!("{} {}", r.code, r.text);
        crate::context::pause(100).await;
    }
    Err(Failure::new(&path, code.to_string(), last))
}

async fn role_grants(cx: Context) -> Outcome {
    let user =
        grant(&cx, json!([{"apiGroups": [cx.group()], "resources": ["widgets"], "verbs": ["list"]}])).await?;
    as_user(&cx, &user, cx.all(), 200).await?;
    as_user(&cx, &user, cx.one("a"), 403).await?;
    as_user(&cx, &user, cx.everywhere(), 403).await
}

async fn resource_names(cx: Context) -> Outcome {
    cx.create_all(&["a", "b"]).await?;
    let rules = json!([{"apiGroups": [cx.group()], "resources": ["widgets"], "verbs": ["get"], "resourceNames": ["a"]}]);
    let user = grant(&cx, rules).await?;
    as_user(&cx, &user, cx.one("a"), 200).await?;
    as_user(&cx, &user, cx.one("b"), 403).await
}

async fn subresource(cx: Context) -> Outcome {
    cx.create("a").await?;
    let user =
        grant(&cx, json!([{"apiGroups": [cx.group()], "resources": ["widgets"], "verbs": ["*"]}])).await?;
    as_user(&cx, &user, cx.one("a"), 200).await?;
    as_user(&cx, &user, format!("{}/status", cx.one("a")), 403).await
}

async fn escalation(cx: Context) -> Outcome {
    let rules = json!([{"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["get", "list", "create"]}]);
    let user = grant(&cx, rules).await?;
    let roles = format!("{RBAC}/namespaces/{}/roles", cx.ns);
    as_user(&cx, &user, roles.clone(), 200).await?;
    let more = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "more"},
        "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]});
    let r = cx.call(Method::POST, roles).header("impersonate-user", &user).json(&more).send().await?;
    r.fails(403, "Forbidden")?;
    holds(r.text.contains("attempting to grant RBAC permissions not currently held"), "the reason", &r.text)
}
