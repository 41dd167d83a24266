//! The group of a CRD. Groups of the Kubernetes community need an approval.

use serde_json::Value;

use crate::{
    object::names,
    schema::{ErrorList, FieldError},
};

const APPROVAL: &str = "api-approved.kubernetes.io";
const RULES: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

pub(super) fn validate(crd: &Value, errors: &mut ErrorList) {
    let group = crd["spec"]["group"].as_str().unwrap_or_default();
    let field = "spec.group";
    if group.is_empty() {
        errors.required(field, "");
    } else if let Some(wrong) = names::subdomain(group) {
        errors.invalid(field, format!("{group:?}"), &wrong);
    } else if !group.contains('.') {
        errors.invalid(field, format!("{group:?}"), "should be a domain with at least one dot");
    }
    if is_protected(group) {
        errors.extend(unapproved(crd["metadata"]["annotations"][APPROVAL].as_str().unwrap_or_default()));
    }
}

/// Whether the group of a definition is one of the Kubernetes community and approved, with reason and message.
pub(crate) fn approval(crd: &Value) -> Option<(bool, &'static str, String)> {
    let annotation = crd["metadata"]["annotations"][APPROVAL].as_str().unwrap_or_default();
    if !is_protected(crd["spec"]["group"].as_str().unwrap_or_default()) {
        return None;
    }
    Some(match unapproved(annotation) {
        None if annotation.starts_with("unapproved") => {
            (false, "UnapprovedAnnotation", format!("not approved: {annotation:?}"))
        }
        None => (true, "ApprovedAnnotation", format!("approved in {annotation}")),
        Some(error) if annotation.is_empty() => (false, "MissingAnnotation", error.message),
        Some(error) => (false, "InvalidAnnotation", error.message),
    })
}

fn is_protected(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

/// The error for an annotation that is neither a URL nor the reason why there is no approval.
fn unapproved(annotation: &str) -> Option<FieldError> {
    let field = format!("metadata.annotations[{APPROVAL}]");
    let needed = format!("protected groups must have approval annotation {APPROVAL:?}");
    if annotation.is_empty() {
        return Some(FieldError::required(field, &format!("{needed}, {RULES}")));
    }
    let url = annotation.parse::<http::Uri>().is_ok_and(|uri| uri.scheme().is_some() && uri.host().is_some());
    if url || annotation.starts_with("unapproved") {
        return None;
    }
    let detail = format!("{needed} with either a URL or a reason starting with \"unapproved\", {RULES}");
    Some(FieldError::invalid(field, format!("{annotation:?}"), &detail))
}
