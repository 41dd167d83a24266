use serde_json::json;

use super::{ConversionRequest, ConversionResponse, ConversionReview};
use crate::Status;

fn review() -> ConversionReview {
    serde_json::from_value(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": {"uid": "u", "desiredAPIVersion": "x.io/v2", "objects": [{"apiVersion": "x.io/v1", "kind": "Foo"}]}
    }))
    .expect("valid")
}

#[test]
fn question_and_answer() {
    let request = ConversionRequest::try_from(review()).expect("holds a request");
    assert_eq!((request.uid.as_str(), request.desired_api_version.as_str()), ("u", "x.io/v2"));
    assert_eq!(request.types, Some(review().types));
    let converted = vec![json!({"apiVersion": "x.io/v2", "kind": "Foo"})];
    let success = ConversionResponse::from(request.clone()).success(converted.clone());
    assert_eq!(
        serde_json::to_value(success.clone().into_review()).expect("valid"),
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
               "response": {"uid": "u", "result": {"status": "Success"}, "convertedObjects": converted}})
    );
    let failure = success.failure(Status::failure("cannot", "Invalid"));
    assert!(failure.converted_objects.is_empty() && failure.result.is_failure());
    let json = serde_json::to_value(ConversionReview::from(failure)).expect("valid");
    assert_eq!(json["response"]["convertedObjects"], json!([]));
}

#[test]
fn answers_to_what_is_no_review() {
    let empty = ConversionReview { request: None, ..review() };
    let error = ConversionRequest::from_review(empty).expect_err("none");
    assert_eq!(error.to_string(), "the ConversionReview holds no request");
    let answer = ConversionResponse::invalid(Status::failure("no review", "BadRequest")).into_review();
    assert_eq!(
        (answer.types.kind.as_str(), answer.types.api_version.as_str()),
        ("ConversionReview", "apiextensions.k8s.io/v1")
    );
    assert_eq!(answer.response.expect("has one").uid, "");
}

#[test]
fn reviews_round_trip_and_null_is_no_object() {
    let json = serde_json::to_value(review()).expect("valid");
    assert_eq!(serde_json::from_value::<ConversionReview>(json).expect("valid"), review());
    let answer: ConversionResponse =
        serde_json::from_value(json!({"uid": "u", "result": {}, "convertedObjects": null})).expect("valid");
    assert!(answer.converted_objects.is_empty());
}
