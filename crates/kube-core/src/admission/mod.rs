//! The requests and responses of an admission webhook.
//!
//! ```
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube_core::admission::{AdmissionRequest, AdmissionResponse, AdmissionReview};
//!
//! let review: AdmissionReview<ConfigMap> = serde_json::from_str(r#"{
//!     "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
//!     "request": {"uid": "705ab4f5", "operation": "CREATE", "userInfo": {},
//!         "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
//!         "resource": {"group": "", "version": "v1", "resource": "configmaps"},
//!         "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}}}"#)?;
//! let request: AdmissionRequest<ConfigMap> = review.try_into()?;
//! let denied = AdmissionResponse::from(&request).deny("no settings today").into_review();
//! assert_eq!(serde_json::to_value(denied)?["response"]["allowed"], false);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "cel")]
mod cel;
mod request;
mod review;
#[cfg(test)]
mod tests;

pub use request::{AdmissionRequest, Operation};
pub use review::{
    AdmissionResponse, AdmissionReview, ConvertAdmissionReviewError, META_API_VERSION_V1, META_KIND,
    PatchType, SerializePatchError,
};
