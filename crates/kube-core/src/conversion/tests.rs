//! Conversion reviews as servers send them.

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
fn a_request_is_converted_and_a_failure_clears_the_objects() {
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
fn an_invalid_review_gets_a_response_without_a_uid() {
    let empty = ConversionReview { request: None, ..review() };
    let error = ConversionRequest::from_review(empty).expect_err("none");
    assert_eq!(error.to_string(), "request missing in ConversionReview");
    let invalid = ConversionResponse::invalid(Status::failure("no review", "BadRequest")).into_review();
    assert_eq!(
        (invalid.types.kind.as_str(), invalid.types.api_version.as_str()),
        ("ConversionReview", "apiextensions.k8s.io/v1")
    );
    assert_eq!(invalid.response.expect("has one").uid, "");
}

#[test]
fn reviews_round_trip_and_null_objects_decode_as_empty() {
    let json = serde_json::to_value(review()).expect("valid");
    assert_eq!(serde_json::from_value::<ConversionReview>(json).expect("valid"), review());
    let response: ConversionResponse =
        serde_json::from_value(json!({"uid": "u", "result": {}, "convertedObjects": null})).expect("valid");
    assert!(response.converted_objects.is_empty());
}
