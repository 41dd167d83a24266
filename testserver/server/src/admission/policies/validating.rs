//! Validating admission policies: which apply to a write, and what their results do to it.

use http::StatusCode;
use serde_json::Value;

use super::scope::{self, PolicyScope};
use crate::{
    admission::{
        AdmissionContext, Attributes, Binding, FailureAction, Policy, Validation,
        matching::{matched_version, selected},
    },
    status_error::{Cause, StatusError},
    webhook::Interruption,
};

/// The largest message of an expression.
const LONGEST_MESSAGE: usize = 5 * 1024;

/// A validation that does not hold, or that cannot be evaluated.
struct Violation {
    message: String,
    reason: Option<String>,
}

/// Evaluates the validating policies. The first violation that a binding denies is returned.
pub(crate) fn validate(
    context: AdmissionContext<'_>,
    write: &Attributes<'_>,
    warnings: &mut Vec<String>,
) -> Result<(), Interruption> {
    let mut denied = None;
    for policy in &context.control.policies.validating {
        let Some(endpoint) = matched_version(context, &policy.resources, write) else { continue };
        let mut request = None;
        for binding in policy.bindings.iter().filter(|binding| is_bound(context, binding, write)) {
            if request.is_none() {
                request = Some(write.request(context, &endpoint)?);
            }
            let violations =
                violations(context, policy, binding, write, request.as_ref().unwrap_or(&Value::Null));
            for violation in violations {
                let Violation { message, reason } = violation;
                let of =
                    format!("ValidatingAdmissionPolicy '{}' with binding '{}'", policy.name, binding.name);
                for action in &binding.actions {
                    match action {
                        FailureAction::Deny => {
                            let why = format!("{of} denied request: {message}");
                            denied.get_or_insert_with(|| refusal(write, &why, reason.as_deref()));
                        }
                        FailureAction::Warn => {
                            warnings.push(format!("Validation failed for {of}: {message}"))
                        }
                    }
                }
            }
        }
    }
    denied.map_or(Ok(()), |refusal| Err(refusal.into()))
}

/// Whether the resources of a binding match as well.
pub(crate) fn is_bound(context: AdmissionContext<'_>, binding: &Binding, write: &Attributes<'_>) -> bool {
    let Some(resources) = &binding.resources else { return true };
    // A binding without rules only narrows by its selectors.
    match resources.rules.is_empty() {
        true => selected(context, resources, write),
        false => matched_version(context, resources, write).is_some(),
    }
}

fn violations(
    context: AdmissionContext<'_>,
    policy: &Policy,
    binding: &Binding,
    write: &Attributes<'_>,
    request: &Value,
) -> Vec<Violation> {
    let failed = |message: String| {
        policy.fail_closed.then_some(Violation { message, reason: None }).into_iter().collect::<Vec<_>>()
    };
    let params = match scope::params(context, policy, binding, write.namespace()) {
        Ok(params) => params,
        Err(why) => return failed(format!("failed to configure binding: {why}")),
    };
    let mut violations = Vec::new();
    for param in params {
        let scope = PolicyScope::new(context, policy, write, request, param.as_ref());
        match scope.conditions_hold(policy) {
            Ok(true) => {}
            Ok(false) => continue,
            Err(why) => {
                violations.extend(failed(why));
                continue;
            }
        }
        for validation in &policy.validations {
            match scope.holds(&validation.expression) {
                Ok(true) => {}
                Ok(false) => violations.push(Violation {
                    message: message(validation, &scope),
                    reason: validation.reason.clone(),
                }),
                Err(why) => {
                    violations
                        .extend(failed(format!("expression '{}' resulted in error: {why}", validation.text)));
                }
            }
        }
    }
    violations
}

/// The message of a violation: that of its expression, else the fixed one, else the expression that failed.
fn message(validation: &Validation, scope: &PolicyScope) -> String {
    let own = validation.message_expression.as_ref().and_then(|expression| scope.text(expression));
    let usable = |text: &String| {
        let text = text.trim();
        !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains(['\n', '\r'])
    };
    let own = own.filter(usable).map(|text| text.trim().to_owned());
    let fixed = || validation.message.as_ref().map(|text| text.trim().to_owned());
    own.or_else(fixed).unwrap_or_else(|| format!("failed expression: {}", validation.text.trim()))
}

/// The response to a denied write: `Invalid` unless the validation has a reason.
fn refusal(write: &Attributes<'_>, why: &str, reason: Option<&str>) -> StatusError {
    let endpoint = write.endpoint();
    let mut refusal = StatusError::forbidden(endpoint.group(), endpoint.plural(), write.name(), why);
    let reason = reason.unwrap_or("Invalid");
    refusal.reason = reason.to_owned().into();
    refusal.code = match reason {
        "Forbidden" => StatusCode::FORBIDDEN,
        "Unauthorized" => StatusCode::UNAUTHORIZED,
        "RequestEntityTooLarge" => StatusCode::PAYLOAD_TOO_LARGE,
        _ => StatusCode::UNPROCESSABLE_ENTITY,
    };
    if let Some(details) = &mut refusal.details {
        details.causes.push(Cause { message: why.to_owned(), ..Cause::default() });
    }
    refusal
}
