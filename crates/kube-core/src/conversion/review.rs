//! The review, its question and its answer.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{response::Status, type_meta::TypeMeta, util::null_as_empty};

/// The review holds no request: it is an answer, or nothing that a server sends. Answer by
/// [`ConversionResponse::invalid`].
///
/// ```
/// use kube_core::conversion::{ConversionRequest, ConversionReview};
///
/// let review: ConversionReview =
///     serde_json::from_str(r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"}"#)?;
/// let error = ConversionRequest::from_review(review).expect_err("no request");
/// assert_eq!(error.to_string(), "the ConversionReview holds no request");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[error("the ConversionReview holds no request")]
pub struct ConvertConversionReviewError;

/// The envelope in which the server asks and the webhook answers:
/// `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request" or "response": ...}`.
///
/// See the [module](super) for a whole round.
///
/// ```
/// use kube_core::{Status, conversion::{ConversionResponse, ConversionReview}};
///
/// let answer: ConversionReview = ConversionResponse::invalid(Status::failure("no JSON", "BadRequest")).into_review();
/// assert_eq!((answer.types.kind.as_str(), answer.request), ("ConversionReview", None));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConversionReview {
    /// `apiVersion` and `kind` of the review, beside the other fields on the wire; both must be there to be read.
    #[serde(flatten)]
    pub types: TypeMeta,
    /// What the server asks; `None` in an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<ConversionRequest>,
    /// What the webhook answers; `None` in a question.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub response: Option<ConversionResponse>,
}

/// Objects that shall be converted, all to the same version.
///
/// ```
/// use kube_core::conversion::{ConversionRequest, ConversionReview};
///
/// let review: ConversionReview = serde_json::from_str(r#"{
///     "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
///     "request": {"uid": "705ab4f5", "desiredAPIVersion": "example.com/v2",
///                 "objects": [{"apiVersion": "example.com/v1", "kind": "Shop", "spec": {"size": 1}}]}}"#)?;
/// let request: ConversionRequest = review.try_into()?;
/// assert_eq!((request.desired_api_version.as_str(), request.objects.len()), ("example.com/v2", 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConversionRequest {
    /// `apiVersion` and `kind` of the review that held the request, so that the answer is of the same. Not on the wire
    /// here.
    #[serde(skip)]
    pub types: Option<TypeMeta>,
    /// Names the request; the answer carries it as well.
    pub uid: String,
    /// The `apiVersion` that the converted objects shall have, such as `example.com/v2`.
    #[serde(rename = "desiredAPIVersion")]
    pub desired_api_version: String,
    /// The objects: of one kind, possibly of several versions, and some perhaps of the desired one already.
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
///
/// ```
/// use kube_core::{Status, conversion::{ConversionRequest, ConversionResponse}};
/// use serde_json::json;
///
/// let request: ConversionRequest = serde_json::from_value(json!({
///     "uid": "705ab4f5", "desiredAPIVersion": "example.com/v2",
///     "objects": [{"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "a"}}]}))?;
///
/// let mut objects = request.objects.clone();
/// for object in &mut objects {
///     object["apiVersion"] = request.desired_api_version.as_str().into();
/// }
/// let good = ConversionResponse::for_request(request.clone()).success(objects);
/// assert_eq!((good.uid.as_str(), good.result.is_success()), ("705ab4f5", true));
///
/// let bad = ConversionResponse::for_request(request).failure(Status::failure("no such version", "Invalid"));
/// assert_eq!(serde_json::to_value(bad)?["convertedObjects"], json!([]));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConversionResponse {
    /// `apiVersion` and `kind` of the review that will hold the answer; `None` for version 1. Not on the wire here.
    #[serde(skip)]
    pub types: Option<TypeMeta>,
    /// The uid of the request, by which the server knows the answer.
    pub uid: String,
    /// Whether the conversion succeeded, and if not, why: the message reaches the caller of the API server.
    pub result: Status,
    /// The objects in the order of the request, as many as there; none after a failure. Null reads as none.
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

    /// All objects were converted; they stand in the order of the request, each with its old metadata: the server
    /// takes changes of labels and annotations, refuses another name, namespace or uid, and ignores the rest.
    pub fn success(mut self, converted_objects: Vec<Value>) -> Self {
        self.result = Status::success();
        self.converted_objects = converted_objects;
        self
    }

    /// Some object could not be converted, so none is. `status` should be one made by [`Status::failure`].
    pub fn failure(mut self, status: Status) -> Self {
        self.result = status;
        self.converted_objects.clear();
        self
    }

    /// The answer to something that is no valid review, and so has no uid: the server logs it and fails the conversion.
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
