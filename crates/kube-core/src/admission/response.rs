//! What the webhook answers.

use std::collections::HashMap;

use k8s_openapi::ByteString;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{AdmissionRequest, AdmissionReview, META_API_VERSION_V1, META_KIND};
use crate::{
    dynamic::DynamicObject,
    resource::Resource,
    response::{Status, reason},
    type_meta::TypeMeta,
};

/// The patch of an answer cannot be written as JSON; the source says why.
///
/// No value of `serde_json` is like that, so it is safe to pass it on.
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

/// The kind of the patch of an answer, of which there is one.
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

/// Whether an operation may go on, and what is changed about it.
///
/// Made from the request, which it allows; [`deny`](Self::deny) and [`with_patch`](Self::with_patch) change that.
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
/// // A gate that only counts.
/// assert!(no.allowed(true).allowed);
/// // What could not be read is answered as well.
/// assert_eq!(AdmissionResponse::invalid("no JSON").result.code, 400);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AdmissionResponse {
    /// `apiVersion` and `kind` of the review that will hold the answer. Not on the wire here.
    #[serde(skip)]
    pub types: TypeMeta,
    /// The uid of the request, without which the server refuses the answer.
    pub uid: String,
    /// Whether the operation may go on.
    pub allowed: bool,
    /// Why it may not; `status` on the wire. The server passes message, reason and code on to the caller.
    #[serde(rename = "status", default)]
    pub result: Status,
    /// A change to the object: JSON, in base64 on the wire. Goes with [`patch_type`](Self::patch_type).
    #[serde(default, skip_serializing_if = "Option::is_none", with = "base64_bytes")]
    pub patch: Option<Vec<u8>>,
    /// The kind of the patch: needed where there is one, and not allowed where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch_type: Option<PatchType>,
    /// Annotations for the audit log; the server puts the webhook's name before the keys. Left out where empty.
    #[serde(default, skip_serializing_if = "HashMap::is_empty")]
    pub audit_annotations: HashMap<String, String>,
    /// Warnings that the caller gets to see, best below 120 characters each: the server cuts one beyond 256, and drops
    /// those beyond 4096 characters of all webhooks together.
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
    /// The answer to something that is no valid review, and so has no uid: denied with code 400. The server takes it
    /// for a failure of the webhook, over which its `failurePolicy` decides.
    pub fn invalid<T: ToString>(reason: T) -> Self {
        let types = TypeMeta { api_version: META_API_VERSION_V1.into(), kind: META_KIND.into() };
        let result = Status::failure(&reason.to_string(), reason::BAD_REQUEST).with_code(400);
        Self { result, ..Self::empty(types, String::new()) }
    }

    /// Denies the operation; the caller reads the reason in the server's answer, whose code is 403.
    #[must_use]
    pub fn deny<T: ToString>(mut self, reason: T) -> Self {
        self.allowed = false;
        self.result = Status::failure(&reason.to_string(), reason::FORBIDDEN).with_code(403);
        self
    }

    /// Says whether the operation may go on and leaves the rest, the reason of a denial included, as it is.
    #[must_use]
    pub fn allowed(mut self, allowed: bool) -> Self {
        self.allowed = allowed;
        self
    }

    /// Changes the object by a JSON patch, replacing an earlier one. Only mutating webhooks may.
    ///
    /// # Errors
    ///
    /// Where the patch holds a value that has no JSON form.
    pub fn with_patch(mut self, patch: json_patch::Patch) -> Result<Self, SerializePatchError> {
        self.patch = Some(serde_json::to_vec(&patch).map_err(SerializePatchError)?);
        self.patch_type = Some(PatchType::JsonPatch);
        Ok(self)
    }

    /// Puts the answer into a review of the same version as the question.
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

/// Bytes as the API writes them: base64. Reads a list of numbers as well.
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
