//! Whether a webhook's rules and selectors match a write.

use serde_json::Value;

use super::Attributes;
use crate::{
    admission::Webhook,
    cluster::ClusterState,
    schema::{Scope, untyped},
    scheme::{Endpoint, Scheme},
    selector::LabelSelector,
    status_error::StatusError,
    store::Key,
};

/// Why it cannot be said whether a webhook matches.
pub(super) enum MatchError {
    Condition(String),
    /// The object cannot be converted to the version of the rules, or not before a conversion webhook has responded.
    Conversion(StatusError),
}

/// The version of the resource that the webhook matches, with the request in that version; `None` when it does not match.
///
/// # Errors
/// A condition that cannot be evaluated, or a failed conversion.
pub(super) fn matching_version(
    cluster: &ClusterState,
    hook: &Webhook,
    write: &Attributes<'_>,
) -> Result<Option<(Endpoint, Value)>, MatchError> {
    // Webhook configurations are exempt, so that a failing webhook can be removed.
    if write.endpoint().group() == "admissionregistration.k8s.io"
        && write.endpoint().plural().ends_with("webhookconfigurations")
    {
        return Ok(None);
    }
    let Some(endpoint) = by_rules(&cluster.scheme, hook, write) else { return Ok(None) };
    if !in_namespace(cluster, hook, write) || !labelled(&hook.object_selector, write) {
        return Ok(None);
    }
    let request = write.request(cluster, &endpoint).map_err(MatchError::Conversion)?;
    let holds = conditions_hold(hook, &request).map_err(MatchError::Condition)?;
    Ok(holds.then_some((endpoint, request)))
}

fn by_rules(scheme: &Scheme, hook: &Webhook, write: &Attributes<'_>) -> Option<Endpoint> {
    let (sub, namespaced) = (write.call.subresource.as_deref(), write.call.namespace.is_some());
    let matches = |endpoint: &Endpoint| {
        let mut rules = hook.rules.iter();
        rules.any(|rule| rule.matches(write.operation.name(), endpoint, sub, namespaced))
    };
    let own = write.endpoint();
    if matches(own) {
        return Some(own.clone());
    }
    let mut others = scheme.endpoints_of(own.resource.table).filter(|_| hook.equivalent);
    others.find(|other| matches(other)).cloned()
}

fn in_namespace(cluster: &ClusterState, hook: &Webhook, write: &Attributes<'_>) -> bool {
    if hook.namespace_selector.is_empty() {
        return true;
    }
    let endpoint = write.endpoint();
    if endpoint.is_core("namespaces") && write.call.subresource.is_none() {
        return write.subject().is_none_or(|object| selects(&hook.namespace_selector, object));
    }
    let Some(name) = write.call.namespace.as_deref() else { return true };
    let namespaces = cluster.scheme.by_plural("", "namespaces");
    let found = namespaces.and_then(|e| cluster.store.get(e.resource.table, &Key::new(None, name)));
    found.is_some_and(|namespace| hook.namespace_selector.matches(|key| namespace.label(key)))
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
