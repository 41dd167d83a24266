//! The `Status` object: success or failure of a request.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use serde::{Deserialize, Serialize};

use super::reason;

/// The result of a request: the response of a server if it is not an object, the object of an error event in a watch, and
/// the result in webhook responses.
///
/// On the wire it is `{"kind": "Status", "apiVersion": "v1", ...}`; decoding ignores these two fields, and serializing omits
/// them and all empty fields.
///
/// ```
/// use kube_core::Status;
///
/// let status: Status = serde_json::from_str(
///     r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","code":404,
///         "message":"pods \"web\" not found","reason":"NotFound","details":{"name":"web","kind":"pods"}}"#,
/// )?;
/// assert!(status.is_not_found());
/// assert_eq!(status.to_string(), "pods \"web\" not found (NotFound, code 404)");
/// assert!(status.is_failure() && !status.is_success() && Status::success().is_success());
///
/// // The reason refines the code: both of these are 409.
/// let exists = Status::failure("a exists", "AlreadyExists").with_code(409);
/// assert!(exists.is_already_exists() && !exists.is_conflict());
/// let changed = Status::failure("a has changed", "Conflict").with_code(409).boxed();
/// assert!(changed.is_conflict() && !changed.is_already_exists());
///
/// // Without a reason, as in responses of proxies, the code is used.
/// assert!(Status::failure("", "").with_code(403).is_forbidden());
/// assert!(Status::failure("", "").with_code(422).is_invalid());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Success or failure; `None` if the server did not send it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<StatusSummary>,
    /// The suggested HTTP status code, 0 if the server sent none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub code: u16,
    /// The human-readable description. Its wording changes between server versions.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// List metadata; some servers return a continue token here if the token of the request has expired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<ListMeta>,
    /// The machine-readable reason, one of the constants in [`reason`]. It refines the code.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Details of the reason; `None` if the server sent none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<StatusDetails>,
}

impl Status {
    /// A success without code and message.
    pub fn success() -> Self {
        Self { status: Some(StatusSummary::Success), ..Self::default() }
    }

    /// A failure with a human-readable message and a machine-readable [`reason`].
    pub fn failure(message: &str, reason: &str) -> Self {
        Self {
            status: Some(StatusSummary::Failure),
            message: message.into(),
            reason: reason.into(),
            ..Self::default()
        }
    }

    /// Boxes the status, as errors hold it.
    pub fn boxed(self) -> Box<Self> {
        Box::new(self)
    }

    /// Sets the HTTP status code, which is not checked against the reason.
    pub fn with_code(mut self, code: u16) -> Self {
        self.code = code;
        self
    }

    /// Sets the details, replacing earlier ones.
    pub fn with_details(mut self, details: StatusDetails) -> Self {
        self.details = Some(details);
        self
    }

    /// Whether the status is `Success`; false if it is absent.
    pub fn is_success(&self) -> bool {
        self.status == Some(StatusSummary::Success)
    }

    /// Whether the status is `Failure`; false if it is absent, even with a code of 400 or more.
    pub fn is_failure(&self) -> bool {
        self.status == Some(StatusSummary::Failure)
    }

    /// Whether the object or kind does not exist: reason `NotFound`, or code 404 without a known reason.
    pub fn is_not_found(&self) -> bool {
        self.has_reason(reason::NOT_FOUND, 404)
    }

    /// Whether an object of the same name exists: reason `AlreadyExists`. The code 409 alone is ambiguous.
    pub fn is_already_exists(&self) -> bool {
        self.reason == reason::ALREADY_EXISTS
    }

    /// Whether the object changed since it was read, or another manager owns a field: reason `Conflict`, or code 409
    /// without a known reason.
    pub fn is_conflict(&self) -> bool {
        self.has_reason(reason::CONFLICT, 409)
    }

    /// Whether the caller may not do this: reason `Forbidden`, or code 403 without a known reason.
    pub fn is_forbidden(&self) -> bool {
        self.has_reason(reason::FORBIDDEN, 403)
    }

    /// Whether the object or the parameters are invalid: reason `Invalid`, or code 422 without a known reason.
    pub fn is_invalid(&self) -> bool {
        self.has_reason(reason::INVALID, 422)
    }

    /// Compares the reason, and the code only if the reason is unknown.
    fn has_reason(&self, expected: &str, code: u16) -> bool {
        self.reason == expected
            || (self.code == code && (self.reason == reason::UNKNOWN || !reason::is_known(&self.reason)))
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let summary = match self.status {
            Some(StatusSummary::Success) => "success",
            Some(StatusSummary::Failure) => "failure",
            None => "status without a message",
        };
        f.write_str(if self.message.is_empty() { summary } else { &self.message })?;
        match (self.reason.as_str(), self.code) {
            ("", 0) => Ok(()),
            ("", code) => write!(f, " (code {code})"),
            (reason, 0) => write!(f, " ({reason})"),
            (reason, code) => write!(f, " ({reason}, code {code})"),
        }
    }
}

impl std::error::Error for Status {}

/// Success or failure; on the wire the variant's name.
///
/// ```
/// use kube_core::{Status, response::StatusSummary};
/// let status: Status = serde_json::from_str(r#"{"status": "Failure", "code": 500}"#)?;
/// assert_eq!(status.status, Some(StatusSummary::Failure));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub enum StatusSummary {
    /// The operation succeeded. For a deletion: the object is gone.
    Success,
    /// The operation failed, or the server cannot know (`ServerTimeout`).
    Failure,
}

/// Details of a [`Status`]. Fields that the server did not send are empty or 0.
///
/// ```
/// use kube_core::{Status, response::{StatusCause, StatusDetails}};
///
/// let status: Status = serde_json::from_str(
///     r#"{"status": "Failure", "reason": "Invalid", "code": 422, "details": {"group": "apps", "kind": "Deployment",
///         "name": "front", "causes": [{"reason": "FieldValueRequired", "message": "Required value",
///                                      "field": "spec.selector"}]}}"#,
/// )?;
/// let details: &StatusDetails = status.details.as_ref().expect("has details");
/// let fields: Vec<_> = details.causes.iter().map(|cause: &StatusCause| cause.field.as_str()).collect();
/// assert_eq!((details.name.as_str(), fields), ("front", vec!["spec.selector"]));
/// assert_eq!(Status::default().with_details(details.clone()).details, status.details);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusDetails {
    /// The name of the object in the request.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The API group of the resource; empty for the core group too.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The kind (`Pod`), in some responses the resource name (`pods`).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The uid of the object, if the status is about exactly one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The causes: invalid fields, or the managers of the fields in conflict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<StatusCause>,
    /// Seconds to wait before a retry, as in the header `Retry-After`; 0 if the server sent none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retry_after_seconds: u32,
}

/// One cause of a failure: see the example of [`StatusDetails`]. Fields that the server did not send are empty.
///
/// ```
/// use kube_core::response::StatusCause;
/// let cause: StatusCause = serde_json::from_str(
///     r#"{"reason": "FieldManagerConflict", "message": "conflict with \"kubectl\"", "field": ".spec.replicas"}"#,
/// )?;
/// assert_eq!(cause.field, ".spec.replicas");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct StatusCause {
    /// The machine-readable reason, such as `FieldValueInvalid` or `FieldManagerConflict`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The human-readable description, usually with the invalid value.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The path of the field, such as `spec.ports[0].port`; for conflicts of server-side apply with a leading dot: `.spec.ports`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field: String,
}

fn is_zero<T: Default + PartialEq>(n: &T) -> bool {
    *n == T::default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Status, StatusCause, StatusDetails};
    use crate::response::reason;

    #[test]
    fn the_reason_refines_the_code() {
        let both = |code, reason: &str| Status::failure("m", reason).with_code(code);
        assert!(both(409, reason::ALREADY_EXISTS).is_already_exists());
        assert!(!both(409, reason::ALREADY_EXISTS).is_conflict());
        assert!(
            both(409, reason::CONFLICT).is_conflict() && !both(409, reason::CONFLICT).is_already_exists()
        );
        // Without a known reason, the code is used.
        for reason in [reason::UNKNOWN, "Teapot"] {
            assert!(both(404, reason).is_not_found() && both(409, reason).is_conflict());
            assert!(both(403, reason).is_forbidden() && both(422, reason).is_invalid());
            assert!(!both(409, reason).is_already_exists() && !both(500, reason).is_not_found());
        }
        assert!(!both(404, reason::EXPIRED).is_not_found());
        assert!(both(0, reason::INVALID).is_invalid());
        assert!(reason::is_known("") && reason::is_known("Gone") && !reason::is_known("Teapot"));
    }

    #[test]
    fn display_prints_message_reason_and_code() {
        assert_eq!(Status::success().to_string(), "success");
        assert_eq!(Status::failure("", "").to_string(), "failure");
        assert_eq!(Status::default().to_string(), "status without a message");
        assert_eq!(Status::failure("no", "Gone").to_string(), "no (Gone)");
        assert_eq!(Status::failure("no", "").with_code(500).to_string(), "no (code 500)");
        assert!(Status::failure("", "").boxed().is_failure() && Status::success().is_success());
    }

    #[test]
    fn empty_fields_are_omitted_on_the_wire() {
        let cause =
            StatusCause { reason: "FieldValueInvalid".into(), message: "no".into(), field: "spec.x".into() };
        let details = StatusDetails {
            name: "a".into(),
            group: String::new(),
            kind: "pods".into(),
            uid: String::new(),
            causes: vec![cause],
            retry_after_seconds: 2,
        };
        let status = Status::failure("m", "Invalid").with_code(422).with_details(details);
        let json = json!({"status": "Failure", "message": "m", "reason": "Invalid", "code": 422, "details": {
            "name": "a", "kind": "pods", "retryAfterSeconds": 2,
            "causes": [{"reason": "FieldValueInvalid", "message": "no", "field": "spec.x"}]}});
        assert_eq!(serde_json::to_value(&status).expect("valid"), json);
        assert_eq!(serde_json::from_value::<Status>(json).expect("valid"), status);
        assert_eq!(serde_json::from_value::<Status>(json!({})).expect("valid"), Status::default());
        assert_eq!(serde_json::to_value(Status::default()).expect("valid"), json!({}));
    }
}
