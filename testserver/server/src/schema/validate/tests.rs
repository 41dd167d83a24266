//! Compares with recorded responses of a genuine server (see `recorded/record.py`).

use serde::Deserialize;
use serde_json::{Value, json};

use crate::schema::{FieldError, Schema};

#[derive(Deserialize)]
struct Case {
    object: Value,
    code: u16,
    #[serde(default)]
    causes: Vec<Cause>,
}

#[derive(Deserialize, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cause {
    field: String,
    reason: String,
    message: String,
}

impl From<FieldError> for Cause {
    fn from(e: FieldError) -> Self {
        Cause { field: e.field, reason: e.reason.into(), message: e.message }
    }
}

#[test]
fn values_as_on_the_genuine_server() {
    let crd: Value = serde_saphyr::from_str(include_str!("../../apply/recorded/things.crd.yaml")).unwrap();
    let schema =
        Schema::from_openapi("spec.validation", &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
            .unwrap();
    let mut seen = 0;
    for line in include_str!("../recorded/values.jsonl").lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let mut object = case.object.clone();
        // As on every create: status is removed, and the object is pruned and defaulted first.
        object.as_object_mut().unwrap().remove("status");
        schema.prune(&mut object);
        schema.default(&mut object);
        schema.drop_nulls(&mut object);
        let mut got: Vec<Cause> = schema.validate(&object).into_iter().map(Cause::from).collect();
        let mut want = case.causes;
        // Metadata is validated elsewhere.
        want.retain(|cause| !cause.field.contains("metadata."));
        // Objects that cannot be decoded (400) are not validated.
        if case.code == 400 {
            continue;
        }
        got.sort();
        want.sort();
        assert_eq!(got, want, "{}", case.object);
        seen += 1;
    }
    assert!(seen > 150);
}

#[test]
fn the_display_form_is_that_of_the_status_message() {
    let doc = json!({"type": "object", "properties": {"spec": {"type": "object", "required": ["title"], "properties": {
        "replicas": {"type": "integer"}, "title": {"type": "string"}}}}});
    let errors =
        Schema::from_openapi("spec.validation", &doc).unwrap().validate(&json!({"spec": {"replicas": "x"}}));
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "spec.title: Required value",
            "spec.replicas: Invalid value: \"string\": spec.replicas in body must be of type integer: \"string\"",
        ]
    );
}

#[test]
fn a_null_that_is_permitted_needs_no_format() {
    let time = json!({"type": "string", "format": "date-time", "nullable": true});
    let schema =
        Schema::from_openapi("spec.validation", &json!({"type": "object", "properties": {"a": time}}))
            .unwrap();
    assert!(schema.validate(&json!({ "a": null })).is_empty());
    assert_eq!(schema.validate(&json!({ "a": "then" })).len(), 1);
}

/// Results of apiextensions-apiserver 1.36.
#[test]
fn durations_contain_a_number_with_a_unit() {
    let duration = json!({"type": "string", "format": "duration"});
    let schema =
        Schema::from_openapi("spec.validation", &json!({"type": "object", "properties": {"a": duration}}))
            .unwrap();
    for (text, good) in [
        ("1h30m", true),
        ("+0", true),
        ("1.h", true),
        ("-PT1H", true),
        ("P1Y2M", true),
        ("PT1H30", true),
        ("2 weeks", true),
        ("2 nanoseconds", true),
        ("xx 5 secs yy", true),
        ("P1Y", false),
        ("", false),
        ("1", false),
        ("1hx", false),
        ("2 hrs", false),
        ("2 msec", false),
    ] {
        assert_eq!(schema.validate(&json!({ "a": text })).is_empty(), good, "{text}");
    }
}
