//! The rule for objects that are being deleted.

use super::pods;
use super::readiness::{Readiness, ReadyState};
use super::view::View;

/// Conditions that say what a deletion waits for, of a namespace and of a definition. They are true where it waits.
const CONDITIONS: [&str; 6] = [
    "NamespaceDeletionDiscoveryFailure",
    "NamespaceDeletionGroupVersionParsingFailure",
    "NamespaceDeletionContentFailure",
    "NamespaceContentRemaining",
    "NamespaceFinalizersRemaining",
    "Terminating",
];

pub(super) fn terminating(object: View<'_>) -> Readiness {
    if let Some(finished) = pods::finished_job(object) {
        return finished;
    }
    Readiness { state: ReadyState::Terminating, message: message(object) }
}

/// What the deletion waits for.
fn message(object: View<'_>) -> String {
    let finalizers = object.meta.finalizers.as_deref().unwrap_or_default();
    let finalizers =
        (!finalizers.is_empty()).then(|| format!("after the finalizers {}", finalizers.join(", ")));
    let reasons: Vec<_> = finalizers.into_iter().chain(conditions(object)).collect();
    match reasons.is_empty() {
        true => "is being deleted".to_owned(),
        false => format!("is being deleted, {}", reasons.join("; ")),
    }
}

/// What the conditions say that the deletion waits for. A namespace waits even before it has conditions.
pub(super) fn conditions(object: View<'_>) -> Vec<String> {
    let conditions = CONDITIONS.into_iter().filter_map(|type_| object.condition(type_));
    let waits = conditions.filter(|condition| condition.is("True")).map(|condition| condition.explanation());
    let mut waits: Vec<_> = waits.collect();
    let is_namespace = (object.group, object.kind) == ("", "Namespace");
    if waits.is_empty() && is_namespace && !object.items("/spec/finalizers").is_empty() {
        waits.push("what is in the namespace has not been deleted".to_owned());
    }
    waits
}
