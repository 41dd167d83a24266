//! Jobs: what can change depends on whether the Job is suspended or indexed.

use serde_json::Value;

use super::values::{IMMUTABLE, without};
use crate::schema::FieldError;

/// What a suspended Job that has not started may change in its template (KEP-2926).
const OF_SCHEDULING: &[&str] = &[
    "metadata.labels",
    "metadata.annotations",
    "spec.nodeSelector",
    "spec.tolerations",
    "spec.schedulingGates",
    "spec.affinity.nodeAffinity",
];

/// An indexed Job can change completions together with parallelism, to the same value (KEP-3715).
pub(super) fn completions(old: &Value, new: &Value, errors: &mut Vec<FieldError>) {
    let (before, now) = (&old["spec"]["completions"], &new["spec"]["completions"]);
    if before == now {
        return;
    }
    let indexed = new["spec"]["completionMode"] == "Indexed";
    let elastic = indexed
        && !before.is_null()
        && *now == new["spec"]["parallelism"]
        && *before == old["spec"]["parallelism"];
    // An indexed Job needs completions, which is another rule.
    if elastic || indexed && now.is_null() {
        return;
    }
    let why = if indexed { "can only be modified in tandem with spec.parallelism" } else { IMMUTABLE };
    errors.push(FieldError::invalid("spec.completions", now, why));
}

pub(super) fn template(old: &Value, new: &Value, errors: &mut Vec<FieldError>) {
    let (before, now) = (&old["spec"]["template"], &new["spec"]["template"]);
    let waits = old["spec"]["suspend"] == true && old["status"]["startTime"].is_null();
    let free = if waits { OF_SCHEDULING } else { &[] };
    if without(before, free) != without(now, free) {
        errors.push(FieldError::invalid("spec.template", now, IMMUTABLE));
    }
}
