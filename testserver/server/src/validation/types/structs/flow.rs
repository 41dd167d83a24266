//! Fairness of requests: flow schemas and priority levels.

use serde_json::{Value, json};

use super::values::{is_set, items, text};
use crate::{object::names, schema::ErrorList};

const VERBS: [&str; 9] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"];

pub(super) fn schema(value: &Value, _: &str, errors: &mut ErrorList) {
    let precedence = &value["spec"]["matchingPrecedence"];
    let why = match precedence.as_i64() {
        Some(number) if number < 0 => "must be a positive value",
        Some(1) if value["metadata"]["name"] != "exempt" => {
            "only the schema named 'exempt' may have matchingPrecedence 1"
        }
        Some(number) if number > 10_000 => "must not be greater than 10000",
        _ => return,
    };
    errors.invalid("spec.matchingPrecedence".to_owned(), precedence, why);
}

pub(super) fn rules(value: &Value, at: &str, errors: &mut ErrorList) {
    if items(value, "resourceRules").next().is_none() && items(value, "nonResourceRules").next().is_none() {
        errors.required(at, "at least one of resourceRules and nonResourceRules has to be non-empty");
    }
}

/// A subject has the member of its kind, and no other.
pub(super) fn subject(value: &Value, at: &str, errors: &mut ErrorList) {
    const MEMBERS: [(&str, &str); 3] =
        [("ServiceAccount", "serviceAccount"), ("User", "user"), ("Group", "group")];
    let kind = text(value, "kind");
    if !MEMBERS.iter().any(|(subject_kind, _)| *subject_kind == kind) {
        return;
    }
    for (of, member) in MEMBERS {
        let place = format!("{at}.{member}");
        match (of == kind, is_set(&value[member])) {
            (true, false) => {
                let why = format!("{member} is required when subject kind is '{of}'");
                errors.required(place, &why);
            }
            (false, true) => {
                let why = format!("{member} is forbidden when subject kind is not '{of}'");
                errors.forbidden(place, &why);
            }
            _ => {}
        }
    }
}

pub(super) fn resource_rule(value: &Value, at: &str, errors: &mut ErrorList) {
    verbs(value, at, errors);
    alone(value, at, "apiGroups", "api groups", errors);
    alone(value, at, "resources", "resources", errors);
    let place = format!("{at}.namespaces");
    if items(value, "namespaces").next().is_none() {
        if value["clusterScope"] != true {
            let why = "resource rules that are not cluster scoped must supply at least one namespace";
            errors.required(place, why);
        }
    } else if !alone(value, at, "namespaces", "namespaces", errors) {
        for (i, name) in items(value, "namespaces").filter(|(_, name)| *name != "*") {
            let why = names::dns_label(name.as_str().unwrap_or_default());
            errors.problem(format!("{place}[{i}]"), name, why);
        }
    }
}

pub(super) fn other_rule(value: &Value, at: &str, errors: &mut ErrorList) {
    verbs(value, at, errors);
    if alone(value, at, "nonResourceURLs", "non-resource URLs", errors) {
        return;
    }
    for (i, path) in items(value, "nonResourceURLs") {
        let why = match path.as_str().unwrap_or_default() {
            "*" => continue,
            "" => "must not be empty",
            path if path.contains(' ') => "must not contain white-space",
            path if !path.starts_with('/') => "must start with slash",
            path if path.contains("//") => "must not contain double slash",
            path if path.strip_suffix("/*").unwrap_or(path).contains('*') => {
                "wildcard can only do suffix matching"
            }
            _ => continue,
        };
        errors.invalid(format!("{at}.nonResourceURLs[{i}]"), path, why);
    }
}

fn verbs(value: &Value, at: &str, errors: &mut ErrorList) {
    let is_verb = |verb: &Value| *verb == "*" || verb.as_str().is_some_and(|verb| VERBS.contains(&verb));
    if !alone(value, at, "verbs", "verbs", errors) && !items(value, "verbs").all(|(_, verb)| is_verb(verb)) {
        errors.not_supported(format!("{at}.verbs"), &value["verbs"], &VERBS);
    }
}

/// Refuses other items beside `*`.
fn alone(value: &Value, at: &str, list: &str, what: &str, errors: &mut ErrorList) -> bool {
    let wrong = items(value, list).count() > 1 && items(value, list).any(|(_, item)| item == "*");
    if wrong {
        let why = format!("if '*' is present, must not specify other {what}");
        errors.invalid(format!("{at}.{list}"), &value[list], &why);
    }
    wrong
}

pub(super) fn level(value: &Value, _: &str, errors: &mut ErrorList) {
    let spec = &value["spec"];
    let kind = text(spec, "type");
    if (kind == "Exempt") != (value["metadata"]["name"] == "exempt") && !kind.is_empty() {
        let why = "must be 'Exempt' if and only if `name` is 'exempt'";
        if matches!(kind, "Exempt" | "Limited") {
            errors.invalid("spec.type".to_owned(), &spec["type"], why);
        }
    }
    for (of, member) in [("Exempt", "exempt"), ("Limited", "limited")] {
        if kind != of && is_set(&spec[member]) {
            errors.forbidden(format!("spec.{member}"), "");
        }
    }
    if kind == "Limited" && spec["limited"].is_null() {
        errors.required("spec.limited", "");
    }
}

pub(super) fn limited(value: &Value, at: &str, errors: &mut ErrorList) {
    shares(value, at, errors);
    let percent = &value["borrowingLimitPercent"];
    if percent.as_i64().is_some_and(|percent| percent < 0) {
        let why = "if specified, must be a non-negative integer";
        errors.invalid(format!("{at}.borrowingLimitPercent"), percent, why);
    }
}

pub(super) fn shares(value: &Value, at: &str, errors: &mut ErrorList) {
    let shares = &value["nominalConcurrencyShares"];
    if shares.as_i64().is_some_and(|shares| shares < 0) {
        errors.invalid(format!("{at}.nominalConcurrencyShares"), shares, "must be a non-negative integer");
    }
}

pub(super) fn response(value: &Value, at: &str, errors: &mut ErrorList) {
    let place = format!("{at}.queuing");
    match (text(value, "type"), is_set(&value["queuing"])) {
        ("Queue", false) => errors.required(place, ""),
        ("Queue", true) | (_, false) => {}
        (_, true) => errors.forbidden(place, ""),
    }
}

/// Shuffle sharding deals a hand of queues; 64 bits of a hash have to do for it.
pub(super) fn queues(value: &Value, at: &str, errors: &mut ErrorList) {
    const BITS: u32 = 60;
    let number = |member: &str| value[member].as_i64().unwrap_or(0);
    let (queues, hand) = (number("queues"), number("handSize"));
    let mut refuse = |member: &str, why: &str| {
        errors.invalid(format!("{at}.{member}"), json!(number(member)), why);
    };
    match queues {
        ..=0 => refuse("queues", "must be positive"),
        10_000_001.. => refuse("queues", "must not be greater than 10000000"),
        _ => {}
    }
    let hands = u128::try_from(queues).ok().zip(u32::try_from(hand).ok());
    let fits = |(queues, hand): (u128, u32)| queues.checked_pow(hand).is_some_and(|all| all <= 1 << BITS);
    if hand <= 0 {
        refuse("handSize", "must be positive");
    } else if hand > queues {
        refuse("handSize", &format!("should not be greater than queues ({queues})"));
    } else if !hands.is_some_and(fits) {
        let why = format!(
            "required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {BITS}"
        );
        refuse("handSize", &why);
    }
    if number("queueLengthLimit") <= 0 {
        refuse("queueLengthLimit", "must be positive");
    }
}
