//! The rule for kinds without one of their own: standard conditions.

use super::readiness::{Readiness, failed, in_progress, ready};
use super::view::View;

pub(super) fn any_kind(object: View<'_>) -> Readiness {
    if let Some(stalled) = object.condition("Stalled").filter(|it| it.is("True")) {
        return failed(format!("stalled: {}", stalled.explanation()));
    }
    if let Some(reconciling) = object.condition("Reconciling").filter(|it| it.is("True")) {
        return in_progress(format!("reconciling: {}", reconciling.explanation()));
    }
    let Some(condition) = object.condition("Ready").or_else(|| object.condition("Available")) else {
        return ready("there is nothing to wait for");
    };
    match condition.is("True") {
        true => ready(format!("condition {} is True", condition.text("type"))),
        false => in_progress(condition.explanation()),
    }
}
