//! Fields that an update cannot change: one table of all built-in kinds, and the checks that it names.

mod claims;
mod jobs;
mod nodes;
mod pods;
mod services;
mod table;

use serde_json::Value;

use self::table::{ROWS, Rule};
use crate::{schema::FieldError, scheme::Endpoint};

/// Refuses changes of immutable fields, by the rows of the kind in the order of the table.
pub(crate) fn validate(endpoint: &Endpoint, old: &Value, new: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for row in ROWS.iter().filter(|row| endpoint.resource.is(row.group, row.plural)) {
        if let Rule::Checked(check) = row.rule {
            check(old, new, &mut errors);
            continue;
        }
        let (before, now) = (at(old, row.path), at(new, row.path));
        let changed = match row.rule {
            Rule::WhileSealed(_) => old["immutable"] == true && before != now,
            Rule::OnceSet(_) => !before.is_null() && before != now,
            Rule::Except(members, _) => without(before, members) != without(now, members),
            _ => before != now,
        };
        if changed {
            errors.push(row.refuse(now));
        }
    }
    errors
}

impl table::Row {
    fn refuse(&self, now: &Value) -> FieldError {
        match self.rule {
            Rule::Forbidden(why) | Rule::WhileSealed(why) | Rule::Except(_, why) => {
                FieldError::forbidden(self.field, why)
            }
            Rule::Invalid(why) | Rule::OnceSet(why) => FieldError::invalid(self.field, shown(now), why),
            Rule::Checked(_) => FieldError::invalid(self.field, shown(now), IMMUTABLE),
        }
    }
}

/// What most rules say.
const IMMUTABLE: &str = "field is immutable";

/// The value as servers print it since 1.33. They print null in quotes.
fn shown(value: &Value) -> String {
    if value.is_null() { "\"null\"".into() } else { value.to_string() }
}

/// The value at a path such as `spec.selector`.
fn at<'a>(object: &'a Value, path: &str) -> &'a Value {
    path.split('.').filter(|part| !part.is_empty()).fold(object, |value, part| &value[part])
}

/// A copy without these members. A path such as `csi.secret` removes a member of a member.
fn without(value: &Value, paths: &[&str]) -> Value {
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
    use crate::scheme::Scheme;

    /// Every row names a kind, and a field of its schema, so that none is dead.
    #[test]
    fn rows_name_fields_of_kinds() {
        let scheme = Scheme::with_built_in();
        for row in ROWS {
            let endpoint = scheme.by_plural(row.group, row.plural);
            let endpoint = endpoint.unwrap_or_else(|| panic!("no kind {}.{}", row.plural, row.group));
            let mut node = endpoint.schema().root();
            for part in row.path.split('.').filter(|part| !part.is_empty()) {
                let known = node.node().properties.get(part);
                node = known.unwrap_or_else(|| panic!("{}: no field {}", row.plural, row.path));
            }
        }
    }

    #[test]
    fn members_of_members_are_left_out() {
        let value = json!({"a": 1, "b": {"c": 2, "d": 3}});
        assert_eq!(without(&value, &["a", "b.c", "x.y"]), json!({"b": {"d": 3}}));
        assert_eq!(without(&Value::Null, &["a"]), Value::Null);
    }
}
