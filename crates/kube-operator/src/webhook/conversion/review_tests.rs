//! Conversion reviews, and what their handlers return.

use serde_json::json;

use super::*;
use crate::webhook::ConversionError;

fn v1(name: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Page",
        "metadata": {"name": name, "namespace": "web", "uid": "u1", "labels": {"a": "b"}}, "size": 3})
}

/// Renames `size` to `pixels`; does what the name of the object says otherwise.
struct Pages;

impl Convert for Pages {
    fn group(&self) -> String {
        "example.com".into()
    }

    fn kind(&self) -> String {
        "Page".into()
    }

    fn convert(&self, mut object: Value, api_version: &str) -> Result<Value, ConversionError> {
        object["apiVersion"] = api_version.into();
        object["pixels"] = object["size"].take();
        match object["metadata"]["name"].as_str() {
            Some("fails") => return Err("spec.size: too large".into()),
            Some("panics") => panic!("on purpose"),
            Some("renamed") => object["metadata"]["name"] = "other".into(),
            Some("uid") => object["metadata"]["uid"] = "u2".into(),
            Some("stays") => object["apiVersion"] = "example.com/v1".into(),
            Some("kind") => object["kind"] = "Other".into(),
            Some("labels") => object["metadata"]["labels"] = json!({"c": "d"}),
            Some("array") => return Ok(json!([])),
            _ => {}
        }
        Ok(object)
    }
}

fn reviewed(objects: &Value, to: &str) -> Value {
    let body = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": {"uid": "u-1", "desiredAPIVersion": to, "objects": objects}});
    let converters: [Box<dyn Convert>; 1] = [Box::new(Pages)];
    let body = review(&converters, body.to_string().as_bytes(), || false).unwrap();
    let review: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&review["kind"], &review["response"]["uid"]), (&json!("ConversionReview"), &json!("u-1")));
    review["response"].clone()
}

#[test]
fn objects_are_converted_in_order_and_those_of_the_version_stay() {
    let already =
        json!({"apiVersion": "example.com/v2", "kind": "Page", "metadata": {"name": "c"}, "odd": 1});
    let response = reviewed(&json!([v1("a"), already, v1("labels")]), "example.com/v2");
    assert_eq!(response["result"]["status"], "Success");
    let converted = response["convertedObjects"].as_array().unwrap();
    assert_eq!((&converted[0]["pixels"], &converted[0]["apiVersion"]), (&json!(3), &json!("example.com/v2")));
    assert_eq!(converted[1], already);
    assert_eq!(converted[2]["metadata"]["labels"], json!({"c": "d"}));
    assert_eq!(reviewed(&json!([]), "example.com/v2")["convertedObjects"], json!([]));
}

#[test]
fn one_bad_object_fails_the_review_by_name_and_versions() {
    let begin =
        |name: &str| format!("cannot convert Page \"web/{name}\" from example.com/v1 to example.com/v2: ");
    for (name, why) in [
        ("fails", "spec.size: too large"),
        ("panics", "the conversion panicked"),
        ("renamed", "the result must have metadata.name \"renamed\", but has \"other\""),
        ("uid", "the result must have metadata.uid \"u1\", but has \"u2\""),
        ("stays", "the result must have apiVersion \"example.com/v2\", but has \"example.com/v1\""),
        ("kind", "the result must have kind \"Page\", but has \"Other\""),
        ("array", "the result must have apiVersion \"example.com/v2\", but has \"\""),
    ] {
        let response = reviewed(&json!([v1("good"), v1(name)]), "example.com/v2");
        assert_eq!(response["result"]["status"], "Failure");
        assert_eq!(response["result"]["message"], begin(name) + why);
        assert_eq!(response["convertedObjects"], json!([]));
    }
    let mut widget = v1("a");
    widget["kind"] = "Widget".into();
    for (object, to, why) in [
        (
            widget,
            "example.com/v2",
            "from example.com/v1 to example.com/v2: this webhook converts only Page.example.com",
        ),
        (v1("a"), "other.com/v2", "to other.com/v2: this webhook converts only Page.example.com"),
        (json!(5), "example.com/v2", "cannot convert  \"\" from  to example.com/v2"),
    ] {
        let message = reviewed(&json!([object]), to)["result"]["message"].as_str().unwrap().to_owned();
        assert!(message.contains(why), "{message}");
    }
}

#[test]
fn a_cancelled_review_stops_between_objects() {
    let count = std::cell::Cell::new(0);
    let cancelled = || {
        count.set(count.get() + 1);
        count.get() > 2
    };
    let body = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": {"uid": "u", "desiredAPIVersion": "example.com/v2", "objects": vec![v1("a"); 100]}});
    let converters: [Box<dyn Convert>; 1] = [Box::new(Pages)];
    review(&converters, body.to_string().as_bytes(), cancelled).unwrap();
    assert_eq!(count.get(), 3);
}

#[test]
fn what_is_no_review_is_refused_with_its_reason() {
    for (body, expected) in [
        ("{", "the body is no ConversionReview: EOF"),
        (
            r#"{"apiVersion": "v1", "kind": "List"}"#,
            "expected ConversionReview of apiextensions.k8s.io/v1, found \"List\" of \"v1\"",
        ),
        (
            r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"}"#,
            "request missing in ConversionReview",
        ),
        (
            r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": {"uid": "u", "objects": []}}"#,
            "the body is no ConversionReview: ",
        ),
    ] {
        let error = review(&[], body.as_bytes(), || false).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
}
