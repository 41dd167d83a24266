//! Tests of the summary condition.

use super::{Conditions, Summary};
use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Condition, jiff::Timestamp};

const GENERATION: i64 = 2;

/// Conditions as `(type, status, reason, message)`.
fn list(conditions: &[(&str, Option<bool>, &str, &str)]) -> Vec<Condition> {
    let mut list = Vec::new();
    let mut edit = Conditions::at(&mut list, Some(GENERATION), Timestamp::UNIX_EPOCH);
    for (type_, status, reason, message) in conditions {
        edit.set(*type_, *status, *reason, *message).unwrap();
    }
    list
}

/// Status, reason and message of the summary.
fn ready(mut list: Vec<Condition>, summary: &Summary) -> [String; 3] {
    Conditions::at(&mut list, Some(GENERATION), Timestamp::UNIX_EPOCH).summarize("Ready", summary).unwrap();
    let ready = list.into_iter().find(|it| it.type_ == "Ready").unwrap();
    [ready.status, ready.reason, ready.message]
}

#[test]
fn it_is_true_if_all_are() {
    let both = list(&[("Synced", Some(true), "Applied", ""), ("Available", Some(true), "Enough", "")]);
    assert_eq!(ready(both, &Summary::default()), ["True", "AllConditionsMet", "Synced, Available"]);
}

#[test]
fn it_is_false_if_any_is_and_names_the_causes() {
    let mixed = list(&[
        ("A", Some(true), "Fine", ""),
        ("B", Some(false), "Broken", "no disk"),
        ("C", None, "Asking", "no response"),
        ("D", Some(false), "Late", ""),
        ("E", Some(false), "Broken", "no network"),
    ]);
    let expected = ["False", "Broken,Late", "B: no disk; D: Late; E: no network"];
    assert_eq!(ready(mixed, &Summary::default()), expected);
}

#[test]
fn it_is_unknown_if_any_is_and_none_is_false() {
    let unknown = list(&[("A", Some(true), "Fine", ""), ("B", None, "Asking", "no response")]);
    assert_eq!(ready(unknown, &Summary::default()), ["Unknown", "Asking", "B: no response"]);
    assert_eq!(ready(Vec::new(), &Summary::default()), ["Unknown", "NoConditions", ""]);
}

#[test]
fn abnormal_conditions_are_bad_when_true() {
    let summary = Summary::default().abnormal_if_true(["Degraded"]);
    let with = |degraded| list(&[("Degraded", Some(degraded), "Checked", "1 of 3 replicas is down")]);
    assert_eq!(ready(with(true), &summary), ["False", "Checked", "Degraded: 1 of 3 replicas is down"]);
    assert_eq!(ready(with(false), &summary), ["True", "AllConditionsMet", "Degraded"]);
}

#[test]
fn only_the_conditions_that_count_matter() {
    let conditions = || list(&[("A", Some(true), "Fine", ""), ("B", Some(false), "Broken", "")]);
    assert_eq!(ready(conditions(), &Summary::default().ignoring(["B"]))[0], "True");
    assert_eq!(ready(conditions(), &Summary::default().requiring_only(["A"]))[0], "True");
    let missing = ["Unknown", "ConditionsUnknown", "C: it was not reported yet"];
    assert_eq!(ready(conditions(), &Summary::default().requiring_only(["A", "C"])), missing);
    assert_eq!(
        ready(conditions(), &Summary::default().requiring(["C"]))[1],
        "Broken",
        "false comes before unknown"
    );
}

#[test]
fn the_summary_does_not_count_itself() {
    let mut conditions = list(&[("A", Some(false), "Broken", "")]);
    for healthy in [false, true, true] {
        let mut edit = Conditions::at(&mut conditions, Some(GENERATION), Timestamp::UNIX_EPOCH);
        edit.set("A", healthy, "Checked", "").unwrap();
        edit.summarize("Ready", &Summary::default()).unwrap();
        assert_eq!(edit.is_true("Ready"), healthy);
    }
}

#[test]
fn an_outdated_condition_is_unknown() {
    let mut conditions = list(&[("A", Some(true), "Fine", "")]);
    conditions[0].observed_generation = Some(1);
    let expected = "A: it is outdated: it describes generation 1, the object is at 2";
    assert_eq!(ready(conditions.clone(), &Summary::default()), ["Unknown", "Fine", expected]);
    conditions[0].observed_generation = None;
    assert_eq!(ready(conditions, &Summary::default())[0], "True", "not all controllers write it");
}

#[test]
fn foreign_reasons_and_long_texts_make_a_valid_summary() {
    let mut foreign = list(&[("A", Some(false), "Broken", "")]);
    for reason in ["", "not a word", "lower"] {
        foreign[0].reason = reason.into();
        assert_eq!(ready(foreign.clone(), &Summary::default())[1], "ConditionsNotMet", "{reason}");
    }
    let (reason, message) = ("R".repeat(1000), "é".repeat(32_768));
    let long =
        list(&[("A", Some(false), &reason, &message), ("B", Some(false), &"Q".repeat(1000), &message)]);
    let [_, joined, text] = ready(long, &Summary::default());
    assert_eq!(joined, reason, "what does not fit is left out");
    assert_eq!(text.chars().count(), 32_768);
    assert!(text.ends_with('…'));
}
