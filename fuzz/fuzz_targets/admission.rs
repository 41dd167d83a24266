//! Admission reviews: any input is a review or an error, and every request has a response that serializes.
#![no_main]

use kube_core::DynamicObject;
use kube_core::admission::{AdmissionRequest, AdmissionResponse, AdmissionReview};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let Ok(review) = serde_json::from_slice::<AdmissionReview<DynamicObject>>(body) else { return };
    let Ok(request): Result<AdmissionRequest<DynamicObject>, _> = review.try_into() else { return };
    let response = AdmissionResponse::from(&request).deny("fuzzed");
    assert_eq!(response.uid, request.uid);
    serde_json::to_vec(&response.into_review()).expect("a response can be serialized");
});
