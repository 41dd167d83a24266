//! Kinds that are only posted: questions about who may do what. Everyone may do everything here.

use http::StatusCode;
use serde_json::{Value, json};

use super::{Answer, Call, Content, body, managed::Ownership, write};
use crate::{
    failure::Failure, meta, registry::Endpoint, route::WriteOptions, schema::FieldError, world::World,
};

pub(super) fn is_one(endpoint: &Endpoint) -> bool {
    endpoint.group() == "authorization.k8s.io"
        || endpoint.resource.is("authentication.k8s.io", "selfsubjectreviews")
}

/// The question with its answer as status; nothing is stored.
pub(super) fn answer(world: &World, call: &Call) -> Result<Answer, Failure> {
    let options = WriteOptions::parse(&call.query, "CreateOptions")?;
    let mut review = body::object(call)?;
    let warnings = write::conform(&call.endpoint, &options, &Ownership::Compared, &mut review)?;
    review["status"] = match call.endpoint.kind() {
        "SelfSubjectReview" => {
            json!({"userInfo": {"username": "system:anonymous", "groups": ["system:unauthenticated"]}})
        }
        "SelfSubjectRulesReview" => rules(&review)?,
        _ => allowed(call, &review)?,
    };
    meta::set(&mut review, "creationTimestamp", world.now());
    Ok(Answer { code: StatusCode::CREATED, content: Content::Document(review), warnings })
}

fn allowed(call: &Call, review: &Value) -> Result<Value, Failure> {
    let spec = &review["spec"];
    if spec["resourceAttributes"].is_object() == spec["nonResourceAttributes"].is_object() {
        let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        let error = FieldError::invalid("spec.resourceAttributes", "null", detail);
        return Err(Failure::invalid(call.endpoint.group(), call.endpoint.kind(), "", &[error]));
    }
    Ok(json!({"allowed": true}))
}

fn rules(review: &Value) -> Result<Value, Failure> {
    if review["spec"]["namespace"].as_str().unwrap_or_default().is_empty() {
        return Err(Failure::bad_request("no namespace on request"));
    }
    Ok(json!({
        "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        "incomplete": false,
    }))
}
