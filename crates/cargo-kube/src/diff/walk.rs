//! Walks the schemas of two versions together, and asks the rules about each pair.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray,
};

use super::rule::{Check, Finding, Pair, Rule};
use super::schema::{Values, values};

/// Calls `found` with what each of `rules` finds in the schemas `pair` of the field at `path`, and in those below them.
pub(super) fn walk(
    rules: &[&'static Rule],
    pair: Pair<'_, JSONSchemaProps>,
    path: &str,
    found: &mut impl FnMut(&'static Rule, &str, Finding),
) {
    let mut of_one_type = true;
    for &rule in rules {
        if let Check::Type(check) = &rule.check {
            for finding in check(pair) {
                of_one_type = false;
                found(rule, path, finding);
            }
        }
    }
    if !of_one_type {
        return;
    }
    for &rule in rules {
        if let Check::Schema(check) = &rule.check {
            check(pair).into_iter().for_each(|finding| found(rule, path, finding));
        }
    }
    for (name, old) in pair.old.properties.iter().flatten() {
        let new = pair.new.properties.as_ref().and_then(|properties| properties.get(name));
        // A field of a struct that became a map.
        let new = new.or(match values(pair.new) {
            Values::Schema(schema) => Some(schema),
            Values::None | Values::Any => None,
        });
        if let Some(new) = new {
            walk(rules, Pair { old, new }, &format!("{path}.{name}"), found);
        }
    }
    // A field that was a key of a map.
    if let Values::Schema(old) = values(pair.old) {
        for (name, new) in pair.new.properties.iter().flatten() {
            walk(rules, Pair { old, new }, &format!("{path}.{name}"), found);
        }
    }
    if let (Some(old), Some(new)) = (items(pair.old), items(pair.new)) {
        walk(rules, Pair { old, new }, &format!("{path}[*]"), found);
    }
    if let (Values::Schema(old), Values::Schema(new)) = (values(pair.old), values(pair.new)) {
        walk(rules, Pair { old, new }, &format!("{path}[*]"), found);
    }
}

/// The schema of the items of a list. Definitions of custom resources have one for all items.
fn items(schema: &JSONSchemaProps) -> Option<&JSONSchemaProps> {
    match schema.items.as_ref()? {
        JSONSchemaPropsOrArray::Schema(items) => Some(items),
        JSONSchemaPropsOrArray::Schemas(items) => items.first(),
    }
}
