//! The response of an admission webhook.

use http::StatusCode;
use serde_json::{Value, json};

use crate::status_error::{Cause, Details, StatusError};

/// A valid `AdmissionReview` response.
#[derive(Debug)]
pub(crate) struct AdmissionResponse {
    pub(crate) allowed: bool,
    pub(crate) status: Value,
    /// Base64 of a JSON patch.
    pub(crate) patch: Option<String>,
    pub(crate) warnings: Vec<String>,
}

impl AdmissionResponse {
    /// Parses the review in a response; the error is the text after "failed calling webhook".
    pub(crate) fn read(review: &Value, uid: &Value, mutating: bool) -> Result<Self, String> {
        let api_version = review["apiVersion"].as_str().unwrap_or_default();
        let kind = review["kind"].as_str().unwrap_or_default();
        let of_type = [("", ""), ("admission.k8s.io/v1", "AdmissionReview")].contains(&(api_version, kind));
        if !of_type {
            return Err(format!(
                "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {api_version}, Kind={kind}"
            ));
        }
        let response = &review["response"];
        if !response.is_object() {
            return Err("webhook response was absent".into());
        }
        let text = |field: &str| response[field].as_str().filter(|text| !text.is_empty());
        if response["uid"] != *uid {
            let got = text("uid").unwrap_or_default();
            return Err(format!("expected response.uid={uid}, got {got:?}"));
        }
        match (text("patch"), text("patchType")) {
            (None, None) => {}
            (Some(_), _) if !mutating => {
                return Err("validating webhook may not return response.patch".into());
            }
            (_, Some(_)) if !mutating => {
                return Err("validating webhook may not return response.patchType".into());
            }
            (Some(_), None) => {
                return Err("webhook returned response.patch but not response.patchType".into());
            }
            (None, Some(_)) => {
                return Err("webhook returned response.patchType but not response.patch".into());
            }
            (Some(_), Some("JSONPatch")) => {}
            (Some(_), Some(other)) => return Err(format!("invalid response.patchType of {other:?}")),
        }
        let warnings = response["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str);
        Ok(Self {
            allowed: response["allowed"] == true,
            status: response.get("status").cloned().unwrap_or_else(|| json!({})),
            patch: text("patch").map(Into::into),
            warnings: warnings.map(Into::into).collect(),
        })
    }

    /// The error response of a refusal: the webhook's own status with an error code.
    pub(crate) fn refusal(&self, hook: &str) -> StatusError {
        let text = |field: &str| self.status[field].as_str().unwrap_or_default();
        let why = match (text("message"), text("reason")) {
            ("", "") => " without explanation".to_string(),
            ("", reason) => format!(": {reason}"),
            (message, _) => format!(": {message}"),
        };
        let code = self.status["code"].as_u64().and_then(|code| u16::try_from(code).ok());
        let code = code.and_then(|code| StatusCode::from_u16(code).ok()).filter(|code| code.as_u16() >= 400);
        let message = format!("admission webhook {hook:?} denied the request{why}");
        let reason = text("reason").to_string();
        let failure = StatusError::new(code.unwrap_or(StatusCode::BAD_REQUEST), reason, message);
        match self.status.get("details").filter(|details| details.is_object()) {
            Some(details) => failure.about(details_of(details)),
            None => failure,
        }
    }
}

/// The error of a failed call to a webhook with `failurePolicy: Fail`.
pub(crate) fn call_failed(hook: &str, why: &str) -> StatusError {
    StatusError::internal(format!("failed calling webhook {hook:?}: {why}"))
}

fn details_of(details: &Value) -> Details {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let causes = details["causes"].as_array().into_iter().flatten().map(|cause| Cause {
        reason: text(&cause["reason"]),
        message: text(&cause["message"]),
        field: text(&cause["field"]),
    });
    Details {
        name: text(&details["name"]),
        group: text(&details["group"]),
        kind: text(&details["kind"]),
        uid: text(&details["uid"]),
        causes: causes.collect(),
        retry_after_seconds: details["retryAfterSeconds"].as_u64().unwrap_or(0),
    }
}
