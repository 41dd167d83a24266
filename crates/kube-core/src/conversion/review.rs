//! The conversion review, its request and its response.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{response::Status, type_meta::TypeMeta, util::null_as_empty};

/// The review holds no request: it is a response, or no review that a server sends. Reply with
/// [`ConversionResponse::invalid`].
///
/// ```
/// use kube_core::conversion::{ConversionRequest, ConversionReview};
///
/// let review: ConversionReview =
///     serde_json::from_str(r#"{"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview"}"#)?;
/// let error = ConversionRequest::from_review(review).expect_err("no request");
/// assert_eq!(error.to_string(), "request missing in ConversionReview");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[error("request missing in ConversionReview")]
pub struct ConvertConversionReviewError;

/// The envelope of request and response:
/// `{"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request" or "response": ...}`.
///
/// The example of the [module](super) shows request and response together.
///
/// ```
/// use kube_core::{Status, conversion::{ConversionResponse, ConversionReview}};
///
/// let review: ConversionReview = ConversionResponse::invalid(Status::failure("no JSON", "BadRequest")).into_review();
/// assert_eq!((review.types.kind.as_str(), review.request), ("ConversionReview", None));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConversionReview {
    /// `apiVersion` and `kind` of the review, next to the other fields on the wire; decoding requires both.
    #[serde(flatten)]
    pub types: TypeMeta,
    /// The request of the server; `None` in a response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<ConversionRequest>,
    /// The response of the webhook; `None` in a request.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub response: Option<ConversionResponse>,
}

/// Objects to convert, all to the same version.
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
    /// `apiVersion` and `kind` of the review that held the request; the response uses the same. Not on the wire here.
    #[serde(skip)]
    pub types: Option<TypeMeta>,
    /// Identifies the request; the response must carry the same uid.
    pub uid: String,
    /// The `apiVersion` to convert to, such as `example.com/v2`.
    #[serde(rename = "desiredAPIVersion")]
    pub desired_api_version: String,
    /// The objects: of one kind, possibly of several versions; some may already have the desired one.
    pub objects: Vec<Value>,
}

impl ConversionRequest {
    /// Extracts the request from a review.
    ///
    /// # Errors
    ///
    /// If the review holds none.
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

/// The converted objects, or the reason of the failure.
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
    /// `apiVersion` and `kind` of the review that will hold the response; `None` for version 1. Not on the wire here.
    #[serde(skip)]
    pub types: Option<TypeMeta>,
    /// The uid of the request; the server rejects a response with another one.
    pub uid: String,
    /// Whether the conversion succeeded. The message of a failure is returned to the caller of the API server.
    pub result: Status,
    /// The objects in the order of the request, and as many; empty after a failure. Null decodes as empty.
    #[serde(rename = "convertedObjects", deserialize_with = "null_as_empty")]
    pub converted_objects: Vec<Value>,
}

impl ConversionResponse {
    /// A response to this request, to be completed with [`success`](Self::success) or [`failure`](Self::failure):
    /// a server takes it as a failure as it is.
    pub fn for_request(request: ConversionRequest) -> Self {
        Self {
            types: request.types,
            uid: request.uid,
            result: Status::default(),
            converted_objects: Vec::new(),
        }
    }

    /// Reports that all objects were converted; they must be in the order of the request, each with its metadata. The server
    /// accepts changed labels and annotations, rejects a changed name, namespace or uid, and ignores other changes.
    pub fn success(mut self, converted_objects: Vec<Value>) -> Self {
        self.result = Status::success();
        self.converted_objects = converted_objects;
        self
    }

    /// Reports that at least one object could not be converted; no object is returned. Make `status` with
    /// [`Status::failure`].
    pub fn failure(mut self, status: Status) -> Self {
        self.result = status;
        self.converted_objects.clear();
        self
    }

    /// The response to a body that is no valid review and so has no uid: the server logs it and fails the conversion.
    pub fn invalid(status: Status) -> Self {
        Self { types: None, uid: String::new(), result: status, converted_objects: Vec::new() }
    }

    /// Wraps the response in a review, by default of `apiextensions.k8s.io/v1`.
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
