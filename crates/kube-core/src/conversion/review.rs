//! The review, its question and its answer.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::{response::Status, type_meta::TypeMeta};

/// The review holds no request.
#[derive(Debug, thiserror::Error)]
#[error("the ConversionReview holds no request")]
pub struct ConvertConversionReviewError;

/// The envelope in which the server asks and the webhook answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConversionReview {
    /// `apiVersion` and `kind` of the review.
    #[serde(flatten)]
    pub types: TypeMeta,
    /// What the server asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<ConversionRequest>,
    /// What the webhook answers.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub response: Option<ConversionResponse>,
}

/// Objects that shall be converted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConversionRequest {
    /// `apiVersion` and `kind` of the review that held the request.
    #[serde(skip)]
    pub types: Option<TypeMeta>,
    /// Names the request; the answer carries it as well.
    pub uid: String,
    /// The `apiVersion` that the converted objects shall have.
    #[serde(rename = "desiredAPIVersion")]
    pub desired_api_version: String,
    /// The objects, possibly of several versions.
    pub objects: Vec<Value>,
}

impl ConversionRequest {
    /// Takes the request out of a review.
    ///
    /// # Errors
    ///
    /// Where the review holds none.
    pub fn from_review(review: ConversionReview) -> Result<Self, ConvertConversionReviewError> {
        let request = review.request.ok_or(ConvertConversionReviewError)?;
        Ok(Self { types: Some(review.types), ..request })
    }
}

impl TryFrom<ConversionReview> for ConversionRequest {
    type Error = ConvertConversionReviewError;

    fn try_from(review: ConversionReview) -> Result<Self, Self::Error> {
        Self::from_review(review)
    }
}

/// The converted objects, or why there are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConversionResponse {
    /// `apiVersion` and `kind` of the review that will hold the answer.
    #[serde(skip)]
    pub types: Option<TypeMeta>,
    /// The uid of the request.
    pub uid: String,
    /// Whether the conversion succeeded, and if not, why.
    pub result: Status,
    /// The objects in the order of the request; none after a failure.
    #[serde(rename = "convertedObjects", deserialize_with = "null_as_empty")]
    pub converted_objects: Vec<Value>,
}

impl ConversionResponse {
    /// The beginning of an answer to this request: end it by [`success`](Self::success) or
    /// [`failure`](Self::failure).
    pub fn for_request(request: ConversionRequest) -> Self {
        Self {
            types: request.types,
            uid: request.uid,
            result: Status::success(),
            converted_objects: Vec::new(),
        }
    }

    /// All objects were converted; they stand in the order of the request, each with its old metadata.
    pub fn success(mut self, converted_objects: Vec<Value>) -> Self {
        self.result = Status::success();
        self.converted_objects = converted_objects;
        self
    }

    /// Some object could not be converted, so none is.
    pub fn failure(mut self, status: Status) -> Self {
        self.result = status;
        self.converted_objects.clear();
        self
    }

    /// The answer to something that is no valid review, and so has no uid.
    pub fn invalid(status: Status) -> Self {
        Self { types: None, uid: String::new(), result: status, converted_objects: Vec::new() }
    }

    /// Puts the answer into a review; without a type of its own it is `apiextensions.k8s.io/v1`.
    pub fn into_review(self) -> ConversionReview {
        self.into()
    }
}

impl From<ConversionRequest> for ConversionResponse {
    fn from(request: ConversionRequest) -> Self {
        Self::for_request(request)
    }
}

impl From<ConversionResponse> for ConversionReview {
    fn from(mut response: ConversionResponse) -> Self {
        let types = response.types.take().unwrap_or_else(|| TypeMeta {
            api_version: "apiextensions.k8s.io/v1".into(),
            kind: "ConversionReview".into(),
        });
        Self { types, request: None, response: Some(response) }
    }
}

/// Servers in Go write empty lists as null where the list was never made.
fn null_as_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Value>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
