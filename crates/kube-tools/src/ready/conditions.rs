//! The rule for kinds without one of their own: generation and standard conditions.

use super::readiness::{Readiness, failed, in_progress, ready};
use super::view::View;

pub(super) fn any_kind(object: View<'_>) -> Readiness {
    if !object.is_observed() {
        return in_progress("the current spec has not been observed");
    }
    if let Some(stalled) = object.condition("Stalled").filter(|it| it.is("True")) {
        return failed(format!("stalled: {}", stalled.explanation()));
    }
    if let Some(reconciling) = object.condition("Reconciling").filter(|it| it.is("True")) {
        return in_progress(format!("reconciling: {}", reconciling.explanation()));
    }
    let Some(condition) = object.condition("Ready").or_else(|| object.condition("Available")) else {
        return ready("there is nothing to wait for");
    };
    if !condition.is_current(object.meta) {
        return in_progress(format!("condition {} is of an older generation", condition.text("type")));
    }
    match condition.is("True") {
        true => ready(format!("condition {} is True", condition.text("type"))),
        false => in_progress(condition.explanation()),
    }
}
