//! Whether a write changes what is stored.

use std::sync::Arc;

use serde_json::Value;

use super::ObjectWrite;
use crate::storage::Stored;

impl ObjectWrite<'_> {
    /// The stored version, if the write changes nothing.
    pub(crate) fn unchanged(&self) -> Option<Arc<Stored>> {
        let replaced = self.replaced?;
        let same = is_unchanged(replaced.object, &self.object)
            && self.kind.is_stored_as_read(self.endpoint, replaced.stored);
        same.then(|| replaced.stored.clone())
    }
}

/// A write that only changes times in managed fields changes nothing.
fn is_unchanged(old: &Value, new: &Value) -> bool {
    equal_except(old, new, "metadata", |old, new| {
        equal_except(old, new, "managedFields", |old, new| {
            let (Some(old), Some(new)) = (old.as_array(), new.as_array()) else { return old == new };
            let untimed = |(old, new)| equal_except(old, new, "time", |_, _| true);
            old.len() == new.len() && old.iter().zip(new).all(untimed)
        })
    })
}

/// Whether two objects have equal members; `equal` compares one of them, which may be missing.
fn equal_except(old: &Value, new: &Value, member: &str, equal: impl FnOnce(&Value, &Value) -> bool) -> bool {
    let (Some(before), Some(after)) = (old.as_object(), new.as_object()) else { return old == new };
    let is_other = |(name, _): &(&String, &Value)| *name != member;
    before.iter().filter(is_other).eq(after.iter().filter(is_other)) && equal(&old[member], &new[member])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_of_managers_are_no_change() {
        let object = |manager: &str, time: Value, data: &str| {
            let entry = json!({"manager": manager, "time": time});
            json!({"metadata": {"name": "a", "managedFields": [entry]}, "data": data})
        };
        let old = object("m", json!("2026-01-01T00:00:00Z"), "x");
        assert!(is_unchanged(&old, &object("m", json!("2027-01-01T00:00:00Z"), "x")));
        assert!(is_unchanged(
            &old,
            &json!({"metadata": {"name": "a", "managedFields": [{"manager": "m"}]}, "data": "x"})
        ));
        assert!(!is_unchanged(&old, &object("n", json!("2026-01-01T00:00:00Z"), "x")));
        assert!(!is_unchanged(&old, &object("m", json!("2026-01-01T00:00:00Z"), "y")));
        assert!(!is_unchanged(&old, &json!({"metadata": {"name": "a"}, "data": "x"})));
    }
}
