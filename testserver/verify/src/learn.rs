//! What is normal: two runs without faults show what differs by chance, a third is the reference.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde_json::Value;

use crate::{
    finding::{Finding, Oracle},
    oracle,
    outcome::{Known, Outcome, Reference},
    plan::{Plan, Verb},
    run::run,
    scenario::Scenario,
    state::{ObjectName, normalize, paths, qualified},
    trace::{Line, Write},
};

/// What the runs without faults have shown.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    pub(crate) known: Known,
    pub(crate) reference: Reference,
    /// What is wrong without any fault.
    pub(crate) findings: Vec<Finding>,
    /// Whether all steps were reached, so that plans make sense.
    pub(crate) complete: bool,
    /// The first line that differs between two runs with the same seed.
    pub(crate) unrepeatable: Option<(String, String)>,
    /// The definitions of custom resources.
    pub(crate) definitions: Vec<Value>,
}

/// Runs the operator without faults; at the end of the reference nothing may happen for an hour, if that is asked for.
/// The error is of the test.
pub(crate) fn learn(scenario: &Scenario, for_an_hour: bool) -> Result<Learned, String> {
    let none = Plan::default();
    let mut known = Known::default();
    let first = run(scenario, &none, 1, &known, None)?;
    if first.steps.len() <= scenario.steps.len() {
        // What does not reach the end the first time need not be tried twice more.
        let findings = first.findings.clone();
        let reference = Reference { steps: first.steps, trace: first.trace, ..Reference::default() };
        known.hidden = first.hidden;
        return Ok(Learned { known, reference, findings, ..Learned::default() });
    }
    known.resources = first.trace.resources.clone();
    known.kinds = first.kinds.clone();
    known.hidden = first.hidden.clone();
    let other = run(scenario, &none, 2, &known, None)?;
    known.hidden = other.hidden.clone();
    let names = |outcome: &Outcome| -> BTreeSet<(String, String)> {
        let states = outcome.steps.iter().flat_map(|reached| reached.state.0.keys());
        let written = outcome.trace.writes.iter().map(|write| &write.object);
        states.chain(written).map(|name| (name.resource.clone(), name.name.clone())).collect()
    };
    known.names.learn(&names(&first), &names(&other));
    known.stays_still_for_an_hour = for_an_hour;
    let outcome = run(scenario, &none, 1, &known, None)?;
    let mut learned =
        Learned { complete: outcome.steps.len() == scenario.steps.len() + 1, ..Learned::default() };
    learned.unrepeatable = unrepeatable(&first.trace.lines, &outcome.trace.lines, first.time, &known);
    learned.findings = outcome.findings.clone();
    learned.definitions = outcome.definitions.clone();
    let reference = &mut learned.reference;
    for (one, other) in outcome.steps.iter().zip(&other.steps) {
        let normal = normalize(&other.state, &known.names);
        for (key, object) in &one.normal {
            let Some(other) = normal.get(key) else { continue };
            paths("", object, other, &mut |path, _, _| {
                reference.masks.insert(format!("{key}{path}"));
            });
        }
    }
    reference.counts = oracle::counts(outcome.trace.effective(), &known.names);
    reference.values = oracle::distinct(&outcome.trace, &reference.masks, &known.names);
    reference.left = left(&outcome, &known);
    let allowed = |what: &str| scenario.allows.allow(what);
    for object in &reference.left {
        let what = format!("{object} is left over");
        if !allowed(&what) {
            learned.findings.push(Finding::new(Oracle::LeftOver, format!("after the last step, {what}")));
        }
    }
    let idle = idle(&outcome).filter(|finding| learned.complete && !allowed(&finding.what));
    learned.findings.extend(idle);
    let missed = not_made_again(&outcome, &known);
    learned.findings.extend(missed.into_iter().filter(|finding| !allowed(&finding.what)));
    learned.findings.extend(stale_statuses(&outcome).into_iter().filter(|finding| !allowed(&finding.what)));
    known.hidden = outcome.hidden;
    reference.steps = outcome.steps;
    reference.trace = outcome.trace;
    learned.known = known;
    Ok(learned)
}

/// Objects that the operator made and that are still there although nothing is left of what the workload applied. As long as something is,
/// it may be wanted.
fn left(outcome: &Outcome, known: &Known) -> BTreeSet<String> {
    let (Some(first), Some(last)) = (outcome.steps.first(), outcome.steps.last()) else {
        return BTreeSet::new();
    };
    if !outcome.trace.is_all_gone(&last.state) {
        return BTreeSet::new();
    }
    let made: BTreeSet<String> = oracle::counts(outcome.trace.effective(), &known.names)
        .into_keys()
        .filter_map(|(object, verb)| (verb == Verb::Create).then_some(object))
        .collect();
    let plain = |key: &str| key.split('[').next().unwrap_or_default().to_owned();
    let keys =
        last.normal.keys().filter(|key| !first.normal.contains_key(*key) && made.contains(&plain(key)));
    keys.cloned().collect()
}

/// An operator that does nothing is right in every plan. One that ends is found as such.
fn idle(outcome: &Outcome) -> Option<Finding> {
    let begin = outcome.steps.first().map(|begin| &begin.external);
    let does_nothing = outcome.trace.effective().next().is_none()
        && outcome.trace.ended.is_none()
        && outcome.trace.webhooks_in.is_empty()
        && !outcome.trace.tells_events
        && outcome.steps.iter().all(|reached| Some(&reached.external) == begin);
    let what = "the operator does nothing in this workload: it writes nothing, no external system changes, no webhook is called";
    does_nothing.then(|| Finding::new(Oracle::Workload, what))
}

/// Objects of the operator that somebody else has deleted in a step, while all that the workload has applied stays, and that stay away.
fn not_made_again(outcome: &Outcome, known: &Known) -> Vec<Finding> {
    let template = |object: &ObjectName| oracle::template(object, &known.names);
    let made = oracle::counts(outcome.trace.effective(), &known.names);
    let mut findings = Vec::new();
    for (at, (before, after)) in (1..).zip(outcome.steps.iter().zip(outcome.steps.iter().skip(1))) {
        let (before, after) = (&before.state.0, &after.state.0);
        let has_gone = |object: &ObjectName| before.contains_key(object) && !after.contains_key(object);
        let in_step = || outcome.trace.effective().filter(|write| write.step == at);
        let deletes =
            |write: &Write| matches!(write.place.operation.verb, Verb::Delete | Verb::DeleteCollection);
        if outcome.trace.applied.iter().any(has_gone) || in_step().any(deletes) {
            continue; // it may not be wanted any more
        }
        let uids = || after.values().map(|object| &object["metadata"]["uid"]);
        let stays: BTreeSet<&str> = uids().filter_map(Value::as_str).collect();
        let is_collected = |object: &Value| {
            let owners = object["metadata"]["ownerReferences"].as_array();
            owners.is_some_and(|owners| {
                owners.iter().any(|owner| !stays.contains(owner["uid"].as_str().unwrap_or_default()))
            })
        };
        let gone = before.iter().filter(|(name, object)| has_gone(name) && !is_collected(object));
        for name in gone.map(|(name, _)| name) {
            let kind = template(name);
            let is_again = after.keys().any(|other| !before.contains_key(other) && template(other) == kind);
            if made.contains_key(&(kind.clone(), Verb::Create)) && !is_again {
                let what = format!(
                    "after step {at}, {kind}, which the operator has made, is deleted and not made again: does it watch it (`owns`), \
                     and has it an owner reference?"
                );
                findings.push(Finding::new(Oracle::EndState, what));
            }
        }
    }
    findings
}

/// Statuses of an older generation when nothing is to do.
fn stale_statuses(outcome: &Outcome) -> Vec<Finding> {
    let mut findings = BTreeMap::new();
    for (at, reached) in outcome.steps.iter().enumerate() {
        for (key, object) in &reached.normal {
            if let Some((path, behind)) = stale(&object["status"]) {
                let what = format!("after step {at}, {key}.status{path}.observedGeneration is {behind}");
                findings.entry(key.clone()).or_insert_with(|| Finding::new(Oracle::StaleStatus, what));
            }
        }
    }
    findings.into_values().collect()
}

/// Where a status has an older generation, and how many changes it is behind.
fn stale(status: &Value) -> Option<(String, String)> {
    let behind = |value: &Value| -> Option<String> {
        let observed = value["observedGeneration"].as_str()?;
        (observed != "<current>").then(|| observed.to_owned())
    };
    let conditions = status["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    let of_condition = |condition: &Value| {
        let path = format!(".conditions[{}]", condition["type"].as_str().unwrap_or_default());
        Some((path, behind(condition)?))
    };
    behind(status).map(|behind| (String::new(), behind)).or_else(|| conditions.iter().find_map(of_condition))
}

/// The first lines before this time that differ between two runs with the same seed. Random names are known only in the second.
fn unrepeatable(one: &[Line], other: &[Line], until: Duration, known: &Known) -> Option<(String, String)> {
    let lines = |lines: &[Line]| -> Vec<String> {
        let comparable = lines.iter().filter(|line| line.comparable && line.at < until);
        comparable.map(|line| plain(&line.text, known)).collect()
    };
    let (one, other) = (lines(one), lines(other));
    let line = |lines: &[String], at: usize| lines.get(at).cloned().unwrap_or_else(|| "nothing".to_owned());
    let differs = (0..one.len().max(other.len())).find(|at| one.get(*at) != other.get(*at));
    differs.map(|at| (line(&one, at), line(&other, at)))
}

/// A line with templates in place of random names.
fn plain(text: &str, known: &Known) -> String {
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    if let [_, resource, name, ..] = words.as_mut_slice() {
        let resource = resource.split('/').next().unwrap_or_default().to_owned();
        let (namespace, bare) =
            name.rsplit_once('/').map_or(("", name.as_str()), |(space, bare)| (space, bare));
        *name = qualified(namespace, &known.names.template(&resource, bare));
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        outcome::Reached,
        state::{Names, ObjectName, State},
    };

    #[test]
    fn a_condition_of_an_older_generation_is_stale() {
        let stale = |status: Value| -> Vec<String> {
            let object = json!({"metadata": {"name": "a", "generation": 3}, "status": status});
            let state = State([(ObjectName::of("pages.example.com", &object), object)].into());
            let normal = normalize(&state, &Names::default());
            let steps = vec![Reached { state, normal, external: Value::Null }];
            let findings = stale_statuses(&Outcome { steps, ..Outcome::default() });
            findings.into_iter().map(|finding| finding.what).collect()
        };
        let conditions = |observed: i64| {
            let ready = json!({"type": "Ready", "observedGeneration": observed});
            json!({"observedGeneration": 3, "conditions": [ready, {"type": "Other"}]})
        };
        assert_eq!(stale(conditions(3)), [""; 0]);
        assert_eq!(
            stale(conditions(1)),
            ["after step 0, pages.example.com a.status.conditions[Ready].observedGeneration is <2 behind>"]
        );
        assert_eq!(
            stale(json!({"observedGeneration": 2})),
            ["after step 0, pages.example.com a.status.observedGeneration is <1 behind>"]
        );
    }

    #[test]
    fn a_run_that_goes_on_where_the_other_has_ended_is_not_repeatable() {
        let lines = |texts: &[&str]| -> Vec<Line> {
            let line = |(at, text): (u64, &&str)| Line {
                at: Duration::from_secs(at),
                text: (*text).to_owned(),
                comparable: true,
            };
            (0..).zip(texts).map(line).collect()
        };
        let differ = |one: &[&str], other: &[&str]| {
            unrepeatable(&lines(one), &lines(other), Duration::from_secs(2), &Known::default())
        };
        assert_eq!(differ(&["a"], &["a"]), None);
        assert_eq!(differ(&["a", "b"], &["a", "c"]), Some(("b".into(), "c".into())));
        assert_eq!(differ(&["a"], &["a", "b"]), Some(("nothing".into(), "b".into())));
        assert_eq!(differ(&["a", "b"], &["a"]), Some(("b".into(), "nothing".into())));
        assert_eq!(differ(&["a", "b"], &["a", "b", "c"]), None, "the first run has ended");
    }
}
