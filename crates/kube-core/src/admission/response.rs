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

/// The patch of an answer cannot be written as JSON.
#[derive(Debug, thiserror::Error)]
#[error("cannot serialize the patch of the admission response")]
pub struct SerializePatchError(#[source] serde_json::Error);

/// The kind of the patch of an answer.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub enum PatchType {
    /// A JSON patch (RFC 6902).
    #[serde(rename = "JSONPatch")]
    JsonPatch,
}

/// Whether an operation may go on, and what is changed about it.
///
/// Made from the request, which it allows; [`deny`](Self::deny) and [`with_patch`](Self::with_patch) change that.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct AdmissionResponse {
    /// `apiVersion` and `kind` of the review that will hold the answer.
    #[serde(skip)]
    pub types: TypeMeta,
    /// The uid of the request.
    pub uid: String,
    /// Whether the operation may go on.
    pub allowed: bool,
    /// Why it may not.
    #[serde(rename = "status", default)]
    pub result: Status,
    /// A change to the object: JSON, in base64 on the wire. Goes with [`patch_type`](Self::patch_type).
    #[serde(default, skip_serializing_if = "Option::is_none", with = "base64_bytes")]
    pub patch: Option<Vec<u8>>,
    /// The kind of the patch; needed where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch_type: Option<PatchType>,
    /// Annotations for the audit log; the server puts the webhook's name before the keys.
    #[serde(default, skip_serializing_if = "HashMap::is_empty")]
    pub audit_annotations: HashMap<String, String>,
    /// Warnings that the caller gets to see, each at most 256 characters.
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
    /// The answer to something that is no valid review, and so has no uid: denied with code 400.
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

    /// Says whether the operation may go on and leaves the rest as it is.
    #[must_use]
    pub fn allowed(mut self, allowed: bool) -> Self {
        self.allowed = allowed;
        self
    }

    /// Changes the object by a JSON patch. Only mutating webhooks may.
    ///
    /// # Errors
    ///
    /// Where the patch holds a value that has no JSON form.
    pub fn with_patch(mut self, patch: json_patch::Patch) -> Result<Self, SerializePatchError> {
        self.patch = Some(serde_json::to_vec(&patch).map_err(SerializePatchError)?);
        self.patch_type = Some(PatchType::JsonPatch);
        Ok(self)
    }

    /// Puts the answer into a review.
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
