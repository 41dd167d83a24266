//! Whether rules and selectors match a write.

use serde_json::Value;

use super::{AdmissionContext, Attributes, MatchResources, Matched, Webhook};
use crate::{
    object::selector::LabelSelector,
    schema::{Scope, untyped},
    scheme::{Endpoint, Scheme},
    storage::Key,
    webhook::Interruption,
};

/// Why it cannot be said whether a webhook matches.
pub(super) enum MatchError {
    Condition(String),
    /// The object cannot be converted to the version of the rules, or not before a conversion webhook has responded.
    Conversion(Interruption),
}

/// The version of the resource that the webhook matches, with the request in that version; `None` when it does not match.
///
/// # Errors
/// A condition that cannot be evaluated, or a failed conversion.
pub(super) fn webhook_request(
    context: AdmissionContext<'_>,
    hook: &Webhook,
    write: &Attributes<'_>,
) -> Result<Option<(Endpoint, Value)>, MatchError> {
    let Some(endpoint) = matched_version(context, &hook.matches, write) else { return Ok(None) };
    let request = write.request(context, &endpoint).map_err(MatchError::Conversion)?;
    let holds = conditions_hold(hook, &request).map_err(MatchError::Condition)?;
    Ok(holds.then_some((endpoint, request)))
}

/// The version of the resource that the rules match, if the selectors match too.
pub(super) fn matched_version(
    context: AdmissionContext<'_>,
    resources: &MatchResources,
    write: &Attributes<'_>,
) -> Option<Endpoint> {
    // The configuration of admission is exempt, so that a webhook or policy that refuses everything can be removed.
    if write.endpoint().group() == "admissionregistration.k8s.io" {
        return None;
    }
    let endpoint = by_rules(&context.storage.scheme, resources, write)?;
    selected(context, resources, write).then_some(endpoint)
}

/// Whether the selectors match.
pub(super) fn selected(
    context: AdmissionContext<'_>,
    resources: &MatchResources,
    write: &Attributes<'_>,
) -> bool {
    in_namespace(context, &resources.namespace_selector, write) && labelled(&resources.object_selector, write)
}

fn by_rules(scheme: &Scheme, resources: &MatchResources, write: &Attributes<'_>) -> Option<Endpoint> {
    let matched = Matched {
        operation: write.operation.name(),
        subresource: write.call.subresource.as_deref(),
        namespaced: write.call.namespace.is_some(),
        name: write.name(),
    };
    let own = write.endpoint();
    if resources.has(own, matched) {
        return Some(own.clone());
    }
    let mut others = scheme.endpoints_of(own.resource.table).filter(|_| resources.equivalent);
    others.find(|other| resources.has(other, matched)).cloned()
}

fn in_namespace(context: AdmissionContext<'_>, selector: &LabelSelector, write: &Attributes<'_>) -> bool {
    if selector.is_empty() {
        return true;
    }
    let endpoint = write.endpoint();
    if endpoint.is_core("namespaces") && write.call.subresource.is_none() {
        return write.subject().is_none_or(|object| selects(selector, object));
    }
    let Some(name) = write.call.namespace.as_deref() else { return true };
    let namespace = context.storage.object("", "namespaces", &Key::new(None, name));
    namespace.is_some_and(|namespace| selector.matches(|key| namespace.label(key)))
}

fn labelled(selector: &LabelSelector, write: &Attributes<'_>) -> bool {
    selector.is_empty()
        || [write.object, write.old]
            .into_iter()
            .flatten()
            // Objects without metadata, such as connection options, never match a selector.
            .any(|object| object["metadata"].is_object() && selects(selector, object))
}

fn selects(selector: &LabelSelector, object: &Value) -> bool {
    selector.matches(|key| object["metadata"]["labels"][key].as_str())
}

/// A condition that is false excludes the webhook, even when another cannot be evaluated.
fn conditions_hold(hook: &Webhook, request: &Value) -> Result<bool, String> {
    if hook.match_conditions.is_empty() {
        return Ok(true);
    }
    let mut request = request.clone();
    let mut scope = Scope::new();
    for (variable, field) in [("object", "object"), ("oldObject", "oldObject")] {
        scope.set(variable, untyped(&request[field].take()));
    }
    // In CEL, the objects are variables of their own and not part of `request`.
    if let Some(map) = request.as_object_mut() {
        map.remove("object");
        map.remove("oldObject");
    }
    scope.set("request", untyped(&request));
    let mut failed = None;
    for (name, condition) in &hook.match_conditions {
        match condition.holds(&scope) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(why) => failed = Some(format!("the match condition {name:?} could not be evaluated: {why}")),
        }
    }
    failed.map_or(Ok(true), Err)
}
