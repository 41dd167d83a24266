//! Status conditions: one per type, with the time of its last transition.

use serde_json::{Value, json};

/// Sets a condition by type. `lastTransitionTime` changes with the status only; an equal condition stays where it is.
pub(crate) fn set(conditions: &mut Vec<Value>, mut new: Value, now: &str) {
    let kind = new["type"].clone();
    let old = conditions.iter().position(|condition| condition["type"] == kind);
    let transition = old
        .map(|at| &conditions[at])
        .filter(|old| old["status"] == new["status"])
        .map_or_else(|| json!(now), |old| old["lastTransitionTime"].clone());
    new["lastTransitionTime"] = transition;
    match old {
        Some(at) => {
            let same = |field: &str| conditions[at][field] == new[field];
            if !(same("status") && same("reason") && same("message")) {
                // The last changed condition is the last in the list.
                conditions.remove(at);
                conditions.push(new);
            }
        }
        None => conditions.push(new),
    }
}
