//! The envelope of question and answer.

use serde::{Deserialize, Serialize, Serializer};

use super::{AdmissionRequest, AdmissionResponse};
use crate::{resource::Resource, type_meta::TypeMeta};

/// The `kind` of a review: `AdmissionReview`.
///
/// ```
/// use kube_core::admission::{META_API_VERSION_V1, META_KIND};
/// assert_eq!((META_API_VERSION_V1, META_KIND), ("admission.k8s.io/v1", "AdmissionReview"));
/// ```
pub const META_KIND: &str = "AdmissionReview";

/// The `apiVersion` of a review: `admission.k8s.io/v1`. Servers send it where the webhook's configuration has `v1` among
/// its `admissionReviewVersions`.
pub const META_API_VERSION_V1: &str = "admission.k8s.io/v1";

/// The review holds no request: it is an answer, or nothing that a server sends. Answer by
/// [`AdmissionResponse::invalid`].
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kube_core::admission::{AdmissionRequest, AdmissionResponse, AdmissionReview, ConvertAdmissionReviewError};
///
/// let empty: AdmissionReview<Pod> =
///     serde_json::from_str(r#"{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}"#)?;
/// let request: Result<AdmissionRequest<Pod>, ConvertAdmissionReviewError> = empty.try_into();
/// let error = request.expect_err("no request");
/// assert_eq!(AdmissionResponse::invalid(error).result.message, "the AdmissionReview holds no request");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[error("the AdmissionReview holds no request")]
pub struct ConvertAdmissionReviewError;

/// The envelope in which the server asks and the webhook answers, for objects of type `T`:
/// `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request" or "response": ...}`.
///
/// See the [module](super) for a whole round.
///
/// ```
/// use kube_core::admission::AdmissionResponse;
///
/// let answer = serde_json::to_value(AdmissionResponse::invalid("no JSON").into_review())?;
/// assert_eq!(answer["kind"], "AdmissionReview");
/// assert_eq!(answer["response"]["status"]["message"], "no JSON");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "Wire<T>", bound(deserialize = "T: Deserialize<'de>"))]
pub struct AdmissionReview<T: Resource> {
    /// `apiVersion` and `kind` of the review; empty ones are written as those of version 1.
    #[serde(flatten, serialize_with = "or_v1")]
    pub types: TypeMeta,
    /// What the server asks; `None` in an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<AdmissionRequest<T>>,
    /// What the webhook answers; `None` in a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<AdmissionResponse>,
}

impl<T: Resource> TryInto<AdmissionRequest<T>> for AdmissionReview<T> {
    type Error = ConvertAdmissionReviewError;

    /// Takes the request out of the review.
    fn try_into(self) -> Result<AdmissionRequest<T>, Self::Error> {
        let request = self.request.ok_or(ConvertAdmissionReviewError)?;
        Ok(AdmissionRequest { types: self.types, ..request })
    }
}

/// The review as it is read: without a flattened field, so that objects are not buffered on their way.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "T: Deserialize<'de>"))]
struct Wire<T: Resource> {
    api_version: String,
    kind: String,
    request: Option<AdmissionRequest<T>>,
    response: Option<AdmissionResponse>,
}

impl<T: Resource> From<Wire<T>> for AdmissionReview<T> {
    fn from(Wire { api_version, kind, request, response }: Wire<T>) -> Self {
        Self { types: TypeMeta { api_version, kind }, request, response }
    }
}

/// A server refuses an answer without a type, and there is only one that makes sense.
fn or_v1<S: Serializer>(types: &TypeMeta, serializer: S) -> Result<S::Ok, S::Error> {
    let or = |text: &String, default: &str| if text.is_empty() { default.to_owned() } else { text.clone() };
    let types = TypeMeta {
        api_version: or(&types.api_version, META_API_VERSION_V1),
        kind: or(&types.kind, META_KIND),
    };
    types.serialize(serializer)
}
