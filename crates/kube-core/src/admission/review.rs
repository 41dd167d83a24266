//! The admission review, and the response in it.

use std::collections::HashMap;

use k8s_openapi::ByteString;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::AdmissionRequest;
use crate::{
    dynamic::DynamicObject,
    resource::Resource,
    response::{Status, reason},
    type_meta::TypeMeta,
};

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

/// The review holds no request: it is a response, or no review that a server sends. Reply with
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

/// The envelope of request and response, for objects of type `T`:
/// `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request" or "response": ...}`.
///
/// The example of the [module](super) shows request and response together.
///
/// ```
/// use kube_core::admission::AdmissionResponse;
///
/// let review = serde_json::to_value(AdmissionResponse::invalid("no JSON").into_review())?;
/// assert_eq!(review["kind"], "AdmissionReview");
/// assert_eq!(review["response"]["status"]["message"], "no JSON");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "Wire<T>", bound(deserialize = "T: Deserialize<'de>"))]
pub struct AdmissionReview<T: Resource> {
    /// `apiVersion` and `kind` of the review; if empty, those of version 1 are written.
    #[serde(flatten, serialize_with = "or_v1")]
    pub types: TypeMeta,
    /// The request of the server; `None` in a response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<AdmissionRequest<T>>,
    /// The response of the webhook; `None` in a request.
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

/// The wire form for decoding. It has no flattened field: serde would buffer the objects.
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

/// Servers reject a review without `apiVersion` and `kind`, and version 1 is the only one left.
fn or_v1<S: Serializer>(types: &TypeMeta, serializer: S) -> Result<S::Ok, S::Error> {
    let or = |text: &String, default: &str| if text.is_empty() { default.to_owned() } else { text.clone() };
    let types = TypeMeta {
        api_version: or(&types.api_version, META_API_VERSION_V1),
        kind: or(&types.kind, META_KIND),
    };
    types.serialize(serializer)
}

/// The patch cannot be serialized as JSON; the source is the reason.
///
/// It does not occur for patches made of `serde_json` values.
///
/// ```
/// use kube_core::admission::{AdmissionResponse, SerializePatchError};
///
/// fn patched(response: AdmissionResponse) -> Result<AdmissionResponse, SerializePatchError> {
///     response.with_patch(json_patch::Patch::default())
/// }
/// assert!(patched(AdmissionResponse::invalid("")).is_ok());
/// ```
#[derive(Debug, thiserror::Error)]
#[error("cannot serialize the patch of the admission response")]
pub struct SerializePatchError(#[source] serde_json::Error);

/// The format of the patch in a response. There is only one.
///
/// ```
/// use kube_core::admission::PatchType;
/// assert_eq!(serde_json::to_string(&PatchType::JsonPatch)?, r#""JSONPatch""#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub enum PatchType {
    /// A JSON patch (RFC 6902); `JSONPatch` on the wire.
    #[serde(rename = "JSONPatch")]
    JsonPatch,
}

/// Allows or denies an operation, and may patch its object.
///
/// Made from a request, it allows the operation unchanged; [`deny`](Self::deny) and [`with_patch`](Self::with_patch) change
/// that.
///
/// ```
/// use kube_core::{DynamicObject, admission::{AdmissionRequest, AdmissionResponse, PatchType}};
/// use serde_json::{from_value, json};
///
/// let request: AdmissionRequest<DynamicObject> = from_value(json!({
///     "uid": "705ab4f5", "operation": "CREATE", "userInfo": {},
///     "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
///     "resource": {"group": "", "version": "v1", "resource": "configmaps"},
///     "object": {"metadata": {"name": "settings"}}}))?;
///
/// let yes = AdmissionResponse::from(&request);
/// assert!(yes.allowed && yes.uid == "705ab4f5");
///
/// let no = AdmissionResponse::from(&request).deny("settings need an owner");
/// assert_eq!((no.allowed, no.result.code, no.result.message.as_str()), (false, 403, "settings need an owner"));
///
/// let patch = from_value(json!([{"op": "add", "path": "/metadata/labels", "value": {"seen": "yes"}}]))?;
/// let mut changed = AdmissionResponse::from(&request).with_patch(patch)?;
/// changed.warnings = Some(vec!["settings got a label".into()]);
/// assert_eq!(changed.patch_type, Some(PatchType::JsonPatch));
///
/// // A webhook in audit mode: it allows what it would deny.
/// assert!(no.allowed(true).allowed);
/// // The response to a body that cannot be decoded.
/// assert_eq!(AdmissionResponse::invalid("no JSON").result.code, 400);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AdmissionResponse {
    /// `apiVersion` and `kind` of the review that will hold the response. Not on the wire here.
    #[serde(skip)]
    pub types: TypeMeta,
    /// The uid of the request; the server rejects a response without it.
    pub uid: String,
    /// Whether the operation is allowed.
    pub allowed: bool,
    /// The reason of a denial; `status` on the wire. The server passes message, reason and code on to the caller.
    #[serde(rename = "status", default)]
    pub result: Status,
    /// A patch of the object: JSON, in base64 on the wire. Requires [`patch_type`](Self::patch_type).
    #[serde(default, skip_serializing_if = "Option::is_none", with = "base64_bytes")]
    pub patch: Option<Vec<u8>>,
    /// The format of the patch: required with a patch, not allowed without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch_type: Option<PatchType>,
    /// Annotations for the audit log; the server prefixes the keys with the webhook's name. Omitted if empty.
    #[serde(default, skip_serializing_if = "HashMap::is_empty")]
    pub audit_annotations: HashMap<String, String>,
    /// Warnings for the caller, best below 120 characters each. The server truncates each at 256 characters, and drops
    /// those beyond 4096 characters in total over all webhooks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

impl<T: Resource> From<&AdmissionRequest<T>> for AdmissionResponse {
    /// Allows the request.
    fn from(req: &AdmissionRequest<T>) -> Self {
        Self { allowed: true, ..Self::empty(req.types.clone(), req.uid.clone()) }
    }
}

impl AdmissionResponse {
    /// The response to a body that is no valid review and so has no uid: denied with code 400. The server treats it as a
    /// failure of the webhook and applies its `failurePolicy`.
    pub fn invalid<T: ToString>(reason: T) -> Self {
        let types = TypeMeta { api_version: META_API_VERSION_V1.into(), kind: META_KIND.into() };
        let result = Status::failure(&reason.to_string(), reason::BAD_REQUEST).with_code(400);
        Self { result, ..Self::empty(types, String::new()) }
    }

    /// Denies the operation; the server returns the reason to the caller with code 403.
    #[must_use]
    pub fn deny<T: ToString>(mut self, reason: T) -> Self {
        self.allowed = false;
        self.result = Status::failure(&reason.to_string(), reason::FORBIDDEN).with_code(403);
        self
    }

    /// Allows or denies the operation and leaves everything else, including the reason of a denial, unchanged.
    #[must_use]
    pub fn allowed(mut self, allowed: bool) -> Self {
        self.allowed = allowed;
        self
    }

    /// Sets the JSON patch of the object, replacing an earlier one. Only mutating webhooks may patch.
    ///
    /// # Errors
    ///
    /// If the patch holds a value that has no JSON form.
    pub fn with_patch(mut self, patch: json_patch::Patch) -> Result<Self, SerializePatchError> {
        self.patch = Some(serde_json::to_vec(&patch).map_err(SerializePatchError)?);
        self.patch_type = Some(PatchType::JsonPatch);
        Ok(self)
    }

    /// Wraps the response in a review of the same version as the request's.
    pub fn into_review(self) -> AdmissionReview<DynamicObject> {
        AdmissionReview { types: self.types.clone(), request: None, response: Some(self) }
    }

    fn empty(types: TypeMeta, uid: String) -> Self {
        Self {
            types,
            uid,
            allowed: false,
            result: Status::default(),
            patch: None,
            patch_type: None,
            audit_annotations: HashMap::new(),
            warnings: None,
        }
    }
}

/// Bytes as the API encodes them: base64. A list of numbers is decoded too.
mod base64_bytes {
    use super::{ByteString, Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Bytes {
        Base64(ByteString),
        Numbers(Vec<u8>),
    }

    pub(super) fn serialize<S: Serializer>(
        bytes: &Option<Vec<u8>>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        bytes.clone().map(ByteString).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Vec<u8>>, D::Error> {
        Ok(Option::<Bytes>::deserialize(deserializer)?.map(|bytes| match bytes {
            Bytes::Base64(ByteString(bytes)) | Bytes::Numbers(bytes) => bytes,
        }))
    }
}
