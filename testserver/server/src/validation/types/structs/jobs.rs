//! Jobs: what depends on how completions count, and the policies for failure and success.

use serde_json::Value;

use super::values::{is_set, items, text};
use crate::schema::ErrorList;

/// Above so many completions a limit of failures must be given.
const MANY: i64 = 100_000;
/// The pods and failures of so many completions.
const MOST_OF_MANY: i64 = 10_000;

pub(super) fn job(spec: &Value, at: &str, errors: &mut ErrorList) {
    let indexed = spec["completionMode"] == "Indexed";
    let plain = matches!(text(spec, "completionMode"), "NonIndexed") || spec["completionMode"].is_null();
    if indexed {
        parallelism_of_indexed(spec, at, errors);
    }
    if is_set(&spec["maxFailedIndexes"]) && spec["backoffLimitPerIndex"].is_null() {
        errors.required(format!("{at}.backoffLimitPerIndex"), "when maxFailedIndexes is specified");
    }
    for member in ["backoffLimitPerIndex", "maxFailedIndexes"] {
        if plain && is_set(&spec[member]) {
            errors.invalid(format!("{at}.{member}"), &spec[member], "requires indexed completion mode");
        }
    }
    if indexed {
        failures_of_indexed(spec, at, errors);
    }
    if is_set(&spec["podFailurePolicy"]) {
        failure_policy(spec, at, errors);
    }
    if is_set(&spec["successPolicy"]) {
        success_policy(spec, &format!("{at}.successPolicy"), errors);
    }
    let replacement = &spec["podReplacementPolicy"];
    let supported: &[&str] =
        if spec["podFailurePolicy"].is_null() { &["Failed", "TerminatingOrFailed"] } else { &["Failed"] };
    if replacement.as_str().is_some_and(|policy| !supported.contains(&policy)) {
        errors.not_supported(format!("{at}.podReplacementPolicy"), replacement, supported);
    }
}

fn parallelism_of_indexed(spec: &Value, at: &str, errors: &mut ErrorList) {
    if spec["completions"].is_null() {
        errors.required(format!("{at}.completions"), "when completion mode is Indexed");
    }
    if spec["parallelism"].as_i64().is_some_and(|pods| pods > MANY) {
        let why = format!("must be less than or equal to {MANY} when completion mode is Indexed");
        errors.invalid(format!("{at}.parallelism"), &spec["parallelism"], &why);
    }
}

fn failures_of_indexed(spec: &Value, at: &str, errors: &mut ErrorList) {
    let Some(completions) = spec["completions"].as_i64() else { return };
    let failed = spec["maxFailedIndexes"].as_i64();
    let mut refuse =
        |member: &str, why: String| errors.invalid(format!("{at}.{member}"), &spec[member], &why);
    if failed.is_some_and(|failed| failed > completions) {
        refuse("maxFailedIndexes", "must be less than or equal to completions".into());
    }
    if failed.is_some_and(|failed| failed > MANY) {
        refuse("maxFailedIndexes", format!("must be less than or equal to {MANY}"));
    }
    if completions <= MANY || spec["backoffLimitPerIndex"].is_null() {
        return;
    }
    let why = format!(
        "must be less than or equal to {MOST_OF_MANY} when completions are above {MANY} and used with backoff limit per index"
    );
    for member in ["parallelism", "maxFailedIndexes"] {
        if spec[member].as_i64().is_some_and(|number| number > MOST_OF_MANY) {
            refuse(member, why.clone());
        }
    }
    if failed.is_none() {
        let why = format!("must be specified when completions is above {MANY}");
        errors.required(format!("{at}.maxFailedIndexes"), &why);
    }
}

fn failure_policy(spec: &Value, at: &str, errors: &mut ErrorList) {
    let pod = &spec["template"]["spec"];
    if matches!(text(pod, "restartPolicy"), "OnFailure") {
        let place = format!("{at}.template.spec.restartPolicy");
        let why = "only \"Never\" is supported when podFailurePolicy is specified";
        errors.invalid(place, &pod["restartPolicy"], why);
    }
    let names: Vec<&Value> = ["containers", "initContainers"]
        .iter()
        .flat_map(|list| items(pod, list).map(|(_, container)| &container["name"]))
        .collect();
    let place = format!("{at}.podFailurePolicy.rules");
    errors.at_most(20, &place, items(&spec["podFailurePolicy"], "rules").count());
    for (i, rule) in items(&spec["podFailurePolicy"], "rules") {
        let place = format!("{place}[{i}]");
        if rule["action"] == "FailIndex" && spec["backoffLimitPerIndex"].is_null() {
            let why = "requires the backoffLimitPerIndex to be set";
            errors.invalid(format!("{place}.action"), &rule["action"], why);
        }
        let conditions = items(rule, "onPodConditions").count();
        errors.at_most(20, format!("{place}.onPodConditions"), conditions);
        let codes = &rule["onExitCodes"];
        if is_set(codes) {
            exit_codes(codes, &names, &format!("{place}.onExitCodes"), errors);
        }
        let why = match (is_set(codes), conditions > 0) {
            (true, true) => "specifying both OnExitCodes and OnPodConditions is not supported",
            (false, false) => "specifying one of OnExitCodes and OnPodConditions is required",
            _ => continue,
        };
        errors.invalid(place, why, "");
    }
}

fn exit_codes(codes: &Value, names: &[&Value], at: &str, errors: &mut ErrorList) {
    let container = &codes["containerName"];
    if is_set(container) && !names.contains(&container) {
        let why = "must be one of the container or initContainer names in the pod template";
        errors.invalid(format!("{at}.containerName"), container, why);
    }
    let place = format!("{at}.values");
    let numbers: Vec<i64> =
        items(codes, "values").map(|(_, code)| code.as_i64().unwrap_or_default()).collect();
    if numbers.is_empty() {
        errors.invalid(place.clone(), &codes["values"], "at least one value is required");
    }
    errors.at_most(255, &place, numbers.len());
    for (i, _) in numbers.iter().enumerate().filter(|(_, code)| **code == 0 && codes["operator"] == "In") {
        errors.invalid(format!("{place}[{i}]"), 0, "must not be 0 for the In operator");
    }
    if numbers.len() <= 255 && !numbers.is_sorted() {
        errors.invalid(place, &codes["values"], "must be ordered");
    }
}

fn success_policy(spec: &Value, at: &str, errors: &mut ErrorList) {
    let policy = &spec["successPolicy"];
    if spec["completionMode"] != "Indexed" {
        return errors.invalid(at, in_go(policy), "requires indexed completion mode");
    }
    let (place, count) = (format!("{at}.rules"), items(policy, "rules").count());
    if count == 0 {
        let why = "at least one rules must be specified when the successPolicy is specified";
        errors.required(place.clone(), why);
    }
    errors.at_most(20, &place, count);
    let completions = spec["completions"].as_i64();
    for (i, rule) in items(policy, "rules") {
        success_rule(rule, completions, &format!("{place}[{i}]"), errors);
    }
}

fn success_rule(rule: &Value, completions: Option<i64>, at: &str, errors: &mut ErrorList) {
    let (indexes, count) = (rule["succeededIndexes"].as_str(), &rule["succeededCount"]);
    if indexes.is_none() && count.is_null() {
        errors.required(at, "at least one of succeededCount or succeededIndexes must be specified");
    }
    let place = format!("{at}.succeededIndexes");
    let listed = indexes.map(|text| match index_count(text, completions.unwrap_or_default()) {
        _ if text.len() > 65_536 => {
            errors.too_long(place, 65_536);
            0
        }
        Ok(number) => number,
        Err(why) => {
            let why = format!("error parsing succeededIndexes: {why}");
            errors.invalid(place, format!("{text:?}"), &why);
            0
        }
    });
    let limits = [
        (completions, "the number of specified completions"),
        (listed, "the number of indexes in the specified succeededIndexes field"),
    ];
    for (limit, what) in limits {
        if let (Some(given), Some(limit)) = (count.as_i64(), limit)
            && given > limit
        {
            let why = format!("must be less than or equal to {limit} ({what})");
            errors.invalid(format!("{at}.succeededCount"), count, &why);
        }
    }
}

/// A policy as Go prints it.
fn in_go(policy: &Value) -> String {
    let rule = |(_, rule): (usize, &Value)| {
        let (indexes, count) = (&rule["succeededIndexes"], &rule["succeededCount"]);
        format!("{{\"SucceededIndexes\":{indexes},\"SucceededCount\":{count}}}")
    };
    let rules: Vec<String> = items(policy, "rules").map(rule).collect();
    let rules = if policy["rules"].is_array() { format!("[{}]", rules.join(",")) } else { "null".into() };
    format!("{{\"Rules\":{rules}}}")
}

/// How many indexes a text such as `0-2,5` lists; they increase and are below `completions`.
fn index_count(text: &str, completions: i64) -> Result<i64, String> {
    let (mut count, mut previous) = (0, None);
    for part in text.split(',').filter(|_| !text.is_empty()) {
        let bounds: Vec<&str> = part.split('-').collect();
        if bounds.len() > 2 {
            return Err(format!(
                "the fragment {part:?} violates the requirement that an index interval can have at most two parts separated by '-'"
            ));
        }
        let mut first = None;
        for bound in bounds {
            let index = bound
                .parse::<i64>()
                .map_err(|_| format!("cannot convert string to integer for index: {bound:?}"))?;
            if index >= completions {
                return Err(format!("too large index: {bound:?}"));
            }
            if let Some(previous) = previous.filter(|previous| *previous >= index) {
                return Err(format!("non-increasing order, previous: {previous}, current: {index}"));
            }
            count += index - first.unwrap_or(index - 1);
            first = first.or(Some(index));
            previous = Some(index);
        }
    }
    Ok(count)
}

/// A template's Jobs get their selectors when they are created.
pub(super) fn template(value: &Value, at: &str, errors: &mut ErrorList) {
    let spec = &value["spec"];
    if is_set(&spec["selector"]) {
        errors.invalid(format!("{at}.spec.selector"), &spec["selector"], "`selector` will be auto-generated");
    }
    if spec["manualSelector"] == true {
        errors.not_supported(format!("{at}.spec.manualSelector"), true, &["nil", "false"]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `v1.37` answered to each, with three completions.
    #[test]
    fn indexes_increase_and_are_below_the_completions() {
        for (text, count) in [("", 0), ("0", 1), ("0-2", 3), ("0,2", 2), ("0-1,2", 3)] {
            assert_eq!(index_count(text, 3), Ok(count), "{text}");
        }
        for (text, why) in [
            ("x", "cannot convert string to integer for index: \"x\""),
            ("3", "too large index: \"3\""),
            ("1-", "cannot convert string to integer for index: \"\""),
            ("2-1", "non-increasing order, previous: 2, current: 1"),
            ("1-1", "non-increasing order, previous: 1, current: 1"),
            ("1,0", "non-increasing order, previous: 1, current: 0"),
            ("0-1,x", "cannot convert string to integer for index: \"x\""),
            ("-1", "cannot convert string to integer for index: \"\""),
            ("0-5", "too large index: \"5\""),
        ] {
            assert_eq!(index_count(text, 3), Err(why.to_owned()), "{text}");
        }
        assert!(index_count("0-1-2", 3).unwrap_err().starts_with("the fragment \"0-1-2\" violates"));
    }
}
