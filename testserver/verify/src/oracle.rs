//! What is wrong with a run.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::{
    finding::{Finding, Oracle},
    kinds::split,
    outcome::{Counts, Reference},
    plan::Verb,
    state::{Difference, Names, ObjectName, State, without_times},
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

/// How often the operator has created and deleted objects in these writes.
pub(crate) fn counts<'t>(writes: impl IntoIterator<Item = &'t Write>, names: &Names) -> Counts {
    let mut counts = BTreeMap::new();
    for write in writes {
        let verb = match write.place.operation.verb {
            // Also by an apply or an update.
            _ if write.created => Verb::Create,
            Verb::Delete => Verb::Delete,
            _ => continue,
        };
        *counts.entry((template(&write.object, names), verb)).or_default() += 1;
    }
    counts
}

pub(crate) fn template(object: &ObjectName, names: &Names) -> String {
    let name = names.template(&object.resource, &object.name);
    ObjectName { name, ..object.clone() }.to_string()
}

/// How often the old version of an operator has created the objects that it has left.
pub(crate) fn left_by_old(trace: &Trace, left: &State, names: &Names) -> Counts {
    let left: BTreeSet<String> = left.0.keys().map(|object| template(object, names)).collect();
    let mut counts = counts(trace.effective_of_old(), names);
    counts.retain(|(object, _), _| left.contains(object));
    counts
}

/// What counts as often enough.
pub(crate) struct Expected {
    pub(crate) counts: Counts,
    pub(crate) values: BTreeMap<String, usize>,
}

impl Expected {
    /// What the reference has; and once more an object that the run itself has deleted, if the operator made it, or that a late write may
    /// have made, so that it has to be deleted.
    pub(crate) fn of(reference: &Reference, deleted: Option<&str>, late: Option<&str>) -> Self {
        let (mut counts, mut values) = (reference.counts.clone(), reference.values.clone());
        if let Some(object) = deleted
            && let Some(count) = counts.get_mut(&(object.to_owned(), Verb::Create))
        {
            *count += 1;
            let own = |mask: &&String| mask.strip_prefix(object).is_some_and(|path| path.starts_with('.'));
            reference.masks.iter().filter(own).for_each(|mask| *values.entry(mask.clone()).or_default() += 1);
        }
        if let Some(object) = late {
            for verb in [Verb::Create, Verb::Delete] {
                *counts.entry((object.to_owned(), verb)).or_default() += 1;
            }
        }
        Self { counts, values }
    }
}

impl Expected {
    /// What a new version may still make after an upgrade: of what the reference had made until then (`until`), not what the old one has
    /// left (`old`). It may delete what it does not want any more, and make other objects than the reference.
    pub(crate) fn after_upgrade(&mut self, until: &Counts, old: &Counts, counts: &Counts) {
        for (key, count) in &mut self.counts {
            let made = |by: &Counts| by.get(key).copied().unwrap_or(0);
            *count = count.saturating_sub(made(until).min(made(old)));
        }
        for (object, verb) in counts.keys() {
            let key = (object.clone(), *verb);
            if *verb == Verb::Delete || !self.counts.contains_key(&key) {
                self.counts.insert(key, usize::MAX);
            }
        }
    }
}

/// What was created or deleted more often than in the reference. Creations do not count where the operator may miss a step: an object that
/// the garbage collector took is made again.
pub(crate) fn more_often(counts: &Counts, reference: &Counts, may_miss_a_step: bool) -> Vec<Finding> {
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

/// How many values each masked path had, over all writes. Times are the same. An object with a random name is another one each time, so for
/// these the most values that one object had count.
pub(crate) fn distinct(trace: &Trace, masks: &BTreeSet<String>, names: &Names) -> BTreeMap<String, usize> {
    let mut values: BTreeMap<String, BTreeMap<&str, BTreeSet<String>>> = BTreeMap::new();
    for write in trace.with_values() {
        let object = template(&write.object, names);
        let is_random = names.template(&write.object.resource, &write.object.name) != write.object.name;
        let uid = write.answer["metadata"]["uid"].as_str().filter(|_| is_random).unwrap_or_default();
        for mask in masks {
            let Some(path) = path_in(mask, &object) else { continue };
            if path.starts_with(".status.") && is_shown_only(write) {
                continue;
            }
            let mut at = None;
            find(&write.answer, path, &mut at);
            if let Some(value) = at.filter(|value| !value.is_null()) {
                let of_objects = values.entry(format!("{object}{path}")).or_default();
                of_objects.entry(uid).or_default().insert(without_times(&value.to_string()));
            }
        }
    }
    let most = |of_objects: BTreeMap<&str, BTreeSet<String>>| of_objects.values().map(BTreeSet::len).max();
    values.into_iter().filter_map(|(path, of_objects)| Some((path, most(of_objects)?))).collect()
}

/// Whether the status in the answer is that of controllers of the cluster: no write of an object of a kind of Kubernetes changes it.
fn is_shown_only(write: &Write) -> bool {
    let (group, _) = split(&write.object.resource);
    let is_of_kubernetes = !group.contains('.') || group.ends_with(".k8s.io");
    is_of_kubernetes && !write.place.operation.resource.ends_with("/status")
}

/// The path of a mask of this object. Objects with random names are numbered.
fn path_in<'m>(mask: &'m str, object: &str) -> Option<&'m str> {
    let path = mask.strip_prefix(object)?;
    let numbered = path.strip_prefix('[').and_then(|rest| Some(rest.split_once(']')?.1));
    numbered.or(Some(path)).filter(|path| path.starts_with('.'))
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
    use std::sync::Arc;

    use super::*;
    use crate::plan::{Operation, Place};
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

    /// Writes of an object of this resource, name and uid with these data.
    fn writes(resource: &str, objects: &[(&str, &str, Value)]) -> Trace {
        let write = |(name, uid, data): &(&str, &str, Value)| {
            let answer = json!({"metadata": {"name": name, "uid": uid}, "data": data});
            let operation =
                Operation { verb: Verb::Apply, resource: resource.to_owned(), name: (*name).to_owned() };
            Write {
                place: Place { operation, nth: 1 },
                object: ObjectName::of(resource, &answer),
                effective: true,
                guarded: false,
                created: false,
                orphan: false,
                step: 1,
                answer: Arc::new(answer),
            }
        };
        Trace { writes: objects.iter().map(write).collect(), ..Trace::default() }
    }

    fn distinct_of(trace: &Trace, mask: &str, names: &Names) -> Option<usize> {
        distinct(trace, &BTreeSet::from([mask.to_owned()]), names).into_values().next()
    }

    #[test]
    fn a_time_is_not_generated_again_whatever_its_form() {
        let values = |values: [Value; 2]| {
            let objects = values.map(|value| ("a", "1", json!({"x": value})));
            distinct_of(&writes("configmaps", &objects), "configmaps a.data.x", &Names::default())
        };
        assert_eq!(values([json!(1767225600), json!(1767225700)]), Some(1));
        assert_eq!(values([json!("1767225600123"), json!("1767225700456")]), Some(1));
        assert_eq!(values([json!("at 1767225600"), json!("at 1767225700")]), Some(1));
        assert_eq!(values([json!("2026-01-01T00:00:00Z"), json!("2026-01-01T00:01:00Z")]), Some(1));
        assert_eq!(
            values([json!("since 2026-01-01T00:00:00Z."), json!("since 2026-01-02T00:00:00Z.")]),
            Some(1)
        );
        assert_eq!(values([json!("f3b0"), json!("a1c2")]), Some(2));
        assert_eq!(values([json!(17), json!(18)]), Some(2));
    }

    /// As the name of a ReplicaSet in a condition of its Deployment.
    #[test]
    fn what_controllers_of_the_cluster_report_is_not_generated_again() {
        let count = |resource: &str, subresource: &str| {
            let values = ["one", "two"].map(|value| ("a", "1", json!(value)));
            let mut trace = writes(resource, &values);
            for write in &mut trace.writes {
                let answer = json!({"metadata": {"name": "a"}, "status": {"x": write.answer["data"]}});
                write.answer = Arc::new(answer);
                write.place.operation.resource += subresource;
            }
            distinct_of(&trace, &format!("{resource} a.status.x"), &Names::default())
        };
        for resource in ["deployments.apps", "pods", "ingresses.networking.k8s.io"] {
            assert_eq!((count(resource, ""), count(resource, "/status")), (None, Some(2)), "{resource}");
        }
        assert_eq!(count("pages.example.com", ""), Some(2), "its definition may have no such subresource");
    }

    #[test]
    fn a_value_of_an_object_with_a_random_name_is_generated_again_if_it_has_another() {
        let mut names = Names::default();
        let run = |name: &str| BTreeSet::from([("secrets".to_owned(), name.to_owned())]);
        names.learn(&run("db-x7f2k"), &run("db-q1w9r"));
        let value = |name, uid, password: &str| (name, uid, json!({"password": password}));
        let count = |objects: &[(&str, &str, Value)]| {
            distinct_of(&writes("secrets", objects), "secrets db-*[0].data.password", &names)
        };
        assert_eq!(count(&[value("db-a", "1", "one"), value("db-b", "2", "two")]), Some(1));
        assert_eq!(count(&[value("db-a", "1", "one"), value("db-a", "1", "two")]), Some(2));
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
    fn after_an_upgrade_only_what_the_new_version_makes_too_is_counted() {
        let made = |object: &str, count| ((format!("jobs {object}"), Verb::Create), count);
        let findings = |old: usize, new: Counts| {
            // One before the upgrade, and one after it.
            let reference = Counts::from([made("a", 2)]);
            let mut expected = Expected { counts: reference, values: BTreeMap::new() };
            expected.after_upgrade(&Counts::from([made("a", 1)]), &Counts::from([made("a", old)]), &new);
            let findings = more_often(&new, &expected.counts, false);
            findings.into_iter().map(|finding| finding.what).collect::<Vec<_>>()
        };
        let new = |count| Counts::from([made("a", count)]);
        assert_eq!(findings(1, new(2)), ["jobs a was created 2 times instead of 1"]);
        assert_eq!(findings(0, new(2)), [""; 0], "the old version had not made it yet");
        assert_eq!(findings(0, new(3)).len(), 1);
        assert_eq!(findings(5, new(1)), [""; 0], "how often the old version made it is its own affair");
        let more = [((String::from("jobs a"), Verb::Delete), 1), made("other", 1)];
        assert_eq!(findings(1, Counts::from(more)), [""; 0]);
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
