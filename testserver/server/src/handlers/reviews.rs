//! Review kinds: authentication and authorization queries, which are not stored.

use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::{
    apply::Ownership,
    call::{ApiResponse, Call, Content},
    cluster::ClusterState,
    object::meta,
    rbac::{AuthorizationAttributes, PolicyRule, User},
    route::WriteOptions,
    schema::FieldError,
    scheme::Endpoint,
    status_error::StatusError,
    write::{ObjectWrite, decode},
};

pub(super) fn is_review(endpoint: &Endpoint) -> bool {
    matches!(endpoint.group(), "authorization.k8s.io" | "authentication.k8s.io")
}

/// Returns the review with its status.
pub(super) fn create(cluster: &ClusterState, call: &Call) -> Result<ApiResponse, StatusError> {
    let options = WriteOptions::parse(&call.query, "CreateOptions")?;
    let mut write = ObjectWrite::by_client(call, &options, Ownership::FromDiff, None, decode::object(call)?);
    let mut review = write.read()?;
    review["status"] = match call.endpoint.kind() {
        "SelfSubjectReview" => json!({"userInfo": call.user.to_value()}),
        "SelfSubjectRulesReview" => rules(cluster, call, &review)?,
        "TokenReview" => token(cluster, &review)?,
        "SelfSubjectAccessReview" => {
            let attributes = attributes(call, &review)?;
            access(cluster, &call.user, &attributes)
        }
        _ => {
            let attributes = attributes(call, &review)?;
            access(cluster, &subject(call, &review)?, &attributes)
        }
    };
    meta::set(&mut review, "creationTimestamp", cluster.now());
    Ok(ApiResponse {
        code: StatusCode::CREATED,
        content: Content::Document(review),
        warnings: write.warnings,
    })
}

fn access(cluster: &ClusterState, user: &User, attributes: &AuthorizationAttributes) -> Value {
    if !cluster.enforces_rbac() {
        return json!({"allowed": true});
    }
    match cluster.rbac_authorizer().allows(user, attributes) {
        Some(reason) if reason.is_empty() => json!({"allowed": true}),
        Some(reason) => json!({"allowed": true, "reason": reason}),
        None => json!({"allowed": false}),
    }
}

/// The access that the review asks about.
fn attributes(call: &Call, review: &Value) -> Result<AuthorizationAttributes, StatusError> {
    let (resource, path) = (&review["spec"]["resourceAttributes"], &review["spec"]["nonResourceAttributes"]);
    let local = call.endpoint.kind() == "LocalSubjectAccessReview";
    let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_string();
    let refused = |field: &str, value: String, detail: &str| {
        let error = FieldError::invalid(field, value, detail);
        StatusError::invalid(call.endpoint.group(), call.endpoint.kind(), "", &[error])
    };
    let printed = || {
        let (path, verb) = (text(path, "path"), text(path, "verb"));
        format!("authorization.NonResourceAttributes{{Path:{path:?}, Verb:{verb:?}}}")
    };
    match (resource.is_object(), path.is_object()) {
        (true, true) => {
            let detail = "cannot be specified in combination with resourceAttributes";
            Err(refused("spec.nonResourceAttributes", printed(), detail))
        }
        (false, true) if local => {
            Err(refused("spec.nonResourceAttributes", printed(), "disallowed on this kind of request"))
        }
        (false, false) => {
            let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            Err(refused("spec.resourceAttributes", "null".into(), detail))
        }
        (false, true) => {
            Ok(AuthorizationAttributes::NonResource { verb: text(path, "verb"), path: text(path, "path") })
        }
        (true, false) => {
            let namespace = text(resource, "namespace");
            if local && namespace != meta::text(review, "namespace").unwrap_or_default() {
                let field = "spec.resourceAttributes.namespace";
                return Err(refused(field, format!("{namespace:?}"), "must match metadata.namespace"));
            }
            let (mut name, sub) = (text(resource, "resource"), text(resource, "subresource"));
            if !sub.is_empty() {
                name = format!("{name}/{sub}");
            }
            let (verb, group) = (text(resource, "verb"), text(resource, "group"));
            Ok(AuthorizationAttributes::Resource {
                verb,
                group,
                resource: name,
                namespace,
                name: text(resource, "name"),
            })
        }
    }
}

/// The user that the review asks about.
fn subject(call: &Call, review: &Value) -> Result<User, StatusError> {
    let spec = &review["spec"];
    let strings = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(|item| item.as_str().map(String::from)).collect()
    };
    let text = |field: &str| spec[field].as_str().unwrap_or_default().to_string();
    let mut user = User::new(text("user")).uid(text("uid"));
    user.groups = strings(&spec["groups"]);
    let extra = spec["extra"].as_object().map(Map::iter).into_iter().flatten();
    user.extra = extra.map(|(key, values)| (key.clone(), strings(values))).collect();
    if user.name.is_empty() && user.groups.is_empty() {
        let detail = "at least one of user or group must be specified";
        let error = FieldError::invalid("spec.user", "\"\"", detail);
        return Err(StatusError::invalid(call.endpoint.group(), call.endpoint.kind(), "", &[error]));
    }
    Ok(user)
}

fn token(cluster: &ClusterState, review: &Value) -> Result<Value, StatusError> {
    let token = review["spec"]["token"].as_str().unwrap_or_default();
    if token.is_empty() {
        return Err(StatusError::bad_request("token is required for TokenReview in authentication"));
    }
    let audiences: Vec<&str> =
        review["spec"]["audiences"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    Ok(match cluster.authenticate_token(token, &audiences) {
        Ok((user, audiences)) => {
            json!({"authenticated": true, "user": user.to_value(), "audiences": audiences})
        }
        Err(why) => json!({"user": {}, "error": why}),
    })
}

fn rules(cluster: &ClusterState, call: &Call, review: &Value) -> Result<Value, StatusError> {
    let namespace = review["spec"]["namespace"].as_str().unwrap_or_default();
    if namespace.is_empty() {
        return Err(StatusError::bad_request("no namespace on request"));
    }
    let everything = [
        PolicyRule { verbs: all(), api_groups: all(), resources: all(), ..PolicyRule::default() },
        PolicyRule { verbs: all(), non_resource_urls: all(), ..PolicyRule::default() },
    ];
    let bindings = cluster.rbac_authorizer();
    let held: Vec<&PolicyRule> = if !cluster.enforces_rbac() || call.user.is_superuser() {
        everything.iter().collect()
    } else {
        bindings.grants(&call.user, namespace).map(|grant| grant.rule).collect()
    };
    let (paths, resources): (Vec<&PolicyRule>, Vec<&PolicyRule>) =
        held.into_iter().partition(|rule| !rule.non_resource_urls.is_empty());
    Ok(json!({"resourceRules": resources, "nonResourceRules": paths, "incomplete": false}))
}

fn all() -> Vec<String> {
    vec!["*".into()]
}
