//! The requests and responses of a conversion webhook of a custom resource.
//!
//! ```
//! use kube_core::conversion::{ConversionRequest, ConversionResponse, ConversionReview};
//!
//! let review: ConversionReview = serde_json::from_str(r#"{
//!     "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
//!     "request": {"uid": "705ab4f5", "desiredAPIVersion": "example.com/v2", "objects": [{"a": 1}]}}"#)?;
//! let request = ConversionRequest::from_review(review)?;
//! let objects = request.objects.clone();
//! let converted = ConversionResponse::for_request(request).success(objects).into_review();
//! assert_eq!(serde_json::to_value(converted)?["response"]["result"]["status"], "Success");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod review;
#[cfg(test)]
mod tests;

pub use review::{ConversionRequest, ConversionResponse, ConversionReview, ConvertConversionReviewError};
