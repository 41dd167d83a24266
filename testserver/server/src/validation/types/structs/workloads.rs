//! Workloads: selectors, strategies, budgets.

use serde_json::Value;

use super::values::{is_set, text};
use crate::{schema::ErrorList, validation::selectors};

/// The selector of a workload of this kind. Of some kinds an invalid one is an error of its own, besides what is wrong with it.
fn selector(value: &Value, kind: &str, invalid_is: Option<&str>, at: &str, errors: &mut ErrorList) {
    let selector = &value["selector"];
    let empty = |member: &str| match &selector[member] {
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => true,
    };
    if selector.is_object() && empty("matchLabels") && empty("matchExpressions") {
        let why = format!("empty selector is invalid for {kind}");
        errors.invalid(format!("{at}.selector"), selector, &why);
    }
    errors.problem(format!("{at}.selector"), selector, invalid_is.filter(|_| !selectors::is_valid(selector)));
}

pub(super) fn replica_set(value: &Value, at: &str, errors: &mut ErrorList) {
    selector(value, "deployment", Some("invalid label selector"), at, errors);
}

pub(super) fn daemon_set(value: &Value, at: &str, errors: &mut ErrorList) {
    selector(value, "daemonset", None, at, errors);
}

pub(super) fn deployment(value: &Value, at: &str, errors: &mut ErrorList) {
    replica_set(value, at, errors);
    let ready = value["minReadySeconds"].as_i64().unwrap_or(0);
    let deadline = &value["progressDeadlineSeconds"];
    if deadline.as_i64().is_some_and(|seconds| seconds <= ready) {
        errors.invalid(
            format!("{at}.progressDeadlineSeconds"),
            deadline,
            "must be greater than minReadySeconds",
        );
    }
    let strategy = &value["strategy"];
    match text(strategy, "type") {
        "Recreate" if is_set(&strategy["rollingUpdate"]) => {
            let why = "may not be specified when strategy `type` is 'Recreate'";
            errors.forbidden(format!("{at}.strategy.rollingUpdate"), why);
        }
        "" | "Recreate" | "RollingUpdate" => {}
        _ => errors.not_supported(format!("{at}.strategy"), strategy, &["Recreate", "RollingUpdate"]),
    }
}

pub(super) fn stateful_set(value: &Value, at: &str, errors: &mut ErrorList) {
    selector(value, "statefulset", Some(""), at, errors);
    let policy = &value["podManagementPolicy"];
    if policy.as_str().is_some_and(|policy| !matches!(policy, "OrderedReady" | "Parallel")) {
        errors.invalid(format!("{at}.podManagementPolicy"), policy, "must be 'OrderedReady' or 'Parallel'");
    }
}

pub(super) fn stateful_set_strategy(value: &Value, at: &str, errors: &mut ErrorList) {
    let kind = text(value, "type");
    if !matches!(kind, "" | "RollingUpdate" | "OnDelete") {
        errors.invalid(at, in_go(value), "must be 'RollingUpdate' or 'OnDelete'");
    }
    let rollout = &value["rollingUpdate"];
    if kind == "OnDelete" && is_set(rollout) {
        // As Go prints the struct.
        let (first, most) = (&rollout["partition"], &rollout["maxUnavailable"]);
        let printed = format!("{{\"Partition\":{first},\"MaxUnavailable\":{most}}}");
        let why = "only allowed for updateStrategy 'RollingUpdate'";
        errors.invalid(format!("{at}.rollingUpdate"), printed, why);
    }
}

pub(super) fn stateful_set_rollout(value: &Value, at: &str, errors: &mut ErrorList) {
    let most = &value["maxUnavailable"];
    if is_set(most) && is_nothing(most) {
        errors.invalid(format!("{at}.maxUnavailable"), most, "cannot be 0");
    }
}

pub(super) fn daemon_set_strategy(value: &Value, at: &str, errors: &mut ErrorList) {
    if !matches!(text(value, "type"), "" | "RollingUpdate" | "OnDelete") {
        errors.not_supported(at, in_go(value), &["RollingUpdate", "OnDelete"]);
    }
}

/// A strategy as Go prints it.
fn in_go(strategy: &Value) -> String {
    format!("{{\"Type\":{},\"RollingUpdate\":{}}}", strategy["type"], strategy["rollingUpdate"])
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => {
            text.strip_suffix('%').and_then(|digits| digits.parse::<u64>().ok()).unwrap_or(0) == 0
        }
        _ => true,
    }
}

pub(super) fn rolling_deployment(value: &Value, at: &str, errors: &mut ErrorList) {
    if is_nothing(&value["maxUnavailable"]) && is_nothing(&value["maxSurge"]) {
        errors.invalid(
            format!("{at}.maxUnavailable"),
            &value["maxUnavailable"],
            "may not be 0 when `maxSurge` is 0",
        );
    }
}

pub(super) fn rolling_daemon_set(value: &Value, at: &str, errors: &mut ErrorList) {
    match (is_nothing(&value["maxUnavailable"]), is_nothing(&value["maxSurge"])) {
        (true, true) => errors.required(format!("{at}.maxUnavailable"), "cannot be 0 when maxSurge is 0"),
        (false, false) => errors.invalid(
            format!("{at}.maxSurge"),
            &value["maxSurge"],
            "may not be set when maxUnavailable is non-zero",
        ),
        _ => {}
    }
}

pub(super) fn budget(value: &Value, at: &str, errors: &mut ErrorList) {
    if is_set(&value["minAvailable"]) && is_set(&value["maxUnavailable"]) {
        errors.invalid(at, value, "minAvailable and maxUnavailable cannot be both set");
    }
}
