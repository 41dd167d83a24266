use jiff::Timestamp;
use serde_json::{Value, json};

/// Seconds from a time of the API to another; `None` where one of them is no time.
pub(super) fn seconds_since(from: &Value, now: &str) -> Option<u64> {
    let (from, now): (Timestamp, Timestamp) = (from.as_str()?.parse().ok()?, now.parse().ok()?);
    u64::try_from(now.as_second() - from.as_second()).ok()
}

/// Sets a condition by its type. The time of transition changes with the status only; nothing changes when all is the same.
pub(super) fn set(conditions: &mut Vec<Value>, mut new: Value, now: &str) {
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
                // The one that changed last stands last.
                conditions.remove(at);
                conditions.push(new);
            }
        }
        None => conditions.push(new),
    }
}
