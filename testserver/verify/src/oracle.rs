//! What is wrong with a run.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{
    finding::{Finding, Oracle},
    outcome::Reference,
    plan::Verb,
    state::{Difference, Names, ObjectName},
    trace::{Trace, Write},
};

/// The finding that differences after a step are.
pub(crate) fn of_differences(step: usize, differences: &[Difference]) -> Option<Finding> {
    let has = |kind: fn(&Difference) -> bool| differences.iter().any(kind);
    let oracle = if differences.is_empty() {
        return None;
    } else if has(|d| matches!(d, Difference::Stuck(_))) {
        Oracle::Stuck
    } else if has(|d| matches!(d, Difference::LeftOver(_))) {
        Oracle::LeftOver
    } else if has(|d| matches!(d, Difference::Value { at, .. } if at.starts_with("external "))) {
        Oracle::External
    } else {
        Oracle::EndState
    };
    let told: Vec<_> = differences.iter().take(4).map(ToString::to_string).collect();
    let more = differences.len().saturating_sub(4);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    Some(Finding::new(oracle, format!("after step {step}, {}{more}", told.join("; "))))
}

/// How often objects were created and deleted by the operator, by their templates.
pub(crate) fn counts(trace: &Trace, names: &Names) -> BTreeMap<(String, Verb), usize> {
    let mut counts = BTreeMap::new();
    for write in trace.effective() {
        let verb = match write.place.operation.verb {
            // Also by an apply or an update.
            _ if write.created => Verb::Create,
            Verb::Delete => Verb::Delete,
            _ => continue,
        };
        *counts.entry((template(write, names), verb)).or_default() += 1;
    }
    counts
}

fn template(write: &Write, names: &Names) -> String {
    let name = names.template(&write.object.resource, &write.object.name);
    ObjectName { name, ..write.object.clone() }.to_string()
}

/// What counts as often enough.
pub(crate) struct Expected {
    pub(crate) counts: BTreeMap<(String, Verb), usize>,
    pub(crate) values: BTreeMap<String, usize>,
}

impl Expected {
    /// What the reference has; and once more an object that the run itself has deleted, if the operator made it, or that a late write may
    /// have made, so that it has to be deleted.
    pub(crate) fn of(reference: &Reference, deleted: Option<&str>, late: Option<&str>) -> Self {
        let Reference { mut counts, mut values, masks, .. } = reference.clone();
        if let Some(object) = deleted
            && let Some(count) = counts.get_mut(&(object.to_owned(), Verb::Create))
        {
            *count += 1;
            let own = |mask: &&String| mask.strip_prefix(object).is_some_and(|path| path.starts_with('.'));
            masks.iter().filter(own).for_each(|mask| *values.entry(mask.clone()).or_default() += 1);
        }
        if let Some(object) = late {
            for verb in [Verb::Create, Verb::Delete] {
                *counts.entry((object.to_owned(), verb)).or_default() += 1;
            }
        }
        Self { counts, values }
    }
}

/// What was created or deleted more often than in the reference. Creations do not count where the operator may miss a step: an object that
/// the garbage collector took is made again.
pub(crate) fn more_often(
    counts: &BTreeMap<(String, Verb), usize>,
    reference: &BTreeMap<(String, Verb), usize>,
    may_miss_a_step: bool,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for ((object, verb), count) in counts {
        let expected = reference.get(&(object.clone(), *verb)).copied().unwrap_or(0);
        let counted = *verb == Verb::Delete || !may_miss_a_step;
        if *count > expected && counted {
            let did = if *verb == Verb::Create { "created" } else { "deleted" };
            let what = format!("{object} was {did} {count} times instead of {expected}");
            findings.push(Finding::new(Oracle::Counts, what));
        }
    }
    findings
}

/// How many values each masked path had, over all writes.
pub(crate) fn distinct(trace: &Trace, masks: &BTreeSet<String>, names: &Names) -> BTreeMap<String, usize> {
    let mut values: BTreeMap<&String, BTreeSet<String>> = BTreeMap::new();
    let writes = trace.writes.iter().filter(|write| !write.orphan && write.answer["kind"] != "Status");
    for write in writes.filter(|write| write.place.operation.verb != Verb::Delete) {
        let object = template(write, names);
        for mask in masks {
            let Some(path) = mask.strip_prefix(object.as_str()).filter(|path| path.starts_with('.')) else {
                continue;
            };
            let mut at = None;
            find(&write.answer, path, &mut at);
            if let Some(value) = at.filter(|value| !value.is_null()) {
                values.entry(mask).or_default().insert(value.to_string());
            }
        }
    }
    values.into_iter().map(|(mask, values)| (mask.clone(), values.len())).collect()
}

/// The value at a path such as `.data.password` or `.spec.rules[0].id`.
fn find<'v>(value: &'v Value, path: &str, found: &mut Option<&'v Value>) {
    if path.is_empty() {
        *found = Some(value);
        return;
    }
    match value {
        Value::Object(fields) => {
            let Some(rest) = path.strip_prefix('.') else { return };
            for (key, field) in fields {
                let after = rest.strip_prefix(key.as_str());
                if let Some(after) = after.filter(|after| after.is_empty() || after.starts_with(['.', '['])) {
                    find(field, after, found);
                }
            }
        }
        Value::Array(items) => {
            let Some((at, after)) = path.strip_prefix('[').and_then(|rest| rest.split_once(']')) else {
                return;
            };
            if let Some(item) = at.parse::<usize>().ok().and_then(|at| items.get(at)) {
                find(item, after, found);
            }
        }
        _ => {}
    }
}

/// Random values that were generated again. The value itself is never told: it may be a password.
pub(crate) fn regenerated(
    values: &BTreeMap<String, usize>,
    reference: &BTreeMap<String, usize>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, count) in values {
        let expected = reference.get(path).copied().unwrap_or(0);
        if *count > expected {
            let what = format!("{path} had {count} values instead of {expected}");
            findings.push(Finding::new(Oracle::Regenerated, what));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_path_finds_its_value_also_with_dots_in_keys() {
        let object = json!({"data": {"a.b": 1, "a": {"c": 2}}, "rules": [{"id": 3}, {"id": 4}]});
        let value = |path: &str| {
            let mut found = None;
            find(&object, path, &mut found);
            found.cloned()
        };
        assert_eq!(value(".data.a.b"), Some(json!(1)));
        assert_eq!(value(".data.a.c"), Some(json!(2)));
        assert_eq!(value(".rules[1].id"), Some(json!(4)));
        assert_eq!(value(".rules[2].id"), None);
    }

    #[test]
    fn an_object_that_was_evicted_is_made_once_more() {
        let count = |object: &str, count| ((object.to_owned(), Verb::Create), count);
        let reference = Reference {
            counts: BTreeMap::from([count("pods a", 1), count("pods ab", 1)]),
            values: BTreeMap::from([("pods a.data.x".to_owned(), 1)]),
            masks: BTreeSet::from(["pods a.data.x".to_owned(), "pods ab.data.x".to_owned()]),
            ..Reference::default()
        };
        let expected = Expected::of(&reference, Some("pods a"), None);
        assert_eq!(expected.counts, BTreeMap::from([count("pods a", 2), count("pods ab", 1)]));
        assert_eq!(expected.values, BTreeMap::from([("pods a.data.x".to_owned(), 2)]));
        // One that a controller of the cluster makes.
        assert_eq!(Expected::of(&reference, Some("pods web-*"), None).counts, reference.counts);
        // One that arrives late is made again, and then deleted.
        let expected = Expected::of(&reference, None, Some("pods a")).counts;
        assert_eq!(expected[&("pods a".to_owned(), Verb::Create)], 2);
        assert_eq!(expected[&("pods a".to_owned(), Verb::Delete)], 1);
    }

    #[test]
    fn only_more_than_in_the_reference_is_a_finding() {
        let counts = |verb, count| BTreeMap::from([(("configmaps a".to_owned(), verb), count)]);
        let findings = |verb, may_miss| more_often(&counts(verb, 2), &counts(verb, 1), may_miss).len();
        assert_eq!(findings(Verb::Create, false), 1);
        assert_eq!(findings(Verb::Create, true), 0);
        assert_eq!(findings(Verb::Delete, true), 1);
        assert!(more_often(&counts(Verb::Create, 1), &counts(Verb::Create, 2), false).is_empty());
    }
}
