//! The status of a Job: what its controllers cannot say, and cannot take back.
//!
//! Most rules judge only what a write changes, so that what was stored before them does not refuse other writes.

use std::collections::HashSet;

use serde_json::Value;

use super::Write;
use crate::{
    schema::{ErrorList, FieldError},
    validation::values::{is_set, items, text},
};

/// A condition, whether it excludes the other one or needs it, and why the two are refused.
type Pair = (&'static str, bool, &'static str, &'static str);

const COMPLETE: [Pair; 2] = [
    ("Complete", true, "Failed", "cannot set Complete=True and Failed=true conditions"),
    ("Complete", true, "FailureTarget", "cannot set Complete=True and FailureTarget=true conditions"),
];
const ENDED: [Pair; 2] = [
    (
        "Failed",
        false,
        "FailureTarget",
        "cannot set Failed=True condition without the FailureTarget=true condition",
    ),
    (
        "Complete",
        false,
        "SuccessCriteriaMet",
        "cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
    ),
];
const SUCCEEDED: [Pair; 2] = [
    ("SuccessCriteriaMet", true, "Failed", "cannot set SuccessCriteriaMet=True and Failed=true conditions"),
    (
        "SuccessCriteriaMet",
        true,
        "FailureTarget",
        "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
    ),
];
const INDEXES: [&str; 2] = ["completedIndexes", "failedIndexes"];

/// The spec of a Job, its status, and the status that it replaces.
struct Change<'a> {
    spec: &'a Value,
    new: &'a Value,
    old: &'a Value,
}

pub(super) fn validate(write: &Write<'_>, errors: &mut ErrorList) {
    let old = write.old.map_or(&Value::Null, |old| &old["status"]);
    let change = Change { spec: write.spec(), new: &write.object["status"], old };
    change.uncounted(errors);
    change.conditions(&COMPLETE, errors);
    change.completion(errors);
    change.conditions(&ENDED, errors);
    change.ended(errors);
    change.indexes(errors);
    change.conditions(&SUCCEEDED, errors);
    change.taken_back(errors);
}

impl Change<'_> {
    fn has(&self, condition: &str) -> bool {
        holds(self.new, condition)
    }

    fn changes(&self, members: &[&str]) -> bool {
        members.iter().any(|member| self.new[*member] != self.old[*member])
    }

    fn switches(&self, condition: &str) -> bool {
        self.has(condition) != holds(self.old, condition)
    }

    /// Whether the job is finished, and that or this member is new.
    fn finished_with(&self, member: &str) -> bool {
        is_finished(self.new) && (!is_finished(self.old) || self.changes(&[member]))
    }

    fn uncounted(&self, errors: &mut ErrorList) {
        let mut seen = HashSet::new();
        for member in ["succeeded", "failed"] {
            for (i, uid) in items(&self.new["uncountedTerminatedPods"], member) {
                let at = format!("status.uncountedTerminatedPods.{member}[{i}]");
                if *uid == "" {
                    errors.invalid(at, "\"\"", "must not be empty");
                } else if !seen.insert(uid) {
                    errors.duplicate(at, uid);
                }
            }
        }
    }

    fn conditions(&self, pairs: &[Pair], errors: &mut ErrorList) {
        for (condition, excludes, other, why) in pairs {
            let is_new = self.switches(condition) || self.switches(other);
            if self.has(condition) && self.has(other) == *excludes && is_new {
                invalid_conditions(why, errors);
            }
        }
    }

    fn completion(&self, errors: &mut ErrorList) {
        let (is_complete, completion) = (self.has("Complete"), &self.new["completionTime"]);
        if is_complete == is_set(completion)
            || !self.switches("Complete") && !self.changes(&["completionTime"])
        {
            return;
        }
        if is_complete {
            errors.required("status.completionTime", "completionTime is required for Complete jobs");
        } else {
            let why = "cannot set completionTime when there is no Complete=True condition";
            errors.invalid("status.completionTime", completion, why);
        }
    }

    /// The times and the counts of a job that is finished.
    fn ended(&self, errors: &mut ErrorList) {
        let [start, end] = ["startTime", "completionTime"].map(|member| &self.new[member]);
        // Both have a precision of seconds, in UTC.
        let is_early = end.as_str().zip(start.as_str()).is_some_and(|(end, start)| end < start);
        if is_early && self.changes(&["startTime", "completionTime"]) {
            errors.invalid("status.completionTime", end, "must be equal to or after `startTime`");
        }
        let never_starts = self.spec["suspend"] == true && self.spec["completions"] == 0;
        if !is_set(start) && !never_starts && self.finished_with("startTime") {
            errors.required("status.startTime", "startTime is required for finished job");
        }
        for member in ["active", "terminating"] {
            let number = count(self.new, member);
            if number > 0 && self.finished_with(member) {
                let why = format!("{member}>0 is invalid for finished job");
                errors.invalid(format!("status.{member}"), number, &why);
            }
        }
        let uncounted = &self.new["uncountedTerminatedPods"];
        let [succeeded, failed] = ["succeeded", "failed"].map(|member| &uncounted[member]);
        if (is_set(succeeded) || is_set(failed)) && self.finished_with("uncountedTerminatedPods") {
            let uncounted_text = format!("{{\"Succeeded\":{succeeded},\"Failed\":{failed}}}");
            errors.invalid(
                "status.uncountedTerminatedPods",
                uncounted_text,
                "must be empty for finished job",
            );
        }
        let ready = count(self.new, "ready");
        if is_set(&self.new["ready"])
            && ready > count(self.new, "active")
            && self.changes(&["ready", "active"])
        {
            errors.invalid("status.ready", ready, "cannot set more ready pods than active");
        }
    }

    /// The completed and the failed indexes of a job that has such.
    fn indexes(&self, errors: &mut ErrorList) {
        let completions = self.spec["completions"].as_i64().unwrap_or(i64::MAX);
        let has_limit = is_set(&self.spec["backoffLimitPerIndex"]);
        let [completed, failed] = INDEXES.map(|member| intervals(text(self.new, member), completions));
        let [completes, fails] = INDEXES.map(|member| self.changes(&[member]));
        let mut refuse = |member: &str, why: &str| {
            errors.invalid(format!("status.{member}"), &self.new[member], why);
        };
        let read = [(INDEXES[0], &completed, completes), (INDEXES[1], &failed, fails && has_limit)];
        for (member, intervals, is_judged) in read {
            if let (Err(why), true) = (intervals, is_judged) {
                refuse(member, &format!("error parsing {member}: {why}"));
            }
        }
        let is_indexed = self.spec["completionMode"] == "Indexed";
        if completes && !is_indexed && !text(self.new, "completedIndexes").is_empty() {
            refuse(
                "completedIndexes",
                "cannot set non-empty completedIndexes when non-indexed completion mode",
            );
        }
        if fails && !has_limit && is_set(&self.new["failedIndexes"]) {
            refuse("failedIndexes", "cannot set non-null failedIndexes when backoffLimitPerIndex is null");
        }
        if let (Ok(completed), Ok(failed), true) = (completed, failed, completes || fails)
            && let Some(index) = common(&completed, &failed)
        {
            let why = format!("failedIndexes and completedIndexes overlap at index: {index}");
            refuse("failedIndexes", &why);
        }
    }

    fn taken_back(&self, errors: &mut ErrorList) {
        let is_lost = |condition: &str| holds(self.old, condition) && !self.has(condition);
        for condition in ["Failed", "Complete", "FailureTarget"].into_iter().filter(|it| is_lost(it)) {
            invalid_conditions(&format!("cannot disable the terminal {condition}=True condition"), errors);
        }
        // An indexed job with as many pods as completions may be scaled down.
        let is_elastic =
            self.spec["completionMode"] == "Indexed" && self.spec["completions"] == self.spec["parallelism"];
        for (member, may_fall) in [("failed", false), ("succeeded", is_elastic)] {
            let number = count(self.new, member);
            if number < count(self.old, member) && !may_fall {
                let why = format!("cannot decrease the {member} counter");
                errors.invalid(format!("status.{member}"), number, &why);
            }
        }
        let (completion, start) = (&self.new["completionTime"], &self.new["startTime"]);
        let was_set = |member: &str| is_set(&self.old[member]) && self.changes(&[member]);
        if was_set("completionTime") && is_set(completion) {
            errors.invalid("status.completionTime", completion, "field is immutable");
        }
        if was_set("startTime") && self.spec["suspend"] != true {
            errors.invalid("status.startTime", start, "field is immutable for unsuspended job once set");
        }
        if is_lost("SuccessCriteriaMet") {
            invalid_conditions("cannot disable the SuccessCriteriaMet=True condition", errors);
        }
    }
}

fn invalid_conditions(why: &str, errors: &mut ErrorList) {
    errors.push(FieldError::new("status.conditions", "FieldValueInvalid", format!("Invalid value: {why}")));
}

fn holds(status: &Value, condition: &str) -> bool {
    items(status, "conditions").any(|(_, it)| it["type"] == condition && it["status"] == "True")
}

fn is_finished(status: &Value) -> bool {
    holds(status, "Complete") || holds(status, "Failed")
}

fn count(status: &Value, member: &str) -> i64 {
    status[member].as_i64().unwrap_or(0)
}

/// Reads `0,2-4`: rising indexes below the number of completions.
fn intervals(text: &str, completions: i64) -> Result<Vec<(i64, i64)>, String> {
    let (mut intervals, mut last) = (Vec::new(), None);
    for interval in text.split(',').filter(|_| !text.is_empty()) {
        let ends: Vec<&str> = interval.split('-').collect();
        if ends.len() > 2 {
            return Err(format!(
                "the fragment {interval:?} violates the requirement that an index interval can have at most two parts separated by '-'"
            ));
        }
        let mut numbers = Vec::new();
        for end in ends {
            let number: i64 =
                end.parse().map_err(|_| format!("cannot convert string to integer for index: {end:?}"))?;
            if number >= completions {
                return Err(format!("too large index: {end:?}"));
            }
            if let Some(previous) = last.replace(number).filter(|previous| *previous >= number) {
                return Err(format!("non-increasing order, previous: {previous}, current: {number}"));
            }
            numbers.push(number);
        }
        intervals.extend(numbers.first().copied().zip(numbers.last().copied()));
    }
    Ok(intervals)
}

/// The first index that is in both.
fn common(some: &[(i64, i64)], others: &[(i64, i64)]) -> Option<i64> {
    let shared = |(first, last): &(i64, i64)| {
        let starts = others.iter().filter(|(from, to)| from <= last && first <= to);
        starts.map(|(from, _)| *from.max(first)).min()
    };
    some.iter().find_map(shared)
}
