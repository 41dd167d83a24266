//! Compares an object with its new version by the rows of its kind.

use serde_json::Value;

use super::{
    table::{ROWS, Row, Rule},
    values::{IMMUTABLE, at, without},
};
use crate::{
    schema::{ErrorList, FieldError},
    scheme::Endpoint,
};

/// Refuses changes of immutable fields, by the rows of the kind in the order of the table.
pub(in crate::validation) fn validate(endpoint: &Endpoint, old: &Value, new: &Value) -> ErrorList {
    let mut errors = ErrorList::default();
    for row in ROWS.iter().filter(|row| endpoint.resource.is(row.group, row.plural)) {
        if let Rule::Checked(check) = row.rule {
            check(old, new, &mut errors);
            continue;
        }
        let (before, now) = (at(old, row.path), at(new, row.path));
        let changed = match row.rule {
            Rule::WhileImmutable(_) => old["immutable"] == true && before != now,
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

impl Row {
    fn refuse(&self, now: &Value) -> FieldError {
        match self.rule {
            Rule::Forbidden(why) | Rule::WhileImmutable(why) | Rule::Except(_, why) => {
                FieldError::forbidden(self.field, why)
            }
            Rule::Invalid(why) | Rule::OnceSet(why) => FieldError::invalid(self.field, now, why),
            Rule::Checked(_) => FieldError::invalid(self.field, now, IMMUTABLE),
        }
    }
}

#[cfg(test)]
mod tests {
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
                let field = node.node().properties.get(part);
                node = field.unwrap_or_else(|| panic!("{}: no field {}", row.plural, row.path));
            }
        }
    }
}
