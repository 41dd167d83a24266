//! Values at a path, values without some members, and how errors show them.

use serde_json::Value;

/// What most rules say.
pub(super) const IMMUTABLE: &str = "field is immutable";

/// The value at a path such as `spec.selector`.
pub(super) fn at<'a>(object: &'a Value, path: &str) -> &'a Value {
    path.split('.').filter(|part| !part.is_empty()).fold(object, |value, part| &value[part])
}

/// A copy without these members. A path such as `csi.secret` removes a member of a member.
pub(super) fn without(value: &Value, paths: &[&str]) -> Value {
    let mut copy = value.clone();
    for path in paths {
        let (parent, member) = path.rsplit_once('.').unwrap_or(("", path));
        let pointer =
            if parent.is_empty() { String::new() } else { format!("/{}", parent.replace('.', "/")) };
        if let Some(map) = copy.pointer_mut(&pointer).and_then(Value::as_object_mut) {
            map.remove(member);
        }
    }
    copy
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_of_members_are_left_out() {
        let value = json!({"a": 1, "b": {"c": 2, "d": 3}});
        assert_eq!(without(&value, &["a", "b.c", "x.y"]), json!({"b": {"d": 3}}));
        assert_eq!(without(&Value::Null, &["a"]), Value::Null);
    }
}
